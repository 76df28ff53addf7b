"""The process that runs the model: it takes whatever the workers have sent and answers it in one pass."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from erukg.encoder.batch import Packed, join
from erukg.gpu.messages import read_into, send

__all__ = ["Model", "serve"]

# Texts of a pass: more gain nothing, and let the workers wait for longer.
_MOST_TEXTS = 768


@dataclass(frozen=True, slots=True)
class Model:
    """Which model is to be run, on what and how; `top` as `BatchEncoder.encode_batch` has it."""

    folder: Path
    precision: str
    device: str
    arithmetic: str
    compiled: bool = False
    top: int = 0


def serve(caller: Connection, workers: Sequence[Connection], model: Model) -> None:
    """Answer the workers until the caller has gone."""
    from erukg.encoder.torch_encoder import TorchEncoder

    inbox: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
    read_into(inbox, (caller, *workers), vital=1)
    encoder = TorchEncoder.load(model.folder, model.precision, device=model.device, arithmetic=model.arithmetic)
    encoder.warm_up(compiled=model.compiled)
    while True:
        taken = [inbox.get()]
        batches = [Packed(*taken[0][1][1])]
        while sum(map(len, batches)) < _MOST_TEXTS and not inbox.empty():
            taken.append(inbox.get())
            batches.append(Packed(*taken[-1][1][1]))
        answers = encoder.encode_batch(join(batches), model.top)
        for (worker, (number, _)), part in zip(taken, answers.parts(batches), strict=True):
            with contextlib.suppress(OSError):  # a worker that has gone, of which the caller hears by itself
                send(workers[worker - 1], (number, part.arrays()))

"""The process that runs the model: it takes whatever the workers have sent and answers it in one pass.

Where there is a collection to search it does that as well, in a thread and a queue of the device of their own, so that
neither waits for the other.
"""

from __future__ import annotations

import contextlib
import queue
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from erukg.backends.batch import Packed, join
from erukg.backends.threads import cores
from erukg.gpu.messages import ENCODE, READY, SEARCH, SWITCH, Outbox, ServerStats, fail, read_into
from erukg.gpu.queries import Lists, SearchPlan

if TYPE_CHECKING:
    from erukg.gpu.search import DeviceSearch

__all__ = ["ServerPlan", "serve"]

# Texts of a pass: more gain nothing, and let the workers wait for longer.
_MOST_TEXTS = 768

# The number of a worker and of its chunk, how many texts that has, and what is said of them.
Order: TypeAlias = tuple[int, int, int, Any]
Inbox: TypeAlias = queue.SimpleQueue[Order]


@dataclass(frozen=True, slots=True)
class ServerPlan:
    """Which model is to be run, on what and how; `top` as `TorchBackend.encode_packed` has it.

    With a `search` the server also finds the workers' neighbours, unless its device has too little memory for it.
    """

    folder: Path
    precision: str
    device: str
    arithmetic: str
    compiled: bool = False
    top: int = 0
    search: SearchPlan | None = None


def serve(caller: Connection, outbox: Outbox, workers: Sequence[Connection], plan: ServerPlan) -> None:
    """Answer the workers until the caller has gone; the caller, whatever it sends, gets the `ServerStats` so far."""
    import torch

    from erukg.backends.torch.backend import TorchBackend

    sys.setswitchinterval(SWITCH)
    # The other cores are busy: threads that have to wait for their turn there would make every step wait for them.
    torch.set_num_threads(max(1, cores() - len(workers)) if plan.device.startswith("cpu") else 1)
    stats = ServerStats()
    inboxes: dict[int, Inbox] = {SEARCH: queue.SimpleQueue(), ENCODE: queue.SimpleQueue()}

    def put(who: int, message: Any) -> None:
        if not who:
            outbox.put(stats)
            return
        kind, number, texts, content = message
        inboxes[kind].put((who - 1, number, texts, content))

    read_into(put, (caller, *workers), vital=1)
    backend = TorchBackend.load(plan.folder, plan.precision, device=plan.device, arithmetic=plan.arithmetic)
    backend.warm_up(compiled=plan.compiled)
    search = _open_search(plan)
    stats.on_device = search is not None
    outboxes = [Outbox(worker) for worker in workers]
    for each in outboxes:
        each.put((READY, search is not None))
    if search is not None:
        _start(outbox, partial(_answer_searches, search, plan.device, inboxes[SEARCH], outboxes, stats))
    while True:
        taken = _take(inboxes[ENCODE])
        batches = [Packed(*content) for *_, content in taken]
        start = time.perf_counter()
        encodings = backend.encode_packed(join(batches), plan.top)
        stats.encode_seconds += time.perf_counter() - start
        stats.encoded_texts += len(encodings.vectors)
        stats.passes += 1
        for (worker, number, *_), part in zip(taken, encodings.parts(batches), strict=True):
            # Nothing that a stream gives has the vectors in it, and they are much of the way.
            outboxes[worker].put((ENCODE, number, part.arrays(vectors=False)))


def _open_search(plan: ServerPlan) -> DeviceSearch | None:
    if plan.search is None:
        return None
    import torch

    from erukg.gpu.search import DeviceSearch

    try:
        return DeviceSearch.open(plan.search, torch.device(plan.device))
    except torch.cuda.OutOfMemoryError:  # others may use the device as well
        torch.cuda.empty_cache()
        return None


def _answer_searches(
    search: DeviceSearch, device: str, inbox: Inbox, outboxes: Sequence[Outbox], stats: ServerStats
) -> None:
    import torch

    with torch.cuda.stream(torch.cuda.Stream(device)) if device.startswith("cuda") else contextlib.nullcontext():
        while True:
            taken = _take(inbox)
            batches = [Lists(*content) for *_, content in taken]
            start = time.perf_counter()
            documents, scores = search.search(Lists.join(batches))
            stats.search_seconds += time.perf_counter() - start
            stats.searched_texts += len(scores)
            stats.searches += 1
            row = 0
            for (worker, number, *_), batch in zip(taken, batches, strict=True):
                rows = slice(row, row + len(batch))
                outboxes[worker].put((SEARCH, number, (documents[rows], scores[rows])))
                row += len(batch)


def _take(inbox: Inbox) -> list[Order]:
    """What is there, waiting for something; no more than about `_MOST_TEXTS` texts."""
    taken = [inbox.get()]
    while sum(texts for _, _, texts, _ in taken) < _MOST_TEXTS and not inbox.empty():
        taken.append(inbox.get())
    return taken


def _start(outbox: Outbox, work: Callable[[], None]) -> None:
    """Do it in a thread; an error of it ends the process, as one of the main thread does."""

    def run() -> None:
        try:
            work()
        except BaseException as error:
            fail(outbox, error)

    threading.Thread(target=run, name="erukg-search", daemon=True).start()

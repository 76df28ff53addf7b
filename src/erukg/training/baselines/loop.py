"""Fitting a model of the transformers library: one loop for the baselines that begin from one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from erukg.errors import TrainingError
from erukg.training.baselines.fit import FitOptions, cut_alike, find_device

__all__ = ["Batches", "batches_of", "descend"]

_WARM_UP = 0.04  # of the training
_AHEAD = 6  # batches that are made while one is learned from
_SHOWN_EVERY = 20.0  # seconds
_CLIP = 1.0


class Batches(Protocol):
    """Makes the tensors of a batch of documents."""

    def batch(self, documents: Sequence[int], random: np.random.Generator, progress: float) -> dict[str, Any]: ...


def batches_of(lengths: NDArray[np.int64], size: int, seed: int) -> Iterator[list[int]]:
    """The documents of one batch after another, epoch after epoch; those of a batch are of like lengths."""
    random = np.random.default_rng(seed)
    step = size * 32
    while True:
        order = random.permutation(len(lengths))
        for pool in (order[i : i + step] for i in range(0, len(order), step)):
            parts = cut_alike(pool, lengths, size)
            for place in random.permutation(len(parts)).tolist():
                yield parts[place].tolist()


def descend(
    modules: Sequence[nn.Module],
    made: tuple[Batches, NDArray[np.int64]],
    loss_of: Callable[[dict[str, Any]], torch.Tensor],
    options: FitOptions,
    say: Callable[[str], None] = print,
) -> int:
    """Fit the modules with AdamW for the time or steps of `options`; returns the number of steps.

    `made` are the batches and the lengths of their documents. The learning rate rises, then falls with a cosine. Under
    the same seed a fit by steps on a CPU is repeatable.
    """
    batches, lengths = made
    device = find_device(options.device)
    torch.manual_seed(options.seed)
    for module in modules:
        module.to(device).train()
    weights = [p for module in modules for p in module.parameters() if p.requires_grad]
    optimiser = torch.optim.AdamW(weights, lr=options.learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    documents = batches_of(lengths, options.batch, options.seed)
    began = shown = time.monotonic()
    step, total, count = 0, 0.0, 0
    with ThreadPoolExecutor(4) as pool:

        def ask(number: int, progress: float) -> Future[dict[str, Any]]:
            return pool.submit(batches.batch, next(documents), np.random.default_rng([options.seed, number]), progress)

        asked = [ask(number, 0.0) for number in range(_AHEAD)]
        while (progress := options.progress(step, time.monotonic() - began)) < 1:
            batch = {name: part.to(device, non_blocking=True) for name, part in asked.pop(0).result().items()}
            asked.append(ask(step + _AHEAD, progress))
            rate = min(1.0, (progress + 1e-3) / _WARM_UP) * 0.5 * (1 + math.cos(math.pi * progress))
            for group in optimiser.param_groups:
                group["lr"] = options.learning_rate * rate
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
                loss = loss_of(batch)
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(weights, _CLIP)
            optimiser.step()
            step += 1
            if step % 20 == 0 or step == 1:
                total, count = total + float(loss.detach()), count + 1
                if not math.isfinite(total):
                    raise TrainingError(f"The loss is not a number after {step} steps; give a lower learning rate.")
                if (now := time.monotonic()) - shown > _SHOWN_EVERY:
                    say(f"step {step}, {now - began:.0f} s, loss {total / count:.3f}")
                    shown, total, count = now, 0.0, 0
        for future in asked:
            future.cancel()
    for module in modules:
        module.eval()
    return step

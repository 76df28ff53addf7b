"""What a kind of blow is, and what comes of a blow."""

from __future__ import annotations

import mmap
import random
import struct
import traceback
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from campaign.children import fork
from campaign.samples import Samples

__all__ = ["Batch", "Kind", "Outcome"]


@dataclass(slots=True)
class Outcome:
    """What came of a blow: outcomes in words, each counted; failures; and which points of an operation were struck."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    points: dict[str, dict[str, int]] = field(default_factory=dict)


class Kind(ABC):
    """A kind of blow, set up once for all workers."""

    #: Seconds of a worker's time that it gets, beside the others' shares.
    share = 1.0

    def __init__(self, samples: Samples) -> None:
        self.samples = samples

    @abstractmethod
    def blow(self, rng: random.Random, number: int, scratch: Path) -> Outcome:
        """Strike once, in an empty folder, and check what must hold: an AssertionError is a failure."""


class Batch(Kind):
    """Many quick blows in one child: should it crash or hang, one knows at which.

    only    where it is set, that one of every batch alone
    """

    size = 50
    seconds = 120.0
    only: ClassVar[int | None] = None

    @abstractmethod
    def strike(self, rng: random.Random, scratch: Path) -> str:
        """One of them; a word for what came of it."""

    def enter(self, scratch: Path) -> None:
        """Called in the child before the first of them."""

    def blow(self, rng: random.Random, number: int, scratch: Path) -> Outcome:
        progress = mmap.mmap(-1, 8)
        seeds = [rng.getrandbits(64) for _ in range(self.size)]

        def work() -> tuple[Counter[str], list[str]]:
            counts: Counter[str] = Counter()
            failures = []
            self.enter(scratch)
            for i, seed in enumerate(seeds):
                if Batch.only not in (None, i):
                    continue
                progress[:] = struct.pack("<Q", i)
                try:
                    counts[self.strike(random.Random(seed), scratch)] += 1
                except Exception as error:
                    counts["failed"] += 1
                    failures.append(f"item {i}: {_shown(error)}")
            return counts, failures

        child = fork(work)
        ending = child.wait(self.seconds)
        hung = ending is None
        ending = ending or child.kill()
        if ending.value is not None:
            return Outcome(*ending.value)
        (at,) = struct.unpack("<Q", progress[:])
        what = f"no end within {self.seconds:g} s" if hung else f"the process died with exit code {ending.code}"
        return Outcome(Counter(failed=at + 1), [f"item {at}: {what} {ending.error}"])


def _shown(error: BaseException) -> str:
    frames = "".join(traceback.format_tb(error.__traceback__)[-2:])
    text = f"{type(error).__name__}: {error}"
    return (text if len(text) < 900 else f"{text[:300]} … {text[-600:]}") + "\n" + frames[-500:]


def attempt(blow: Callable[[], Outcome]) -> Outcome:
    """What comes of a blow, a failure of which is an outcome too."""
    try:
        return blow()
    except Exception as error:
        return Outcome(Counter(failed=1), [_shown(error)])

"""What a run measures, and on how much."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from erukg.errors import InputError, did_you_mean

__all__ = ["PARTS", "Plan", "Step", "no_step", "split_names"]

Step: TypeAlias = Callable[[int, int], None]
"""Told how much of one thing is done, and how much there is."""

#: Everything a run can measure, in its order.
PARTS = ("throughput", "stages", "cold", "memory", "length", "cores", "against")


def no_step(done: int, total: int) -> None:
    """Where nobody wants to know."""


def split_names(names: str) -> tuple[str, ...]:
    """Names with commas between them, each once."""
    return tuple(dict.fromkeys(filter(None, map(str.strip, names.split(",")))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The settings of a run; `Plan.quick()` takes under a minute with the bundled model, `Plan.full()` minutes.

    documents   how many built-in documents of `words` words are measured where no others are given
    rounds      how often streams are timed, in turn
    cold_runs   how many processes are started after the first ever one
    streamed    documents of the stream whose memory is measured, and of those on more cores
    paths       files whose documents that stream takes, again and again; none: built-in ones
    lengths     documents of so many words show how time grows
    against     competitors: paper, or a system of `erukg evaluate` such as yake, keybert:FOLDER or
                erukg-extract:model=small
    cores       cores that competitors, and this package beside them, may use
    lucene      jars of a Lucene for the competitor `paper`; without, bm25s stands in
    weights     folder with the same weights for torch, for the competitor `paper`
    tagger      tagger of the competitors that need one: spacy, spacy:NAME or nltk
    """

    mode: str
    documents: int
    words: int = 200
    rounds: int
    cold_runs: int
    streamed: int
    lengths: tuple[int, ...]
    neighbours: tuple[int, ...] = (10, 50, 100, 400)
    top_k: int = 10
    parts: tuple[str, ...] = PARTS
    model: str | None = None
    collection: str | None = None
    no_collection: bool = False
    against: tuple[str, ...] = ()
    cores: int = 1
    lucene: str | None = None
    paths: tuple[str, ...] = ()
    weights: Path | None = None
    tagger: str = "spacy"

    @classmethod
    def quick(cls) -> Plan:
        return cls(mode="quick", documents=40, rounds=2, cold_runs=2, streamed=200, lengths=(100, 1_000, 5_000))

    @classmethod
    def full(cls) -> Plan:
        lengths = (100, 300, 1_000, 3_000, 10_000, 50_000)
        return cls(mode="full", documents=300, rounds=4, cold_runs=5, streamed=5_000, lengths=lengths)

    def with_changes(self, **changes: Any) -> Plan:
        """The same plan with these fields changed, but for those that are None."""
        return dataclasses.replace(self, **{name: value for name, value in changes.items() if value is not None})

    def with_parts(self, names: Sequence[str]) -> Plan:
        """The same plan for some parts only; a name that is none is refused."""
        for name in names:
            if name not in PARTS:
                hint = did_you_mean(name, PARTS, "there are: {known}.")
                raise InputError(f"The benchmark has no part '{name}'; {hint}")
        return dataclasses.replace(self, parts=tuple(part for part in PARTS if part in names))

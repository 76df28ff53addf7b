"""What a model finds of hidden titles, by the product's own ranking, and whether another finds more.

The phrases of a title that its text holds too are what a reader of the text should be shown: they are looked for among
the ten best present phrases, and those of several words that the text lacks among the ten best absent ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.backends.threads import ordered_map
from erukg.core.candidates import find_candidates
from erukg.core.folding import fold
from erukg.core.generator import Generator
from erukg.core.results import Keyphrases
from erukg.research.evaluation.bootstrap import Difference, paired_bootstrap
from erukg.training.ranking.samples import Hidden

__all__ = ["Comparison", "Gain", "Wanted", "compare", "find_all", "wanted_phrases"]

TOP = 10


@dataclass(frozen=True, slots=True)
class Wanted:
    """The folded phrases of a hidden title: those that the text holds, and those that it does not."""

    present: frozenset[str]
    absent: frozenset[str]


@dataclass(frozen=True, slots=True)
class Gain:
    """Shares found before and after, in percent, over how many documents, and the difference with its interval."""

    documents: int
    before: float
    after: float
    difference: Difference

    @property
    def sure(self) -> bool:
        """Whether more is found and chance alone would hardly give it."""
        return self.difference.low > 0

    @property
    def lost(self) -> bool:
        return self.difference.high < 0

    def to_dict(self) -> dict[str, Any]:
        gap = self.difference
        return {
            "documents": self.documents,
            "before": round(self.before, 2),
            "after": round(self.after, 2),
            "difference": round(100 * gap.difference, 2),
            "interval": [round(100 * gap.low, 2), round(100 * gap.high, 2)],
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two models over the same documents; `same` is the share of present phrases that they have in common."""

    present: Gain | None
    absent: Gain | None
    same: float


def wanted_phrases(generator: Generator, hidden: Hidden) -> Wanted:
    """The longest noun phrases of a title, in the context of its text."""
    settings, split = generator.settings.extraction(), len(hidden.title)
    prepared = generator.prepare(f"{hidden.title}\n{hidden.text}", settings)
    tags = generator.backend.encode(prepared.pieces, prepared.terms[:1]).tags
    candidates = find_candidates(prepared.document, tags, settings.max_words)
    spans = {c.fold: [span for span in c.spans if span[1] <= split] for c in candidates}
    inside = {key for key, places in spans.items() if places and all(_covered(p, key, spans) for p in places)}
    titled = [c for c in candidates if spans[c.fold] and c.fold not in inside]
    present = {c.fold for c in titled if c.spans[-1][0] > split}
    absent = {c.fold for c in titled if c.fold not in present and " " in c.fold}
    return Wanted(frozenset(present), frozenset(absent))


def _covered(place: tuple[int, int], key: str, spans: dict[str, list[tuple[int, int]]]) -> bool:
    start, end = place
    return any(
        s <= start and end <= e and (s, e) != place for other, all_ in spans.items() if other != key for s, e in all_
    )


def find_all(
    generator: Generator,
    documents: Sequence[Hidden],
    threads: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> list[Keyphrases]:
    """The phrases of the texts without their titles."""
    found = []
    items = ((hidden.id, hidden.text) for hidden in documents)
    for result in generator.generate_batch(items, TOP, threads=threads):
        found.append(result)
        if on_progress is not None:
            on_progress(len(found))
    return found


def wanted_of_all(generator: Generator, documents: Sequence[Hidden], threads: int | None = None) -> list[Wanted]:
    return list(ordered_map(lambda hidden: wanted_phrases(generator, hidden), documents, threads))


def compare(wanted: Sequence[Wanted], before: Sequence[Keyphrases], after: Sequence[Keyphrases]) -> Comparison:
    """How much of what is wanted each has found."""
    return Comparison(
        _gain(
            [_share(w.present, _folds(r, "present")) for w, r in zip(wanted, before, strict=True)],
            [_share(w.present, _folds(r, "present")) for w, r in zip(wanted, after, strict=True)],
        ),
        _gain(
            [_share(w.absent, _folds(r, "absent")) for w, r in zip(wanted, before, strict=True)],
            [_share(w.absent, _folds(r, "absent")) for w, r in zip(wanted, after, strict=True)],
        )
        if any(r.absent for r in (*before, *after))
        else None,
        _alike(before, after),
    )


def _folds(result: Keyphrases, kind: str) -> set[str]:
    return {fold(form) for k in getattr(result, kind) for form in (k.phrase, *k.variants)}


def _share(wanted: frozenset[str], found: set[str]) -> float:
    return len(wanted & found) / len(wanted) if wanted else float("nan")


def _gain(before: list[float], after: list[float]) -> Gain | None:
    first, second = (np.array(values, np.float64) for values in (after, before))
    counted: NDArray[np.bool_] = ~np.isnan(second)
    if not counted.any():
        return None
    first, second = first[counted], second[counted]
    difference = paired_bootstrap([first], [second], samples=2000)
    return Gain(int(counted.sum()), 100 * float(second.mean()), 100 * float(first.mean()), difference)


def _alike(before: Sequence[Keyphrases], after: Sequence[Keyphrases]) -> float:
    shares = []
    for a, b in zip(before, after, strict=True):
        first, second = ({fold(k.phrase) for k in result.present} for result in (a, b))
        if first or second:
            shares.append(2 * len(first & second) / (len(first) + len(second)))
    return float(np.mean(shares)) if shares else 1.0

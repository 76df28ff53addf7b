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
    """Shares found before and after, over how many documents, and the difference with its interval."""

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
            "before": round(self.before, 6),
            "after": round(self.after, 6),
            "difference": round(gap.difference, 6),
            "interval": [round(gap.low, 6), round(gap.high, 6)],
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two models over the same documents; `same` is the share of present phrases that they have in common."""

    present: Gain | None
    absent: Gain | None
    same: float


def wanted_phrases(generator: Generator, hidden: Hidden) -> Wanted:
    """The longest phrases of a title among those that its text holds, and its longest ones that the text lacks."""
    settings, split = generator.settings.extraction(), len(hidden.title)
    prepared = generator.prepare(f"{hidden.title}\n{hidden.text}", settings)
    tags = generator.backend.encode(prepared.pieces, prepared.terms[:1]).tags
    candidates = find_candidates(prepared.document, tags, settings.max_words)
    titled = {c.fold: [span for span in c.spans if span[1] <= split] for c in candidates}
    titled = {key: spans for key, spans in titled.items() if spans}
    in_text = {c.fold: titled[c.fold] for c in candidates if c.fold in titled and c.spans[-1][0] > split}
    lacking = [key for key in _longest(titled) if key not in in_text and " " in key]
    return Wanted(frozenset(_longest(in_text)), frozenset(lacking))


def _longest(phrases: dict[str, list[tuple[int, int]]]) -> list[str]:
    """Those of the phrases, given with their places, that somewhere stand in no longer one."""
    places = {place for spans in phrases.values() for place in spans}

    def alone(start: int, end: int) -> bool:
        return not any(s <= start and end <= e and (s, e) != (start, end) for s, e in places)

    return [key for key, spans in phrases.items() if any(alone(*span) for span in spans)]


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
    return Gain(int(counted.sum()), float(second.mean()), float(first.mean()), difference)


def _alike(before: Sequence[Keyphrases], after: Sequence[Keyphrases]) -> float:
    shares = []
    for a, b in zip(before, after, strict=True):
        first, second = ({fold(k.phrase) for k in result.present} for result in (a, b))
        if first or second:
            shares.append(2 * len(first & second) / (len(first) + len(second)))
    return float(np.mean(shares)) if shares else 1.0

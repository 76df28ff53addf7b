"""Where phrases stand in a text: every whole-word occurrence, also inside a longer noun phrase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from erukg.document import Document
from erukg.folding import hash_runs
from erukg.phrases import Candidates, occurrences, words_before

__all__ = ["Located", "locate", "locate_candidates", "run_hashes"]

# No phrase of a glossary or thesaurus is matched in a text beyond this many words.
_LONGEST = 8


@dataclass(frozen=True, slots=True)
class Located:
    """A phrase found in the text: its form most used there, all its spans, and P_x(c), the words before the first."""

    form: str
    spans: tuple[tuple[int, int], ...]
    words_before: int


def locate(document: Document, folds: Sequence[str]) -> list[Located | None]:
    """Each folded phrase's place in the text, None where it does not occur."""
    spans = occurrences(document, folds)
    found = [s for s in spans if s]
    before = iter(words_before(document, [s[0][0] for s in found]).tolist())
    forms = iter(_forms(document, found))
    return [Located(next(forms), s, next(before)) if s else None for s in spans]


def locate_candidates(document: Document, candidates: Candidates) -> Candidates:
    """Candidates with the spans, form and position of all their occurrences instead of those as a noun phrase."""
    places = locate(document, candidates.folds)
    rows = list(zip(candidates.forms, candidates.spans, candidates.positions.tolist(), places, strict=True))
    return replace(
        candidates,
        forms=tuple(form if place is None else place.form for form, _, _, place in rows),
        spans=tuple(spans if place is None else place.spans for _, spans, _, place in rows),
        positions=np.array([p if place is None else place.words_before for _, _, p, place in rows], np.int64),
    )


def run_hashes(document: Document) -> NDArray[np.uint64]:
    """Fold hashes of all runs of words in the text: a phrase whose hash is not among them does not occur."""
    tokens = [token for word in document.folded for token in word.split()]
    return hash_runs(tokens, _LONGEST).ravel()


def _forms(document: Document, places: Sequence[tuple[tuple[int, int], ...]]) -> list[str]:
    """For each list of spans the commonest surface at them; of equally common ones the first."""
    first = np.searchsorted(document.starts, [a for spans in places for a, _ in spans]).tolist()
    last = np.searchsorted(document.ends, [b for spans in places for _, b in spans]).tolist()
    surfaces = iter([" ".join(document.words[i : j + 1]) for i, j in zip(first, last, strict=True)])
    forms = []
    for spans in places:
        here = [next(surfaces) for _ in spans]
        forms.append(here[0] if len(here) == 1 else Counter(here).most_common(1)[0][0])
    return forms

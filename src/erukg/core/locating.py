"""Where phrases stand in a text: every whole-word occurrence, also inside a longer noun phrase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from erukg.core.candidates import Candidates, commonest, word_ranges
from erukg.core.document import Document
from erukg.core.hashing import in_runs

__all__ = ["Located", "locate", "locate_candidates", "may_hold"]

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
    forms, spans, before = _places(document, folds)
    return [Located(f, s, b) if s else None for f, s, b in zip(forms, spans, before, strict=True)]


def locate_candidates(document: Document, candidates: Candidates) -> Candidates:
    """Candidates with the spans, form and position of all their occurrences instead of those as a noun phrase."""
    forms, spans, before = _places(document, candidates.folds)
    if not all(spans):
        forms = [new or old for new, old in zip(forms, candidates.forms, strict=True)]
        positions = candidates.positions.tolist()
        before = [b if s else old for b, s, old in zip(before, spans, positions, strict=True)]
        spans = [new or old for new, old in zip(spans, candidates.spans, strict=True)]
    return replace(candidates, forms=tuple(forms), spans=tuple(spans), positions=np.array(before, np.int64))


def may_hold(document: Document, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the phrases with these fold hashes can occur in the text; nearly all of those then do."""
    return in_runs(document.layout.tokens, _LONGEST, hashes)


def _places(document: Document, folds: Sequence[str]) -> tuple[list[str], list[tuple[tuple[int, int], ...]], list[int]]:
    """Form, spans and words before of each phrase; an empty form and no spans where it does not occur."""
    layout, words = document.layout, document.words
    starts, ends, first, last, ahead = layout.starts, layout.ends, layout.first, layout.last, layout.ahead
    forms: list[str] = []
    spans: list[tuple[tuple[int, int], ...]] = []
    before: list[int] = []
    for ranges in word_ranges(document, folds):
        if len(ranges) == 1:
            ((i, j),) = ranges
            forms.append(" ".join(words[first[i] : last[j] + 1]))
            spans.append(((starts[i], ends[j]),))
            before.append(ahead[i])
        elif ranges:
            here = [" ".join(words[first[i] : last[j] + 1]) for i, j in ranges]
            forms.append(commonest(here))
            spans.append(tuple([(starts[i], ends[j]) for i, j in ranges]))
            before.append(ahead[ranges[0][0]])
        else:
            forms.append("")
            spans.append(())
            before.append(0)
    return forms, spans, before

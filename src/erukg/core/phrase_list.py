"""Phrases that a caller brings, prepared once and ranked against many texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from erukg.core.backend import Backend
from erukg.core.folding import fold
from erukg.core.hashing import hash_phrases
from erukg.core.neighbours import Terms
from erukg.errors import InputError

__all__ = ["PhraseList", "natural_order"]


@dataclass(frozen=True, slots=True)
class PhraseList:
    """A thesaurus or tag list ready for `KeyphraseGenerator.rank`.

    Phrases that fold to the same one are kept once, in their first form; those that fold to nothing are left out.
    Inverted headings fold as they are read: "Fractures, Hip" as "hip fractures". `vocabulary` is which word pieces
    occur at all.
    """

    forms: tuple[str, ...]
    folds: tuple[str, ...]
    hashes: NDArray[np.uint64]
    terms: Terms
    vocabulary: NDArray[np.int32]

    @classmethod
    def of(cls, phrases: Sequence[str], backend: Backend) -> PhraseList:
        first: dict[str, str] = {}
        for phrase in phrases:
            if not isinstance(phrase, str):
                raise InputError(f"A phrase must be a string, not {type(phrase).__name__}.")
            if key := fold(natural_order(phrase)):
                first.setdefault(key, " ".join(phrase.split()))
        terms = backend.phrase_terms([form.lower() for form in first.values()])
        return cls(
            forms=tuple(first.values()),
            folds=tuple(first),
            hashes=hash_phrases(list(first)),
            terms=terms,
            vocabulary=np.unique(terms.ids),
        )


def natural_order(heading: str) -> str:
    """An inverted heading as one reads it: "Renal failure, Acute" is "Acute Renal failure"; others as they are."""
    parts = [part.strip() for part in heading.split(",")]
    return f"{parts[1]} {parts[0]}" if len(parts) == 2 and all(parts) else heading

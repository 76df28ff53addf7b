"""Phrases that a caller brings, prepared once and ranked against many texts."""

from __future__ import annotations

import re
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

_COMMA = re.compile(r",(?=\s)")
_LIST = re.compile(r"(?:and|or|&)\s", re.IGNORECASE)
_JOINED = re.compile(r"\s(?:and|or|&)\s", re.IGNORECASE)
_PREPOSITION = re.compile(r"(?:as|by|for|from|in|of|on|to|with|without)\s", re.IGNORECASE)


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
    """An inverted heading as one reads it: "Leukemia, Myeloid, Acute" is "Acute Myeloid Leukemia"; others as they are.

    A part such as "of Infants" stays at the end. Lists ("Exit, voice, and loyalty") and the commas of chemical names
    ("1,2-Dichloroethane") are left alone.
    """
    parts = [part.strip() for part in _COMMA.split(heading)]
    if len(parts) < 2 or not all(parts) or _LIST.match(parts[-1]) or (len(parts) > 2 and _JOINED.search(parts[-1])):
        return heading
    last = [part for part in parts[1:] if _PREPOSITION.match(part)]
    first = [part for part in parts[1:] if not _PREPOSITION.match(part)]
    return " ".join((*reversed(first), parts[0], *last))

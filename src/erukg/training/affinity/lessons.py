"""Texts with phrases of their own and of their neighbours, and how near a large sentence encoder finds each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.core.scoring import top_neighbour_candidates
from erukg.generator import KeyphraseGenerator
from erukg.training.folders import claim_work
from erukg.training.kept_parts import kept_parts

__all__ = ["PIECES", "Encode", "Lessons", "gather_lessons"]

#: What a sentence encoder says of texts: a row of length one for each.
Encode: TypeAlias = Callable[[Sequence[str]], NDArray[np.float32]]

#: Longer phrases lose their last word pieces.
PIECES = 8
_PART = 100
_FORMAT = "erukg-affinity-lessons"
_OWN, _OTHERS = 24, 18


@dataclass(frozen=True, slots=True)
class Lessons:
    """What is learned from.

    vectors  the model's vector of each text
    owners   the text that each phrase is compared with, ascending
    pieces   the word pieces of each phrase, -1 where it has no more
    near     how near the teacher finds it
    """

    vectors: NDArray[np.float32]
    owners: NDArray[np.int64]
    pieces: NDArray[np.int32]
    near: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.vectors)


def gather_lessons(
    texts: Sequence[str],
    generator: KeyphraseGenerator,
    teacher: Encode,
    work: Path,
    key: str,
    on_progress: Callable[[int], None] | None = None,
) -> Lessons:
    """The lessons of these texts, in the folder `work` part by part, from which the same call goes on."""
    claim_work(work, _FORMAT, key, "holds lessons of other files or options; remove it or give another folder.")
    width = _length_of(generator)
    # A row for each phrase, and in front of those of a text one with its vector.
    columns = max(width, PIECES + 1) + 1

    def make(some: Sequence[str]) -> NDArray[np.float32]:
        rows = [_rows(text, generator, teacher, columns) for text in some]
        return np.concatenate([np.empty((0, columns), np.float32), *rows])

    table = np.concatenate(
        [np.empty((0, columns), np.float32), *kept_parts(texts, work, _PART, make, columns, on_progress)]
    )
    begins = table[:, 0] > 0
    phrases = table[~begins]
    return Lessons(
        table[begins, 1 : width + 1],
        (np.cumsum(begins) - 1)[~begins],
        phrases[:, 2 : PIECES + 2].astype(np.int32),
        phrases[:, 1],
    )


def _length_of(generator: KeyphraseGenerator) -> int:
    pieces = generator.backend.pieces(["word"])
    return len(generator.backend.encode(pieces, np.empty(0, np.int32)).vector)


def _rows(text: str, generator: KeyphraseGenerator, teacher: Encode, columns: int) -> NDArray[np.float32]:
    backend = generator.backend
    prepared = generator.prepare(text, generator.settings)
    phrases = list(dict.fromkeys([*_own(text, generator), *_neighbours(prepared.neighbourhood.phrase_ids, generator)]))
    if not phrases:
        return np.empty((0, columns), np.float32)
    vectors = teacher([text, *phrases])
    out = np.full((len(phrases) + 1, columns), -1, np.float32)
    out[0, 0] = 1
    vector = backend.encode(prepared.pieces, np.empty(0, np.int32)).vector
    out[0, 1 : len(vector) + 1] = vector
    out[1:, 1] = vectors[1:] @ vectors[0]
    terms = backend.phrase_terms(phrases)
    for k in range(len(phrases)):
        ids = terms.ids[terms.indptr[k] : terms.indptr[k + 1]][:PIECES]
        out[k + 1, 2 : len(ids) + 2] = ids
    return out


def _own(text: str, generator: KeyphraseGenerator) -> list[str]:
    return [k.phrase.lower() for k in generator.extract(text, _OWN).present]


def _neighbours(ids: NDArray[np.int64], generator: KeyphraseGenerator) -> list[str]:
    """Phrases of similar documents: those that most have, and as many from all over the others."""
    if generator.background is None or not len(ids):
        return []
    glossary = generator.background.glossary
    # Their numbers are in no order of meaning, so that every so many are as good as drawn by chance.
    counts = glossary.counts(ids).astype(np.float64)
    best = top_neighbour_candidates(counts, _OTHERS // 2)
    spread = np.arange(0, len(ids), max(1, len(ids) // (_OTHERS // 2)))
    return glossary.phrases(np.unique(ids[np.union1d(best, spread)]))

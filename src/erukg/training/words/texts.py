"""What a tagger of words is learned from: texts, and the class that another tagger or a person gives to each word."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erukg.backends.threads import ordered_map
from erukg.backends.word_tagger import TRAITS, traits_of
from erukg.core.document import Document
from erukg.core.inputs import BadDocument, InputDocument
from erukg.training.folders import claim_work
from erukg.training.kept_parts import kept_parts
from erukg.training.ranking.samples import draw
from erukg.training.words.conllu import read_conllu

__all__ = ["Classify", "TaggedTexts", "drawn_texts", "hand_tagged", "tag_texts"]

Classify = Callable[[Sequence[str]], NDArray[np.int8]]
"""The class of each word of a text, by the tagger that is learned from."""

_FORMAT = "erukg-tagger-texts"
# Texts of a part: what is lost when the program is killed.
_PART = 512
_LONGEST = 1200  # words of a text
_COLUMNS = TRAITS + 2


@dataclass(frozen=True, slots=True)
class TaggedTexts:
    """Texts end to end: text i has the words from offsets[i] to offsets[i + 1]."""

    traits: NDArray[np.int16]
    classes: NDArray[np.int8]
    offsets: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.offsets) - 1


def drawn_texts(
    rows: Iterable[InputDocument | BadDocument],
    limit: int,
    seed: int,
    on_bad: Callable[[BadDocument], None] | None = None,
) -> tuple[list[str], int]:
    """`limit` texts drawn by `seed`, each once, and how many could not be read."""
    drawn: list[tuple[int, str]] = []
    seen: set[int] = set()
    bad = 0
    for row in rows:
        if isinstance(row, BadDocument):
            bad += 1
            if on_bad is not None:
                on_bad(row)
            continue
        number = draw(seed, row.text)
        if number in seen or not row.text.strip():
            continue
        seen.add(number)
        (heapq.heappush if len(drawn) < limit else heapq.heappushpop)(drawn, (-number, row.text))
    return [text for _, text in sorted(drawn, reverse=True)], bad


def tag_texts(
    texts: Sequence[str],
    classify: Classify,
    work: Path,
    key: str,
    threads: int | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> TaggedTexts:
    """The texts as they are learned from, in the folder `work` part by part, from which the same call goes on.

    `on_progress` is told how many are done, and of how many.
    """
    claim_work(work, _FORMAT, key, "holds texts of other files or options; remove it or give another folder.")

    def make(some: Sequence[str]) -> NDArray[np.int16]:
        tagged = ordered_map(lambda text: _tagged(text, classify), some, threads)
        return np.concatenate([np.empty((0, _COLUMNS), np.int16), *tagged])

    tell = None if on_progress is None else lambda done: on_progress(done, len(texts))
    parts = kept_parts(texts, work, _PART, make, _COLUMNS, tell)
    return _end_to_end(parts)


def hand_tagged(path: str | Path, seed: int) -> TaggedTexts:
    """The texts of a CoNLL-U file, in an order drawn by `seed`."""
    texts = sorted(read_conllu(path), key=lambda text: draw(seed, " ".join(text.words)))
    return _end_to_end([_table(text.words, text.classes) for text in texts])


def _end_to_end(tables: Iterable[NDArray[np.int16]]) -> TaggedTexts:
    table = np.concatenate([np.empty((0, _COLUMNS), np.int16), *tables])
    begins = np.flatnonzero(table[:, -1])
    return TaggedTexts(table[:, :TRAITS], table[:, TRAITS].astype(np.int8), np.append(begins, len(table)))


def _tagged(text: str, classify: Classify) -> NDArray[np.int16]:
    words = Document.parse(text).words[:_LONGEST]
    return _table(words, classify(words) if words else np.empty(0, np.int8))


def _table(words: Sequence[str], classes: NDArray[np.int8]) -> NDArray[np.int16]:
    """A row for each word: its traits, its class, and whether the text begins there."""
    table = np.zeros((len(words), _COLUMNS), np.int16)
    if words:
        table[:, :TRAITS] = [traits_of(word) for word in words]
        table[:, TRAITS] = classes
        table[0, -1] = 1
    return table

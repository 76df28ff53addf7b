"""A phrase bank: the noun phrases of a corpus, how many documents hold each, and which of them a text has words for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import stem_words
from erukg.errors import ModelError
from erukg.io.publish import publish_text

__all__ = ["LONGEST", "PhraseBank", "stemmed"]

LONGEST = 5
"""Words of the longest phrase in a bank."""
_FORMAT = "erukg-phrase-bank"
_LARGEST = 1 << 28


def stemmed(words: Sequence[str]) -> tuple[str, ...]:
    """The stems of lower-case words."""
    return tuple(stem_words(words))


@dataclass(frozen=True, eq=False)
class PhraseBank:
    """Phrases of up to five words, most frequent first: their words, and the number of documents with each.

    `total` is how many documents the corpus has.
    """

    phrases: tuple[tuple[str, ...], ...]
    counts: NDArray[np.int64]
    total: int

    @classmethod
    def of(cls, counts: Mapping[tuple[str, ...], int], total: int, least: int = 3) -> PhraseBank:
        """The phrases that at least so many documents have; of those with equal stems the most frequent stays."""
        order = sorted((phrase for phrase, n in counts.items() if n >= least), key=lambda p: (-counts[p], p))
        kept: dict[tuple[str, ...], tuple[str, ...]] = {}
        for phrase in order:
            if len(phrase) <= LONGEST:
                kept.setdefault(stemmed(phrase), phrase)
        phrases = tuple(kept.values())
        return cls(phrases, np.array([counts[phrase] for phrase in phrases], np.int64), total)

    def __len__(self) -> int:
        return len(self.phrases)

    def number(self, stems: tuple[str, ...]) -> int:
        """The number of the phrase with these stems, or -1."""
        return self._keys.get(stems, -1)

    def matching(self, stems: Iterable[str]) -> NDArray[np.int64]:
        """The numbers of all phrases that are made of words with these stems, in whatever order."""
        known = [number for stem in set(stems) if (number := self._numbers.get(stem)) is not None]
        _, table, starts, by_rarest = self._index
        here = np.zeros(len(starts), np.bool_)
        here[known] = True
        here[-1] = True
        lists = [by_rarest[starts[number] : starts[number + 1]] for number in known]
        candidates = np.concatenate(lists) if lists else np.zeros(0, np.int64)
        return np.sort(candidates[here[table[candidates]].all(1)])

    @cached_property
    def stems(self) -> list[tuple[str, ...]]:
        """The stems of each phrase."""
        return [stemmed(phrase) for phrase in self.phrases]

    @cached_property
    def _keys(self) -> dict[tuple[str, ...], int]:
        return {stems: number for number, stems in enumerate(self.stems)}

    @property
    def _numbers(self) -> dict[str, int]:
        return self._index[0]

    @cached_property
    def _index(self) -> tuple[dict[str, int], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """Stems by number; the stems of each phrase; phrases by their rarest stem, and where each stem's begin.

        A phrase is looked up by one of its stems only, so that a text's many common words cost nothing.
        """
        numbers: dict[str, int] = {}
        rows = [[numbers.setdefault(stem, len(numbers)) for stem in phrase] for phrase in self.stems]
        # One more number stands for the words that shorter phrases do not have; every text has it.
        table = np.full((len(rows), LONGEST), len(numbers), np.int32)
        for row, phrase in enumerate(rows):
            table[row, : len(phrase)] = phrase
        uses = np.bincount(table.ravel(), minlength=len(numbers) + 1)
        rarest = table[np.arange(len(rows)), uses[table].argmin(1)] if len(rows) else np.zeros(0, np.int32)
        by_rarest = np.argsort(rarest, kind="stable")
        starts = np.searchsorted(rarest[by_rarest], np.arange(len(numbers) + 1))
        return numbers, table, starts, by_rarest

    def save(self, file: Path) -> None:
        """Write the bank as text: a line about it, then one phrase a line with its count."""
        lines = [f"{_FORMAT}\t{self.total}"]
        lines += [f"{count}\t{' '.join(phrase)}" for phrase, count in zip(self.phrases, self.counts, strict=True)]
        publish_text(file, "\n".join(lines) + "\n")

    @classmethod
    def load(cls, file: Path) -> PhraseBank:
        """Read a bank that `save` wrote."""
        try:
            if file.stat().st_size > _LARGEST:
                raise ModelError(f"{file} is too large to be a phrase bank.")
            lines = file.read_text("utf-8").splitlines()
        except OSError as error:
            raise ModelError(
                f"{file} cannot be read ({error.strerror}); give a folder written by: erukg train baseline."
            ) from error
        except UnicodeDecodeError as error:
            raise ModelError(f"{file} is not UTF-8 text; copy the model again.") from error
        rows = [line.split("\t") for line in lines]
        head, body = rows[:1], rows[1:]
        if not head or len(head[0]) != 2 or head[0][0] != _FORMAT or not _is_count(head[0][1]):
            raise ModelError(f"{file} is not a phrase bank; copy the model again.")
        for number, row in enumerate(body, 2):
            if len(row) != 2 or not _is_count(row[0]) or not 1 <= len(row[1].split()) <= LONGEST:
                raise ModelError(f"{file}, line {number} is not a count and a phrase; copy the model again.")
        return cls(tuple(tuple(row[1].split()) for row in body), _array(row[0] for row in body), int(head[0][1]))


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and 0 < len(text) < 16


def _array(counts: Iterable[str]) -> NDArray[np.int64]:
    return np.array([int(count) for count in counts], np.int64)

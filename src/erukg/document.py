"""Document: the words of a text, where they stand in it, and which of them may form phrases."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from erukg.folding import fold, fold_word
from erukg.text.lines import Lines, uniform
from erukg.text.markup import clean
from erukg.text.words import GAP, MARK, NEWLINE, STAND_INS, TOKEN, WORD, normalise, presentable

__all__ = ["Document"]


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """A text split into words; every offset indexes the text as it was given.

    text     the caller's string, untouched
    words    the clean surface of each word, case kept; punctuation marks are words too
    starts   word i stands at `text[starts[i]:ends[i]]`
    ends
    breaks   no phrase may hold both word i-1 and word i: a sentence, clause, line, cell or bullet ends there
    usable   whether word i may be part of a phrase: punctuation, formulas, addresses and table rows may not
    """

    text: str
    words: tuple[str, ...]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    breaks: NDArray[np.bool_]
    usable: NDArray[np.bool_]
    _folded: list[tuple[str, ...]] = field(default_factory=list, init=False, repr=False)

    @classmethod
    def parse(cls, text: str) -> Document:
        """Split a text into words. A title and its abstract are given as "title", a newline, "abstract"."""
        cleaned = clean(uniform(text))
        source = cleaned.text
        lines = Lines(source)
        words: list[str] = []
        spans: list[tuple[int, int]] = []
        breaks: list[bool] = []
        usable: list[bool] = []
        rows: list[int] = []
        row = 0
        broken = True
        for match in TOKEN.finditer(source):
            kind = match.lastindex
            if kind == NEWLINE:
                newlines = match.group().count("\n")
                broken = broken or newlines > 1 or not lines.wraps(row)
                row += newlines
            elif kind == GAP:
                broken = True
            else:
                good = kind == WORD
                word = match.group()
                words.append(word if good or kind == MARK else STAND_INS[word])
                spans.append(match.span())
                breaks.append(broken or not good)
                usable.append(good)
                rows.append(row)
                broken = not good
        if not source.isascii():
            words = [word if word.isascii() else normalise(word) for word in words]
        if "_" in source:
            words = [word.strip("_") or word for word in words]
        fit = np.array([good and presentable(word) for good, word in zip(usable, words, strict=True)], np.bool_)
        if row > 1:
            fit &= lines.prose(words, np.array(rows, np.int64))
        starts, ends = cleaned.original(*np.array(spans, np.int64).reshape(-1, 2).T)
        return cls(
            text=text,
            words=tuple(words),
            starts=starts.astype(np.int32),
            ends=ends.astype(np.int32),
            breaks=np.array(breaks, np.bool_),
            usable=fit,
        )

    @property
    def folded(self) -> tuple[str, ...]:
        """`fold(words[i])` of each word; it may hold spaces ("peer to peer") or be empty."""
        if not self._folded:
            self._folded.append(
                tuple(
                    fold_word(word.lower()) if word.isascii() and word.isalpha() else fold(word) for word in self.words
                )
            )
        return self._folded[0]

    def __len__(self) -> int:
        return len(self.words)

"""Document: the words of a text, where they stand in it, and which of them may form phrases."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from erukg.core.arguments import checked
from erukg.core.folding import fold_words
from erukg.core.hashing import hash_runs
from erukg.core.layout import Layout
from erukg.core.text.joints import AMPERSAND, dotted, joins_names
from erukg.core.text.lines import Lines, uniform
from erukg.core.text.markup import clean
from erukg.core.text.words import ASCII_TOKEN, GAP, MARK, NEWLINE, STAND_INS, TOKEN, WORD, normalise, presentable

__all__ = ["LONGEST_RUN", "QUERY_WORDS", "Document"]

#: A text of no more words is a query: its phrases follow one another without a word between them.
QUERY_WORDS = 12

#: No phrase of a glossary or thesaurus is matched in a text beyond this many words.
LONGEST_RUN = 8

_LONGEST_TITLE = 300  # characters

_presentable = lru_cache(maxsize=1 << 13)(presentable)


@dataclass(frozen=True, eq=False)
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

    @classmethod
    @checked
    def parse(cls, text: str) -> Document:
        """Split a text into words. A title and its abstract are given as "title", a newline, "abstract"."""
        cleaned = clean(uniform(text))
        source = cleaned.text
        lines = Lines(source)
        words: list[str] = []
        begins: list[int] = []
        breaks: list[bool] = []
        usable: list[bool] = []
        turns = [0]  # how many words stand before each end of a line
        broken = True
        pattern = ASCII_TOKEN if source.isascii() else TOKEN
        for match in pattern.finditer(source):
            kind = match.lastindex
            if kind == WORD:
                words.append(match[0])
                begins.append(match.start())
                breaks.append(broken)
                usable.append(True)
                broken = False
            elif kind == NEWLINE:
                newlines = match[0].count("\n")
                broken = broken or newlines > 1 or not lines.wraps(len(turns) - 1)
                turns += [len(words)] * newlines
            elif kind == GAP:
                broken = True
            elif match[0] == "." and not broken and dotted(words, begins[-1], breaks[-1], match):
                words[-1] += "."
            elif match[0] == AMPERSAND and not broken and joins_names(words[-1], match):
                words.append(AMPERSAND)
                begins.append(match.start())
                breaks.append(False)
                usable.append(True)
            else:
                words.append(match[0] if kind == MARK else STAND_INS[match[0]])
                begins.append(match.start())
                breaks.append(True)
                usable.append(False)
                broken = True
        # What stands in for a formula is as long as its sign.
        lengths = np.fromiter(map(len, words), np.int64, len(words))
        if not source.isascii():
            words = [word if word.isascii() else normalise(word) for word in words]
        if "_" in source:
            words = [word.strip("_") or word for word in words]
        fit = np.array(
            [
                good and ((len(word) <= 10 and word.isalpha()) or word == AMPERSAND or _presentable(word))
                for good, word in zip(usable, words, strict=True)
            ],
            np.bool_,
        )
        if len(turns) > 2:
            rows = np.searchsorted(np.array(turns[1:]), np.arange(len(words)), side="right")
            fit &= lines.prose(words, rows)
        first = np.array(begins, np.int64)
        starts, ends = cleaned.original(first, first + lengths)
        return cls(
            text=text,
            words=tuple(words),
            starts=starts.astype(np.int32),
            ends=ends.astype(np.int32),
            breaks=np.array(breaks, np.bool_),
            usable=fit,
        )

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """`fold(words[i])` of each word; it may hold spaces ("peer to peer") or be empty."""
        return fold_words(self.words)

    @cached_property
    def layout(self) -> Layout:
        """Where the folded words lie, for looking phrases up."""
        return Layout.of(self.words, self.folded, self.starts, self.ends, self.breaks, self.usable)

    @cached_property
    def run_hashes(self) -> NDArray[np.uint64]:
        """The hashes of all runs of up to `LONGEST_RUN` folded words (`erukg.core.hashing.hash_runs`)."""
        return hash_runs(self.layout.tokens, LONGEST_RUN)

    @cached_property
    def title(self) -> str:
        """The first line of a text that has more of them; empty where that is too long for a title."""
        end = self.text.find("\n")
        return self.text[:end] if 0 < end <= _LONGEST_TITLE and self.text[end:].strip() else ""

    @property
    def is_query(self) -> bool:
        return len(self.words) <= QUERY_WORDS

    def __len__(self) -> int:
        return len(self.words)

"""Which ends of lines end a phrase, and which lines hold no prose at all."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
from numpy.typing import NDArray

__all__ = ["Lines", "uniform"]

_NARROWEST, _WIDEST = 40, 200  # characters a line of hard-wrapped prose may be set to
_LIST_ITEM = re.compile(r"[-*+\u2022\u2023\u25aa\u25cf\u25e6\u00b7>#|]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]\s")
_FURNITURE = re.compile(
    r"(?:page\s+)?\d{1,4}(?:\s*(?:of|/)\s*\d{1,4})?$|page\s+\d{1,4}\b"
    r"|(?:copyright|\(c\)|\u00a9)\W{0,3}(?:\(c\)|\u00a9)?\W{0,3}(?:19|20)\d\d|(?:e-?)?is[sb]n\W{1,3}\d",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+")
_NUMERIC = re.compile(r"[\d.,%/:\u2013-]{1,30}(?<=\d)")
_OTHER_ENDS = re.compile(r"[\r\x0b\x0c\x85\u2028\u2029]")
_MANY_LINES, _REPEATS = 20, 3
_SPEAKER = re.compile(r"([^\W\d_][\w&.'\u2019-]*(?: [\w&.'\u2019-]+){0,2}) ?:(?=\s)")


def uniform(text: str) -> str:
    """The text, of the same length, with a newline as its only line end."""
    if _OTHER_ENDS.search(text):
        text = _OTHER_ENDS.sub("\n", text.replace("\r\n", " \n"))
    return text


class Lines:
    """The lines of a text whose only line ends are newlines."""

    def __init__(self, text: str) -> None:
        self._lines = [line.strip() for line in text.split("\n")]
        lengths = sorted(len(line) for line in self._lines if line)
        # A tenth of the lines may be longer than the rest is set to: titles, addresses.
        width = lengths[-1 - len(lengths) // 10] if lengths else 0
        self._width = width if len(lengths) > 2 and _NARROWEST <= width <= _WIDEST else 0
        self._first = next((i for i, line in enumerate(self._lines) if line), 0)

    def wraps(self, number: int) -> bool:
        """Whether prose runs on from line `number` to the next.

        A wrapped line ends where the next word no longer fitted. The first line is often a title, whose end
        nothing else marks, so there a capital letter is enough to part the lines.
        """
        if not self._width:
            return False
        line, following = self._lines[number], self._lines[number + 1]
        if not line or not following or len(line) > 1.3 * self._width or _LIST_ITEM.match(following):
            return False
        needed = len(line) + 1 + len(following.split(None, 1)[0])
        if needed > self._width:
            return number > self._first or not following[0].isupper()
        # Proportional type wraps a little earlier or later than a count of characters says.
        return needed > 0.75 * self._width and following[0].islower()

    def prose(self, words: list[str], rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which words, standing on these lines, are on lines of prose."""
        good = ~(self._furniture() | _tables(words, rows, len(self._lines)))[rows]
        if (spoken := self._speakers()).any():
            # The place of each word in its line.
            place = np.arange(len(words)) - np.searchsorted(rows, rows)
            good &= place >= spoken[rows]
        return good

    def _speakers(self) -> NDArray[np.int64]:
        """How many words of each line say who speaks: "Agent: …", on several lines."""
        found = [_SPEAKER.match(line) for line in self._lines]
        labels = [match[1] if match else "" for match in found]
        counts = Counter(labels)
        return np.array([len(label.split()) if label and counts[label] > 1 else 0 for label in labels])

    def _furniture(self) -> NDArray[np.bool_]:
        """Which lines are page numbers, running heads and notices."""
        short = [line if len(line) <= 120 else "" for line in self._lines]
        shapes = [_DIGITS.sub("0", line) for line in short]
        counts = Counter(shapes) if len(shapes) > _MANY_LINES else Counter()
        return np.array(
            [
                bool(line) and (bool(_FURNITURE.match(line)) or (counts[shape] >= _REPEATS and " " in shape))
                for line, shape in zip(short, shapes, strict=True)
            ]
        )


def _tables(words: list[str], rows: NDArray[np.int64], n: int) -> NDArray[np.bool_]:
    """Which lines are rows of a table: of their words, three or more, at least half are numbers."""
    numeric = np.array([not word.isalpha() and _NUMERIC.fullmatch(word) is not None for word in words])
    worded = np.array([word.isalpha() or any(map(str.isalnum, word)) for word in words])
    counts = np.bincount(rows, worded, n)
    return (counts >= 3) & (2 * np.bincount(rows, numeric, n) >= counts)

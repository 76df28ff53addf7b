"""Texts whose words people have tagged (CoNLL-U with Penn tags), as a tagger of words learns from them.

The text is put together again and split as every text is, so that the words are the product's own; each has the class
of the tokens that it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erukg.core.document import Document
from erukg.core.word_classes import ADJECTIVE, GERUND, NAMING, NOUN, OTHER, PARTICIPLE, penn_class
from erukg.errors import InputError
from erukg.io.objects import numbered_lines

__all__ = ["HandTagged", "read_conllu"]

_COLUMNS = 10
_FORM, _TAG, _MISC = 1, 4, 9
_PLACE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")
_JOINTS = ("HYPH", "SYM", ":", ",", ".", "NFP")


@dataclass(frozen=True, slots=True)
class HandTagged:
    """The words of a text and the class of each."""

    words: Sequence[str]
    classes: NDArray[np.int8]


@dataclass(slots=True)
class _Text:
    """A text while it is read: its characters, and where each token begins and ends in them."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    spans: list[tuple[int, int]] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)

    def add(self, form: str) -> tuple[int, int]:
        start = self.length
        self.parts.append(form)
        self.length += len(form)
        return start, self.length

    def token(self, span: tuple[int, int], tag: str) -> None:
        self.spans.append(span)
        self.tags.append(tag)


def read_conllu(path: str | Path) -> Iterator[HandTagged]:
    """The texts of a CoNLL-U file, with Penn tags in the column XPOS; one for every `# newdoc`."""
    text = _Text()
    joined, left, span = 0, 0, (0, 0)  # tokens that are one word in print: how many, their place in it
    gap = ""
    for number, line in numbered_lines(Path(path)):
        if not line.strip():
            left = 0  # a sentence ends, whatever was said of its words
            continue
        if line.startswith("#"):
            if line.startswith("# newdoc"):
                yield from _told(text)
                text, gap = _Text(), ""
            elif line.startswith("# newpar"):
                gap = "\n\n"
            continue
        row = line.rstrip("\n").split("\t")
        if len(row) != _COLUMNS:
            raise InputError(f"{path}, line {number}: a line of CoNLL-U has {_COLUMNS} columns, not {len(row)}.")
        if "." in row[0]:
            continue
        place = _PLACE.fullmatch(row[0])
        first, last = (int(place[1]), int(place[2] or place[1])) if place else (1, 0)
        if last < first:
            raise InputError(f"{path}, line {number}: '{row[0][:20]}' is no number of a token; give a CoNLL-U file.")
        several = "-" in row[0]
        if several or not left:
            if text.length and gap:
                text.add(gap)
            span = text.add(row[_FORM])
            gap = "" if "SpaceAfter=No" in row[_MISC] else " "
        if several:
            joined = left = last - first + 1
            continue
        if left:
            # The parts of a word need not be spelt as they are in it ("won't"): they are told in their order.
            at = span[0] + joined - left
            left -= 1
            text.token((at, at + 1), row[_TAG])
        else:
            text.token(span, row[_TAG])
    yield from _told(text)


def _told(text: _Text) -> Iterator[HandTagged]:
    if not text.tags:
        return
    document = Document.parse("".join(text.parts))
    begins = np.array([start for start, _ in text.spans])
    firsts = np.maximum(0, np.searchsorted(begins, document.starts, side="right") - 1)
    lasts = np.searchsorted(begins, document.ends, side="left")
    classes = np.zeros(len(document.words), np.int8)
    for k, (first, last) in enumerate(zip(firsts.tolist(), lasts.tolist(), strict=True)):
        following = text.tags[last] if last < len(text.tags) else ""
        classes[k] = _class_of(document.words[k], text.tags[first:last], following)
    yield HandTagged(document.words, classes)


def _class_of(word: str, tags: Sequence[str], following: str) -> int:
    """The class of a word that holds tokens with these tags; `following` is the tag of the next one."""
    if not tags:
        return OTHER
    joints = [k for k in range(1, len(tags) - 1) if tags[k] in _JOINTS]
    first, last = penn_class(tags[0]), penn_class(tags[joints[-1] + 1] if joints else tags[0])
    if "-" in word and last in (PARTICIPLE, GERUND):
        return ADJECTIVE  # "data-driven", "time-consuming"
    # "full-time work", "three-person tent", "New York-style pizza"
    modifies = joints and last == NOUN and first not in (NOUN, OTHER) and penn_class(following) in NAMING
    return ADJECTIVE if modifies else last

"""Words as numbers: a vocabulary of frequent words, and the rarer words of each document behind it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from erukg.errors import ModelError

__all__ = ["DIGIT", "END", "MOST_WORDS", "PAD", "SPECIALS", "START", "UNKNOWN", "SourceDocument", "Vocabulary", "words"]

SPECIALS = ("<pad>", "<unk>", "<s>", "</s>", "<digit>")
PAD, UNKNOWN, START, END, DIGIT = range(len(SPECIALS))
MOST_WORDS = 60_000
"""Of a vocabulary: with the further words of a document behind it, numbers still fit 16 bits."""
MOST_EXTRA = 2**16 - 1 - MOST_WORDS

# Hyphens and underscores inside words part them without being words; every other mark is one.
_TOKEN = re.compile(r"[^\W_]+(?:[.,](?=\d)[\d]+)*|[^\w\s]")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_JOINING = re.compile(r"(?<=\w)[-\u2010\u2011](?=\w)")


def words(text: str) -> list[str]:
    """The words and marks of a text, lower-cased, numbers as <digit>; the parts of hyphenated words are words.

    >>> words("Multi-agent systems in 3D (since 1998)")
    ['multi', 'agent', 'systems', 'in', '3d', '(', 'since', '<digit>', ')']
    """
    return [_word(match.group()) for match in _TOKEN.finditer(_parted(text))]


def _parted(text: str) -> str:
    """The text lower-cased and with hyphens inside words blotted out; of the same length as when lower-cased."""
    return _JOINING.sub(" ", text.lower())


def _word(token: str) -> str:
    return SPECIALS[DIGIT] if _NUMBER.fullmatch(token) else token


@dataclass(frozen=True, eq=False)
class SourceDocument:
    """A document as the network reads it.

    text   lower-cased
    words  all its words
    ids    numbers of the words that are read; from the size of the vocabulary up they stand for `extra`
    extra  the words outside the vocabulary among those read, each once
    """

    vocabulary: Vocabulary
    text: str
    words: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    ids: NDArray[np.uint16]
    extra: tuple[str, ...]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            places.setdefault(word, []).append(place)
        return places

    def __len__(self) -> int:
        """How many words can be written: those of the vocabulary and its own."""
        return len(self.vocabulary) + len(self.extra)

    def word(self, number: int) -> str:
        """The word that a number stands for."""
        known = self.vocabulary.words
        return known[number] if number < len(known) else self.extra[number - len(known)]

    def spell(self, phrase: Sequence[str]) -> str | None:
        """The phrase as it stands in the text, hyphens and numbers included, else its words with spaces.

        None where it cannot be written: it holds a number or an unknown word that is not in the text.
        """
        if not phrase:
            return None
        wanted = tuple(phrase)
        for place in self._places.get(wanted[0], ()):
            if self.words[place : place + len(wanted)] == wanted:
                return " ".join(self.text[self.spans[place][0] : self.spans[place + len(wanted) - 1][1]].split())
        return None if any(word in SPECIALS for word in wanted) else " ".join(wanted)


class Vocabulary:
    """Words by number, the specials first."""

    def __init__(self, known: Sequence[str]) -> None:
        self.words = tuple(known)
        self._numbers = {word: number for number, word in enumerate(self.words)}
        if self.words[: len(SPECIALS)] != SPECIALS or len(self._numbers) != len(self.words):
            raise ModelError("The vocabulary must begin with the special words and name every word once.")
        if len(self.words) > MOST_WORDS:
            raise ModelError(f"The vocabulary has {len(self.words)} words, more than the {MOST_WORDS} that fit.")

    @classmethod
    def from_counts(cls, counts: Mapping[str, int], size: int) -> Vocabulary:
        """The `size` most frequent words, specials included; of equally frequent ones in the order of the alphabet."""
        order = sorted((word for word in counts if word not in SPECIALS), key=lambda word: (-counts[word], word))
        return cls([*SPECIALS, *order[: max(1, size - len(SPECIALS))]])

    def __len__(self) -> int:
        return len(self.words)

    def number(self, word: str) -> int:
        """The number of a word, that of <unk> for one it does not have."""
        return self._numbers.get(word, UNKNOWN)

    def document(self, text: str, most_words: int = 256) -> SourceDocument:
        """A text ready to be read: its first `most_words` words as numbers."""
        lowered = text.lower()
        found = [(_word(match.group()), match.span()) for match in _TOKEN.finditer(_parted(text))]
        all_words = tuple(word for word, _ in found)
        ids, extra = self.source(all_words[:most_words])
        return SourceDocument(self, lowered, all_words, tuple(span for _, span in found), ids, extra)

    def source(self, read: Sequence[str]) -> tuple[NDArray[np.uint16], tuple[str, ...]]:
        """Numbers of the words of a source, and the words that its numbers beyond the vocabulary stand for."""
        extra: dict[str, int] = {}
        out = np.empty(len(read), np.uint16)
        for place, word in enumerate(read):
            number = self._numbers.get(word)
            if number is None:
                if word not in extra and len(extra) >= MOST_EXTRA:
                    number = UNKNOWN
                else:
                    number = len(self.words) + extra.setdefault(word, len(extra))
            out[place] = number
        return out, tuple(extra)

    def target(self, phrase: Sequence[str], extra: Sequence[str]) -> NDArray[np.uint16] | None:
        """Numbers of a phrase beside a source with these `extra` words; None if it has a word in neither."""
        behind = {word: len(self.words) + place for place, word in enumerate(extra)}
        out = [self._numbers.get(word, behind.get(word, UNKNOWN)) for word in phrase]
        return None if UNKNOWN in out else np.array(out, np.uint16)

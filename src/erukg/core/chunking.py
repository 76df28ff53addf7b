"""Phrases of running text: word ranges that the classes of words, capitals and a few words of English tell.

A phrase is a run of nouns with what stands before them (adjectives, participles, "randomly chosen"), a name, or two
of them joined by "of" or "and". Names are cut from the roles before them, numbers and units from the things they
count, and queries into the phrases they are made of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.core.document import Document
from erukg.core.folding import fold_word
from erukg.core.lexicon import (
    ASKING,
    AUDIENCE,
    COMPOUNDED,
    COMPOUNDING,
    CURRENCIES,
    DETERMINERS,
    IMPERATIVE,
    OPENING,
    ROLES,
    SAYING,
    SPECIAL,
    TIMES,
    TRANSPARENT,
    UNIT,
    VERBS,
    WEAK_OR_ORDINAL,
)
from erukg.core.proper_names import Names, is_name, mark_names

__all__ = ["Chunk", "TaggedText", "find_chunks", "is_plural"]

Range: TypeAlias = tuple[int, int]
Known: TypeAlias = Callable[[int, int], bool]

# One letter a class (`erukg.core.word_classes`): Other, Noun, adJective, Cardinal, Proper name, past participle (V),
# Gerund, comparative (W), adveRb, verb (O). Of and And are words; a small letter stands after a break.
_LETTERS = np.frombuffer(b"ONJCPVGWRO", np.uint8)
_NAME, _ADVERB, _GERUND = ord("P"), ord("R"), ord("G")
_RUN = re.compile(r"(?:[Rr](?=[VJ]))?[NPJVGCnpjvgc](?:R(?=[VJ])|[NPJVGC])*")
_AGE = re.compile(r"[a-z\d]+-(?:year|month|week|day)-olds?")
_SERIAL = re.compile(r"[IVX]+|\d{1,2}|\d+[A-Za-z]|[A-Za-z]\d+")
_NOT_PLURAL = ("ss", "us", "is", "ics")
_PEOPLE = frozenset(("men", "women", "children", "people"))
_UNCOUNTABLE = frozenset(("news", "species", "series", "sports"))


class Chunk(NamedTuple):
    """The words `first` up to `last`; `alone` unless they are there only as part of a longer phrase."""

    first: int
    last: int
    alone: bool


def find_chunks(text: TaggedText, max_words: int, known: Known | None) -> list[Chunk]:
    """The phrases of a text, from left to right. `known` tells whether the words of a range are a phrase elsewhere."""
    ranges = text.runs
    if text.query:
        ranges = [part for run in ranges for part in text.segments(*run, known or _unknown)]
    out: list[Chunk] = []
    joined: set[int] = set()
    left: dict[int, int] = {}
    for n, whole in text.joined(ranges, max_words):
        out.append(Chunk(*whole, True))
        joined |= {n, n + 1}
        left[n + 1] = whole[1]
    letters = text.letters
    for n, (i, j) in enumerate(ranges):
        if i < left.get(n, j) < j:
            # What follows a name: the governor of "Bank of England | governor" is none of England's.
            i = left[n]
            joined.discard(n)
        i = max(i, j - max_words)
        out.append(Chunk(i, j, n not in joined))
        if j - i > 1 and letters[i] != "N":
            out += [Chunk(k, j, False) for k in text.shorter(i, j)]
    return sorted(out) if joined else out


def _unknown(first: int, last: int) -> bool:
    return False


class TaggedText:
    """A text with the letters of its words."""

    def __init__(self, document: Document, classes: NDArray[np.int8]) -> None:
        self.document = document
        self.words: Sequence[str] = document.words
        self.lower = list(map(str.lower, document.words))
        self.breaks: list[bool] = document.breaks.tolist()
        self.query = document.is_query
        self.letters = self._letters(document, classes)
        codes = np.frombuffer(self.letters.encode("ascii"), np.uint8) + np.uint8(32) * document.breaks
        self.line = codes.tobytes().decode("ascii")

    def _letters(self, document: Document, classes: NDArray[np.int8]) -> str:
        words, lower, usable = self.words, self.lower, document.usable
        codes = _LETTERS[np.where(usable, classes, 0)]
        letters = list(codes.tobytes().decode("ascii"))
        # Without a capital anywhere names are told by their tags alone.
        cased = not self.query and any(word[0].isupper() for word in words)
        for k in np.flatnonzero((codes == _NAME) | (codes == _ADVERB) | (codes == _GERUND)).tolist():
            word = words[k]
            if letters[k] == "R":
                if not word.endswith("ly"):
                    letters[k] = "O"
            elif letters[k] == "G":
                if "-" in word:  # "de-icing salt"
                    letters[k] = "J"
                elif (
                    word[0].isupper() and k and (words[k - 1].islower() or letters[k - 1] == "P") and not self.breaks[k]
                ):
                    letters[k] = "P"  # "Beijing", "J. K. Rowling"
            elif word.isdigit():
                letters[k] = "C"
            elif cased and not word[0].isupper():
                letters[k] = "N"
            elif k and letters[k - 1] == "J" and words[k - 1] in OPENING and not self.breaks[k]:
                letters[k - 1] = "P"  # "New York"
        if cased:
            mark_names(words, letters, self.breaks)
        commands: list[int] = []
        for k, special in enumerate(map(SPECIAL.get, lower)):
            if special is None or not usable[k]:
                continue
            if special == UNIT:
                # "four years' imprisonment", but not "the Thirty Years' War".
                named = words[k][0].isupper() and words[k][-1] == "'"
                if k and letters[k] in "NP" and letters[k - 1] == "C" and not named:
                    letters[k] = "O"
            elif special != IMPERATIVE:
                letters[k] = special
            elif self.breaks[k] and not self.query and words[k][0].isupper() and self._goes_on(k):
                commands.append(k)
            if special == "O" and lower[k] == "al" and k > 1 and lower[k - 1] == "et":
                letters[k - 2] = "O"
        if not CURRENCIES.isdisjoint(words):
            for k, word in enumerate(words):
                # "a dividend of NOK 2.40", "40 EUR"
                if word in CURRENCIES and "C" in letters[max(k - 1, 0) : k + 2]:
                    letters[k] = "O"
        if "-old" in document.text:
            for k, word in enumerate(lower):
                if _AGE.fullmatch(word):
                    letters[k] = "W"
        # Instructions have several; one alone is more likely a noun: "Heat pumps are quiet."
        if len({words[k] for k in commands}) > 1:
            for k in commands:
                letters[k] = "O"
        return "".join(letters)

    def _goes_on(self, k: int) -> bool:
        """Whether an imperative at word `k` has something to act on."""
        return k + 1 < len(self.words) and self.words[k + 1][0].isalnum() and not self.breaks[k + 1]

    @cached_property
    def names(self) -> Names:
        return Names(self.words, self.letters, self.breaks, self.query)

    @cached_property
    def runs(self) -> list[Range]:
        """Runs of words that make phrases, cut where they must be."""
        out: list[Range] = []
        owners = "'" in "".join(self.words)
        for match in _RUN.finditer(self.line):
            run = match[0]
            if not owners and not run.strip("NJnj"):
                # Nouns and adjectives alone, as nearly all are: there is nothing to cut but adjectives at the end.
                start, length = match.start(), len(run.rstrip("Jj"))
                if length == 1:
                    out.append((start, start + 1))
                elif length:
                    out += self._without_verbs(start, start + length)
                continue
            for part in self.without_numbers(*match.span()):
                for each in self.names.without_roles(*part):
                    for trimmed in self._trimmed(*each):
                        out += self._without_verbs(*trimmed)
        return out

    def _without_verbs(self, i: int, j: int) -> list[Range]:
        """The run cut at verbs: after a plural, as in "networks | answer | popular queries", and before a clause."""
        words, out = self.words, []
        if j - i > 1 and j < len(words) and not self.breaks[j] and self._tells(j):
            j -= 1
        for k in range(i + 1, j):
            if k > i and ((words[k] in VERBS and is_plural(words[k - 1])) or self._past(k)):
                out.append((i, k))
                i = k + 1
        return [*out, (i, j)] if i < j else out

    def _past(self, k: int) -> bool:
        """Whether a participle after a noun is rather a verb: "A landslide | buried | part of the town"."""
        words, letters = self.words, self.letters
        plain = letters[k] == "V" and words[k].islower() and words[k].endswith("ed") and words[k] not in COMPOUNDED
        return plain and letters[k - 1] == "N" and "-" not in words[k] and words[k - 1].islower()

    def _tells(self, k: int) -> bool:
        """Whether the word before `k` is a verb: "The tenant reports | that", "The meter measures | how"."""
        before, word = self.words[k - 1], self.words[k]
        return before in SAYING if word == "that" else before[-1] == "s" and word in ASKING

    def without_numbers(self, i: int, j: int) -> Iterator[Range]:
        """The run cut at numbers that count something; "type 2 diabetes" and "Thirty Years' War" stay whole."""
        words, letters = self.words, self.letters
        if "C" in letters[i:j]:
            start = i
            for k in range(i, j):
                if letters[k] == "C" and not self._joins(k, i, j):
                    # In "RBS Six Nations" another name begins with the number.
                    named = words[k][0].isupper() and k + 1 < j and words[k + 1][0].isupper()
                    yield from self._trimmed(start, k + (not named))
                    start = k + (not named)
            i = start
        yield from self._trimmed(i, j)

    def _joins(self, k: int, i: int, j: int) -> bool:
        words, letters = self.words, self.letters
        if k == i:
            return k + 1 < j and words[k][0].isupper() and words[k + 1][0].isupper()
        return (
            k + 1 < j
            and letters[k - 1] in "NP"
            and letters[k + 1] in "NPJ"
            and _SERIAL.fullmatch(words[k]) is not None
            and self.lower[k - 1] not in TIMES
        )

    def _trimmed(self, i: int, j: int) -> Iterator[Range]:
        """What of a run is a phrase: it ends in a noun, and begins with no stray number, gerund or adverb."""
        words, letters = self.words, self.letters
        while j > i and letters[j - 1] not in "NP":
            if (letters[j - 1] == "C" and self._numbered(i, j)) or (letters[j - 1] == "G" and self._named_act(i, j)):
                break
            j -= 1
        while i < j and letters[i] in "CGR":
            if letters[i] == "C":
                # "Thirty Years' War", "Seven Sisters"; "the Six Nations", but not in a headline.
                named = i + 1 < j and words[i][0].isupper() and words[i + 1][0].isupper()
                inside = i > 0 and not self.breaks[i] and (words[i - 1].islower() or letters[i - 1] == "P")
                if named and (inside or letters[i + 1] == "P" or words[i + 1][-1] == "'"):
                    break
            elif letters[i] == "G":
                # Elsewhere it is a verb: "using tools".
                before = self.lower[i - 1] if i else ""
                led = before in DETERMINERS or (letters[i - 1] in "JVNPW" and not self.breaks[i])
                if j - i > 1 and (i == 0 or self.query or led):
                    break
            elif i + 1 < j and letters[i + 1] in "VJ":
                break
            i += 1
        if i < j:
            yield i, j

    def _named_act(self, i: int, j: int) -> bool:
        """Whether a gerund ends a phrase and a clause: "object marking (DOM)", not "the men waiting in the rain"."""
        ends = j == len(self.words) or self.breaks[j]
        before = self.words[j - 2]
        return ends and j - 2 >= i and self.letters[j - 2] == "N" and not (is_plural(before) or before in _PEOPLE)

    def _numbered(self, i: int, j: int) -> bool:
        """Whether the number that ends a run belongs to it: "Annex 2", "Apollo 11", "World War Two"."""
        number, following = self.words[j - 1], self.letters[j] if j < len(self.letters) else "O"
        if j < len(self.words) and SPECIAL.get(self.lower[j]) == UNIT:
            return False  # "Prep 20 mins"
        spelt = number.isalpha() and number.istitle()
        return (
            j - 2 >= i
            and self.letters[j - 2] in "NP"
            and self.words[j - 2][0].isupper()
            and (spelt or (number.isdigit() and len(number) <= 2 and following not in "NPJVGC"))
        )

    def joined(self, ranges: Sequence[Range], max_words: int) -> list[tuple[int, Range]]:
        """Phrases that "of" or "and" makes of two neighbours, and names with what is between their parts, with the
        place of the first of the two in `ranges`.
        """
        words, letters = self.words, self.letters
        out: list[tuple[int, Range]] = []
        pairs: dict[str, list[tuple[int, Range]]] = {}
        for n in range(len(ranges) - 1):
            (i, j), (a, b) = ranges[n], ranges[n + 1]
            near = a == j + 1 or (a == j + 2 and words[j + 1] == "the" and letters[j] == "F")
            if not near or any(self.breaks[j : a + 1]):
                continue
            whole = self.names.joined((i, j), (a, b))
            if a == j + 1 and letters[j] == "A" and j - i == b - a == 1 and words[i] != words[a]:
                key = f"{fold_word(self.lower[i])} {fold_word(self.lower[a])}"
                pairs.setdefault(key, []).append((n, (i, b)))
            elif a == j + 1 and letters[j] == "F" and whole is None:
                whole = self._of(i, j, a, b)
            if whole and whole[1] - whole[0] <= max_words:
                out.append((n, whole))
        # "supply and demand" is a phrase when the text says it again.
        return out + [each for found in pairs.values() if len(found) > 1 for each in found]

    def _of(self, i: int, j: int, a: int, b: int) -> Range | None:
        letters = self.letters
        head = fold_word(self.lower[j - 1])
        if head in TRANSPARENT or letters[j - 1] == "C" or fold_word(self.lower[b - 1]) in TIMES:
            return None
        return max(i, j - 2), b

    def shorter(self, i: int, j: int) -> Iterator[int]:
        """Where shorter phrases with the same end begin: after modifiers, and after the title of a person."""
        words, letters = self.words, self.letters
        if letters[i] == "P" and j - i > 2 and self.lower[i].rstrip(".") in ROLES:
            yield i + 1
        k = i
        while k < j - 1 and (letters[k] in "JVGCR" or self._weak(k)):
            k += 1
            named = letters[k] == "P" and is_name(words[k])
            if letters[k] in "NPJVG" and (j - k > 1 or named or self._weak(k - 1)):
                yield k

    def _weak(self, k: int) -> bool:
        """Whether a word says little; that of a name, as in "New York", does not."""
        return self.lower[k] in WEAK_OR_ORDINAL and self.letters[k] != "P"

    def segments(self, i: int, j: int, known: Known) -> Iterator[Range]:
        """A run of a query cut into phrases: those that are known, else at plurals ("flights | paris") and before
        adjectives ("learning | medical imaging"), and what is still long into pairs.
        """
        if j - i < 3:
            yield i, j
            return
        start = i
        for first, last in [*self._known_parts(i, j, known), (j, j)]:
            for k in range(start + 1, first):
                if self._parts(k):
                    yield from self._pairs(start, k)
                    start = k
            yield from self._pairs(start, first)
            if first < last:
                yield first, last
            start = last

    def _parts(self, k: int) -> bool:
        before, after = self.lower[k - 1], self.lower[k]
        if self.letters[k - 1] not in "NP":
            return False
        return is_plural(before) or after in AUDIENCE or (self.letters[k] in "JV" and after not in COMPOUNDING)

    def _pairs(self, i: int, j: int) -> Iterator[Range]:
        while j - i > 3:
            # Two words, or as many more as it takes to end in a noun: "waterproof running jacket | women".
            k = i + 2
            while k < j and self.letters[k - 1] not in "NP" and self.lower[k - 1] not in COMPOUNDING:
                k += 1
            yield i, k
            i = k
        if j - i > 1 or (i < j and self.letters[j - 1] in "NPG"):
            yield i, j

    def _known_parts(self, i: int, j: int, known: Known) -> list[Range]:
        """Known phrases of two to four words that do not overlap, longer ones first."""
        found: list[Range] = []
        for length in range(min(4, j - i), 1, -1):
            if length == j - i > 3:
                continue
            for a in range(i, j - length + 1):
                free = all(b <= a or a + length <= x for x, b in found)
                if free and self.letters[a + length - 1] != "C" and known(a, a + length):
                    found.append((a, a + length))
        return sorted(found)


def is_plural(word: str) -> bool:
    return word[-1] == "s" and len(word) > 3 and not word.endswith(_NOT_PLURAL) and word not in _UNCOUNTABLE

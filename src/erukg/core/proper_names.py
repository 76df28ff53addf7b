"""Names in running text, told by their capitals: where they begin, what they own, and what joins two parts of one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from erukg.core.lexicon import BODIES, LATER_PARTICLES, OCCUPATIONS, PARTICLES
from erukg.core.text.joints import AMPERSAND

__all__ = ["Names", "is_name", "mark_names"]

Range: TypeAlias = tuple[int, int]

_JOINING = frozenset(("for", "on", "against"))


def is_name(word: str) -> bool:
    """A capital and small letters: neither an acronym nor a letter that numbers something."""
    return len(word) > 2 and word[0].isupper() and any(map(str.islower, word))


def mark_names(words: Sequence[str], letters: list[str], breaks: Sequence[bool]) -> None:
    """Make one name of "Ferdinand de Lesseps" and of "Marks & Spencer"."""
    for k in range(len(words) - 2, 0, -1):
        if breaks[k] or breaks[k + 1]:
            continue
        if words[k] == AMPERSAND:
            letters[k] = "P" if letters[k - 1] in "PNG" and letters[k + 1] in "PNJG" else "O"
        if words[k] not in PARTICLES or letters[k + 1] != "P":
            continue
        before = k - 1
        while before > 0 and words[before] in PARTICLES:
            before -= 1
        mere = words[k] in LATER_PARTICLES and before == k - 1  # articles of German
        if not mere and letters[before] == "P" and words[before][0].isupper():
            letters[k] = "P"


class Names:
    """The names of a text whose words have these letters (`erukg.core.chunking`)."""

    def __init__(self, words: Sequence[str], letters: str, breaks: Sequence[bool], query: bool) -> None:
        self._words, self._letters, self._breaks, self._query = words, letters, breaks, query

    def without_roles(self, i: int, j: int) -> Iterator[Range]:
        """Names cut from what stands before them ("captain | Mia Holt") and what they own ("Ada Byron's | notes")."""
        words, letters = self._words, self._letters
        k = j
        while k > i and letters[k - 1] == "P" and (self._query or is_name(words[k - 1]) or self._small(k - 1)):
            k -= 1
        if i < k < j and not words[k - 1][0].isupper() and (letters[k - 1] == "N" or j - k > 1 or self._query):
            yield from self._owners(i, k)
            yield k, j
        elif k <= i + 1 < j - 1 and self._is_role(i):
            yield i + 1, j  # a role with the capital of its sentence: "Substitute | Ana Ferreira"
        else:
            yield from self._owners(i, j)

    def _small(self, k: int) -> bool:
        """Whether a word may stand inside a name without being one: particles, initials, "&"."""
        word = self._words[k]
        return word in PARTICLES or word == AMPERSAND or (word[-1] == "." and len(word) > 1)

    def _is_role(self, i: int) -> bool:
        return self._breaks[i] and (self._letters[i] == "N" or self._words[i] in OCCUPATIONS)

    def _owners(self, i: int, j: int) -> Iterator[Range]:
        words, letters = self._words, self._letters
        start = i
        for k in range(i, j - 1):
            word = words[k]
            if word[-1] != "'" and word[-2:] != "'s":
                continue
            if not word[0].isupper():
                if j - k > 2:
                    start = k + 1
            elif k > i and set(letters[i : k + 1]) == {"P"} and word[-1] == "s" and self._owned(k + 1, j):
                yield start, k + 1
                start = k + 1
        yield start, j

    def _owned(self, k: int, j: int) -> bool:
        """Whether these words are no part of their owner's name: "United's | Alex Ferguson", "Paul's Cathedral"."""
        return not self._words[k][0].isupper() or (j - k > 1 and set(self._letters[k:j]) == {"P"})

    def joined(self, left: Range, right: Range) -> Range | None:
        """The name that two neighbouring ranges are with what stands between them: "Bank of England", "Feast of the
        Nets", "Royal Commission on Rural Health".
        """
        words, letters = self._words, self._letters
        (i, j), (a, b) = left, right
        if not words[j - 1][0].isupper() or not words[a][0].isupper() or letters[j - 1] == "C":
            return None
        start = j - 1
        while start > i and words[start - 1][0].isupper():
            start -= 1
        end = a + 1
        while end < b and words[end][0].isupper():
            end += 1
        if letters[j] == "F":
            if a == j + 1:
                return start, end  # "Bank of England | governor"
            if end - a > 2 and set(letters[a:end]) == {"P"}:
                end = a + 1  # "Chancellor of the Exchequer | Nigel Lawson"
            return (start, end) if self._in_prose(start) else None
        return (start, end) if words[j - 1] in BODIES and words[j] in _JOINING and a == j + 1 else None

    def _in_prose(self, k: int) -> bool:
        """Whether what stands before is written small, as headlines are not."""
        return k > 0 and not self._breaks[k] and self._words[k - 1].islower()

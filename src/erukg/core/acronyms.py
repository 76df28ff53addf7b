"""Acronyms and what they stand for, where a text says so: "percutaneous coronary intervention (PCI)"."""

from __future__ import annotations

import re

from erukg.core.folding import fold

__all__ = ["find_acronyms"]

_BRACKETED = re.compile(r"\(\s*([A-Z][A-Za-z0-9&/-]{1,9})\s*\)")
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")


def find_acronyms(text: str) -> dict[str, str]:
    """The folds of acronyms that stand in brackets behind their long form, with the fold of that form.

    An acronym takes the first letter of a word for each of its own, in order, and may leave small words out.
    """
    out: dict[str, str] = {}
    for match in _BRACKETED.finditer(text):
        short = match[1]
        letters = [letter.lower() for letter in short.rstrip("s") if letter.isalpha()]
        if len(letters) < 2:
            continue
        before = text[max(0, match.start() - 150) : match.start()].rstrip()
        words = list(_WORD.finditer(before))
        start = _first_word([word[0].lower() for word in words], letters)
        if start is not None:
            out.setdefault(fold(short), fold(before[words[start].start() :]))
    return out


def _first_word(words: list[str], letters: list[str]) -> int | None:
    """Where the words begin whose initials, read from the end, are the letters; one small word may lie between."""
    k = len(words)
    skipped = 0
    for letter in reversed(letters):
        k -= 1
        while k >= 0 and words[k][0] != letter:
            skipped += 1
            if skipped > 2 or len(words[k]) > 4:
                return None
            k -= 1
        if k < 0:
            return None
    return k

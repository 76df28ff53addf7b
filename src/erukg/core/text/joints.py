"""Marks inside names: the dot of "J. K. Rowling" and "Dr. Petrova", which ends no sentence, and the "&" of firms."""

from __future__ import annotations

import re
from collections.abc import Sequence

from erukg.core.lexicon import FUNCTION_WORDS

__all__ = ["AMPERSAND", "dotted", "joins_names"]

AMPERSAND = "&"
_TITLES = frozenset("Mr Mrs Ms Mx Dr Prof St Mt Ft Sgt Capt Cpt Lt Col Gen Maj Cdr Rev Fr Hon Gov Sen Rep Supt".split())
# What is counted by letters: "vitamin C. Patients" and "Appendix A. Proofs" are two sentences.
_LETTERED = frozenset(
    "appendix section table figure part group plan vitamin hepatitis type class grade category phase schedule annex "
    "exhibit question answer option team case level block wing gate hall room step stage zone line".split()
)
_NEXT = re.compile(r"[ \u00a0]([A-Z]\.|[^\W\d_][\w'\u2019-]*)")


def dotted(words: Sequence[str], begin: int, apart: bool, dot: re.Match[str]) -> bool:
    """Whether a dot belongs to the last of the words, which stands at `begin`, `apart` from those before if a break is
    between them.
    """
    word = words[-1]
    initial = len(word) == 1 and word.isupper()
    if (not initial and word not in _TITLES) or begin + len(word) != dot.start():
        return False
    following = _NEXT.match(dot.string, dot.end())
    if following is None or not following[1][0].isupper() or following[1].lower() in FUNCTION_WORDS:
        return False
    if not initial or following[1][1:] == ".":
        return True
    if apart or len(words) < 2:
        return False  # "A. Introduction"
    before = words[-2]
    return before.lower() in FUNCTION_WORDS if before[0].islower() else before.lower() not in _LETTERED


def joins_names(word: str, mark: re.Match[str]) -> bool:
    """Whether a mark stands alone between two words with capitals, of which `word` is the first."""
    source, (start, end) = mark.string, mark.span()
    return (
        word[0].isupper()
        and source[start - 1 : start] == " " == source[end : end + 1]
        and source[end + 1 : end + 2].isupper()
    )

"""Words without what makes variants of them: "learned indexes" and "learning index", "randomised" and "randomized"."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from erukg.core.folding import fold

__all__ = ["stem_classes", "stem_phrase"]

_ENDING = re.compile(r"(?:ations?|ments?|ings?|ions?|ers?|ors?|ed|es|s|ally|al|ly|ity|ities|ive|able|ics?|e|y)$")
_SHORTEST_STEM = 4
# "Randomised" is "randomized"; that "otherwise" becomes "otherwize" does no harm.
_BRITISH = re.compile(r"(?<=\w{4})is(?=(?:e[drs]?|ing|ations?)$)")


def stem_phrase(phrase: str) -> str:
    """The stems of a phrase's words, with a space before and after each, so that one contains another as words."""
    return f" {' '.join(map(_stem, fold(phrase).split()))} "


def stem_classes(tokens: Iterable[str]) -> NDArray[np.int32]:
    """A number for each token of a vocabulary, the same for those that differ only in their ending."""
    numbers: dict[str, int] = {}
    stems = (_stem(token.lstrip("#") or token) for token in tokens)
    return np.array([numbers.setdefault(stem, len(numbers)) for stem in stems], np.int32)


@lru_cache(maxsize=1 << 13)
def _stem(word: str) -> str:
    stem = _ENDING.sub("", _BRITISH.sub("iz", word))
    return stem if len(stem) >= _SHORTEST_STEM else word

"""American and British spelling: a label in the one is found in a text in the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

__all__ = ["american", "british"]

# What these make of words that they are not meant for is no word, and so no label.
_AMERICAN = (
    (re.compile(r"[ao]e(?=[^\W\d])"), "e"),
    (re.compile(r"(?<=[^\W\d]{2})our(?=$|[^\W\d])"), "or"),
    (re.compile(r"(?<=[^\W\d]{3})is(?=(?:e[drs]?|ing|ation|able)$)"), "iz"),
    (re.compile(r"ys(?=(?:e[drs]?|ing)$)"), "yz"),
    (re.compile(r"sulph"), "sulf"),
    (re.compile(r"^leuco"), "leuko"),
    (re.compile(r"(?<=[bt])re$"), "er"),
    (re.compile(r"ogue$"), "og"),
    (re.compile(r"ll(?=(?:ed|ing|er)$)"), "l"),
    (re.compile(r"^aluminium$"), "aluminum"),
)
_BRITISH = (
    (re.compile(r"(?<=[^\W\d]{2})or(?=$|al|ed$|ing$|able$|hood$)"), "our"),
    (re.compile(r"(?<=[^\W\d]{3})iz(?=(?:e[drs]?|ing|ation|able)$)"), "is"),
    (re.compile(r"yz(?=(?:e[drs]?|ing)$)"), "ys"),
    (re.compile(r"sulf"), "sulph"),
    (re.compile(r"^leuko"), "leuco"),
    (re.compile(r"(?<=[bt])er$"), "re"),
    (re.compile(r"(?<=[aeiou])l(?=(?:ed|ing|er)$)"), "ll"),
    (re.compile(r"^(?=(?:dema|strogen|stradiol|strus|sophag))|^(?=edema|estr[aou]|esophag)"), "o"),
    (re.compile(r"^fe(?=t(?:us|al))"), "foe"),
    (
        re.compile(r"(?<=h)e(?=m(?:o|at|orrh))|(?<=an)e(?=mi|sth)|(?<=p)e(?=diatr)|(?<=gyn)e(?=co)|(?<=orthop)e(?=di)"),
        "ae",
    ),
    (re.compile(r"(?<=rrh)e(?=a)"), "oe"),
    (re.compile(r"^aluminum$"), "aluminium"),
)


def american(words: Sequence[str]) -> list[str]:
    """The folded words as Americans spell them."""
    return [_american(word) for word in words]


def british(words: Sequence[str]) -> list[str]:
    """The folded words as the British spell them."""
    return [_british(word) for word in words]


@lru_cache(maxsize=1 << 14)
def _american(word: str) -> str:
    return _apply(word, _AMERICAN)


@lru_cache(maxsize=1 << 14)
def _british(word: str) -> str:
    return _apply(word, _BRITISH)


def _apply(word: str, rules: Sequence[tuple[re.Pattern[str], str]]) -> str:
    if len(word) > 4:
        for pattern, spelling in rules:
            word = pattern.sub(spelling, word)
    return word

"""When are two phrases the same phrase? One answer, used everywhere: when their folds are equal.

`fold` removes what writers vary without meaning anything by it: case, accents' encoding, ligatures, HTML
and LaTeX markup, hyphens, line-end hyphenation, white space, possessives and plurals. It is for matching,
never for show.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from erukg.core.text.markup import plain
from erukg.errors import InputError

__all__ = ["fold", "fold_word", "fold_words"]

_SHORT = 80
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200d\u2060\ufeff]")
_DASH = re.compile(r"[-\u2010-\u2015\u2212/_]+")
_APOSTROPHE = re.compile(r"[\u2018\u2019\u02bc`]")
_WORD = re.compile(r"[^\W_]+(?:[.'&+#@][^\W_]+)*[+#]*|[^\W_]", re.UNICODE)


def fold(text: str) -> str:
    """The matching form of a word or phrase: equal folds mean the same phrase.

    >>> fold("Peer-to-Peer  Networks") == fold("peer to peer network")
    True
    """
    if not isinstance(text, str):
        raise InputError(f"text must be a string, not {type(text).__name__}.")
    if text.isascii() and text.replace(" ", "").isalpha():
        # Nothing but plain words: what `_fold` comes to then, and quicker than remembering every phrase.
        return " ".join(map(fold_word, text.lower().split()))
    return _fold_short(text) if len(text) <= _SHORT else _fold(text)


def _fold(text: str) -> str:
    text = plain(text)
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
        text = _APOSTROPHE.sub("'", text)
    text = _DASH.sub(" ", text.lower())
    return " ".join(fold_word(word) for word in _WORD.findall(text))


# Words and phrases come again and again, in a text and from one to the next.
_fold_short = lru_cache(maxsize=1 << 13)(_fold)


_MOST_WORDS = 1 << 15
_folds: dict[str, str] = {}


def fold_words(words: Sequence[str]) -> tuple[str, ...]:
    """`fold` of each of many words."""
    global _folds
    known = _folds
    try:
        return tuple(map(known.__getitem__, words))
    except KeyError:
        missing = {word for word in words if word not in known}
    if len(known) + len(missing) > _MOST_WORDS:
        # A fresh dict, not clear(): another thread may be reading the old one.
        known, missing = {}, set(words)
    for word in missing:
        known[word] = fold(word)
    _folds = known
    return tuple(map(known.__getitem__, words))


@lru_cache(maxsize=1 << 13)
def fold_word(word: str) -> str:
    """The singular of a lower-case word by Harman's weak rules, which join variants and never split words."""
    if word.endswith("'s"):
        return word[:-2]
    if len(word) < 4 or not word.endswith("s"):
        return word
    if word.endswith("ies") and word[-4] not in "ae":
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    if word.endswith(("ss", "us", "is")):
        return word
    return word[:-1]

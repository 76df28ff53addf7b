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

import numpy as np
from numpy.typing import NDArray

from erukg.core.kernels import kernel
from erukg.core.text.markup import plain

__all__ = ["fold", "fold_word", "fold_words", "hash_phrases", "hash_runs", "in_runs"]

_SHORT = 80
_SPACE = 0x20
_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200d\u2060\ufeff]")
_DASH = re.compile(r"[-\u2010-\u2015\u2212/_]+")
_APOSTROPHE = re.compile(r"[\u2018\u2019\u02bc`]")
_WORD = re.compile(r"[^\W_]+(?:[.'&+#@][^\W_]+)*[+#]*|[^\W_]", re.UNICODE)


def fold(text: str) -> str:
    """The matching form of a word or phrase: equal folds mean the same phrase.

    >>> fold("Peer-to-Peer  Networks") == fold("peer to peer network")
    True
    """
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
        return tuple([known[word] for word in words])
    except KeyError:
        missing = {word for word in words if word not in known}
    if len(known) + len(missing) > _MOST_WORDS:
        # A fresh dict, not clear(): another thread may be reading the old one.
        known, missing = {}, set(words)
    for word in missing:
        known[word] = fold(word)
    _folds = known
    return tuple([known[word] for word in words])


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


@kernel()
def _fnv1a(buffer: NDArray[np.uint8], offsets: NDArray[np.int64], out: NDArray[np.uint64]) -> None:
    for i in range(out.size):
        h = np.uint64(0xCBF29CE484222325)
        for j in range(offsets[i], offsets[i + 1]):
            h = (h ^ np.uint64(buffer[j])) * np.uint64(0x100000001B3)
        out[i] = h


@kernel()
def _fnv1a_runs(
    buffer: NDArray[np.uint8],
    ends: NDArray[np.int64],
    longest: int,
    out: NDArray[np.uint64],
) -> None:
    start = 0
    for i in range(ends.size):
        h = np.uint64(0xCBF29CE484222325)
        j = start
        for n in range(longest):
            if i + n >= ends.size:
                break
            stop = ends[i + n]
            while j < stop:
                h = (h ^ np.uint64(buffer[j])) * np.uint64(0x100000001B3)
                j += 1
            out[i, n] = h
        start = ends[i] + 1


@kernel()
def _among(
    hashes: NDArray[np.uint64], others: NDArray[np.uint64], table: NDArray[np.uint64], out: NDArray[np.bool_]
) -> None:
    # A hash table of the others: open addressing, 0 where it is empty, at most half full.
    mask = np.uint64(table.size - 1)
    for h in others:
        slot = h & mask
        while table[slot] != 0 and table[slot] != h:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = h
    for i in range(hashes.size):
        h = hashes[i]
        slot = h & mask
        while table[slot] != 0 and table[slot] != h:
            slot = (slot + np.uint64(1)) & mask
        out[i] = h != 0 and table[slot] == h


def hash_phrases(folds: Sequence[str]) -> NDArray[np.uint64]:
    """The 64-bit FNV-1a hash of each fold, by which glossaries look phrases up."""
    encoded = [f.encode("utf-8", "surrogatepass") for f in folds]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(e) for e in encoded], out=offsets[1:])
    out = np.empty(len(encoded), np.uint64)
    _fnv1a(np.frombuffer(b"".join(encoded) or b"\0", np.uint8), offsets, out)
    return out


def hash_runs(words: Sequence[str], longest: int) -> NDArray[np.uint64]:
    """Hashes of all runs of up to `longest` words: `[i, n]` is that of `" ".join(words[i : i + n + 1])`.

    Runs that would pass the end of `words` hash to 0. Words must be folded and hold no space.
    """
    out = np.zeros((len(words), longest), np.uint64)
    if words:
        buffer = np.frombuffer((" ".join(words) + " ").encode("utf-8", "surrogatepass"), np.uint8)
        _fnv1a_runs(buffer, np.flatnonzero(buffer == _SPACE), longest, out)
    return out


def in_runs(words: Sequence[str], longest: int, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of `hashes` are among those of `hash_runs`."""
    out = np.zeros(len(hashes), np.bool_)
    if words and len(hashes):
        runs = hash_runs(words, longest).ravel()
        _among(hashes, runs, np.zeros(1 << (2 * len(runs)).bit_length(), np.uint64), out)
    return out

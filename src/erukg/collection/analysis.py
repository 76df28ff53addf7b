"""Text to BM25 terms: lower-case words, English stop words dropped, Snowball stems, each a 64-bit number.

The strings themselves are never stored: a collection keeps only the numbers, and two different stems of one
collection share a number with a chance of about one in 10^8 for a million stems.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.core.search_words import STOP_WORDS, every_word

__all__ = ["ANALYSIS", "Query", "analyse", "query_of", "stem_words", "stems", "terms_of", "text_key", "weightiest"]

#: The name of this analysis, written into every collection: texts must be analysed as the collection was.
ANALYSIS = "english-snowball-1"

_LONGEST_WORD = 100
_CACHE_WORDS = 1 << 16

# A stemmer object is not thread-safe, so every thread has its own; the cache of finished words is shared, as
# reading and writing one key of a dict is atomic.
_local = threading.local()
_cache: dict[str, bytes] = {}


def _stemmer() -> Any:
    stemmer = getattr(_local, "stemmer", None)
    if stemmer is None:
        import Stemmer

        stemmer = _local.stemmer = Stemmer.Stemmer("english")
    return stemmer


def stem_words(words: Iterable[str]) -> list[str]:
    """The stem of each of some lower-case words."""
    return list(_stemmer().stemWords(list(words)))


def stems(text: str) -> list[str]:
    """The stems that `terms_of` numbers, in the order of the text, to compare with other programs."""
    stem = _stemmer().stemWord
    found = (stem(word[:_LONGEST_WORD]) for word in every_word(text) if word not in STOP_WORDS)
    return [s for s in found if s]


def _number(word: str) -> bytes:
    """The number of a word's stem, not 0, or 0 where there is none, as the bytes that it has in an array."""
    stem = "" if word in STOP_WORDS else _stemmer().stemWord(word[:_LONGEST_WORD])
    number = int.from_bytes(hashlib.blake2b(stem.encode(), digest_size=8).digest(), "little") or 1 if stem else 0
    if len(_cache) >= _CACHE_WORDS:
        _cache.clear()
    _cache[word] = found = np.uint64(number).tobytes()
    return found


def terms_of(text: str) -> NDArray[np.uint64]:
    """The term of every word of the text in order, repeats and all; stop words leave nothing."""
    words = every_word(text)
    try:
        known = [_cache[word] for word in words]
    except KeyError:
        known = [_cache.get(word) or _number(word) for word in words]
    numbers: NDArray[np.uint64] = np.frombuffer(b"".join(known), np.uint64)
    return np.compress(numbers != 0, numbers)


def text_key(terms: NDArray[np.uint64]) -> int:
    """A 64-bit number of the sequence of terms: texts that differ only in case, spacing or punctuation share
    it.
    """
    digest = hashlib.blake2b(np.ascontiguousarray(terms, "<u8").tobytes(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@dataclass(frozen=True, slots=True)
class Query:
    """A text as BM25 sees it: distinct terms ascending, how often each occurs, and the number of the whole
    text.
    """

    terms: NDArray[np.uint64]
    counts: NDArray[np.int64]
    key: int


def analyse(text: str) -> Query:
    """The query that a whole document makes."""
    return query_of(terms_of(text))


def query_of(flat: NDArray[np.uint64]) -> Query:
    """The query that a document with these terms makes."""
    terms, counts = np.unique(flat, return_counts=True)
    return Query(terms, counts, text_key(flat))


def weightiest(factors: NDArray[np.float32], owners: NDArray[np.int64], words: int) -> NDArray[np.bool_]:
    """Which terms are among the `words` of largest factor in their query; `owners`, ascending, are their queries.

    Of equal ones the first are. With 0 words all are.
    """
    if not words or len(factors) <= words:
        return np.ones(len(factors), np.bool_)
    order = np.lexsort((-factors, owners))
    places = np.arange(len(factors)) - np.searchsorted(owners, owners)
    out = np.empty(len(factors), np.bool_)
    out[order] = places < words
    return out

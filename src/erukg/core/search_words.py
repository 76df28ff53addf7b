"""The words of a text as a search engine counts them: lower-case, without English stop words."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["STOP_WORDS", "every_word", "search_words"]

#: Lucene's English stop words.
# fmt: off
STOP_WORDS = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no",
    "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to",
    "was", "will", "with",
))
# fmt: on

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
# The same for lower-case ASCII, in two thirds of the time.
_ASCII_WORD = re.compile(r"[a-z0-9]++(?:'[a-z0-9]++)*+")


def every_word(text: str) -> list[str]:
    """The words in order, stop words included."""
    text = text.lower()
    if text.isascii():
        return _ASCII_WORD.findall(text)
    return _WORD.findall(unicodedata.normalize("NFKC", text).replace("\u2019", "'"))


def search_words(text: str) -> list[str]:
    """The words in order; of a text of stop words alone, all of them."""
    words = every_word(text)
    return [word for word in words if word not in STOP_WORDS] or words

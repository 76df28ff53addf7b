"""Where phrases stand in a text: every whole-word occurrence, also inside a longer noun phrase."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erukg.core.document import Document
from erukg.core.folding import fold
from erukg.core.hashing import among

__all__ = ["Located", "could_contain", "locate", "most_used", "words_before"]


class Located(NamedTuple):
    """A phrase found in the text.

    fold          what makes the phrase itself (`erukg.core.folding.fold`)
    form          the surface most used, the first of those equally used
    spans         its occurrences: `fold(text[start:end])` is its fold
    words_before  P_x(c): how many words stand before the first
    words         the first occurrence: the first of its words in the text, and the one after its last
    alone         how many occurrences are phrases of their own, not part of longer ones; -1 where only a glossary
                  tells that it is a phrase
    """

    fold: str
    form: str
    spans: tuple[tuple[int, int], ...]
    words_before: int
    words: tuple[int, int]
    alone: int = 0


def locate(document: Document, folds: Sequence[str], alone: Sequence[int] | None = None) -> list[Located | None]:
    """Each folded phrase's place in the text: whole words with no break inside; None where it does not occur.

    How many occurrences stand `alone` is not to be seen here; it is passed on.
    """
    layout, words = document.layout, document.words
    starts, ends, first, last, ahead = layout.starts, layout.ends, layout.first, layout.last, layout.ahead
    found: list[Located | None] = []
    for n, (key, ranges) in enumerate(zip(folds, _word_ranges(document, folds), strict=True)):
        if not ranges:
            found.append(None)
            continue
        i, j = ranges[0]
        form = " ".join(words[first[i] : last[j] + 1])
        if len(ranges) > 1:
            form = most_used([form, *[" ".join(words[first[a] : last[b] + 1]) for a, b in ranges[1:]]])
        spans = tuple([(starts[a], ends[b]) for a, b in ranges])
        place = Located(key, form, spans, ahead[i], (first[i], last[j] + 1), alone[n] if alone is not None else 0)
        found.append(place)
    return found


def could_contain(document: Document, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which of the phrases with these fold hashes can occur in the text; nearly all of those then do."""
    return among(hashes, document.run_hashes)


def most_used(forms: Sequence[str]) -> str:
    """The form most used; of equally used ones the first."""
    if 2 * forms.count(forms[0]) >= len(forms):
        return forms[0]
    return Counter(forms).most_common(1)[0][0]


def words_before(document: Document, chars: Sequence[int]) -> NDArray[np.int64]:
    """How many words, punctuation not counted, stand before each character: P_x of what starts there."""
    at = np.searchsorted(document.ends, np.asarray(chars, np.int64), side="right")
    return np.array(document.layout.counts, np.int64)[at]


def _word_ranges(document: Document, keys: Sequence[str]) -> list[list[tuple[int, int]]]:
    """The first and the last word of each occurrence of each folded phrase."""
    layout, text, words = document.layout, document.text, document.words
    tokens, owners, runs, starts, ends = layout.tokens, layout.owners, layout.runs, layout.starts, layout.ends
    known: dict[str, list[tuple[int, int]]] = {key: [] for key in keys}
    # By first word and number of words: a text may have as many phrases with one first word as it has places of it.
    groups: dict[tuple[str, int], set[str]] = {}
    for key in known:
        parts = key.split()
        if parts and " ".join(parts) == key:
            groups.setdefault((parts[0], len(parts)), set()).add(key)
    for (begin, length), wanted in groups.items():
        for at in layout.where.get(begin, ()):
            stop = at + length
            key = " ".join(tokens[at:stop]) if length > 1 else begin
            # The phrase must end where a word does; at the end of the text too few words are left to be one of them.
            if key not in wanted or owners[stop] == owners[stop - 1]:
                continue
            first, last = owners[at], owners[stop - 1]
            if runs[first] != runs[last]:
                continue
            raw = text[starts[first] : ends[last]]
            # A word folds as it is known to, and so do plain words with nothing but spaces between them.
            same = raw == words[first] if first == last else _is_plain(raw) and raw == " ".join(words[first : last + 1])
            if same or fold(raw) == key:
                known[key].append((first, last))
    return [known[key] for key in keys]


def _is_plain(text: str) -> bool:
    return text.isascii() and text.replace(" ", "").isalpha()

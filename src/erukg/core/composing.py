"""Phrases that a text does not hold but says in other words: "image classification" for "classification of images".

Two things are put together again that grammar takes apart: a head and what follows its "of", and the parts that "and"
or "or" joins ("linear and nonlinear systems" has linear systems, "patient safety and outcomes" patient outcomes).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erukg.core.backend import Pieces
from erukg.core.chunking import TaggedText, is_plural
from erukg.core.folding import fold_word
from erukg.core.hashing import among, hash_phrases
from erukg.core.lexicon import DETERMINERS, TIMES, TRANSPARENT, WEAK_OR_ORDINAL
from erukg.core.neighbours import Glossary, Support, Terms
from erukg.core.pool import Pool
from erukg.core.settings import Settings

__all__ = ["Composed", "add_composed", "compose"]

#: How a phrase was composed: of what "of" joins, the same with a head that says little, of what "and" joins in front
#: of a noun, and behind one, and of what "of" joins without the words that begin it ("risk of type 2 diabetes").
OF, WEAK_OF, FRONT, BACK, CUT = 1, 2, 3, 4, 5

_LONGEST = 5
# Words of the longest head before "of".
_HEAD = 2
# Words before "and" that may share what follows it.
_SHARING = 3
_JOINTS = frozenset(("of", "and", "or"))
_CONTENT = frozenset("NPJVGC")


class Composed(NamedTuple):
    """A phrase: its fold, the words of the text that it is made of, how, and the first and the last of its wording."""

    fold: str
    words: tuple[int, ...]
    kind: int
    place: tuple[int, int]

    def wording(self, text: TaggedText) -> str:
        """What the text says in its place."""
        layout, (first, last) = text.document.layout, self.place
        return " ".join(text.document.text[layout.starts[first] : layout.ends[last]].split())

    def form(self, text: TaggedText) -> str:
        """How it is written: what stands before its head in the singular, capitals only in names and acronyms."""
        out = []
        for word, following in zip_longest(self.words, self.words[1:]):
            form = text.words[word]
            if text.letters[word] != "P" and form[1:].islower():
                form = form.lower()
            joint = following is not None and following != word + 1
            if joint and text.letters[word] == "N" and is_plural(form) and form.isascii() and form.islower():
                form = form if form.endswith("ses") else fold_word(form)
            out.append(form)
        return " ".join(out)


def compose(text: TaggedText) -> list[Composed]:
    """The phrases that can be composed of a text, none of which stands in it."""
    folded, document = text.document.folded, text.document
    found: dict[str, Composed] = {}
    for words, kind, place in _combinations(text):
        parts = [folded[word] for word in words]
        key = " ".join(parts)
        if key not in found and len(words) <= _LONGEST and len(set(parts)) == len(parts) and all(parts):
            found[key] = Composed(key, words, kind, place)
    if not found:
        return []
    held = among(hash_phrases(list(found)), document.run_hashes).tolist()
    return [each for each, inside in zip(found.values(), held, strict=True) if not inside]


def add_composed(
    pool: Pool,
    composed: Sequence[Composed],
    folded: Sequence[str],
    pieces: Pieces,
    glossary: Glossary,
    settings: Settings,
) -> tuple[Pool, dict[int, Composed]]:
    """The pool with phrases made of the text's `folded` words, and which of its rows they are: the last, for those that
    no neighbour has.

    Unless they may be coined, the collection has to know every two words that are side by side in them. What goes by
    the text's wording there, as "quality of life" does, is not put in other words.
    """
    assert pool.support is not None
    composed, numbers, paired = _look_up(composed, folded, glossary)
    if not composed:
        return pool, {}
    kinds, counts = np.zeros(len(pool), np.int8), np.zeros(len(pool))
    own = len(pool) - len(pool.support.few)
    rows = {number: row for row, number in enumerate(pool.glossary_ids[own:].tolist(), own)}
    gone = set() if pool.left_out is None else set(pool.left_out.tolist())
    made: dict[int, Composed] = {}
    added: list[int] = []
    for k, (each, number) in enumerate(zip(composed, numbers.tolist(), strict=True)):
        row = rows.get(number, -1) if number >= 0 else -1
        if row >= 0:
            kinds[row], counts[row], made[row] = each.kind, paired[k], each
        elif number not in gone and (paired[k] > 0 or (settings.coined and each.kind != CUT)):
            made[len(pool) + len(added)] = each
            added.append(k)
    if not added:
        return replace(pool, composed=kinds, paired=counts), made
    n = len(added)
    new = Pool.of(
        _pieces_of([composed[k].words for k in added], pieces),
        glossary_ids=numbers[added],
        phraseness_neighbours=np.full(n, settings.absent_composed),
        commonness=np.where(numbers[added] >= 0, glossary.counts(np.maximum(numbers[added], 0)), 1.0),
        holders=np.zeros(n),
        support=Support.none(n),
    )
    kinds = np.concatenate((kinds, np.array([composed[k].kind for k in added], np.int8)))
    return pool.followed_by(new, kinds, np.concatenate((counts, paired[added]))), made


def _pieces_of(phrases: Sequence[Sequence[int]], pieces: Pieces) -> Terms:
    """The pieces of the text's words that each phrase is made of."""
    ids = [pieces.ids[pieces.starts[word] : pieces.starts[word + 1]] for phrase in phrases for word in phrase]
    lengths = [sum(int(pieces.starts[word + 1] - pieces.starts[word]) for word in phrase) for phrase in phrases]
    return Terms(np.cumsum([0, *lengths]), np.concatenate(ids))


def _look_up(
    composed: Sequence[Composed], folded: Sequence[str], glossary: Glossary
) -> tuple[list[Composed], NDArray[np.int64], NDArray[np.float64]]:
    """Those whose wording is no phrase of the glossary, the number of each there, and how many documents the rarest
    two words in it describe.
    """
    n = len(composed)
    words = [each.fold.split() for each in composed]
    wordings = [" ".join(filter(None, folded[each.place[0] : each.place[1] + 1])) for each in composed]
    pairs = [" ".join(pair) for each in words for pair in pairwise(each)]
    found = glossary.find(hash_phrases([each.fold for each in composed] + wordings + pairs))
    numbers, worded, pair_numbers = found[:n], found[n : 2 * n], found[2 * n :]
    counts = np.where(pair_numbers >= 0, glossary.counts(np.maximum(pair_numbers, 0)), 0).astype(np.float64)
    paired = np.minimum.reduceat(counts, np.cumsum([0, *(len(each) - 1 for each in words[:-1])]))
    rows = np.flatnonzero(worded < 0)
    return [composed[k] for k in rows.tolist()], numbers[rows], paired[rows]


def _combinations(text: TaggedText) -> Iterator[tuple[tuple[int, ...], int, tuple[int, int]]]:
    """Words that may make a phrase, how, and the first and the last word of the text's own wording."""
    lower = text.lower
    stops = dict(reversed(text.runs))
    firsts = {last: first for first, last in text.runs}
    for at in range(1, len(lower) - 1):
        word = lower[at]
        if word not in _JOINTS or text.breaks[at]:
            continue
        if word != "of":
            yield from _around_and(text, lower, at, stops)
        elif at in firsts:
            yield from _around_of(text, lower, firsts[at], at, stops)


def _around_of(
    text: TaggedText, lower: Sequence[str], first: int, last: int, ends: dict[int, int]
) -> Iterator[tuple[tuple[int, ...], int, tuple[int, int]]]:
    begin = last + 1
    while begin < len(lower) and lower[begin] in DETERMINERS and not text.breaks[begin]:
        begin += 1
    stop = ends.get(begin)
    if stop is None or text.breaks[begin]:
        return
    head = fold_word(lower[last - 1])
    named = text.words[last - 1][0].isupper() and text.words[begin][0].isupper()
    if named or head in TIMES or fold_word(lower[stop - 1]) in TIMES:
        return  # "Bank of England", "day of the week"
    kind = WEAK_OF if head in TRANSPARENT else OF
    while begin < stop - 1 and lower[begin] in WEAK_OR_ORDINAL:
        begin += 1
    heads = [own for own in range(max(first, last - _HEAD), last) if lower[own] not in WEAK_OR_ORDINAL]
    for own in heads:
        yield (*range(begin, stop), *range(own, last)), kind, (own, stop - 1)
    for rest in range(begin + 1, stop):
        for own in heads[:1]:
            yield (*range(rest, stop), *range(own, last)), CUT, (own, stop - 1)


def _around_and(
    text: TaggedText, lower: Sequence[str], at: int, ends: dict[int, int]
) -> Iterator[tuple[tuple[int, ...], int, tuple[int, int]]]:
    stop = ends.get(at + 1)
    if stop is None or text.breaks[at + 1]:
        return
    first = at - 1
    while first > 0 and at - first < _SHARING and text.letters[first - 1] in _CONTENT and not text.breaks[first]:
        first -= 1
    for begin in range(first, at):
        if lower[begin] in WEAK_OR_ORDINAL or text.letters[begin] not in _CONTENT:
            continue
        # "linear and nonlinear systems": what stands before "and" goes with what follows the first word after it.
        if stop - at > 2 and _alike(text.letters[at - 1], text.letters[at + 1]):
            yield (*range(begin, at), *range(at + 2, stop)), FRONT, (begin, stop - 1)
        # "patient safety and outcomes": the first of them goes with what follows "and".
        if begin > first and text.letters[at - 1] in "NP" and lower[first] not in WEAK_OR_ORDINAL:
            yield (*range(first, begin), *range(at + 1, stop)), BACK, (first, stop - 1)


def _alike(a: str, b: str) -> bool:
    """Whether words of two classes are joined as equals: two nouns, or two adjectives."""
    return (a in "NPG") == (b in "NPG")

"""Phrases that a text does not hold but says in other words: "image classification" for "classification of images".

Two things are put together again that grammar takes apart: a head and what follows its "of", and the parts that "and"
or "or" joins ("linear and nonlinear systems" has linear systems, "patient safety and outcomes" patient outcomes).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erukg.core.backend import Pieces
from erukg.core.chunking import TaggedText, is_plural
from erukg.core.document import Document
from erukg.core.folding import fold, fold_word
from erukg.core.hashing import among, hash_phrases
from erukg.core.lexicon import DETERMINERS, TIMES, TRANSPARENT, WEAK_OR_ORDINAL
from erukg.core.neighbours import Glossary, Support, Terms
from erukg.core.pool import Pool
from erukg.core.settings import Settings

__all__ = ["Composed", "add_composed", "compose"]

#: How a phrase was composed: of what "of" joins, the same with a head that says little, of what "and" joins in front
#: of a noun, and behind one, and of what "of" joins without the words that begin it ("risk of type 2 diabetes").
OF, WEAK_OF, FRONT, BACK, CUT = 1, 2, 3, 4, 5

_SHORTEST, _LONGEST = 2, 5
# Words of the longest head before "of".
_HEAD = 2
# Words before "and" that may share what follows it.
_SHARING = 3
_JOINING = ("and", "or")
_CONTENT = frozenset("NPJVGC")


class Composed(NamedTuple):
    """A phrase: its fold, how it is written, the words of the text that it is made of, how, and the text's wording."""

    fold: str
    form: str
    words: tuple[int, ...]
    kind: int
    wording: str


def compose(document: Document, classes: NDArray[np.int8]) -> list[Composed]:
    """The phrases that can be composed of a text whose words have these classes, none of which stands in it."""
    text = TaggedText(document, classes)
    folded = document.folded
    found: dict[str, tuple[Sequence[int], int, tuple[int, int]]] = {}
    for words, kind, place in _combinations(text, [word.lower() for word in text.words]):
        parts = [folded[word] for word in words]
        if _SHORTEST <= len(words) <= _LONGEST and len(set(parts)) == len(parts) and all(parts):
            found.setdefault(" ".join(parts), (words, kind, place))
    if not found:
        return []
    held = among(hash_phrases(list(found)), document.run_hashes).tolist()
    starts, ends = document.layout.starts, document.layout.ends
    return [
        Composed(key, _form(text, words), tuple(words), kind, " ".join(document.text[starts[i] : ends[j]].split()))
        for (key, (words, kind, (i, j))), inside in zip(found.items(), held, strict=True)
        if not inside
    ]


def add_composed(
    pool: Pool, composed: Sequence[Composed], pieces: Pieces, glossary: Glossary, settings: Settings
) -> tuple[Pool, dict[int, Composed]]:
    """The pool with phrases made of the text's words, and which of its rows they are: its last, for those that no
    neighbour has.

    Unless they may be coined, the collection has to know every two words that are side by side in them. What goes by
    the text's wording there, as "quality of life" does, is not put in other words.
    """
    assert pool.support is not None
    wordings = glossary.find(hash_phrases([fold(each.wording) for each in composed]))
    composed = [each for each, number in zip(composed, wordings.tolist(), strict=True) if number < 0]
    if not composed:
        return pool, {}
    numbers, paired = _known(composed, glossary)
    kinds, counts = np.zeros(len(pool), np.int8), np.zeros(len(pool))
    own = len(pool) - len(pool.support.few)
    rows = {number: row for row, number in enumerate(pool.glossary_ids[own:].tolist(), own)}
    made: dict[int, Composed] = {}
    added: list[int] = []
    for k, (each, number) in enumerate(zip(composed, numbers.tolist(), strict=True)):
        row = rows.get(number, -1) if number >= 0 else -1
        if row >= 0:
            kinds[row], counts[row], made[row] = each.kind, paired[k], each
        elif paired[k] > 0 or (settings.coined and each.kind != CUT):
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
    whole = pool.followed_by(new)
    kinds = np.concatenate((kinds, np.array([composed[k].kind for k in added], np.int8)))
    return replace(whole, composed=kinds, paired=np.concatenate((counts, paired[added]))), made


def _pieces_of(phrases: Sequence[Sequence[int]], pieces: Pieces) -> Terms:
    """The pieces of the text's words that each phrase is made of."""
    ids = [pieces.ids[pieces.starts[word] : pieces.starts[word + 1]] for phrase in phrases for word in phrase]
    lengths = [sum(int(pieces.starts[word + 1] - pieces.starts[word]) for word in phrase) for phrase in phrases]
    return Terms(np.cumsum([0, *lengths]), np.concatenate(ids))


def _known(composed: Sequence[Composed], glossary: Glossary) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The number of each phrase in the glossary, and how many documents the rarest two words in it describe there."""
    words = [each.fold.split() for each in composed]
    pairs = [" ".join(pair) for each in words for pair in pairwise(each)]
    found = glossary.find(hash_phrases([each.fold for each in composed] + pairs))
    numbers, pair_numbers = found[: len(composed)], found[len(composed) :]
    counts = np.where(pair_numbers >= 0, glossary.counts(np.maximum(pair_numbers, 0)), 0).astype(np.float64)
    firsts = np.cumsum([0, *(len(each) - 1 for each in words[:-1])])
    return numbers, np.minimum.reduceat(counts, firsts)


def _combinations(text: TaggedText, lower: Sequence[str]) -> Iterator[tuple[Sequence[int], int, tuple[int, int]]]:
    """Words that may make a phrase, how, and the first and the last word of the text's own wording."""
    runs = text.ranges()
    ends = dict(reversed(runs))
    for first, last in runs:
        if last < len(lower) and not text.breaks[last]:
            if lower[last] == "of":
                yield from _around_of(text, lower, first, last, ends)
            elif lower[last] in _JOINING:
                yield from _around_and(text, lower, last, ends)
    for at in range(1, len(lower) - 1):
        # An adjective alone is no run: "linear and nonlinear systems".
        if lower[at] in _JOINING and text.letters[at - 1] in "JV" and not text.breaks[at]:
            yield from _around_and(text, lower, at, ends)


def _around_of(
    text: TaggedText, lower: Sequence[str], first: int, last: int, ends: dict[int, int]
) -> Iterator[tuple[Sequence[int], int, tuple[int, int]]]:
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
) -> Iterator[tuple[Sequence[int], int, tuple[int, int]]]:
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


def _form(text: TaggedText, words: Sequence[int]) -> str:
    """How the phrase is written: what stands before its head in the singular, capitals only in names and acronyms."""
    out = []
    for k, word in enumerate(words):
        form = text.words[word]
        if text.letters[word] != "P" and form[1:].islower():
            form = form.lower()
        if k + 1 < len(words) and words[k + 1] != word + 1 and text.letters[word] == "N" and is_plural(form):
            form = fold_word(form) if form.isascii() and form.islower() and not form.endswith("ses") else form
        out.append(form)
    return " ".join(out)

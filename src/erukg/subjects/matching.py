"""Where the labels of a vocabulary stand in a text: whole words by fold, the longest first, never pieces of words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.core.acronyms import find_acronyms
from erukg.core.document import Document
from erukg.core.folding import fold
from erukg.core.hashing import hash_phrases, hash_runs
from erukg.core.lexicon import FUNCTION_WORDS, NEVER
from erukg.core.search_words import STOP_WORDS
from erukg.subjects.spelling import RESPELLINGS
from erukg.subjects.vocabulary import Vocabulary

__all__ = ["Occurrences", "find_labels"]

Ints: TypeAlias = NDArray[np.int64]

# Labels of more words are not looked for.
_LONGEST = 16
# A label in capitals that is no longer than this is an acronym: "AIDS" is not meant where a text says "aids".
_LONGEST_ACRONYM = 7
_COMMON = FUNCTION_WORDS | NEVER | STOP_WORDS
_PART = re.compile(r"[^-\u2010-\u2015\u2212/_]+")


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Every place at which a label stands in a text, in the order of the text; one entry for each concept and place.

    labels    the label's number in the vocabulary, of several the preferred one
    concepts  the concept that it belongs to
    starts    where it stands in the text
    ends
    words     its first word, and the one after its last
    nested    whether it lies inside a longer label at this place
    part      whether it begins or ends inside a compound: "calcium" in "calcium-dependent"
    shared    how many concepts the words may stand for here
    defined   whether an acronym that the text defines stands there for it
    folds     what stands there, folded
    """

    labels: Ints
    concepts: Ints
    starts: Ints
    ends: Ints
    words: NDArray[np.int64]
    nested: NDArray[np.bool_]
    part: NDArray[np.bool_]
    shared: Ints
    defined: NDArray[np.bool_]
    folds: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: NDArray[np.int64]) -> Occurrences:
        """Some of them, in the order given."""
        return Occurrences(
            self.labels[rows],
            self.concepts[rows],
            self.starts[rows],
            self.ends[rows],
            self.words[rows],
            self.nested[rows],
            self.part[rows],
            self.shared[rows],
            self.defined[rows],
            tuple(self.folds[row] for row in rows.tolist()),
        )

    @staticmethod
    def none() -> Occurrences:
        none, no = np.empty(0, np.int64), np.empty(0, np.bool_)
        return Occurrences(none, none, none, none, none.reshape(0, 2), no, no, none, no, ())


class _Range(NamedTuple):
    start: int
    end: int
    first: int
    last: int
    part: bool
    key: str
    hash: int


def find_labels(document: Document, vocabulary: Vocabulary) -> Occurrences:
    """All labels of the vocabulary that the text holds.

    An acronym that the text defines stands for its long form wherever it is used, and for nothing else.
    """
    folds, owners, preferred = vocabulary.label_folds, vocabulary.label_owners, vocabulary.label_is_preferred
    ranges = list(_known_ranges(document, folds))
    long_forms = find_acronyms(document.text) if "(" in document.text else {}
    defined = dict(zip(long_forms, hash_phrases(list(long_forms.values())).tolist(), strict=True))
    if defined:
        ranges = sorted({*ranges, *_short_forms(document, defined, folds)})
    values = np.array([defined.get(each.key, each.hash) for each in ranges], np.uint64)
    bounds = zip(np.searchsorted(folds, values).tolist(), np.searchsorted(folds, values, "right").tolist(), strict=True)
    lower = document.text.islower()
    rows: list[tuple[int, int, int, int, int, int, bool, int, bool]] = []
    keys: list[str] = []
    for each, (start, stop) in zip(ranges, bounds, strict=True):
        surface = document.text[each.start : each.end]
        known = each.key in defined
        capitals = _shouted(document, each)
        found: dict[int, int] = {}
        for label in range(start, stop):
            if known or _means(surface, each.key, vocabulary.label_text(label), lower, capitals):
                owner = int(owners[label])
                if owner not in found or preferred[label]:
                    found[owner] = label
        for owner, label in _plainly_meant(found, vocabulary, document).items():
            # A label with a qualifier says itself that its word may mean something else.
            several = max(len(found), 1 + ("(" in vocabulary.label_text(label) and not known))
            rows.append((label, owner, *each[:4], each.part, several, known))
            keys.append(each.key)
    labels, concepts, starts, ends, first, last, part, shared, acronym = np.array(rows, np.int64).reshape(-1, 9).T
    return Occurrences(
        labels,
        concepts,
        starts,
        ends,
        np.stack((first, last), 1),
        _nested(starts, ends),
        part.astype(np.bool_),
        shared,
        acronym.astype(np.bool_),
        tuple(keys),
    )


def _plainly_meant(found: dict[int, int], vocabulary: Vocabulary, document: Document) -> dict[int, int]:
    """Of concepts and labels that the same words may stand for, those that are meant where nothing else is said.

    Beside "Germany" stands "Germany (until 1945)", which is not meant unless the text holds a word of its qualifier.
    """
    texts = {owner: vocabulary.label_text(label) for owner, label in found.items()}
    if len(found) == 1 or all("(" in text for text in texts.values()):
        return found
    said = set(document.layout.tokens)
    return {
        owner: label
        for owner, label in found.items()
        if "(" not in texts[owner] or not said.isdisjoint(fold(texts[owner].partition("(")[2]).split())
    }


def _known_ranges(document: Document, folds: NDArray[np.uint64]) -> Iterator[_Range]:
    """Where something folds to a label, in the order of the text; in another spelling or number if not as it is."""
    tokens = document.layout.tokens
    hashes = hash_runs(tokens, _LONGEST)
    if not hashes.size or not len(folds):
        return
    found = {(a, b): int(hashes[a, b - a - 1]) for a, b in _look_up(hashes, folds)}
    for respell in RESPELLINGS:
        respelt = respell(tokens)
        changed = np.array([new != old for new, old in zip(respelt, tokens, strict=True)])
        if changed.any():
            others = hash_runs(respelt, _LONGEST)
            others[others == hashes] = 0
            for a, b in _look_up(others, folds):
                found.setdefault((a, b), int(others[a, b - a - 1]))
    layout, text = document.layout, document.text
    for (a, b), value in sorted(found.items()):
        first, last = layout.owners[a], layout.owners[b - 1]
        if layout.runs[first] != layout.runs[last]:
            continue
        start, end, part = layout.starts[first], layout.ends[last], False
        if a and layout.owners[a - 1] == first:
            start, part = _inside(document, first, a)[0], True
        if layout.owners[b] == last:
            end, part = _inside(document, last, b - 1)[1], True
        key = " ".join(layout.tokens[a:b])
        if fold(text[start:end]) == key:
            yield _Range(start, end, first, last + 1, part, key, value)


def _look_up(hashes: NDArray[np.uint64], folds: NDArray[np.uint64]) -> Iterator[tuple[int, int]]:
    """The runs of tokens, as ranges, whose hash is that of a label."""
    flat = hashes.ravel()
    place = np.minimum(np.searchsorted(folds, flat), len(folds) - 1)
    at, more = np.divmod(np.flatnonzero((folds[place] == flat) & (flat != 0)), _LONGEST)
    return zip(at.tolist(), (at + more + 1).tolist(), strict=True)


def _inside(document: Document, word: int, token: int) -> tuple[int, int]:
    """Where a part of a compound stands in the text; the whole word where that cannot be told."""
    layout = document.layout
    start, end = layout.starts[word], layout.ends[word]
    parts = list(_PART.finditer(document.text, start, end))
    first = token
    while first and layout.owners[first - 1] == word:
        first -= 1
    return parts[token - first].span() if token - first < len(parts) else (start, end)


def _short_forms(document: Document, defined: dict[str, int], folds: NDArray[np.uint64]) -> Iterator[_Range]:
    """Where acronyms of the text stand whose long form is a label."""
    layout = document.layout
    for key, value in defined.items():
        place = int(np.searchsorted(folds, np.uint64(value)))
        if " " in key or place == len(folds) or int(folds[place]) != value:
            continue
        own = int(hash_phrases([key])[0])
        for at in layout.where.get(key, ()):
            word = layout.owners[at]
            if layout.owners[at + 1] != word:
                yield _Range(layout.starts[word], layout.ends[word], word, word + 1, False, key, own)


def _nested(starts: Ints, ends: Ints) -> NDArray[np.bool_]:
    """Which ranges lie inside a longer one."""
    out = np.zeros(len(starts), np.bool_)
    begin = reach = -1
    for k in np.lexsort((-ends, starts)).tolist():
        if ends[k] > reach:
            begin, reach = int(starts[k]), int(ends[k])
        else:
            out[k] = (int(starts[k]), int(ends[k])) != (begin, reach)
    return out


def _means(surface: str, key: str, label: str, lower: bool, capitals: bool) -> bool:
    """Whether the label can be meant by the words that it is spelt with in a text, `lower` if that has no capitals.

    `capitals` tells whether all words around are in capitals, too.
    """
    if " " in key:
        return True
    if len(key) < 2 or (key.isdigit() and len(key) < 4):
        return False
    if _is_acronym(label):
        return (lower and len(key) > 2 and key not in _COMMON) or sum(map(str.isupper, surface)) > 1
    if surface.isupper() and not capitals and surface.casefold() != label.partition(" (")[0].casefold():
        # An acronym that only looks like a plural: "HARPS" are no harps.
        return False
    return key not in _COMMON and surface.lower() not in _COMMON


def _shouted(document: Document, each: _Range) -> bool:
    """Whether the words beside a range are in capitals."""
    around = document.words[max(each.first - 1, 0) : each.first] + document.words[each.last : each.last + 1]
    return any(len(word) > 1 and word.isupper() for word in around)


@lru_cache(maxsize=1 << 13)
def _is_acronym(label: str) -> bool:
    """Whether the label is one short word, mostly of capitals."""
    word = label.partition(" (")[0]
    capitals = sum(map(str.isupper, word))
    return capitals > 1 and len(word) <= _LONGEST_ACRONYM and 2 * capitals >= len(word) and " " not in word

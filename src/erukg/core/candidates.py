"""Noun phrases of a document (the candidates C_x), and where given phrases occur in it.

The grammar over Penn tags is the paper's, `(<NN.*|JJ.*>+<NN.*|CD>)|<NN.*>`: the longest match from left to
right, inside runs of words that no break parts. Phrases are folded before they are told apart, so that case,
plural and hyphen variants are one candidate.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from erukg.core.document import Document
from erukg.core.folding import fold
from erukg.errors import InputError

__all__ = [
    "ADJECTIVE",
    "NOUN",
    "NUMBER",
    "OTHER",
    "Candidates",
    "commonest",
    "noun_phrases",
    "occurrences",
    "penn_class",
    "word_position",
    "word_ranges",
    "words_before",
]

OTHER, NOUN, ADJECTIVE, NUMBER = 0, 1, 2, 3

# One letter a word: Noun, adJective, Cardinal number, Other; a small letter after a break. A phrase may begin
# after a break but not go on after one.
_LETTERS = np.frombuffer(b"ONJConjc", np.uint8)
_GRAMMAR = re.compile(rb"[NJnj][NJ]*[NC]|[Nn]")
# Function words and abbreviations that taggers take for nouns or adjectives; never a phrase alone.
_STOP_LINES = (
    "i ii iii iv v vi vii viii ix x e.g eg i.e ie et al etc cf vs viz fig eq sec ref no nos pp vol ed eds",
    "lrb rrb lsb rsb lcb rcb a an the and or but nor of in on at by to for from with without as if than",
    "that this these those which who whom whose what when where why how we you he she it they our your his",
    "her its their one such other same own be is are was were been being do does did has have had can could",
    "may might must shall should will would not all any both each either every few many more most much",
    "neither none several some",
)
# What the parts of a paper are called in it.
_LABEL = re.compile(r"(?:table|figure|fig|section|sec|equation|eqn?|lemma|theorem|appendix|page) [\d.]+")
_STOP = frozenset(fold(word) for line in _STOP_LINES for word in line.split()) | {"et al", ""}


def penn_class(tag: str) -> int:
    """The class of a Penn Treebank tag: NN* is NOUN, JJ* ADJECTIVE, CD NUMBER, the rest OTHER."""
    if tag.startswith("NN"):
        return NOUN
    if tag.startswith("JJ"):
        return ADJECTIVE
    return NUMBER if tag == "CD" else OTHER


@dataclass(frozen=True, slots=True)
class Candidates:
    """C_x: the distinct noun phrases of a document, in order of first occurrence.

    folds      what makes each phrase itself (`erukg.core.folding.fold`)
    forms      the surface most used in the text, the first of those equally used
    spans      all its occurrences as a noun phrase: `fold(text[start:end])` is its fold
    positions  P_x(c): how many words stand before its first occurrence
    counts     how many occurrences there are
    """

    folds: tuple[str, ...]
    forms: tuple[str, ...]
    spans: tuple[tuple[tuple[int, int], ...], ...]
    positions: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.folds)


def noun_phrases(document: Document, classes: NDArray[np.int8], max_words: int = 5) -> Candidates:
    """The candidates C_x of a document whose words have these tag classes.

    A run of more than `max_words` words gives its last `max_words`: the head of an English phrase is at its
    end.
    """
    if len(classes) != len(document.words):
        raise InputError(
            f"Got {len(classes)} tag classes for {len(document.words)} words; give one class for each word."
        )
    words, text, folded, layout = document.words, document.text, document.folded, document.layout
    starts, ends, before = layout.starts, layout.ends, layout.counts
    found: dict[str, list[tuple[int, int]]] = {}
    surfaces: dict[str, list[str]] = {}
    first: list[int] = []
    for i, j in _chunks(document, classes, max_words):
        span = starts[i], ends[j - 1]
        chunk, raw = words[i:j], text[span[0] : span[1]]
        surface = " ".join(chunk)
        if surface.isascii() and surface.replace(" ", "").isalpha():
            # Plain words, as nearly all are: they fold one by one, and little can be wrong with them.
            key = " ".join(folded[i:j])
            if key in _STOP or len(key) < 2 or (j > i + 1 and len(surface) < 2 * (j - i)):
                continue
        elif not _worth(key := fold(surface), chunk):
            continue
        if raw != surface and fold(raw) != key:
            continue
        if key in found:
            found[key].append(span)
            surfaces[key].append(surface)
        else:
            found[key] = [span]
            surfaces[key] = [surface]
            first.append(before[i])
    return Candidates(
        folds=tuple(found),
        forms=tuple(map(commonest, surfaces.values())),
        spans=tuple(map(tuple, found.values())),
        positions=np.array(first, np.int64),
        counts=np.array(list(map(len, found.values())), np.int64),
    )


def commonest(forms: Sequence[str]) -> str:
    """The form most used; of equally used ones the first."""
    if 2 * forms.count(forms[0]) >= len(forms):
        return forms[0]
    return Counter(forms).most_common(1)[0][0]


def _chunks(document: Document, classes: NDArray[np.int8], max_words: int) -> list[tuple[int, int]]:
    """Word ranges that the grammar matches, as NLTK's RegexpParser would within each unbroken run."""
    kinds = np.where(document.usable, classes, OTHER) + 4 * document.breaks
    line = _LETTERS[kinds].tobytes()
    ranges = (match.span() for match in _GRAMMAR.finditer(line))
    # Of a run cut down to one word only a noun is left standing as a phrase.
    return [(max(i, j - max_words), j) for i, j in ranges if max_words > 1 or line[j - 1] in b"Nn"]


def _worth(key: str, words: Sequence[str]) -> bool:
    """Whether a phrase is more than a function word, a number, a label, or letters set apart."""
    return (
        key not in _STOP
        and not (key[-1].isdigit() and _LABEL.fullmatch(key))
        and len(key) > 1
        and (key.isalpha() or any(map(str.isalpha, key)))
        and (len(words) == 1 or any(len(word) > 1 for word in words))
    )


def words_before(document: Document, chars: Sequence[int]) -> NDArray[np.int64]:
    """How many words, punctuation not counted, stand before each character: P_x of what starts there."""
    at = np.searchsorted(document.ends, np.asarray(chars, np.int64), side="right")
    return np.array(document.layout.counts, np.int64)[at]


def word_position(document: Document, char: int) -> int:
    """`words_before` of one character."""
    return int(words_before(document, [char])[0])


def occurrences(document: Document, keys: Sequence[str]) -> list[tuple[tuple[int, int], ...]]:
    """The spans of each folded phrase: whole words with no break inside; () where it does not occur."""
    starts, ends = document.layout.starts, document.layout.ends
    return [tuple([(starts[i], ends[j]) for i, j in found]) for found in word_ranges(document, keys)]


def word_ranges(document: Document, keys: Sequence[str]) -> list[list[tuple[int, int]]]:
    """The first and the last word of each occurrence of each folded phrase."""
    layout, text, words = document.layout, document.text, document.words
    tokens, owners, runs, starts, ends = layout.tokens, layout.owners, layout.runs, layout.starts, layout.ends
    known: dict[str, list[tuple[int, int]]] = {}
    for key in keys:
        if key in known:
            continue
        found = known[key] = []
        parts = key.split()
        if not parts or " ".join(parts) != key:
            continue
        length = len(parts)
        for at in layout.where.get(parts[0], ()):
            stop = at + length
            # The phrase must end where a word does; at the end of the text the slice is too short to be equal.
            if (length > 1 and tokens[at:stop] != parts) or owners[stop] == owners[stop - 1]:
                continue
            first, last = owners[at], owners[stop - 1]
            if runs[first] != runs[last]:
                continue
            raw = text[starts[first] : ends[last]]
            if (first == last and raw == words[first]) or fold(raw) == key:
                found.append((first, last))
    return [known[key] for key in keys]

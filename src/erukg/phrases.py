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

from erukg.document import Document
from erukg.errors import InputError
from erukg.folding import fold

__all__ = [
    "ADJECTIVE",
    "NOUN",
    "NUMBER",
    "OTHER",
    "Candidates",
    "noun_phrases",
    "occurrences",
    "penn_class",
    "word_position",
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

    folds      what makes each phrase itself (`erukg.folding.fold`)
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
    words, text = document.words, document.text
    starts, ends = document.starts.tolist(), document.ends.tolist()
    before = _counts(document).tolist()
    found: dict[str, list[tuple[int, int]]] = {}
    surfaces: dict[str, list[str]] = {}
    first: list[int] = []
    for i, j in _chunks(document, classes, max_words):
        span = starts[i], ends[j - 1]
        chunk, raw = words[i:j], text[span[0] : span[1]]
        surface = " ".join(chunk)
        key = fold(surface)
        if not _worth(key, chunk) or (raw != surface and fold(raw) != key):
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
        forms=tuple(s[0] if len(s) == 1 else Counter(s).most_common(1)[0][0] for s in surfaces.values()),
        spans=tuple(map(tuple, found.values())),
        positions=np.array(first, np.int64),
        counts=np.array([len(s) for s in found.values()], np.int64),
    )


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
        and any(map(str.isalpha, key))
        and (len(words) == 1 or any(len(word) > 1 for word in words))
    )


def _counts(document: Document) -> NDArray[np.int64]:
    """How many words, punctuation not counted, stand before each word, and how many there are in all."""
    counted = document.usable.copy()
    for i in np.flatnonzero(~counted).tolist():
        counted[i] = any(map(str.isalnum, document.words[i]))
    before = np.zeros(len(counted) + 1, np.int64)
    np.cumsum(counted, out=before[1:])
    return before


def words_before(document: Document, chars: Sequence[int]) -> NDArray[np.int64]:
    """How many words, punctuation not counted, stand before each character: P_x of what starts there."""
    return _counts(document)[np.searchsorted(document.ends, np.asarray(chars, np.int64), side="right")]


def word_position(document: Document, char: int) -> int:
    """`words_before` of one character."""
    return int(words_before(document, [char])[0])


def occurrences(document: Document, keys: Sequence[str]) -> list[tuple[tuple[int, int], ...]]:
    """The spans of each folded phrase: whole words with no break inside; () where it does not occur."""
    tokens: list[str] = []
    owners: list[int] = []  # the word each token is of
    for i, folded in enumerate(document.folded):
        for token in folded.split():
            tokens.append(token)
            owners.append(i)
    spans: dict[str, list[tuple[int, int]]] = {key: [] for key in keys}
    lengths: dict[str, list[int]] = {}  # in tokens, of the phrases that begin with a token
    for key in spans:
        parts = key.split()
        if parts and len(parts) not in lengths.setdefault(parts[0], []):
            lengths[parts[0]].append(len(parts))
    run = np.cumsum(document.breaks).tolist()  # words with the same number have no break between them
    starts, ends = document.starts.tolist(), document.ends.tolist()
    owners.append(-1)
    for at in [i for i, token in enumerate(tokens) if token in lengths]:
        first = owners[at]
        if at and owners[at - 1] == first:
            continue
        for length in lengths[tokens[at]]:
            stop = at + length
            if stop >= len(owners) or owners[stop] == owners[stop - 1]:
                continue
            key = " ".join(tokens[at:stop])
            last = owners[stop - 1]
            if key in spans and run[first] == run[last]:
                span = starts[first], ends[last]
                if fold(document.text[span[0] : span[1]]) == key:
                    spans[key].append(span)
    return [tuple(spans[key]) for key in keys]

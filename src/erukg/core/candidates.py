"""Noun phrases of a document: the candidates C_x.

The grammar over Penn tags is the paper's, `(<NN.*|JJ.*>+<NN.*|CD>)|<NN.*>`: the longest match from left to
right, inside runs of words that no break parts. Phrases are folded before they are told apart, so that case,
plural and hyphen variants are one candidate.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from erukg.core.document import Document
from erukg.core.folding import fold
from erukg.core.locating import Located, locate, most_used
from erukg.errors import InputError

__all__ = [
    "ADJECTIVE",
    "NOUN",
    "NUMBER",
    "OTHER",
    "find_candidates",
    "noun_phrases",
    "penn_class",
]

OTHER, NOUN, ADJECTIVE, NUMBER = 0, 1, 2, 3

# One letter per word: Noun, adJective, Cardinal number, Other; a small letter after a break. A phrase may begin
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


def find_candidates(document: Document, classes: NDArray[np.int8], max_words: int = 5) -> list[Located]:
    """C_x: the distinct noun phrases of a document whose words have these tag classes, with all their occurrences.

    They come in order of their first occurrence as a noun phrase. A run of more than `max_words` words gives its last
    `max_words`: the head of an English phrase is at its end.
    """
    chunks = _phrase_chunks(document, classes, max_words)
    places = locate(document, list(chunks))
    # A phrase that stands across what the text's words are looked up by is only known as a noun phrase.
    return [place or _as_noun_phrase(document, *chunk) for place, chunk in zip(places, chunks.items(), strict=True)]


def noun_phrases(document: Document, classes: NDArray[np.int8], max_words: int = 5) -> list[Located]:
    """The same candidates with only those occurrences that are noun phrases of their own, not part of longer ones."""
    return [_as_noun_phrase(document, *chunk) for chunk in _phrase_chunks(document, classes, max_words).items()]


def _as_noun_phrase(document: Document, key: str, ranges: Sequence[tuple[int, int]]) -> Located:
    layout, words = document.layout, document.words
    forms = [" ".join(words[i:j]) for i, j in ranges]
    spans = tuple([(layout.starts[i], layout.ends[j - 1]) for i, j in ranges])
    return Located(key, most_used(forms), spans, layout.counts[ranges[0][0]])


def _phrase_chunks(document: Document, classes: NDArray[np.int8], max_words: int) -> dict[str, list[tuple[int, int]]]:
    """The word ranges of the noun phrases worth having, by fold, in order of first occurrence."""
    if len(classes) != len(document.words):
        raise InputError(
            f"Got {len(classes)} tag classes for {len(document.words)} words; give one class for each word."
        )
    words, text, folded = document.words, document.text, document.folded
    starts, ends = document.layout.starts, document.layout.ends
    found: dict[str, list[tuple[int, int]]] = {}
    for i, j in _chunks(document, classes, max_words):
        chunk, raw = words[i:j], text[starts[i] : ends[j - 1]]
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
        found.setdefault(key, []).append((i, j))
    return found


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

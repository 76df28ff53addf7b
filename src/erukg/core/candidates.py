"""Candidates: the phrases of a document that are worth scoring, C_x.

With the paper's grammar over Penn tags, `(<NN.*|JJ.*>+<NN.*|CD>)|<NN.*>`, they are the longest matches from left to
right inside runs of words that no break parts. `erukg.core.chunking` finds whole phrases instead: names, participles,
"of" and "and". Phrases are folded before they are told apart, so that case, plural and hyphen variants are one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from erukg.core.chunking import Chunk, TaggedText, find_chunks
from erukg.core.document import Document
from erukg.core.folding import fold, fold_word
from erukg.core.hashing import hash_phrases
from erukg.core.lexicon import FUNCTION_WORDS, NUMBER_WORDS, PARTICLES, TIMES, WEAK_OR_ORDINAL
from erukg.core.locating import Located, locate, most_used
from erukg.core.neighbours import Glossary
from erukg.errors import InputError

__all__ = ["find_candidates", "noun_phrases"]

# One letter per word: Noun, adJective, Cardinal number, Other; a small letter after a break. A phrase may begin
# after a break but not go on after one. For the paper a name is a noun and a comparative an adjective.
_LETTERS = np.frombuffer(b"ONJCNOOJOOonjcnoojoo", np.uint8)
_GRAMMAR = re.compile(rb"[NJnj][NJ]*[NC]|[Nn]")
# What the parts of a paper are called in it.
_LABEL = re.compile(r"(?:table|figure|fig|section|sec|equation|eqn?|lemma|theorem|appendix|page) [\d.]+")
_STOP = frozenset(map(fold, FUNCTION_WORDS | PARTICLES)) | {"et al", ""}
_EMPTY = TIMES | NUMBER_WORDS | WEAK_OR_ORDINAL
_LONGEST_KNOWN = 4


def find_candidates(
    document: Document,
    classes: NDArray[np.int8],
    max_words: int = 5,
    *,
    whole: bool = True,
    glossary: Glossary | None = None,
    tagged: TaggedText | None = None,
) -> list[Located]:
    """C_x: the distinct phrases of a document whose words have these classes, with all their occurrences.

    They come in order of their first occurrence as a phrase. A run of more than `max_words` words gives its last
    `max_words`: the head of an English phrase is at its end. `whole` is false for the paper's grammar. What the
    `glossary` knows, of two words or more, is a candidate wherever it stands. `tagged` is the text with its classes, if
    that is known already.
    """
    _check(document, classes)
    if not whole:
        found = _by_fold(document, _noun_chunks(document, classes, max_words))
    else:
        text = tagged or TaggedText(document, classes)
        chunks = find_chunks(text, max_words, _Known(document, glossary) if glossary else None)
        found = _by_fold(document, _meaningful(document, chunks))
    keys = list(found)
    alone = [sum([chunk.alone for chunk in chunks]) for chunks in found.values()]
    if glossary is not None and whole:
        more = _known_runs(document, glossary, found)
        keys, alone = keys + more, alone + [-1] * len(more)
    out: list[Located] = []
    for key, place in zip(keys, locate(document, keys, alone), strict=True):
        if place is not None:
            out.append(place)
        elif key in found:
            # A phrase that stands across what the text's words are looked up by is only known as a chunk.
            out.append(_as_chunks(document, key, found[key]))
    return [_without_owner(place) for place in out]


def _without_owner(place: Located) -> Located:
    """A phrase that mostly owns something ("Sri Lanka's budget") in its own form."""
    return place._replace(form=place.form[:-2]) if place.form.endswith("'s") else place


def noun_phrases(document: Document, classes: NDArray[np.int8], max_words: int = 5) -> list[Located]:
    """The candidates of the paper's grammar with only those occurrences that are phrases of their own."""
    _check(document, classes)
    found = _by_fold(document, _noun_chunks(document, classes, max_words))
    return [_as_chunks(document, *each) for each in found.items()]


def _check(document: Document, classes: NDArray[np.int8]) -> None:
    if len(classes) != len(document.words):
        raise InputError(
            f"Got {len(classes)} tag classes for {len(document.words)} words; give one class for each word."
        )


class _Known:
    """Whether a glossary has the words of a range."""

    def __init__(self, document: Document, glossary: Glossary) -> None:
        self._words, self._glossary = document.words, glossary

    def __call__(self, first: int, last: int) -> bool:
        return bool(self._glossary.find(hash_phrases([fold(" ".join(self._words[first:last]))]))[0] >= 0)


def _known_runs(document: Document, glossary: Glossary, found: dict[str, list[Chunk]]) -> list[str]:
    """The folds of phrases of the glossary that the text seems to hold and that were not found before."""
    tokens = document.layout.tokens
    if len(tokens) < 2:
        return []
    # No phrase begins or ends with a function word, so most runs need not be looked up.
    content = np.zeros(len(tokens) + _LONGEST_KNOWN, np.bool_)
    content[: len(tokens)] = [token not in _STOP for token in tokens]
    last = np.lib.stride_tricks.sliding_window_view(content, _LONGEST_KNOWN)[: len(tokens), 1:]
    at, more = np.nonzero(last & content[: len(tokens), None])
    known = np.flatnonzero(glossary.find(document.run_hashes[at, more + 1]) >= 0)
    runs = (" ".join(tokens[i : i + n + 2]) for i, n in zip(at[known].tolist(), more[known].tolist(), strict=True))
    return [key for key in dict.fromkeys(runs) if key not in found]


def _meaningful(document: Document, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The chunks without dates and counts ("next Tuesday", "two days") and without mere owners ("the city's").

    Owners with a name of several words are worth their name: "Ada Byron's".
    """
    words, query = document.words, document.is_query
    for chunk in chunks:
        first, last, _ = chunk
        owner = words[last - 1][-2:] == "'s"
        if owner and not (last - first > 1 and words[first][0].isupper() and words[last - 1][0].isupper()):
            continue
        if query or not _is_empty(words[first]) or not all(map(_is_empty, words[first:last])):
            yield chunk


@lru_cache(maxsize=1 << 14)
def _is_empty(word: str) -> bool:
    """Whether a word only counts, dates or compares."""
    lower = word.lower()
    return lower in _EMPTY or lower[0].isdigit() or fold_word(lower) in TIMES


def _as_chunks(document: Document, key: str, chunks: Sequence[Chunk]) -> Located:
    layout, words = document.layout, document.words
    forms = [" ".join(words[i:j]) for i, j, _ in chunks]
    spans = tuple([(layout.starts[i], layout.ends[j - 1]) for i, j, _ in chunks])
    first, last, _ = chunks[0]
    alone = sum(chunk.alone for chunk in chunks)
    return Located(key, most_used(forms), spans, layout.counts[first], (first, last), alone)


def _by_fold(document: Document, chunks: Iterable[Chunk]) -> dict[str, list[Chunk]]:
    """Those of the chunks that are worth having, by fold, in order of first occurrence."""
    words, text, folded = document.words, document.text, document.folded
    starts, ends = document.layout.starts, document.layout.ends
    found: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        i, j, _ = chunk
        part, raw = words[i:j], text[starts[i] : ends[j - 1]]
        surface, letters = " ".join(part), "".join(part)
        if letters.isascii() and letters.isalpha():
            # Plain words, as nearly all are: they fold one by one, and little can be wrong with them.
            key = " ".join(folded[i:j])
            if key in _STOP or len(key) < 2 or (j > i + 1 and len(surface) < 2 * (j - i)):
                continue
        elif not _worth(key := fold(surface), part):
            continue
        if raw != surface and fold(raw) != key:
            continue
        found.setdefault(key, []).append(chunk)
    return found


def _noun_chunks(document: Document, classes: NDArray[np.int8], max_words: int) -> Iterator[Chunk]:
    """What the paper's grammar matches, as NLTK's RegexpParser would within each unbroken run."""
    kinds = np.where(document.usable, classes, 0) + 10 * document.breaks
    line = _LETTERS[kinds].tobytes()
    for match in _GRAMMAR.finditer(line):
        i, j = match.span()
        # Of a run cut down to one word only a noun is left standing as a phrase.
        if max_words > 1 or line[j - 1] in b"Nn":
            yield Chunk(max(i, j - max_words), j, True)


def _worth(key: str, words: Sequence[str]) -> bool:
    """Whether a phrase is more than a function word, a number, a label, or letters set apart."""
    return (
        key not in _STOP
        and not (key[-1].isdigit() and _LABEL.fullmatch(key))
        and len(key) > 1
        and (key.isalpha() or any(map(str.isalpha, key)))
        and (len(words) == 1 or any(len(word) > 1 for word in words))
    )

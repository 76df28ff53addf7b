"""Documents gathered in memory until they are worth a segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import terms_of, text_key
from erukg.collection.arrays import PackedLists, join, offsets_of
from erukg.collection.encoded import DocumentRecord, EncodedDocument, Phrase
from erukg.collection.manifest import SegmentEntry
from erukg.collection.postings import invert, number_terms, pack
from erukg.collection.segment import IN_TITLE, ROW, Forms, Segment
from erukg.collection.tags import Tag, TaggedRows, checked_tags
from erukg.collection.weights import MOST_TERMS, high_values, pack_weights, quantise
from erukg.core.folding import fold
from erukg.core.hashing import hash_phrases
from erukg.errors import InputError

__all__ = ["SegmentBuilder"]

_LONGEST_TITLE = 300


@dataclass(frozen=True, slots=True)
class _Pending:
    """A document to be written: id, title, BM25 terms in order, packed term weights, rows of the builder's forms,
    tags.
    """

    id: str
    title: str
    terms: NDArray[np.uint64]
    weights: bytes
    rows: list[int]
    tags: tuple[Tag, ...]


class SegmentBuilder:
    """A segment in the making. `full` says when it is time to `write` it."""

    def __init__(self, vocab_size: int, weight_limit: float, most_terms: int, documents: int, terms: int) -> None:
        self._vocab_size = vocab_size
        self._limit = weight_limit
        self._keep = min(most_terms, MOST_TERMS)
        self._most_documents = documents
        self._most_length = terms
        self._length = 0
        self._documents: list[_Pending] = []
        self._forms: dict[tuple[str, str], int] = {}
        self._pieces: list[tuple[int, ...]] = []

    def __len__(self) -> int:
        return len(self._documents)

    @property
    def full(self) -> bool:
        return len(self._documents) >= self._most_documents or self._length >= self._most_length

    @property
    def ids(self) -> list[str]:
        return [document.id for document in self._documents]

    def keep(self, n: int) -> None:
        """Forget all but the first `n` documents."""
        del self._documents[n:]

    def add(self, record: DocumentRecord, document: EncodedDocument) -> None:
        """Take a document in, or say in an `InputError` why it cannot be; then nothing has changed."""
        ids, weights = np.asarray(document.term_ids), np.asarray(document.term_weights, np.float64)
        if ids.shape != weights.shape or ids.ndim != 1:
            raise InputError(f"It has {ids.size} term ids but {weights.size} term weights.")
        if ids.size and (int(ids.min()) < 0 or int(ids.max()) >= self._vocab_size or np.unique(ids).size != ids.size):
            raise InputError(f"Its term ids are not distinct numbers below {self._vocab_size}.")
        if not np.all(np.isfinite(weights)) or np.any(weights < 0):
            raise InputError("Its term weights are not all finite and at least 0.")
        phrases = _checked(document.phrases, self._vocab_size)
        tags = checked_tags(record.tags)
        terms = terms_of(record.text)
        packed = b""
        if self._keep:
            packed = pack_weights(*quantise(ids, weights, self._keep, self._limit), high_values(self._vocab_size))
        title = f" {fold(record.title)} "
        rows = [self._row(phrase) | (IN_TITLE if f" {phrase.fold} " in title else 0) for phrase in phrases]
        self._length += len(terms)
        # One step, so that an interruption finds the document wholly in or wholly out.
        self._documents.append(_Pending(record.id, _shown(record.title), terms, packed, rows, tags))

    def _row(self, phrase: Phrase) -> int:
        key = (phrase.fold, phrase.form.lower())
        row = self._forms.get(key)
        if row is None:
            row = self._forms[key] = len(self._pieces)
            self._pieces.append(phrase.terms)
        return row

    def write(self, path: Path) -> SegmentEntry:
        """Write the segment to `path` and wait until it is on the disk."""
        documents = self._documents
        n = len(documents)
        lengths = np.fromiter((len(d.terms) for d in documents), np.int64, n)
        vocabulary, numbers = number_terms(join([d.terms for d in documents], np.uint64))
        indptr, lists, frequencies = invert(numbers, lengths, len(vocabulary))
        words, ends = pack(indptr, lists, frequencies)
        forms, rank = self._sorted_forms()
        counts = np.fromiter((len(d.rows) for d in documents), np.int64, n)
        rows = np.fromiter((row for d in documents for row in d.rows), np.int64, int(counts.sum()))
        sizes = np.fromiter((len(d.weights) for d in documents), np.int64, n)
        return Segment(
            path,
            vocabulary,
            PackedLists(words, offsets_of(np.diff(ends, prepend=0))),
            np.diff(indptr).astype(np.uint32),
            lengths.astype(np.uint32),
            np.array([text_key(d.terms) for d in documents], np.uint64),
            PackedLists.of_strings(self.ids),
            PackedLists.of_strings([d.title for d in documents]),
            PackedLists(np.frombuffer(b"".join(d.weights for d in documents), np.uint8), offsets_of(sizes)),
            PackedLists((rank[rows & ROW] | (rows & IN_TITLE)).astype(np.uint32), offsets_of(counts)),
            forms,
            TaggedRows.of([d.tags for d in documents]),
        ).write(path)

    def _sorted_forms(self) -> tuple[Forms, NDArray[np.int64]]:
        """The written forms, sorted as a segment has them, and the place of each among them."""
        text = PackedLists.of_strings([form for _, form in self._forms])
        folds = hash_phrases([fold for fold, _ in self._forms])
        order = np.lexsort((text.hashes(), folds))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        pieces = [self._pieces[i] for i in order.tolist()]
        counts = np.fromiter((len(p) for p in pieces), np.int64, len(pieces))
        terms = np.fromiter((t for p in pieces for t in p), np.uint16, int(counts.sum()))
        return Forms(folds[order], text.take(order), PackedLists(terms, offsets_of(counts))), rank


def _shown(title: str) -> str:
    """A title as it is kept: on one line, of bounded length, and without halves of characters."""
    return " ".join(title.split())[:_LONGEST_TITLE].rstrip().encode("utf-8", "replace").decode()


def _checked(phrases: Sequence[Phrase], vocab_size: int) -> list[Phrase]:
    kept: dict[str, Phrase] = {}
    for phrase in phrases:
        if not phrase.fold or not phrase.form or not phrase.terms:
            raise InputError(f"Its phrase {phrase.form!r} has no fold, no written form or no word pieces.")
        if not all(0 <= t < vocab_size for t in phrase.terms):
            raise InputError(f"Its phrase {phrase.form!r} has word pieces beyond the vocabulary of {vocab_size}.")
        kept.setdefault(phrase.fold, phrase)
    return list(kept.values())

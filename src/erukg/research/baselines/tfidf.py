"""TF-IDF: noun phrases that are frequent in the text and rare in a corpus."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import stem_words
from erukg.core.hashing import hash_phrases, hash_runs
from erukg.errors import InputError
from erukg.io import BadDocument, read_documents
from erukg.research.baselines.base import best, digest
from erukg.research.baselines.tagged import Reader

__all__ = ["Frequencies", "FrequencyCorpus", "TfIdf", "text_stems"]

LONGEST = 3
_WORD = re.compile(r"[^\W_]+")
_BATCH = 2000
# Hashes kept while counting; beyond it those seen once are let go, which only makes the rare look rarer.
_MOST = 60_000_000


def text_stems(text: str) -> list[str]:
    """The stemmed words of a text; hyphens part words here, as they do in evaluation."""
    return stem_words(_WORD.findall(text.lower()))


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Document frequencies of all sequences of up to three stemmed words, by their hashes."""

    documents: int
    hashes: NDArray[np.uint64]
    counts: NDArray[np.int64]

    @classmethod
    def count(cls, texts: Iterable[str]) -> Frequencies:
        """Read a corpus once, in memory that its length does not matter for."""
        documents = 0
        hashes, counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        batch: list[NDArray[np.uint64]] = []
        for text in texts:
            documents += 1
            batch.append(np.unique(hash_runs(text_stems(text), LONGEST)))
            if len(batch) == _BATCH:
                hashes, counts = _merge(hashes, counts, batch)
                batch = []
        hashes, counts = _merge(hashes, counts, batch)
        return cls(documents, hashes, counts)

    def of(self, phrases: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """The document frequency of each sequence of stems; 0 for an unknown one."""
        wanted = hash_phrases([" ".join(stems) for stems in phrases])
        if not len(self.hashes):
            return np.zeros(len(wanted), np.int64)
        place = np.minimum(np.searchsorted(self.hashes, wanted), len(self.hashes) - 1)
        return np.where(self.hashes[place] == wanted, self.counts[place], 0)


def _merge(
    hashes: NDArray[np.uint64], counts: NDArray[np.int64], batch: list[NDArray[np.uint64]]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    if not batch:
        return hashes, counts
    fresh, times = np.unique(np.concatenate(batch), return_counts=True)
    merged, inverse = np.unique(np.concatenate([hashes, fresh]), return_inverse=True)
    totals = np.bincount(inverse, np.concatenate([counts, times]), len(merged)).astype(np.int64)
    if len(merged) > _MOST:
        common = totals > 1
        merged, totals = merged[common], totals[common]
    return merged, totals


@dataclass(frozen=True)
class FrequencyCorpus:
    """The first `documents` documents of a file or folder in any form the package reads."""

    path: str
    documents: int = 50_000

    @cached_property
    def frequencies(self) -> Frequencies:
        return Frequencies.count(itertools.islice(self._texts(), self.documents))

    def _texts(self) -> Iterator[str]:
        for item in read_documents([self.path]):
            if isinstance(item, BadDocument):
                raise InputError(f"{item.place}: {item.message}")
            yield item.text

    def describe(self) -> Mapping[str, Any]:
        path = Path(self.path)
        if not path.exists():
            raise InputError(f"There is no corpus '{self.path}'; give a file or folder of documents.")
        return {"name": path.name, "sha256": digest(path), "documents": self.documents}


@dataclass(frozen=True)
class TfIdf:
    """tf · log2((1 + N) / (1 + df)) of the noun phrases of up to three words, counted by their stems.

    Hyphens part words here.
    """

    corpus: FrequencyCorpus
    reader: Reader = field(default_factory=Reader)

    def extract(self, text: str, top_k: int = 10) -> list[tuple[str, float]]:
        forms: dict[tuple[str, ...], str] = {}
        for phrase in self.reader.read(text).phrases(LONGEST):
            stems = tuple(text_stems(phrase.form))
            if 0 < len(stems) <= LONGEST:
                forms.setdefault(stems, phrase.form)
        if not forms:
            return []
        keys = list(forms)
        runs, counts = np.unique(hash_runs(text_stems(text), LONGEST), return_counts=True)
        wanted = hash_phrases([" ".join(key) for key in keys])
        place = np.minimum(np.searchsorted(runs, wanted), len(runs) - 1)
        # A form cleaned of markup may not be found again in the raw text; it was there once.
        tf = np.where(runs[place] == wanted, counts[place], 1)
        table = self.corpus.frequencies
        idf = np.log2((1 + table.documents) / (1 + table.of(keys)))
        return best([forms[key] for key in keys], tf * np.maximum(idf, 1e-9), top_k)

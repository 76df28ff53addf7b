"""TF-IDF: noun phrases that are frequent in the text and rare in a corpus."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from erukg.core.hashing import hash_phrases, hash_runs
from erukg.errors import InputError
from erukg.io import BadDocument, read_documents
from erukg.research.baselines.base import best
from erukg.research.baselines.folders import digest
from erukg.research.baselines.frequencies import LONGEST, Frequencies, stem_words
from erukg.research.baselines.tagged import Reader

__all__ = ["Corpus", "TfIdf"]


@dataclass(frozen=True)
class Corpus:
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

    corpus: Corpus
    reader: Reader = field(default_factory=Reader)

    def extract(self, text: str, top_k: int = 10) -> list[tuple[str, float]]:
        forms: dict[tuple[str, ...], str] = {}
        for phrase in self.reader.read(text).phrases(LONGEST):
            stems = tuple(stem_words(phrase.form))
            if 0 < len(stems) <= LONGEST:
                forms.setdefault(stems, phrase.form)
        if not forms:
            return []
        keys = list(forms)
        runs, counts = np.unique(hash_runs(stem_words(text), LONGEST), return_counts=True)
        wanted = hash_phrases([" ".join(key) for key in keys])
        place = np.minimum(np.searchsorted(runs, wanted), len(runs) - 1)
        # A form cleaned of markup may not be found again in the raw text; it was there once.
        tf = np.where(runs[place] == wanted, counts[place], 1)
        table = self.corpus.frequencies
        idf = np.log2((1 + table.documents) / (1 + table.of(keys)))
        return best([forms[key] for key in keys], tf * np.maximum(idf, 1e-9), top_k)

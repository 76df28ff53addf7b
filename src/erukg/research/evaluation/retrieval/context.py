"""A test set while methods are run on it: its analysed documents, and where results about it are kept."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from erukg.research.evaluation.keyphrases import Progress
from erukg.research.evaluation.retrieval.beir import RetrievalSet, SetFiles
from erukg.research.evaluation.retrieval.index import Index, TokenisedCorpus

__all__ = ["SetContext"]

_STEP = 500  # documents between two reports of progress while indexing


@dataclass(eq=False)
class SetContext:
    """A set with its files, the folder of the store if there is one, and whom to tell of progress."""

    files: SetFiles
    data: RetrievalSet
    store: Path | None = None
    progress: Progress = field(default=lambda *_: None)

    @property
    def name(self) -> str:
        return self.data.name

    @cached_property
    def corpus(self) -> TokenisedCorpus:
        return TokenisedCorpus.of(self._counted())

    @cached_property
    def index(self) -> Index:
        """BM25 over the documents as they are."""
        return Index(self.corpus)

    def folder(self, name: str) -> Path:
        """A folder for what is made of the set: in the store, or one that goes with this object."""
        return (Path(self._temporary.name) if self.store is None else self.store) / self.name / name

    @cached_property
    def _temporary(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="erukg-retrieval-")

    def _counted(self) -> Iterator[str]:
        total = len(self.data.documents)
        for number, document in enumerate(self.data.documents):
            if number % _STEP == 0:
                self.progress("indexing", self.name, number, total)
            yield document.text
        self.progress("indexing", self.name, total, total)

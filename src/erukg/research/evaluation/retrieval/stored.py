"""What was predicted for the documents of a set before, perhaps on another machine, from JSON Lines by id."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from erukg.core.expansion import FIELDS
from erukg.core.inputs import TEXT_FIELDS, given_id
from erukg.errors import InputError
from erukg.research.evaluation.datasets import content_hash, read_by_id
from erukg.research.evaluation.formats import Record

__all__ = ["ExpandedDocuments", "PredictedQueries", "StoredPredictions", "set_file"]

_ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.xz")
_Row: TypeAlias = tuple[list[str], list[str], str]
"""Present phrases, absent phrases, and the SHA-256 of the text they were made for where that is known."""


def set_file(path: Path, name: str) -> Path | None:
    """The file for the set called `name`: `path` itself, or SET.jsonl (.gz, .xz) where it is a folder."""
    if not path.is_dir():
        return path
    return next((file for ending in _ENDINGS if (file := path / (name + ending)).is_file()), None)


class StoredPredictions(ABC):
    """A system whose predictions stand in a file; `what` is how descriptions and errors call them."""

    what: str

    def __init__(self, path: Path, name: str) -> None:
        if not path.exists():
            raise InputError(f"There is no file or folder {path} of {self.what.replace('_', ' ')}.")
        self.path, self.name = path, name

    def describe(self) -> Mapping[str, Any]:
        return {self.what: self.path.name, "sha256": None if self.path.is_dir() else self._sha256}

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        for record in records:
            if record.id not in self._rows:
                raise InputError(
                    f"{self.path} has no line for the document '{record.id}'; it is of another set, or not complete."
                )
            present, absent, text = self._rows[record.id]
            if text and text != hashlib.sha256(record.text.encode()).hexdigest():
                raise InputError(
                    f"In {self.path} the document '{record.id}' has another text than in the set; expand the set's "
                    "own corpus, without --append."
                )
            yield present, absent

    @cached_property
    def _sha256(self) -> str:
        return content_hash(self.path)

    @cached_property
    def _rows(self) -> dict[str, _Row]:
        return read_by_id(self.path, lambda row, _: self._parse(row))

    @abstractmethod
    def _parse(self, row: Mapping[str, Any]) -> tuple[str, _Row]:
        """The id and the predictions of a line."""


class PredictedQueries(StoredPredictions):
    """docT5query's queries, `{"id", "predicted_queries": [...]}`, in a file or a folder with one file per set."""

    what = "predicted_queries"

    def __init__(self, path: Path, name: str = "doct5query") -> None:
        super().__init__(path, name)

    def for_set(self, name: str) -> PredictedQueries:
        """The queries for the documents of one set, read and checked."""
        path = set_file(self.path, name)
        if path is None:
            missing = self.path / f"{name}.jsonl"
            raise InputError(f"There are no predicted queries for the set '{name}': {missing} does not exist.")
        out = PredictedQueries(path)
        assert out._rows
        return out

    def _parse(self, row: Mapping[str, Any]) -> tuple[str, _Row]:
        id, queries = given_id(row), row.get(self.what)
        if id is None:
            raise InputError("the field 'id' is missing")
        if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
            raise InputError(f"the field '{self.what}' must be a list of queries")
        return id, (queries, [], "")


class ExpandedDocuments(StoredPredictions):
    """What `erukg expand` wrote, `{"_id", "present": [...], "absent": [...]}`; `name` is the system that made it.

    Where a line also has the document's text, it must be that of the set.
    """

    what = "expanded"

    def _parse(self, row: Mapping[str, Any]) -> tuple[str, _Row]:
        id = given_id(row)
        if id is None:
            raise InputError("the field '_id' is missing")
        present, absent = (_phrases(row, field) for field in FIELDS)
        text = "\n".join(part for field in TEXT_FIELDS if isinstance(part := row.get(field), str) and part)
        return id, (present, absent, hashlib.sha256(text.encode()).hexdigest() if text else "")


def _phrases(row: Mapping[str, Any], field: str) -> list[str]:
    """Phrases as `erukg expand` writes them, or with scores as `erukg generate` does."""
    given = row.get(field)
    found: list[Any] = [None]
    if isinstance(given, list):
        found = [phrase.get("phrase") if isinstance(phrase, dict) else phrase for phrase in given]
    if not all(isinstance(phrase, str) for phrase in found):
        raise InputError(f"the field '{field}' must be a list of phrases; write the file with erukg expand")
    return found

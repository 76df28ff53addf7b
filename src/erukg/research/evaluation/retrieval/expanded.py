"""Documents whose keyphrases are there already: files that `erukg expand` wrote, perhaps on another machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from erukg.core.expansion import FIELDS
from erukg.core.inputs import TEXT_FIELDS, given_id
from erukg.errors import InputError
from erukg.research.evaluation._lines import json_object, numbered_lines
from erukg.research.evaluation.records import Record

__all__ = ["ExpandedDocuments", "set_file"]

_ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.xz")


def set_file(path: Path, name: str) -> Path | None:
    """The file for the set called `name`: `path` itself, or SET.jsonl (.gz, .xz) where it is a folder."""
    if not path.is_dir():
        return path
    return next((file for ending in _ENDINGS if (file := path / (name + ending)).is_file()), None)


class ExpandedDocuments:
    """JSON Lines `{"_id", "present": [...], "absent": [...]}`, the system called `name` having made the phrases.

    Where a line also has the document's text, it must be that of the set.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        self._sha256 = ""
        self._rows: dict[str, tuple[list[str], list[str], str]] = {}

    def _read(self) -> None:
        digest = hashlib.sha256()
        for number, line in numbered_lines(self.path):
            digest.update(line)
            if not line.strip():
                continue
            where = f"{self.path}, line {number}"
            row = json_object(line, where)
            id = given_id(row)
            if id is None:
                raise InputError(f"{where}: the field '_id' is missing.")
            if id in self._rows:
                raise InputError(f"{where}: the id '{id}' was already used; keep one line for each document.")
            present, absent = (_phrases(row, field, where) for field in FIELDS)
            text = "\n".join(part for field in TEXT_FIELDS if isinstance(part := row.get(field), str) and part)
            self._rows[id] = (present, absent, hashlib.sha256(text.encode()).hexdigest() if text else "")
        self._sha256 = digest.hexdigest()

    def describe(self) -> Mapping[str, Any]:
        if not self._sha256:
            self._read()
        return {"expanded": self.path.name, "sha256": self._sha256}

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        self.describe()
        for record in records:
            found = self._rows.get(record.id)
            if found is None:
                raise InputError(
                    f"{self.path} has no line for the document '{record.id}'; it is of another set, or not complete."
                )
            present, absent, text = found
            if text and text != hashlib.sha256(record.text.encode()).hexdigest():
                raise InputError(
                    f"In {self.path} the document '{record.id}' has another text than in the set; expand the set's "
                    "own corpus, without --append."
                )
            yield present, absent


def _phrases(row: Mapping[str, Any], field: str, where: str) -> list[str]:
    """Phrases as `erukg expand` writes them, or with scores as `erukg generate` does."""
    given = row.get(field)
    if not isinstance(given, list):
        raise InputError(f"{where}: the field '{field}' must be a list of phrases; write the file with erukg expand.")
    out = []
    for phrase in given:
        text = phrase.get("phrase") if isinstance(phrase, dict) else phrase
        if not isinstance(text, str):
            raise InputError(
                f"{where}: the field '{field}' must be a list of phrases; write the file with erukg expand."
            )
        out.append(text)
    return out

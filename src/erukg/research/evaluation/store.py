"""Results on disk, so that an interrupted evaluation goes on where it stopped.

A file holds the results of one system for one set, JSON Lines: first what they were made from, then one
object per document. Its name has a hash of that first line, so a changed setting, model, collection, set or
program never meets old results.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Self

from erukg.errors import InputError
from erukg.io.publish import publish_text
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.metrics import DEPTH

__all__ = ["LineStore", "PredictionStore", "safe_name"]


class LineStore:
    """A header and rows with an `id`, added one by one; a context manager while adding.

    Several processes may add to the same file: each writes whole lines, and lines with the same id are equal.
    """

    def __init__(self, folder: Path, dataset: str, name: str, header: Mapping[str, Any]) -> None:
        self._header = json.dumps(header, sort_keys=True, allow_nan=False)
        self.key = hashlib.sha256(self._header.encode()).hexdigest()
        self.path = folder / safe_name(dataset) / f"{safe_name(name)}-{self.key[:16]}.jsonl"
        self._stream: IO[bytes] | None = None

    def rows(self) -> Iterator[dict[str, Any]]:
        """What is there already. A line cut short by an interruption counts as not there."""
        if not self.path.is_file():
            return
        with self.path.open(encoding="utf-8", errors="replace") as stream:
            first = stream.readline()
            if first.endswith("\n") and first.rstrip("\n") != self._header:
                raise InputError(
                    f"{self.path} was not written for this evaluation; move it away or give another --store."
                )
            for line in stream:
                try:
                    row = json.loads(line) if line.endswith("\n") else None
                except ValueError:
                    continue
                if isinstance(row, dict) and isinstance(row.get("id"), str):
                    yield row

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.touch()
            with self.path.open("rb") as stream:
                has_header = stream.readline().endswith(b"\n")
            if not has_header:
                publish_text(self.path, self._header + "\n")
            self._stream = self.path.open("a+b")
        except OSError as error:
            raise InputError(f"Results cannot be stored in {self.path} ({error}); give another --store.") from error
        self._stream.seek(-1, os.SEEK_END)
        if self._stream.read(1) != b"\n":
            self._stream.write(b"\n")  # ends the line that an interruption cut short
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row; it is on disk when this returns."""
        if self._stream is None:
            raise InputError("The store is closed; add to it inside its 'with' block.")
        self._stream.write(json.dumps(row, allow_nan=False).encode() + b"\n")
        self._stream.flush()


class PredictionStore(LineStore):
    """The stored predictions of one system for one set: rows `{"id", "present", "absent"}`."""

    def __init__(self, folder: Path, system: str, description: Mapping[str, Any], dataset: Dataset) -> None:
        # The variant's name is not hashed: "name:alpha=1" and --set alpha=1 are one system.
        base = system.partition(":")[0]
        header = {
            "format": "erukg-predictions",
            "version": 1,
            "system": base,
            "description": description,
            "set": {"name": dataset.name, "sha256": dataset.sha256},
        }
        super().__init__(folder, dataset.name, base, header)

    def load(self) -> dict[str, tuple[list[str], list[str]]]:
        """What is there already, by document id."""
        whole = (row for row in self.rows() if _phrases(row.get("present")) and _phrases(row.get("absent")))
        return {row["id"]: (row["present"], row["absent"]) for row in whole}

    def add(self, id: str, present: list[str], absent: list[str]) -> None:
        """Append one document's predictions; they are on disk when this returns."""
        self.append({"id": id, "present": present[:DEPTH], "absent": absent[:DEPTH]})


def safe_name(name: str) -> str:
    """A name as that of a file or folder."""
    return re.sub(r"[^\w.-]+", "_", name).lstrip(".") or "_"


def _phrases(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(phrase, str) for phrase in value)

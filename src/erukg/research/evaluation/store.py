"""Results on disk, so that an interrupted evaluation goes on where it stopped.

A file holds the results of one system for one set, JSON Lines: first what they were made from, then one
object per document. Its name has a hash of that first line, so a changed setting, model, collection, set or
program never meets old results.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Self

from erukg.errors import InputError
from erukg.io.publish import publish_text
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.metrics import DEPTH

__all__ = ["LineStore", "PredictionStore"]

_FORMAT = "erukg-predictions"
_VERSION = 1


class LineStore:
    """A header and rows with an `id`, added one by one; a context manager while adding.

    Several processes may add to the same file: each writes whole lines, and lines with the same id are equal.
    """

    def __init__(self, folder: Path, dataset: str, name: str, header: Mapping[str, Any]) -> None:
        self._header = json.dumps(header, sort_keys=True, allow_nan=False)
        self.key = hashlib.sha256(self._header.encode()).hexdigest()
        self.path = folder / _safe(dataset) / f"{_safe(name)}-{self.key[:16]}.jsonl"
        self._stream: IO[str] | None = None

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
                if (row := _row(line)) is not None:
                    yield row

    def __enter__(self) -> Self:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            whole = self._is_whole()
            if whole is None:
                publish_text(self.path, self._header + "\n")
            self._stream = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise InputError(f"Results cannot be stored in {self.path} ({error}); give another --store.") from error
        if whole is False:
            self._stream.write("\n")  # ends the line that an interruption cut short
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a row; it is on disk when this returns."""
        if self._stream is None:
            raise InputError("The store is closed; add to it inside its 'with' block.")
        self._stream.write(json.dumps(row, allow_nan=False) + "\n")
        self._stream.flush()

    def _is_whole(self) -> bool | None:
        """Whether the file ends with a whole line; None when there is no usable file."""
        if not self.path.is_file():
            return None
        with self.path.open("rb") as stream:
            if not stream.readline().endswith(b"\n"):
                return None  # not even the header was written
            stream.seek(-1, 2)
            return stream.read(1) == b"\n"


class PredictionStore(LineStore):
    """The stored predictions of one system for one set: rows `{"id", "present", "absent"}`."""

    def __init__(self, folder: Path, system: str, description: Mapping[str, Any], dataset: Dataset) -> None:
        # The variant's name is not hashed: "name:alpha=1" and --set alpha=1 are one system.
        base = system.partition(":")[0]
        header = {
            "format": _FORMAT,
            "version": _VERSION,
            "system": base,
            "description": description,
            "set": {"name": dataset.name, "sha256": dataset.sha256},
        }
        super().__init__(folder, dataset.name, base, header)

    def load(self) -> dict[str, tuple[list[str], list[str]]]:
        """What is there already, by document id."""
        return {row["id"]: kinds for row in self.rows() if (kinds := _kinds(row)) is not None}

    def add(self, id: str, present: list[str], absent: list[str]) -> None:
        """Append one document's predictions; they are on disk when this returns."""
        self.append({"id": id, "present": present[:DEPTH], "absent": absent[:DEPTH]})


def _safe(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).lstrip(".") or "_"


def _row(line: str) -> dict[str, Any] | None:
    if not line.endswith("\n"):
        return None
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) and isinstance(row.get("id"), str) else None


def _kinds(row: Mapping[str, Any]) -> tuple[list[str], list[str]] | None:
    kinds = [row.get("present"), row.get("absent")]
    if not all(isinstance(kind, list) and all(isinstance(p, str) for p in kind) for kind in kinds):
        return None
    return row["present"], row["absent"]

"""Predictions on disk, so that an interrupted evaluation goes on where it stopped.

A file holds the predictions of one system for one set, JSON Lines: first what they were made from, then
`{"id", "present", "absent"}` by document. Its name has a hash of that first line, so a changed setting,
model, collection, set or program never meets old predictions.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from erukg.errors import InputError
from erukg.evaluation.datasets import Dataset
from erukg.evaluation.metrics import DEPTH

__all__ = ["PredictionStore"]

_FORMAT = "erukg-predictions"
_VERSION = 1


class PredictionStore:
    """The stored predictions of one system for one set; a context manager while adding to them.

    Several processes may add to the same file: each writes whole lines, and lines for the same document are
    equal.
    """

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
        self._header = json.dumps(header, sort_keys=True, allow_nan=False)
        self.key = hashlib.sha256(self._header.encode()).hexdigest()
        self.path = folder / _safe(dataset.name) / f"{_safe(base)}-{self.key[:16]}.jsonl"
        self._stream: IO[str] | None = None

    def load(self) -> dict[str, tuple[list[str], list[str]]]:
        """What is there already, by document id. A line cut short by an interruption counts as not there."""
        out: dict[str, tuple[list[str], list[str]]] = {}
        if not self.path.is_file():
            return out
        with self.path.open(encoding="utf-8", errors="replace") as stream:
            first = stream.readline()
            if first.endswith("\n") and first.rstrip("\n") != self._header:
                raise InputError(
                    f"{self.path} was not written for this evaluation; move it away or give another --store."
                )
            for line in stream:
                if (entry := _entry(line)) is not None:
                    out[entry[0]] = entry[1]
        return out

    def __enter__(self) -> PredictionStore:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            whole = self._is_whole()
            if whole is None:
                self.path.write_text(self._header + "\n", encoding="utf-8")
            self._stream = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise InputError(f"Predictions cannot be stored in {self.path} ({error}); give another --store.") from error
        if whole is False:
            self._stream.write("\n")  # ends the line that an interruption cut short
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def add(self, id: str, present: list[str], absent: list[str]) -> None:
        """Append one document's predictions; they are on disk when this returns."""
        if self._stream is None:
            raise InputError("The store is closed; add predictions inside its 'with' block.")
        self._stream.write(json.dumps({"id": id, "present": present[:DEPTH], "absent": absent[:DEPTH]}) + "\n")
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


def _safe(name: str) -> str:
    return re.sub(r"[^\w.-]+", "_", name).lstrip(".") or "_"


def _entry(line: str) -> tuple[str, tuple[list[str], list[str]]] | None:
    if not line.endswith("\n"):
        return None
    try:
        row = json.loads(line)
    except ValueError:
        return None
    if not isinstance(row, dict) or not isinstance(row.get("id"), str):
        return None
    kinds = [row.get("present"), row.get("absent")]
    if not all(isinstance(kind, list) and all(isinstance(p, str) for p in kind) for kind in kinds):
        return None
    return row["id"], (row["present"], row["absent"])

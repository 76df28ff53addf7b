"""Test sets from JSON Lines files, plain or compressed (.jsonl, .json, .gz, .xz), whatever their form."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from erukg.errors import InputError
from erukg.io.objects import read_objects
from erukg.io.streams import open_bytes
from erukg.research.evaluation.formats import Record, record_from_row

__all__ = ["Dataset", "content_hash", "load_set", "load_sets", "read_by_id"]

_ENDING = re.compile(r"\.jsonl?(\.gz|\.xz)?$", re.IGNORECASE)
_MAX_DOCUMENTS = 5_000_000

# The order of the paper's Table 1; other sets follow by name.
_ORDER = ("semeval", "inspec", "nus", "krapivin", "kp20k")
_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class Dataset:
    """A named list of records; `sha256` is that of the uncompressed file, however it is packed."""

    name: str
    records: tuple[Record, ...]
    sha256: str = ""

    def __len__(self) -> int:
        return len(self.records)

    def first(self, limit: int | None) -> Dataset:
        """The first `limit` documents as a set of their own (all of them when None)."""
        if limit is None or limit >= len(self.records):
            return self
        return Dataset(self.name, self.records[:limit], self.sha256)


def load_sets(paths: Iterable[str | Path]) -> list[Dataset]:
    """All sets in files and folders (not in their sub-folders), in the paper's order, then by name."""
    files: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            inside = [f for f in sorted(path.iterdir()) if f.is_file() and _ENDING.search(f.name)]
            if not inside:
                raise InputError(f"The folder {path} holds no test set; their names end in .jsonl or .json (.gz, .xz).")
            files.update(dict.fromkeys(inside))
        else:
            files[path] = None
    sets = [load_set(file) for file in files]
    names = [s.name for s in sets]
    for name in names:
        if names.count(name) > 1:
            raise InputError(
                f"Two of the given files are called '{name}'; rename one, so that results tell them apart."
            )
    return sorted(sets, key=lambda s: (_rank(s.name), s.name))


def load_set(path: str | Path) -> Dataset:
    """One test set. A line that cannot be used stops the reading with its number: none is lost silently."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"There is no file or folder {path}; give a test set or a folder of them.")
    name = _ENDING.sub("", path.name)

    def parse(row: dict[str, Any], number: int) -> tuple[str, Record]:
        record = record_from_row(row, f"{name}-{number}")
        if not record.text:
            raise InputError("the document has neither title nor abstract; remove the line or fill them in.")
        return record.id, record

    records = read_by_id(path, parse, _MAX_DOCUMENTS)
    return Dataset(name, tuple(records.values()), content_hash(path))


def read_by_id(
    path: Path, parse: Callable[[dict[str, Any], int], tuple[str, _T]], most: int | None = None
) -> dict[str, _T]:
    """What `parse` makes of every line of a JSON Lines file, by id; it is given the object and the line's number.

    A line that `parse` refuses, an id that was used before, an empty file and one of more than `most` lines are
    errors that name the place.
    """
    found: dict[str, _T] = {}
    lines: dict[str, int] = {}
    for number, row in read_objects(path):
        where = f"{path}, line {number}"
        try:
            id, value = parse(row, number)
        except InputError as error:
            raise InputError(f"{where}: {str(error).removesuffix('.')}.") from error
        if id in lines:
            raise InputError(
                f"{where}: the id '{id}' was already used in line {lines[id]}; give every document its own."
            )
        lines[id], found[id] = number, value
        if most is not None and len(found) > most:
            raise InputError(f"{path} holds more than {most:,} documents; split it into several files.")
    if not found:
        raise InputError(f"{path} is empty; it must have one JSON object per line.")
    return found


def content_hash(path: Path) -> str:
    """The SHA-256 of a file's uncompressed content, however it is packed."""
    with open_bytes(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


def _rank(name: str) -> int:
    return next((i for i, known in enumerate(_ORDER) if name.lower().startswith(known)), len(_ORDER))

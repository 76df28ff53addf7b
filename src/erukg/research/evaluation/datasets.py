"""Test sets from JSON Lines files, plain or compressed (.jsonl, .json, .gz, .xz), whatever their form."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from erukg.errors import InputError
from erukg.research.evaluation._lines import json_object, numbered_lines
from erukg.research.evaluation.formats import record_from_row
from erukg.research.evaluation.records import Record

__all__ = ["Dataset", "load_set", "load_sets"]

_ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.xz", ".json", ".json.gz", ".json.xz")
_MAX_DOCUMENTS = 5_000_000

# The order of the paper's Table 1; other sets follow by name.
_ORDER = ("semeval", "inspec", "nus", "krapivin", "kp20k")


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
            inside = [f for f in sorted(path.iterdir()) if f.is_file() and f.name.lower().endswith(_ENDINGS)]
            if not inside:
                raise InputError(
                    f"The folder {path} holds no test set; their names end in one of {', '.join(_ENDINGS)}."
                )
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
    name = _name(path)
    digest = hashlib.sha256()
    seen: dict[str, int] = {}
    records: list[Record] = []
    for number, line in numbered_lines(path):
        digest.update(line)
        if not line.strip():
            continue
        record = _parse(line, f"{path}, line {number}", f"{name}-{number}")
        if record.id in seen:
            raise InputError(
                f"{path}, line {number}: the id '{record.id}' was already used in line {seen[record.id]}; "
                "give every document its own."
            )
        seen[record.id] = number
        records.append(record)
        if len(records) > _MAX_DOCUMENTS:
            raise InputError(f"{path} holds more than {_MAX_DOCUMENTS:,} documents; split it into several sets.")
    if not records:
        raise InputError(f"{path} holds no document; give a file with one JSON object a line.")
    return Dataset(name, tuple(records), digest.hexdigest())


def _parse(line: bytes, where: str, fallback_id: str) -> Record:
    row = json_object(line, where)
    try:
        record = record_from_row(row, fallback_id)
    except InputError as error:
        raise InputError(f"{where}: {error}.") from error
    if not record.text:
        raise InputError(f"{where}: the document has neither title nor abstract; remove the line or fill them in.")
    return record


def _name(path: Path) -> str:
    name = path.name
    for ending in sorted(_ENDINGS, key=len, reverse=True):
        if name.lower().endswith(ending):
            return name[: -len(ending)]
    return name


def _rank(name: str) -> int:
    return next((i for i, known in enumerate(_ORDER) if name.lower().startswith(known)), len(_ORDER))

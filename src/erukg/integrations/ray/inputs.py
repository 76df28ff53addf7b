"""Which files a job reads, and as what: JSON Lines (also .gz and .xz) and Parquet, from anywhere."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

from erukg.errors import InputError, require
from erukg.integrations.ray.storage import absolute, is_uri, resolve
from erukg.io import BadDocument, find_form
from erukg.io.folders import walk
from erukg.io.streams import COMPRESSED, sentence

__all__ = ["InputFile", "list_inputs", "open_input", "open_plain"]

JSONL = "jsonl"
_ENDINGS = ".jsonl, .ndjson (also .gz and .xz) and .parquet"


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file of documents.

    name   as the caller wrote it: the places of its documents begin with it
    uri    the same for workers on any node
    form   "jsonl" or "parquet"
    bytes, stamp   its size and time of change, by which a changed file is known
    """

    name: str
    uri: str
    form: str
    bytes: int
    stamp: int


def list_inputs(paths: Sequence[str], form: str | None = None) -> list[InputFile | BadDocument]:
    """All files behind the paths (files or folders, local or URIs), in order; `form` says what named files are.

    Files of other forms are passed over in folders, and refused when they are named.
    """
    if form not in (None, JSONL):
        raise InputError(f"Ray reads JSON Lines and Parquet, not {form}; convert it, or use --engine local.")
    if not paths or "-" in paths:
        raise InputError("Ray reads files that every node can reach, not standard input; name files or folders.")
    out: list[InputFile | BadDocument] = []
    for path in paths:
        try:
            out.extend(_list_uri(path, form) if is_uri(path) else _list_local(path, form))
        except OSError as error:
            out.append(BadDocument(path, f"It cannot be opened or read: {error.strerror or error}."))
    return out


def _form(name: str) -> str | None:
    found = find_form(name)
    return found.name if found is not None and found.name in (JSONL, "parquet") else None


def _list_local(given: str, told: str | None) -> Iterator[InputFile | BadDocument]:
    path = Path(given)
    if path.is_dir():
        for found in walk(path, lambda path, reason: None):
            form = _form(found.name)
            if form is not None:
                info = found.stat()
                yield InputFile(str(found), absolute(str(found)), form, info.st_size, info.st_mtime_ns)
    elif not path.exists():
        yield BadDocument(given, sentence(FileNotFoundError()))
    elif (form := _form(path.name) or told) is None:
        yield BadDocument(given, f"Its ending is none of {_ENDINGS}, which is what Ray reads.")
    else:
        info = path.stat()
        yield InputFile(str(path), absolute(given), form, info.st_size, info.st_mtime_ns)


def _list_uri(given: str, told: str | None) -> Iterator[InputFile | BadDocument]:
    fs = require("pyarrow.fs", "ray", "Reading object stores")
    system, inside = resolve(given)
    info = system.get_file_info(inside)
    if info.type == fs.FileType.File:
        form = _form(info.base_name) or told
        if form is None:
            yield BadDocument(given, f"Its ending is none of {_ENDINGS}, which is what Ray reads.")
        else:
            yield _file(given, info, form)
    elif info.type == fs.FileType.Directory:
        root = PurePosixPath(info.path)
        below = [(PurePosixPath(f.path).relative_to(root), f) for f in _files(fs, system, inside)]
        for relative, found in sorted(below, key=lambda pair: pair[0].parts):
            form = _form(found.base_name)
            if form is not None and not any(part.startswith(".") for part in relative.parts):
                yield _file(f"{given.rstrip('/')}/{relative}", found, form)
    else:
        yield BadDocument(given, sentence(FileNotFoundError()))


def _files(fs: Any, system: Any, inside: str) -> list[Any]:
    found = system.get_file_info(fs.FileSelector(inside, recursive=True))
    return [info for info in found if info.type == fs.FileType.File]


def _file(uri: str, info: Any, form: str) -> InputFile:
    return InputFile(uri, uri, form, int(info.size), int(info.mtime_ns or 0))


def open_input(uri: str) -> Any:
    """The file's bytes as they lie, with random access."""
    system, inside = resolve(uri)
    return system.open_input_file(inside)


def open_plain(uri: str) -> IO[bytes]:
    """The file's bytes, decompressed when its name ends in .gz or .xz."""
    raw = open_input(uri)
    suffix = Path(uri).suffix.lower()
    if suffix not in COMPRESSED:
        return cast("IO[bytes]", raw)
    return cast("IO[bytes]", gzip.open(raw, "rb") if suffix == ".gz" else lzma.open(raw, "rb"))

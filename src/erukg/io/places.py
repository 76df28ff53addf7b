"""Where a file lies: a local path, or a URI of an object store or another file system."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from stat import S_ISDIR
from types import ModuleType
from typing import IO, Any, cast

from erukg.errors import InputError, require
from erukg.io.folders import Skip, walk

__all__ = ["FoundFile", "absolute", "check_stores", "find_files", "is_uri", "open_place", "resolve"]

_PURPOSE = "Reading and writing object stores"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file: its name as the caller wrote it, a place that any process understands, and by what a change is known.

    `named` is false for a file that was found in a folder.
    """

    name: str
    uri: str
    bytes: int
    stamp: int
    named: bool


def check_stores() -> ModuleType:
    """pyarrow's module for object stores; a `MissingExtraError` when it is not installed."""
    return require("pyarrow.fs", "parquet", _PURPOSE)


def is_uri(place: str | Path) -> bool:
    return "://" in str(place) and not isinstance(place, Path)


def absolute(place: str) -> str:
    """The place as every process and node understands it."""
    return place.rstrip("/") if is_uri(place) else os.path.abspath(place)  # noqa: PTH100 (no links resolved)


def resolve(place: str) -> tuple[Any, str]:
    """pyarrow's file system for a path or URI, and the path in it; fsspec's where pyarrow has none of its own."""
    fs = check_stores()
    if not is_uri(place):
        return fs.LocalFileSystem(), absolute(place)
    try:
        system, inside = fs.FileSystem.from_uri(place)
        return system, str(inside)
    except (ValueError, NotImplementedError):  # pyarrow's error for a scheme it does not know is a ValueError
        pass
    fsspec = require("fsspec", "parquet", _PURPOSE)
    try:
        found, inside = fsspec.core.url_to_fs(place)
    except (ImportError, ValueError) as error:
        raise InputError(f"{place} cannot be reached: {str(error).rstrip('.')}.") from error
    return fs.PyFileSystem(fs.FSSpecHandler(found)), str(inside)


def open_place(place: str | Path) -> IO[bytes]:
    """The file's bytes as they lie, with random access."""
    if not is_uri(place):
        return Path(place).open("rb")
    system, inside = resolve(str(place))
    return cast("IO[bytes]", system.open_input_file(inside))


def find_files(place: str | Path, skip: Skip) -> Iterator[FoundFile]:
    """The file at a place, or all files in the folder there, in a fixed order; hidden ones are passed over.

    Raises an OSError or a ValueError when there is nothing, or nothing that can be reached.
    """
    return _find_remote(str(place)) if is_uri(place) else _find_local(Path(place), skip)


def _find_local(place: Path, skip: Skip) -> Iterator[FoundFile]:
    folder = S_ISDIR(place.stat().st_mode)
    for path in walk(place, skip) if folder else (place,):
        info = path.stat()
        yield FoundFile(str(path), absolute(str(path)), info.st_size, info.st_mtime_ns, not folder)


def _find_remote(place: str) -> Iterator[FoundFile]:
    fs = check_stores()
    system, inside = resolve(place)
    root = system.get_file_info(inside)
    if root.type == fs.FileType.NotFound:
        raise FileNotFoundError(place)
    if root.type == fs.FileType.File:
        yield FoundFile(place, place, int(root.size), int(root.mtime_ns or 0), True)
        return
    found = [info for info in system.get_file_info(fs.FileSelector(inside, recursive=True)) if info.is_file]
    below = [(PurePosixPath(info.path).relative_to(root.path), info) for info in found]
    for relative, info in sorted(below, key=lambda pair: pair[0].parts):
        if not any(part.startswith(".") for part in relative.parts):
            uri = f"{place.rstrip('/')}/{relative}"
            yield FoundFile(uri, uri, int(info.size), int(info.mtime_ns or 0), False)

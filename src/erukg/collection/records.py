"""Where the documents of a collection come from: files and folders, row by row."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from erukg.errors import InputError, require
from erukg.io import BadDocument, InputDocument, Limits, find_form, read_documents
from erukg.io.folders import walk
from erukg.io.streams import open_bytes

__all__ = ["count_rows", "read_rows", "source_key"]

_PARQUET = ".parquet"
_CHUNK = 1 << 20


def read_rows(sources: Sequence[str | Path], limits: Limits | None = None) -> Iterator[InputDocument | BadDocument]:
    """Every document of the sources (JSON Lines, CSV, Parquet, text files or folders of these), good or bad,
    in order.
    """
    for source in map(Path, sources):
        named = not source.is_dir()
        for path in _files([source]):
            if named or find_form(path) is not None:
                yield from read_documents([path], limits=limits)


def _files(sources: Sequence[str | Path]) -> Iterator[Path]:
    for source in map(Path, sources):
        try:
            if source.is_dir():
                yield from walk(source, lambda path, reason: None)
            else:
                yield source
        except (OSError, ValueError) as error:
            raise InputError(f"{source} cannot be read: {error}.") from error


def source_key(sources: Sequence[str | Path], settings: object) -> str:
    """A name for these files, as they are now, read with these settings: the same again means the same rows
    again.
    """
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for path in _files(sources):
        try:
            info = path.stat()
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
        digest.update(json.dumps([str(path.resolve()), info.st_size, info.st_mtime_ns]).encode())
    return digest.hexdigest()


def count_rows(sources: Sequence[str | Path]) -> int:
    """About how many rows the sources have, counted by line ends: for showing the time left."""
    total = 0
    for path in _files(sources):
        form = find_form(path)
        if path.suffix.lower() == _PARQUET:
            total += int(require("pyarrow.parquet", "ray", "Reading Parquet files").read_metadata(path).num_rows)
        elif form is None or form.single:
            total += form is not None
        else:
            try:
                with open_bytes(path) as stream:
                    while chunk := stream.read(_CHUNK):
                        total += chunk.count(b"\n")
            except (OSError, EOFError) as error:
                raise InputError(f"{path} cannot be read: {error}.") from error
    return total

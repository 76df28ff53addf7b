"""Files that are whole or not there: written beside their place, flushed to the disk, then renamed into it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

__all__ = ["publish_bytes", "publish_file", "publish_folder", "publish_text", "published", "sync_folder"]


@contextmanager
def published(path: Path, mode: str = "wb", **options: Any) -> Iterator[IO[Any]]:
    """A new file for `path`, in whose place it appears when the block ends without an error; else it is removed."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open(mode, **options) as file:
            yield file
        publish_file(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def publish_file(part: Path, path: Path) -> None:
    """Put a finished file into its place once it is on the disk."""
    _sync(part)
    part.replace(path)
    sync_folder(path.parent)


def publish_bytes(path: Path, data: bytes) -> None:
    """Write a whole file, or leave what was there."""
    with published(path) as file:
        file.write(data)


def publish_text(path: Path, text: str) -> None:
    """Write a whole file of UTF-8 text, or leave what was there."""
    publish_bytes(path, text.encode("utf-8"))


def publish_folder(part: Path, path: Path) -> None:
    """Rename a finished folder into its place, where there must be none, once its files are on the disk."""
    for file in part.rglob("*"):
        if file.is_file():
            _sync(file)
    part.rename(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the folder's list of files is on the disk."""
    _sync(folder)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)

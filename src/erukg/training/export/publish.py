"""Folders that appear whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from erukg.errors import ModelError

__all__ = ["checksum", "published"]


@contextmanager
def published(target: str | Path, overwrite: bool = False) -> Iterator[Path]:
    """A folder to write into that is renamed `target` when the block ends well, and vanishes otherwise."""
    target = Path(target)
    if target.exists() and not overwrite:
        raise ModelError(f"{target} exists already; give another folder or allow overwriting it.")
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.parent / f".{target.name}.part-{os.getpid()}"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    try:
        yield part
        old = target.parent / f".{target.name}.old-{os.getpid()}"
        if target.exists():
            target.rename(old)
        part.rename(target)
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def checksum(path: Path) -> str:
    """SHA-256 of a file, read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()

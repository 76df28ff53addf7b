"""Making sure that things are on the disk, and saying plainly when they cannot be."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from erukg.errors import CollectionError

__all__ = ["on_disk", "sync_folder"]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def sync_folder(folder: Path) -> None:
    """Wait until the folder's list of files is on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def on_disk(folder: Path) -> Iterator[None]:
    """Turn the system's refusals into errors that say what to do; the last commit is untouched."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise CollectionError(
                f"There is no room to write to {folder} ({error.strerror}); the collection is as it was, "
                "free some space and run the command again."
            ) from error
        raise CollectionError(f"{folder} cannot be written to: {error.strerror or error}.") from error

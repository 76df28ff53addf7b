"""One writer at a time: a lock that the system releases even when its holder is killed."""

from __future__ import annotations

import errno
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from erukg.errors import CollectionError
from erukg.io.locking import open_plain, try_lock

__all__ = ["LOCK", "names_holder", "write_errors", "writer_lock"]

LOCK = "lock"
_HOLDER = re.compile(rb"process [0-9]*(?: o?n?| on \S*| on \S+ s?i?n?c?e?| on \S+ since \S*\n?)?")
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def names_holder(found: bytes) -> bool:
    """Whether this is what the lock's file says of its holder: nothing when there is none, and only the beginning of it
    where the holder was killed, or the disk was full, while it was written."""
    return b"process ".startswith(found) or _HOLDER.fullmatch(found) is not None


@contextmanager
def write_errors(folder: Path) -> Iterator[None]:
    """Turns the system's errors into ones that say what to do; the last commit is untouched."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise CollectionError(
                f"There is no room to write to {folder} ({error.strerror}); the collection is as it was, "
                "free some space and run the command again."
            ) from error
        raise CollectionError(f"{folder} cannot be written to: {error.strerror or error}.") from error


@contextmanager
def writer_lock(folder: Path) -> Iterator[None]:
    """Held within the block; a second writer gets an error that names the first."""
    path = folder / LOCK
    with write_errors(folder):
        handle = open_plain(path, 0o644)
    try:
        try:
            with write_errors(folder):
                mine = try_lock(handle)
        except ImportError as error:
            raise CollectionError("Writing a collection needs a POSIX system; here it can only be read.") from error
        if not mine:
            holder = os.pread(handle, 200, 0).decode("utf-8", "replace").strip() or "another process"
            raise CollectionError(f"{folder} is being written by {holder}; try again when it is done.")
        if not names_holder(os.pread(handle, 300, 0)):
            raise CollectionError(f"{path} is not the lock of a collection; move that file elsewhere.")
        since = datetime.now(UTC).isoformat(timespec="seconds")
        with write_errors(folder):
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()} since {since}\n".encode(), 0)
        try:
            yield
        finally:
            with suppress(OSError):  # it only says who held the lock; closing the file releases it
                os.ftruncate(handle, 0)
    finally:
        os.close(handle)

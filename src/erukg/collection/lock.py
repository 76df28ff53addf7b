"""One writer at a time: a lock that the system releases even when its holder is killed."""

from __future__ import annotations

import os
import socket
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from erukg.errors import CollectionError

__all__ = ["WriterLock"]

_LOCK = "lock"


class WriterLock:
    """Held from entering to leaving the block; a second writer gets an error that names the first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._handle = -1

    def __enter__(self) -> WriterLock:
        try:
            import fcntl
        except ImportError as error:
            raise CollectionError("Writing a collection needs a POSIX system; here it can only be read.") from error
        try:
            handle = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise CollectionError(f"{self._folder} cannot be written to: {error.strerror}.") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(handle, 200, 0).decode("utf-8", "replace").strip() or "another process"
            os.close(handle)
            raise CollectionError(f"{self._folder} is being written by {holder}; try again when it is done.") from error
        since = datetime.now(UTC).isoformat(timespec="seconds")
        os.ftruncate(handle, 0)
        try:
            os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()} since {since}\n".encode(), 0)
        except OSError as error:  # a full disk
            os.close(handle)
            raise CollectionError(f"{self._folder} cannot be written to: {error.strerror}.") from error
        self._handle = handle
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.ftruncate(self._handle, 0)
        os.close(self._handle)
        self._handle = -1

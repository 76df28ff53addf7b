"""The lock of an open file: one process at a time, and the system releases it even when its holder is killed."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["open_plain", "try_lock"]

# Links are not followed, and pipes do not block.
_PLAIN = ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")


def open_plain(path: Path, mode: int = 0o666) -> int:
    """A handle to read and write a file, which is made if it is not there and keeps what it holds if it is.

    A link, folder, pipe or device is an OSError: what lies behind it belongs to somebody else.
    """
    flags = os.O_RDWR | os.O_CREAT
    for name in _PLAIN:  # not every system has all
        flags |= getattr(os, name, 0)
    try:
        handle = os.open(path, flags, mode)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            raise
        raise _not_plain(path) from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise _not_plain(path)
    return handle


def _not_plain(path: Path) -> OSError:
    return OSError(errno.EINVAL, f"{path.name} is a link, a folder or a pipe and not a file; remove it", str(path))


def try_lock(handle: int) -> bool:
    """Take the lock of an open file for as long as it or a duplicate is open; False where another has it.

    An ImportError says that the system has no such locks, an OSError that the file system has none.
    """
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

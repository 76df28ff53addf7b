"""Every call by which a process changes files, counted one by one: to be killed at, or to fail.

Installed in a child only. What goes through Python is seen (`open`, `os`, files); libraries that write by themselves
(safetensors, Arrow) are struck at random moments instead.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

__all__ = ["AFTER", "BEFORE", "FAULTS", "HALF", "WAYS", "Points", "die"]

BEFORE, HALF, AFTER = "before", "half-way", "after"
WAYS = (BEFORE, HALF, AFTER)
#: Faults of a disk: the error, and the calls that it meets.
_CHANGING = ("open", "write", "truncate", "rename", "unlink", "mkdir", "link")
FAULTS: dict[str, tuple[int, tuple[str, ...]]] = {
    "full": (errno.ENOSPC, ("open", "write", "mkdir")),
    "quota": (errno.EDQUOT, ("open", "write", "mkdir")),
    "read-only": (errno.EROFS, _CHANGING),
    "EIO": (errno.EIO, ("write", "sync", "truncate", "rename")),
    "descriptors": (errno.EMFILE, ("open",)),
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    while True:  # some systems take a moment
        signal.pause()


class Points:
    """Counts the calls that change something below `root`, and strikes at the one numbered `at`.

    way      at that call: before it, when half of the bytes are written, or after it
    strike   what happens there; by default the process is killed
    fault    instead, a fault of `FAULTS`, at that call only or (`lasting`) from it on
    short    every write takes only some of the bytes
    """

    def __init__(
        self,
        root: Path,
        at: int | None = None,
        way: str = BEFORE,
        *,
        strike: Callable[[], None] = die,
        fault: str | None = None,
        lasting: bool = False,
        short: bool = False,
    ) -> None:
        self.root = str(root.resolve())
        self.at, self.way, self.strike = at, way, strike
        self.fault, self.lasting, self.short = fault, lasting, short
        self.seen: list[str] = []

    def install(self) -> Points:
        """From here on the calls of this process are counted."""
        self._wrap("replace", "rename", which=1)
        self._wrap("rename", "rename", which=1)
        for name in ("unlink", "remove"):
            self._wrap(name, "unlink")
        for name in ("mkdir", "rmdir"):
            self._wrap(name, "mkdir")
        for name in ("link", "symlink"):
            self._wrap(name, "link", which=1)
        for name in ("ftruncate", "truncate"):
            self._wrap(name, "truncate")
        for name in ("fsync", "fdatasync"):
            self._wrap(name, "sync")
        self._wrap("open", "open", when=lambda args: len(args) > 1 and bool(args[1] & _WRITING))
        for name in ("write", "pwrite"):
            setattr(os, name, self._counted_write(getattr(os, name)))
        real, points = io.open, self

        def counted_open(
            file: Any, mode: str = "r", buffering: int = -1, encoding: Any = None, errors: Any = None,
            newline: Any = None, closefd: bool = True, opener: Any = None,
        ) -> Any:  # fmt: skip
            if not set(mode) & set("wax+") or not points._inside(file):
                return real(file, mode, buffering, encoding, errors, newline, closefd, opener)
            plain = mode.replace("b", "").replace("t", "")

            def make() -> _CountedFile:
                return _CountedFile(points, file, plain, closefd, opener)

            raw: _CountedFile = make() if isinstance(file, int) else points.passed("open", make)
            if buffering == 0:
                return raw
            buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
            return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)

        io.open = builtins.open = counted_open
        return self

    def passed(self, kind: str, call: Callable[[], Any], half: Callable[[], Any] | None = None) -> Any:
        """Make the call, counted, and struck if it is the one."""
        number = len(self.seen)
        self.seen.append(kind)
        if self.fault is not None and self.at is not None:
            code, kinds = FAULTS[self.fault]
            if kind in kinds and (number == self.at or (self.lasting and number > self.at)):
                raise OSError(code, os.strerror(code))
        elif number == self.at:
            if self.way == BEFORE:
                self.strike()
            elif self.way == HALF and half is not None:
                half()
                self.strike()
            try:
                return call()
            finally:  # also where it fails, as making a folder does that is there
                self.strike()
        return call()

    def written(self, data: Any, write: Callable[[Any], int]) -> Any:
        view = memoryview(data).cast("B")
        some = view[: max(1, len(view) // 2)]
        return self.passed("write", lambda: write(some if self.short else view), lambda: write(some))

    def _inside(self, target: Any) -> bool:
        if isinstance(target, int):
            try:
                target = os.readlink(f"/proc/self/fd/{target}")  # noqa: PTH115 (as below)
            except OSError:
                return False
        path = os.path.join(os.getcwd(), os.fsdecode(target))  # noqa: PTH109, PTH118 (pathlib may call what is counted)
        return path == self.root or path.startswith(self.root + os.sep)

    def _wrap(
        self, name: str, kind: str, which: int = 0, when: Callable[[tuple[Any, ...]], bool] = lambda args: True
    ) -> None:
        real = getattr(os, name)

        def counted(*args: Any, **kwargs: Any) -> Any:
            relative = kwargs.get("dir_fd") is not None
            if not when(args) or not (relative or self._inside(args[which] if len(args) > which else args[0])):
                return real(*args, **kwargs)
            return self.passed(kind, lambda: real(*args, **kwargs))

        setattr(os, name, counted)

    def _counted_write(self, real: Callable[..., int]) -> Callable[..., int]:
        def counted(handle: int, data: Any, *place: int) -> int:
            if not self._inside(handle):
                return real(handle, data, *place)
            return int(self.written(data, lambda part: real(handle, part, *place)))

        return counted


class _CountedFile(io.FileIO):
    """A file that counts what is written through it, as the system sees it: buffers are above."""

    def __init__(self, points: Points, file: Any, mode: str, closefd: bool, opener: Any) -> None:
        super().__init__(file, mode, closefd, opener)
        self._points = points

    def write(self, data: Any) -> int:
        return int(self._points.written(data, super().write))

    def truncate(self, size: int | None = None) -> int:
        return int(self._points.passed("truncate", lambda: super(_CountedFile, self).truncate(size)))

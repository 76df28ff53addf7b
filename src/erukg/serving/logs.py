"""Logs as lines of JSON on standard error: one per request and event, and never a document's text.

Lines are written by a thread of their own. A log that nobody reads, or that cannot be written to any more, delays
nothing and raises nothing: what does not fit is dropped and counted.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TextIO

from erukg.errors import ErukgWarning

__all__ = ["Log", "where"]

# Lines of requests are written together this often: every write releases the interpreter to the computing threads, and
# the next answer would wait until it is free again.
_FLUSH_SECONDS = 0.05
_MOST_WAITING_LINES = 10_000
_CLOSE_SECONDS = 1.0
# A pipe takes as much at once, whole: lines of several processes do not mix.
_MOST_AT_ONCE = 4096
_STANDARD_ERROR = 2


class Log:
    """Writes whole lines, so that those of several processes do not mix."""

    def __init__(self, *, requests: bool = True, on_dropped: Callable[[int], object] = bool) -> None:
        """`on_dropped` is called with the number of lines that were dropped."""
        self.requests = requests
        self.on_dropped = on_dropped
        self._pending: list[str] = []
        self._writer = _Writer(self._dropped)
        self._pid = os.getpid()

    def request(
        self, id: str, method: str, path: str, status: int, seconds: float, documents: int, reason: str | None = None
    ) -> None:
        """One line, written soon; called on the event loop. `reason` is why it was refused."""
        if not self.requests:
            return
        if not self._pending:
            asyncio.get_running_loop().call_later(_FLUSH_SECONDS, self.flush)
        ms = round(seconds * 1000, 3)
        line = {"id": id, "method": method, "path": path, "status": status, "ms": ms, "documents": documents}
        if reason is not None:
            line["reason"] = reason
        self._pending.append(_line(line))

    def flush(self) -> None:
        """Hand the pending lines over to be written."""
        lines, self._pending = self._pending, []
        self._write(lines)

    def event(self, name: str, **details: Any) -> None:
        """An event of the service itself, such as its start or a failure; may be called by a signal's handler."""
        self._write([_line({"event": name, **details})])

    def failure(self, error: BaseException, id: str | None = None) -> None:
        """An error in the service. Not its message: that may quote a document."""
        self.event("failure", id=id, error=type(error).__name__, at=where(error))

    def capture_uvicorn(self) -> None:
        """Write the errors of the server library the same way."""
        logger = logging.getLogger("uvicorn")
        logger.handlers = [_Handler(self)]
        logger.setLevel(logging.ERROR)
        logger.propagate = False

    def capture_warnings(self) -> None:
        """Write warnings the same way; of those that are not our own only where they come from."""

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            text = str(message) if issubclass(category, ErukgWarning) else f"{Path(filename).name}:{lineno}"
            self.event("warning", kind=category.__name__, message=text)

        warnings.showwarning = show

    def close(self) -> None:
        """Write what is pending, unless that takes long; before the process ends."""
        self.flush()
        self._writer.wait(_CLOSE_SECONDS)

    def _write(self, lines: list[str]) -> None:
        if self._pid != os.getpid():  # a fork has no threads, and what its parent had to write is not its own
            self._pid = os.getpid()
            self._writer = _Writer(self._dropped)
        self._writer.add(lines)

    def _dropped(self, count: int) -> None:
        self.on_dropped(count)


class _Writer:
    """The thread that writes. Lines may be added while another one is being added, as signal handlers do: that is what
    SimpleQueue is for."""

    def __init__(self, on_dropped: Callable[[int], object]) -> None:
        self._on_dropped = on_dropped
        self._lines: SimpleQueue[str | threading.Event] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lost = 0

    def add(self, lines: list[str]) -> None:
        if not lines:
            return
        room = max(0, _MOST_WAITING_LINES - self._lines.qsize())
        if len(lines) > room:
            self._lose(len(lines) - room)
        for line in lines[:room]:
            self._lines.put(line)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="erukg-log", daemon=True)
            self._thread.start()

    def wait(self, seconds: float) -> None:
        """Until all is written, or for so long."""
        if self._thread is not None:
            written = threading.Event()
            self._lines.put(written)
            written.wait(seconds)

    def _lose(self, count: int) -> None:
        self._lost += count
        self._on_dropped(count)

    def _run(self) -> None:
        held: str | threading.Event | None = None
        while True:
            first = held or self._lines.get()
            held = None
            if isinstance(first, threading.Event):
                first.set()
                continue
            some, size = [first], len(first)
            with contextlib.suppress(Empty):
                while isinstance(held := self._lines.get_nowait(), str) and size + len(held) <= _MOST_AT_ONCE:
                    some.append(held)
                    size += len(held)
                    held = None
            self._write(some)

    def _write(self, lines: list[str]) -> None:
        lost, self._lost = self._lost, 0
        if lost:
            lines = [_line({"event": "log lines dropped", "lines": lost}), *lines]
        data = "".join(lines).encode()
        try:
            while data:
                data = data[os.write(_STANDARD_ERROR, data) :]
        except OSError as error:
            self._lost += lost
            self._lose(len(lines) - bool(lost))
            if isinstance(error, BlockingIOError):  # someone else made it so; a reader may still come
                time.sleep(_FLUSH_SECONDS)


class _Handler(logging.Handler):
    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        details: dict[str, Any] = {"level": record.levelname.lower(), "message": record.msg}
        if record.exc_info and record.exc_info[1] is not None:
            details["error"] = type(record.exc_info[1]).__name__
            details["at"] = where(record.exc_info[1])
        self._log.event("server", **details)


def where(error: BaseException) -> list[str]:
    """The stack of an error, innermost frame last, without any values."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-12:]]


def _line(record: dict[str, Any]) -> str:
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": time, "pid": os.getpid(), **record}, default=str) + "\n"

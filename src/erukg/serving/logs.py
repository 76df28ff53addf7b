"""Logs as lines of JSON on standard error: one per request and event, and never a document's text."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

__all__ = ["Log", "where"]


# Lines of requests are written together this often: every write releases the interpreter to the computing threads, and
# the next answer would wait until it is free again.
_FLUSH_SECONDS = 0.05


class Log:
    """Writes whole lines, so that those of several processes do not mix."""

    def __init__(self, *, requests: bool = True) -> None:
        self.requests = requests
        self._pending: list[str] = []

    def request(self, id: str, method: str, path: str, status: int, seconds: float, documents: int) -> None:
        """One line, written soon; called on the event loop."""
        if not self.requests:
            return
        if not self._pending:
            asyncio.get_running_loop().call_later(_FLUSH_SECONDS, self.flush)
        ms = round(seconds * 1000, 3)
        line = {"id": id, "method": method, "path": path, "status": status, "ms": ms, "documents": documents}
        self._pending.append(_line(line))

    def flush(self) -> None:
        """Write the pending lines."""
        lines, self._pending = self._pending, []
        _write("".join(lines))

    def event(self, name: str, **details: Any) -> None:
        """An event of the service itself, such as its start or a failure; written at once."""
        _write(_line({"event": name, **details}))

    def failure(self, error: BaseException, id: str | None = None) -> None:
        """An error in the service. Not its message: that may quote a document."""
        self.event("failure", id=id, error=type(error).__name__, at=where(error))

    def capture_uvicorn(self) -> None:
        """Write the errors of the server library the same way."""
        logger = logging.getLogger("uvicorn")
        logger.handlers = [_Handler()]
        logger.setLevel(logging.ERROR)
        logger.propagate = False


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        details: dict[str, Any] = {"event": "server", "level": record.levelname.lower(), "message": record.msg}
        if record.exc_info and record.exc_info[1] is not None:
            details["error"] = type(record.exc_info[1]).__name__
            details["at"] = where(record.exc_info[1])
        _write(_line(details))


def where(error: BaseException) -> list[str]:
    """The stack of an error, innermost frame last, without any values."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames[-12:]]


def _line(record: dict[str, Any]) -> str:
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"time": time, "pid": os.getpid(), **record}, default=str) + "\n"


def _write(text: str) -> None:
    # A log that nobody reads must not stop anything, least of all the shutdown, which logs in a signal handler.
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()

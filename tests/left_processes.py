"""Processes that tests have started and left behind."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

# Inherited by every process that a test starts, and by all that these start.
_MARK = "ERUKG_TEST_SESSION"
os.environ.setdefault(_MARK, uuid.uuid4().hex)


def left_behind(seconds: float = 10) -> list[str]:
    """The commands of processes of this session that are still running after so long, its own left out."""
    mark = f"{_MARK}={os.environ[_MARK]}".encode()
    deadline = time.monotonic() + seconds
    while (found := list(_marked(mark))) and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def _marked(mark: bytes) -> Iterator[str]:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            ours = mark in (folder / "environ").read_bytes().split(b"\0") and int(folder.name) != os.getpid()
        except OSError:  # it has ended meanwhile, or is not ours
            continue
        # Those without a command have ended, and nobody has asked for their exit code; trackers end with this process.
        if ours and command and "resource_tracker" not in command:
            yield f"{folder.name}: {command}"

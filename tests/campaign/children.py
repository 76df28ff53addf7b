"""Children of a process that has everything loaded: forked in milliseconds, killed at will, and none left behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "Child",
    "Ending",
    "adopt_orphans",
    "children_of",
    "end_descendants",
    "fork",
    "in_child",
    "living_descendants",
]

_PR_SET_CHILD_SUBREAPER = 36
_GRACE = 10.0


@dataclass(frozen=True, slots=True)
class Ending:
    """How a child ended: its exit code (below 0: by that signal), what its work returned, or the error it raised."""

    code: int
    value: Any = None
    error: str = ""

    @property
    def killed(self) -> bool:
        return self.code == -signal.SIGKILL


class Child:
    """A forked process at work; its answer comes through a pipe."""

    def __init__(self, pid: int, answers: int) -> None:
        self.pid = pid
        self._answers = answers
        self._code: int | None = None
        self._data = b""

    def send(self, number: int) -> None:
        if self._code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def wait(self, seconds: float) -> Ending | None:
        """How it ended; None where it is still at work after so long."""
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            if not select.select([self._answers], [], [], max(0.0, min(left, 0.2)))[0]:
                # A descendant may hold the pipe open; the child itself is what is waited for.
                if self._reap(os.WNOHANG):
                    break
                if left <= 0:
                    return None
                continue
            data = os.read(self._answers, 1 << 20)
            if not data:
                self._reap(0)
                break
            self._data += data
        return self._ending()

    def kill(self) -> Ending:
        self.send(signal.SIGKILL)
        ending = self.wait(_GRACE)
        assert ending is not None, f"process {self.pid} outlives SIGKILL"
        return ending

    def _reap(self, flags: int) -> bool:
        if self._code is None:
            pid, status = os.waitpid(self.pid, flags)
            if pid == 0:
                return False
            self._code = os.waitstatus_to_exitcode(status)
        return True

    def _ending(self) -> Ending:
        os.close(self._answers)
        assert self._code is not None
        try:
            kind, value = pickle.loads(self._data)
        except (EOFError, pickle.UnpicklingError):
            return Ending(self._code)
        return Ending(self._code, value) if kind == "value" else Ending(self._code, None, value)


def fork(work: Callable[[], Any], *, quiet: bool = True) -> Child:
    """A child that does the work and answers with what it returns; what it prints is thrown away if `quiet`."""
    sys.stdout.flush()
    sys.stderr.flush()
    answers, answer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(answer)
        return Child(pid, answers)
    code = 1
    try:
        os.close(answers)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        if quiet:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
        try:
            message = ("value", work())
            code = 0
        except BaseException as error:
            message = ("error", "".join(traceback.format_exception(error))[-1500:])
        data = pickle.dumps(message)
        while data:
            data = data[os.write(answer, data) :]
    finally:
        os._exit(code)


def in_child(work: Callable[[], Any], seconds: float) -> Any:
    """What the work returns, done in a child; a child that fails, dies or takes too long is an AssertionError."""
    child = fork(work)
    ending = child.wait(seconds)
    if ending is None:
        child.kill()
        raise AssertionError(f"no end within {seconds:g} s")
    assert not ending.error, ending.error
    assert ending.code == 0, f"the process died (exit code {ending.code})"
    return ending.value


def adopt_orphans() -> bool:
    """Become the parent of descendants whose parents die, so that none escapes; False where the system cannot."""
    with contextlib.suppress(OSError, AttributeError):
        return bool(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    return False


def living_descendants(patience: float = 3.0) -> list[str]:
    """Command lines of children that still live after a while; those that have ended are reaped."""
    deadline = time.monotonic() + patience
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return []
        if pid:
            continue
        if time.monotonic() > deadline:
            return [_command(pid) for pid in children_of(os.getpid())] or ["a process"]
        time.sleep(0.005)


def end_descendants() -> None:
    """Kill every child, and those that come to this process when their parents die."""
    deadline = time.monotonic() + _GRACE
    while time.monotonic() < deadline:
        for pid in children_of(os.getpid()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if not living_descendants(0.05):
            return


def children_of(parent: int) -> list[int]:
    """The processes whose parent this is."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, IndexError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split() if entry.name.isdigit() else []
            if fields and int(fields[1]) == parent:
                found.append(int(entry.name))
    return found


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")[:100]
    except OSError:
        return str(pid)

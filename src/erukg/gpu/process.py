"""Starting the processes of a stream, and being one.

They are started as programs of their own and not by `multiprocessing`, which would run the caller's main module again
in each of them.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from erukg.errors import ErukgError
from erukg.gpu.messages import Outbox, fail, receive, send

__all__ = ["Process", "main", "pair"]

_CODE = "from erukg.gpu.process import main; main()"
_PATIENCE = 5.0
# There are as many workers as cores: pools of threads in each would only be in each other's way.
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def pair() -> tuple[Connection, Connection]:
    """Two ends of a new connection."""
    first, second = socket.socketpair()
    return Connection(first.detach()), Connection(second.detach())


class Process:
    """A process of a stream: `connection` leads to it and `others` are ends of connections that it takes over."""

    def __init__(self, what: str, role: str, order: object, others: Sequence[Connection]) -> None:
        if os.name != "posix":
            raise ErukgError("Streams in several processes need Linux or macOS; use threads, on the device cpu.")
        self.what = what
        self.connection, theirs = pair()
        taken = [theirs, *others]
        numbers = [end.fileno() for end in taken]
        paths = [str(Path(path).absolute()) for path in sys.path]
        try:
            self._popen = subprocess.Popen(
                [sys.executable, "-c", _CODE, role, *map(str, numbers)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=numbers,
                # An interruption is for the caller, who ends the others in good order.
                start_new_session=True,
                env={**os.environ, **({} if role == "server" else _ONE_THREAD), "PYTHONPATH": os.pathsep.join(paths)},
            )
        finally:
            for end in taken:
                end.close()
        self.number = self._popen.pid
        send(self.connection, order)

    def cpu_seconds(self) -> float:
        """The time of a core that it has taken so far, its threads together; 0 when it has ended."""
        try:
            # The name of the program, in brackets, may hold anything.
            fields = Path(f"/proc/{self.number}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def exit_code(self) -> int | None:
        """How it ended, after a moment; None if it has not."""
        try:
            return self._popen.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return None

    def close(self) -> None:
        """Let it end: it does so by itself when its connection closes."""
        self.connection.close()

    def reap(self) -> None:
        """Wait until it has ended, and end it where it has not."""
        try:
            self._popen.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()


def main() -> None:
    """Be the process that the command line describes; an error goes to the caller."""
    role, caller, *others = sys.argv[1], *(Connection(int(number)) for number in sys.argv[2:])
    assert isinstance(caller, Connection)
    try:
        order: Any = receive(caller)
    except EOFError:
        return
    outbox = Outbox(caller)
    try:
        if role == "worker":
            from erukg.gpu.worker import work

            work(caller, outbox, others[0], order)
        elif role == "alone":
            from erukg.gpu.worker import work_alone

            work_alone(caller, outbox, order)
        else:
            from erukg.gpu.server import serve

            serve(caller, outbox, others, order)
    except BaseException as error:
        fail(outbox, error)

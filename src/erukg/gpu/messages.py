"""What the processes of a stream say to each other, over sockets that only they hold."""

from __future__ import annotations

import os
import pickle
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from erukg.errors import ErukgError

__all__ = ["Failure", "portable", "read_into", "receive", "send"]


@dataclass(frozen=True, slots=True)
class Failure:
    """An error on its way to the caller: of one text, or of a whole process."""

    error: BaseException


def portable(error: BaseException) -> Failure:
    """The error in a form that survives the way to another process."""
    try:
        return pickle.loads(pickle.dumps(Failure(error)))  # type: ignore[no-any-return]
    except Exception:  # errors of other libraries may refuse in any way; their words are what matters
        return Failure(ErukgError(f"{type(error).__name__}: {error}"))


def send(connection: Connection, message: object) -> None:
    connection.send_bytes(pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def receive(connection: Connection) -> Any:
    return pickle.loads(connection.recv_bytes())


def read_into(inbox: queue.SimpleQueue[tuple[int, Any]], connections: Sequence[Connection], vital: int) -> None:
    """Put every message into `inbox` with the number of its connection, in a thread of its own.

    Reading never waits for the work, so whoever sends never waits for long either. When one of the first `vital`
    connections ends, nobody is left to work for, and so does this process.
    """

    def run() -> None:
        numbers: dict[Any, int] = {connection: number for number, connection in enumerate(connections)}
        while numbers:
            for connection in wait(list(numbers)):
                number = numbers[connection]
                try:
                    inbox.put((number, receive(connection)))  # type: ignore[arg-type]
                except (EOFError, OSError):
                    if number < vital:
                        os._exit(0)
                    del numbers[connection]

    threading.Thread(target=run, name="erukg-read", daemon=True).start()

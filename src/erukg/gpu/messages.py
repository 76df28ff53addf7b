"""What the processes of a stream say to each other, over sockets that only they hold."""

from __future__ import annotations

import os
import pickle
import queue
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

from erukg.errors import ErukgError

__all__ = [
    "ENCODE",
    "READY",
    "SEARCH",
    "SWITCH",
    "Failure",
    "Outbox",
    "ServerStats",
    "fail",
    "portable",
    "read_into",
    "receive",
    "send",
]

# What a message is about: between a worker and the server, or (BEGIN) a chunk that the caller gives.
READY, BEGIN, SEARCH, ENCODE = range(4)

#: Seconds after which a thread lets another one run: a process that works must not keep those waiting that send to it.
SWITCH = 0.001

_PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class Failure:
    """An error on its way to the caller: of one text, or of a whole process."""

    error: BaseException


@dataclass(slots=True)
class ServerStats:
    """What the server has done so far; the seconds are those of a clock, and may overlap."""

    searches: int = 0
    searched_texts: int = 0
    search_seconds: float = 0.0
    passes: int = 0
    encoded_texts: int = 0
    encode_seconds: float = 0.0
    on_device: bool = False


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


class Outbox:
    """Sends in a thread of its own and in order, so that whoever works never waits for one who does not read.

    When the other end has gone, messages are dropped: who misses the reader hears of it in another way.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="erukg-send", daemon=True).start()

    def put(self, message: object) -> None:
        self._messages.put(message)

    def flush(self, seconds: float) -> None:
        """Wait until all is sent, for a while."""
        done = threading.Event()
        self._messages.put(done)
        done.wait(seconds)

    def _run(self) -> None:
        gone = False
        while True:
            message = self._messages.get()
            if isinstance(message, threading.Event):
                message.set()
            elif not gone:
                try:
                    send(self._connection, message)
                except OSError:
                    gone = True


def fail(outbox: Outbox, error: BaseException) -> NoReturn:
    """Tell the caller of an error, and end this process."""
    outbox.put(portable(error))
    outbox.flush(_PATIENCE)
    os._exit(1)


def read_into(put: Callable[[int, Any], None], connections: Sequence[Connection], vital: int) -> None:
    """Hand every message to `put` with the number of its connection, in a thread of its own.

    Reading never waits for the work, so whoever sends never waits for long either. When one of the first `vital`
    connections ends, nobody is left to work for, and so does this process.
    """

    def run() -> None:
        numbers: dict[Any, int] = {connection: number for number, connection in enumerate(connections)}
        while numbers:
            for connection in wait(list(numbers)):
                number = numbers[connection]
                try:
                    message = receive(connection)  # type: ignore[arg-type]
                except (EOFError, OSError):
                    if number < vital:
                        os._exit(0)
                    del numbers[connection]
                else:
                    put(number, message)

    threading.Thread(target=run, name="erukg-read", daemon=True).start()

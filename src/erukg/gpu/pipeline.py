"""The caller's end of a stream: chunks of texts out, results back in order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from itertools import islice
from multiprocessing.connection import wait
from typing import Any

from erukg.backends.threads import cores
from erukg.errors import ErukgError, InputError
from erukg.gpu.jobs import Job
from erukg.gpu.messages import Failure, Load, receive, send
from erukg.gpu.process import Process, pair
from erukg.gpu.server import Model

__all__ = ["Standing", "stream"]

# Texts that travel together.
CHUNK = 64
# Chunks that are on the way at once, for each worker: one it works on, others that wait for their neighbours, for the
# model or for their turn.
_AHEAD = 6


def stream(
    model: Model, job: Job, items: Iterable[Any], workers: int | None = None, chunk: int = CHUNK
) -> Iterator[Any]:
    """The job's result for each item, in order.

    An error of an item, or of the iterable, is raised when all results before it have been taken. The processes start
    with the first result that is asked for, and end with the stream, however it ends.
    """
    with contextlib.closing(_Crew(model, job, workers or max(1, cores() - 1))) as crew:
        yield from crew.run(items, chunk)


class Standing:
    """The same, with processes that stay for one stream after the other until `close`."""

    def __init__(self, model: Model, job: Job, workers: int | None = None) -> None:
        self._model, self._job = model, job
        self._workers = workers or max(1, cores() - 1)
        self._crew: _Crew | None = None
        self._last: _Crew | None = None

    def stream(self, items: Iterable[Any], chunk: int = CHUNK) -> Iterator[Any]:
        """The job's result for each item, in order; one stream at a time."""
        crew, self._crew = self._crew or _Crew(self._model, self._job, self._workers), None
        self._last = crew
        try:
            yield from crew.run(items, chunk)
        except BaseException:
            # It may still be at work on what nobody wants any more.
            self._last = None
            crew.close()
            raise
        self._crew = crew

    def load(self) -> tuple[Load, list[float]]:
        """What the server of the last stream has done so far, and the CPU seconds that it and each worker took."""
        if self._last is None:
            raise InputError("There is no stream whose processes are at work.")
        return self._last.load()

    def close(self) -> None:
        if self._crew is not None:
            self._crew.close()
            self._crew = self._last = None


class _Crew:
    """The processes of one stream."""

    def __init__(self, model: Model, job: Job, workers: int) -> None:
        self._job = job
        self._members: list[Process] = []
        try:
            ends = [pair() for _ in range(workers)]
            device = f"The process that runs the model on {model.device}"
            self._members.append(Process(device, "server", model, [theirs for _, theirs in ends]))
            for number, (ours, _) in enumerate(ends, 1):
                self._members.append(Process(f"Worker process {number}", "worker", job, [ours]))
        except BaseException:
            self.close()
            raise
        self._busy = dict.fromkeys(self._members[1:], 0)
        self._by_connection: dict[Any, Process] = {member.connection: member for member in self._members}
        self._done: dict[int, list[Any]] = {}
        self._owner: dict[int, Process] = {}
        self._load: Load | None = None

    def run(self, items: Iterable[Any], chunk: int) -> Iterator[Any]:
        source = iter(items)
        problem: BaseException | None = None
        sent = taken = 0
        more = True
        while more or taken < sent:
            while more and sent - taken < _AHEAD * len(self._busy):
                batch: list[Any] = []
                try:
                    batch.extend(islice(source, chunk))
                except Exception as error:  # the caller's own; raised below, behind the results before it
                    problem = error
                more = len(batch) == chunk and problem is None
                if batch:
                    self._give(sent, batch)
                    sent += 1
            while taken < sent and taken not in self._done:
                self._listen()
            for result in self._done.pop(taken, ()):
                if isinstance(result, Failure):
                    raise result.error
                yield self._job.restore(result)
            taken += 1
        if problem is not None:
            raise problem

    def _give(self, number: int, batch: list[Any]) -> None:
        worker = min(self._busy, key=self._busy.__getitem__)
        self._busy[worker] += 1
        self._owner[number] = worker
        try:
            send(worker.connection, (number, batch))
        except OSError:
            # It has gone; what it said before that comes first.
            self._listen()

    def _listen(self) -> None:
        """Take every message that is there, waiting for one."""
        for connection in wait(list(self._by_connection)):
            try:
                message = receive(connection)  # type: ignore[arg-type]
            except (EOFError, OSError):
                raise self._lost(self._by_connection[connection]) from None
            if isinstance(message, Failure):
                raise message.error
            if isinstance(message, Load):
                self._load = message
                continue
            number, results = message
            self._done[number] = results
            self._busy[self._owner.pop(number)] -= 1

    def load(self) -> tuple[Load, list[float]]:
        self._load = None
        send(self._members[0].connection, None)
        while self._load is None:
            self._listen()
        return self._load, [member.cpu_seconds() for member in self._members]

    def _lost(self, member: Process) -> ErukgError:
        server = self._members[0]
        # Workers end with the server, so of two that have gone it is the one to name.
        if member is not server and wait([server.connection], 0.5):
            try:
                message = receive(server.connection)
                if isinstance(message, Failure) and isinstance(message.error, ErukgError):
                    return message.error
            except (EOFError, OSError):
                member = server
        return ErukgError(
            f"{member.what} ended unexpectedly (exit code {member.exit_code()}); there may be too little memory, try "
            "fewer processes or the device cpu."
        )

    def close(self) -> None:
        for member in self._members:
            member.close()
        for member in self._members:
            member.reap()

"""The caller's end of a stream: chunks of items out, answers back in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from multiprocessing.connection import wait
from typing import Any, Generic, TypeVar

from erukg.backends.threads import cores
from erukg.core.streams import Answer
from erukg.errors import ErukgError, InputError
from erukg.gpu.jobs import Job
from erukg.gpu.messages import Failure, ServerStats, receive, send
from erukg.gpu.process import Process, pair
from erukg.gpu.server import ServerPlan

__all__ = ["CHUNK", "DeviceStream"]

# Items that travel together.
CHUNK = 64
# Chunks that are on the way at once, for each worker: one it works on, others that wait for their neighbours, for the
# model or for their turn.
_AHEAD = 6

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


class DeviceStream(Generic[ResultT]):
    """A job done by processes around a device, for one stream of items after the other.

    Without a `plan` for a device every process has a model of its own. The processes start with the first item and stay
    until `close`; used as a context manager it closes itself.
    """

    def __init__(self, plan: ServerPlan | None, job: Job[ResultT], workers: int | None = None) -> None:
        self._plan, self._job = plan, job
        self._workers = workers or max(1, cores() - (plan is not None))
        self._processes: _Processes | None = None

    def run(self, items: Iterable[ItemT], chunk: int = CHUNK) -> Iterator[Answer[ItemT, ResultT]]:
        """The job's answer to each item, in order; one stream at a time.

        An error that is not the item's own, or is the iterable's, is raised when all answers before it have been taken.
        """
        processes = self._processes or _Processes(self._plan, self._job, self._workers)
        self._processes = processes
        done = False
        try:
            yield from processes.run(items, chunk)
            done = True
        finally:
            # They may still be at work on what nobody wants any more.
            if not done:
                self.close()

    def stats(self) -> tuple[ServerStats, list[float]]:
        """What the server has done so far, and the CPU seconds that it and each worker took."""
        if self._processes is None:
            raise InputError("There is no stream whose processes are at work.")
        return self._processes.stats()

    def close(self) -> None:
        """End the processes."""
        processes, self._processes = self._processes, None
        if processes is not None:
            processes.close()

    def __enter__(self) -> DeviceStream[ResultT]:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Processes:
    """The workers, and the server first where there is one."""

    def __init__(self, plan: ServerPlan | None, job: Job[Any], workers: int) -> None:
        self._job, self._served = job, plan is not None
        self._members: list[Process] = []
        try:
            if plan is None:
                for number in range(1, workers + 1):
                    self._members.append(Process(f"Worker process {number}", "alone", job, []))
            else:
                ends = [pair() for _ in range(workers)]
                device = f"The process that runs the model on {plan.device}"
                self._members.append(Process(device, "server", plan, [theirs for _, theirs in ends]))
                for number, (ours, _) in enumerate(ends, 1):
                    self._members.append(Process(f"Worker process {number}", "worker", job, [ours]))
        except BaseException:
            self.close()
            raise
        self._busy = dict.fromkeys(self._members[self._served :], 0)
        self._by_connection: dict[Any, Process] = {member.connection: member for member in self._members}
        self._sent: dict[int, tuple[Process, list[Any]]] = {}
        self._results: dict[int, list[Any]] = {}
        self._stats: ServerStats | None = None
        self._number = 0

    def run(self, items: Iterable[ItemT], chunk: int) -> Iterator[Answer[ItemT, Any]]:
        source = iter(items)
        problem: BaseException | None = None
        taken = self._number
        more = True
        while more or taken < self._number:
            while more and self._number - taken < _AHEAD * len(self._busy):
                batch: list[ItemT] = []
                try:
                    batch.extend(islice(source, chunk))
                except Exception as error:  # the caller's own; raised below, behind the answers before it
                    problem = error
                more = len(batch) == chunk and problem is None
                if batch:
                    self._give(batch)
            while taken < self._number and taken not in self._results:
                self._listen()
            if taken < self._number:
                _, batch = self._sent.pop(taken)
                for item, result in zip(batch, self._results.pop(taken), strict=True):
                    yield self._answer(item, result)
                taken += 1
        if problem is not None:
            raise problem

    def _answer(self, item: ItemT, result: Any) -> Answer[ItemT, Any]:
        if not isinstance(result, Failure):
            return Answer(item, self._job.unpack(result))
        if isinstance(result.error, InputError):
            return Answer(item, error=result.error)
        raise result.error

    def _give(self, batch: list[Any]) -> None:
        worker = min(self._busy, key=self._busy.__getitem__)
        self._busy[worker] += 1
        number = self._number
        self._sent[number] = worker, batch
        self._number += 1
        try:
            send(worker.connection, (number, [self._pack(item) for item in batch]))
        except OSError:
            # It has gone; what it said before that comes first.
            self._listen()

    def _pack(self, item: Any) -> Any:
        try:
            return self._job.pack(item)
        except InputError as error:
            return Failure(error)

    def _listen(self) -> None:
        """Take every message that is there, waiting for one."""
        for connection in wait(list(self._by_connection)):
            try:
                message = receive(connection)  # type: ignore[arg-type]
            except (EOFError, OSError):
                raise self._lost(self._by_connection[connection]) from None
            if isinstance(message, Failure):
                raise message.error
            if isinstance(message, ServerStats):
                self._stats = message
                continue
            number, results = message
            self._results[number] = results
            self._busy[self._sent[number][0]] -= 1

    def stats(self) -> tuple[ServerStats, list[float]]:
        self._stats = None
        send(self._members[0].connection, None)
        while self._stats is None:
            self._listen()
        return self._stats, [member.cpu_seconds() for member in self._members]

    def _lost(self, member: Process) -> ErukgError:
        server = self._members[0]
        # Workers end with the server, so of two that have gone it is the one to name.
        if self._served and member is not server and wait([server.connection], 0.5):
            try:
                message = receive(server.connection)
                if isinstance(message, Failure) and isinstance(message.error, ErukgError):
                    return message.error
            except (EOFError, OSError):
                member = server
        advice = "fewer processes or the device cpu" if self._served else "fewer of them (--threads)"
        return ErukgError(
            f"{member.what} ended unexpectedly (exit code {member.exit_code()}); there may be too little memory, try "
            f"{advice}."
        )

    def close(self) -> None:
        for member in self._members:
            member.close()
        for member in self._members:
            member.reap()

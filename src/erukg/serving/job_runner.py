"""The thread of a worker that works on jobs, one at a time, a few documents after the other among all requests."""

from __future__ import annotations

import asyncio
import dataclasses
import errno
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

from erukg._version import __version__
from erukg.core.inputs import BadDocument, InputDocument
from erukg.core.settings import Settings
from erukg.errors import ErukgError, InputError
from erukg.generator import KeyphraseGenerator
from erukg.io.items import Item, Limits
from erukg.io.jsonl import read_jsonl
from erukg.io.outputs import Output
from erukg.io.writers import LineWriter
from erukg.serving.document_queue import Task
from erukg.serving.jobs import JobFolder, JobStore
from erukg.serving.limits import ServiceLimits
from erukg.serving.logs import Log
from erukg.serving.problems import Problem
from erukg.serving.processing import Processor, Result
from erukg.serving.tasks import dump

__all__ = ["JobRunner"]

# How often it looks for jobs, and how often it notes how far one has come.
_LOOK_SECONDS = 0.5
_NOTE_SECONDS = 1.0
# A job has so many groups of documents in the queue at a time: one is written while the next is processed.
_GROUPS, _GROUP_DOCUMENTS, _GROUP_CHARACTERS = 2, 8, 40_000


class _Stop(Exception):
    """The job was cancelled, or the service ends."""


class JobRunner:
    """Works on the jobs of a store until it is stopped; created on the event loop of the queue."""

    def __init__(
        self, store: JobStore, processor: Processor, generator: KeyphraseGenerator, limits: ServiceLimits, log: Log
    ) -> None:
        self._store, self._processor, self._generator = store, processor, generator
        self._limits, self._log = limits, log
        self._loop = asyncio.get_running_loop()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="erukg-jobs", daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        self._stopping.set()
        await asyncio.to_thread(self._thread.join, 10)

    def _run(self) -> None:
        while not self._stopping.wait(_LOOK_SECONDS):
            try:
                self._store.sweep()
                for job in self._store.jobs():
                    if not job.over and job.claim():
                        try:
                            self._work(job)
                        finally:
                            job.release()
            except Exception as error:  # the disk may be gone for a while
                self._log.failure(error)

    def _work(self, job: JobFolder) -> None:
        if job.over:  # another has just ended it
            return
        begun = job.state.begun
        try:
            if job.hopeless:
                raise InputError(
                    "The service failed again and again while it worked on this job; find out on which text."
                )
            with job.begin(self._asked(job)) as output:
                begun = job.state.begun
                self._process(job, output)
        except _Stop:
            if job.cancelled:
                job.delete()
            else:
                job.note(status="waiting", begun=begun - 1)
        except ErukgError as error:
            job.end("failed", str(error))
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            with suppress(OSError):
                job.end("failed", "There is no room on the disk for its results.")
        else:
            job.end("done")

    def _asked(self, job: JobFolder) -> dict[str, Any]:
        background = self._generator.background
        return {
            **dataclasses.asdict(job.order),
            "version": __version__,
            "model": self._generator.backend.fingerprint,
            "collection": None if background is None else len(background),
        }

    def _process(self, job: JobFolder, output: Output[LineWriter]) -> None:
        work = self._work_of(job)
        pending: deque[tuple[list[Item], Future[list[Result]]]] = deque()
        noted = time.monotonic()
        size = (job.path / "results.jsonl.part").stat().st_size
        finished, errors = job.state.finished, job.state.errors
        with job.documents.open("rb") as file:
            items = read_jsonl(file, "line", Limits(document_bytes=self._limits.body_bytes))
            groups = _grouped(islice(items, finished, None), min(_GROUP_DOCUMENTS, self._limits.queue))
            try:
                while True:
                    while len(pending) < _GROUPS and (group := next(groups, None)):
                        results = self._results([partial(work, item) for item in group], _size(group))
                        pending.append((group, asyncio.run_coroutine_threadsafe(results, self._loop)))
                    if not pending:
                        break
                    group, future = pending[0]
                    for item, result in zip(group, self._wait(job, future), strict=True):
                        line = self._processor.entry({"id": _id(item)}, result, job.id)
                        size += len(line) + 1
                        if size > self._limits.job_bytes:
                            most = f"{self._limits.job_bytes / 1e6:g} MB"
                            raise InputError(f"Its results are larger than {most}; ask for fewer phrases, or split it.")
                        output.write((line.decode(),))
                        finished += 1
                        errors += isinstance(result, BaseException)
                    pending.popleft()
                    if time.monotonic() - noted > _NOTE_SECONDS:
                        noted = time.monotonic()
                        job.note(finished=finished, errors=errors)
            finally:
                for _, future in pending:
                    future.cancel()
        job.note(finished=finished, errors=errors)

    def _work_of(self, job: JobFolder) -> Callable[[Item], bytes]:
        """From a document to the JSON of its keyphrases."""
        order, most = job.order, self._limits.characters
        settings = Settings.from_mapping(order.settings)

        def work(item: Item) -> bytes:
            if isinstance(item, BadDocument):
                raise InputError(item.message)
            if len(item.text) > most:
                raise InputError(f"The document is longer than {most} characters; split it.")
            try:
                (item.id + item.text).encode()
            except UnicodeEncodeError:
                raise InputError("It holds half of a surrogate pair; send valid Unicode.") from None
            found = self._generator.generate(item.text, order.top_k, settings, explain=order.explain, id=item.id)
            return dump(found.to_dict())

        return work

    async def _results(self, tasks: Sequence[Task], size: int) -> list[Result]:
        while True:
            try:
                batch = self._processor.queue.add(tasks, size)
                break
            except Problem:  # requests come first
                await asyncio.sleep(_LOOK_SECONDS)
        try:
            await batch.done
        finally:
            self._processor.queue.cancel(batch)
        return batch.results

    def _wait(self, job: JobFolder, future: Future[list[Result]]) -> list[Result]:
        while True:
            try:
                return future.result(_LOOK_SECONDS)
            except TimeoutError:
                pass
            except CancelledError:  # the loop ends
                raise _Stop from None
            if self._stopping.is_set() or job.cancelled or not job.path.exists():
                raise _Stop


def _grouped(items: Iterable[Item], most: int) -> Iterator[list[Item]]:
    """Documents, at most so many at a time: fewer of long ones."""
    group: list[Item] = []
    for item in items:
        group.append(item)
        if len(group) == most or _size(group) > _GROUP_CHARACTERS:
            yield group
            group = []
    if group:
        yield group


def _size(group: Sequence[Item]) -> int:
    return sum(len(item.text) for item in group if isinstance(item, InputDocument))


def _id(item: Item) -> str:
    return item.id if isinstance(item, InputDocument) else item.place

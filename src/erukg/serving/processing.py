"""From a request to the results of its documents: admitted to the queue, waited for, or streamed as they are ready."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from erukg.errors import InputError
from erukg.serving import tasks
from erukg.serving.bodies import ByteBudget, announced_bytes, read_body
from erukg.serving.document_queue import Batch, DocumentQueue, Task
from erukg.serving.limits import ServiceLimits
from erukg.serving.logs import Log
from erukg.serving.metrics import Metrics
from erukg.serving.openapi import NDJSON
from erukg.serving.problems import Problem

__all__ = ["Processor", "Result"]

_Parsed = TypeVar("_Parsed")
Result: TypeAlias = bytes | BaseException
"""The JSON of a document's result, or what was raised."""

# Only after this time does a request look whether its client is still there.
_CHECK_CLIENT_AFTER = 1.0


class Processor:
    """Documents through the queue, within the limits."""

    def __init__(self, queue: DocumentQueue, limits: ServiceLimits, metrics: Metrics, log: Log) -> None:
        self.queue = queue
        self.budget = ByteBudget(limits.held_bytes)
        self._limits, self._metrics, self._log = limits, metrics, log

    async def process(
        self, request: Request, parse: Callable[[bytes], _Parsed], make_tasks: Callable[[_Parsed], Sequence[Task]]
    ) -> tuple[_Parsed, list[Result]]:
        """The parsed body and the results of its tasks, in order; raises Problem when there is no room or no time."""
        async with self._admitted(request, parse, make_tasks) as (body, batch):
            if batch is None:
                return body, []
            await self._wait(request, batch)
            return body, batch.results

    def entry(self, given: Any, result: Result, request_id: str) -> bytes:
        """What stands for one document among many: its result or its error, which is counted."""
        if isinstance(result, bytes):
            return result
        self._metrics.add("document_errors")
        if not isinstance(result, Problem | InputError):
            self._log.failure(result, request_id)
        return tasks.document_error(given, result)

    @asynccontextmanager
    async def _admitted(
        self,
        request: Request,
        parse: Callable[[bytes], _Parsed],
        make_tasks: Callable[[_Parsed], Sequence[Task]],
        tell: Callable[[int, Result], object] | None = None,
    ) -> AsyncIterator[tuple[_Parsed, Batch | None]]:
        self.queue.check_room(announced_bytes(request))  # before a body is received that would not be processed
        with self.budget.reserve() as take:
            raw = await read_body(request, self._limits.body_bytes, self._limits.body_seconds, take)
            body = parse(raw)
            waiting = make_tasks(body)
            if not waiting:
                yield body, None
                return
            if tell is not None:
                waiting = [partial(_run, task, partial(tell, i)) for i, task in enumerate(waiting)]
            batch = self.queue.add(waiting, len(raw))
            request.scope["erukg.documents"] = len(waiting)
            try:
                yield body, batch
            finally:
                self.queue.cancel(batch)

    async def _wait(self, request: Request, batch: Batch) -> None:
        first = min(_CHECK_CLIENT_AFTER, self._limits.seconds)
        await asyncio.wait((batch.done,), timeout=first)
        if batch.done.done():
            return
        gone = asyncio.ensure_future(_disconnected(request))
        try:
            left = max(0.0, self._limits.seconds - first)
            await asyncio.wait((batch.done, gone), timeout=left, return_when=asyncio.FIRST_COMPLETED)
        finally:
            gone.cancel()
        if batch.done.done():
            return
        raise ClientDisconnect if gone.done() else self.timeout()

    def timeout(self) -> Problem:
        sentence = f"The answer took longer than {self._limits.seconds:g} s; send less at a time, or try again later."
        return Problem(504, sentence, reason="timeout")

    def stream(
        self,
        request: Request,
        parse: Callable[[bytes], _Parsed],
        make_tasks: Callable[[_Parsed], Sequence[Task]],
        given: Callable[[_Parsed], Sequence[Any]],
    ) -> Response:
        """Lines of JSON, one for each of the `given` documents, as they are ready: its index and result, or error."""

        async def work(start: Callable[[], Any], send: Callable[[bytes], Any]) -> None:
            loop = asyncio.get_running_loop()
            ready: asyncio.Queue[tuple[int, Result]] = asyncio.Queue()

            def tell(index: int, result: Result) -> None:
                with contextlib.suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(ready.put_nowait, (index, result))

            async with self._admitted(request, parse, make_tasks, tell) as (body, _):
                documents = given(body)
                left = set(range(len(documents)))
                end = loop.time() + self._limits.seconds
                await start()
                gone = asyncio.ensure_future(_disconnected(request))
                try:
                    while left:
                        found = await self._ready(ready, gone, end) or [(i, self.timeout()) for i in sorted(left)]
                        left -= {i for i, _ in found}
                        entries = [
                            (i, self.entry(documents[i], result, request.scope["erukg.id"])) for i, result in found
                        ]
                        async with asyncio.timeout_at(end + self._limits.body_seconds):
                            await send(b"".join(b'{"index":%d,%s\n' % (i, entry[1:]) for i, entry in entries))
                except TimeoutError:  # it does not read what it asked for
                    raise ClientDisconnect from None
                finally:
                    gone.cancel()

        return _Lines(work)

    async def _ready(
        self, ready: asyncio.Queue[tuple[int, Result]], gone: asyncio.Future[None], end: float
    ) -> list[tuple[int, Result]]:
        """The next results, all that there are; none when the time is over."""
        first = asyncio.ensure_future(ready.get())
        left = max(0.0, end - asyncio.get_running_loop().time())
        await asyncio.wait((first, gone), timeout=left, return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            first.cancel()
            raise ClientDisconnect
        if not first.done():
            first.cancel()
            return []
        return [first.result(), *(ready.get_nowait() for _ in range(ready.qsize()))]


def _run(task: Task, tell: Callable[[Result], object]) -> bytes:
    try:
        result = task()
    except BaseException as error:
        tell(error)
        raise
    tell(result)
    return result


class _Lines(Response):
    """An answer that is made while it is sent: `work` gets a function that starts it, and one that sends bytes."""

    def __init__(self, work: Callable[[Callable[[], Any], Callable[[bytes], Any]], Any]) -> None:
        super().__init__(media_type=NDJSON)
        del self.headers["content-length"]
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def start() -> None:
            nonlocal started
            started = True
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})

        async def more(data: bytes) -> None:
            await send({"type": "http.response.body", "body": data, "more_body": True})

        try:
            await self._work(start, more)
        except ClientDisconnect:
            if not started:
                raise
        else:
            await send({"type": "http.response.body", "body": b""})


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass

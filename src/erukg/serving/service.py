"""The service: a loaded generator, its queue, and what each path of the API answers."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from erukg._version import __version__
from erukg.backends.threads import cores
from erukg.core.settings import Settings
from erukg.errors import InputError, SettingsError
from erukg.generator import KeyphraseGenerator
from erukg.serving import work
from erukg.serving.baselines import Baselines
from erukg.serving.bodies import Held, parse_json, read_body
from erukg.serving.checking import check
from erukg.serving.jobs import Batch, Job, Jobs
from erukg.serving.keys import Keys
from erukg.serving.limits import ServiceLimits
from erukg.serving.logs import Log
from erukg.serving.metrics import Metrics, resident_bytes
from erukg.serving.pdfs import Files, sent_file
from erukg.serving.problems import ClientGoneError, Problem, json_response
from erukg.serving.readings import RecentReadings
from erukg.serving.schemas import RequestSchemas

__all__ = ["PATHS", "Service"]

PATHS = (
    "/v1/keyphrases",
    "/v1/rank",
    "/v1/expand",
    "/v1/read",
    "/v1/baseline",
    "/v1/baselines",
    "/v1/info",
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/",
    "/assets/{name}",
)
# Whoever waits this long may have left; until then nobody looks.
_LOOK_AFTER = 1.0
_WARM_UP = "A warm engine\nThe first documents of a service are as fast as all that follow."


class Service:
    """Everything a worker process has. `warmed` is told when all is loaded, `broken` when the model cannot be run."""

    def __init__(
        self,
        generator: KeyphraseGenerator,
        *,
        limits: ServiceLimits | None = None,
        keys: Keys | None = None,
        threads: int | None = None,
        metrics: Metrics | None = None,
        log: Log | None = None,
        warmed: Callable[[], object] = bool,
        broken: Callable[[BaseException], None] | None = None,
    ) -> None:
        self.generator = generator
        self.recent = RecentReadings(generator)
        self.limits = limits or ServiceLimits()
        self.keys = keys or Keys()
        self.metrics = metrics or Metrics(PATHS)
        self.log = log or Log()
        self.draining = False
        self.schemas = RequestSchemas.make(self.limits, generator.settings)
        self.held = Held(self.limits.held_bytes)
        self.files = Files(self.limits)
        self.baselines = Baselines(generator)
        self.jobs = Jobs(threads or cores(), self.limits.queue, self._warm_up, warmed, broken or self.log.failure)
        background = generator.background
        self.model = str(getattr(getattr(generator.backend, "folder", None), "name", "unnamed"))
        self.collection = {"documents": len(background)} if background is not None else None
        self._end = b'],"model":%s,"collection":%s,"took_ms":%%.3f}' % (
            work.dump(self.model).replace(b"%", b"%%"),
            work.dump(self.collection),
        )

    def _warm_up(self) -> None:
        self.generator.generate(_WARM_UP)
        self.generator.rank(_WARM_UP, ["warm engine"])

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Starts the threads and keeps the gauges; ends both."""
        self.jobs.start()
        gauges = asyncio.create_task(self._gauges())
        try:
            yield
        finally:
            gauges.cancel()
            self.jobs.close()
            self.files.close()

    async def _gauges(self) -> None:
        while True:
            self._measure()
            await asyncio.sleep(1)

    def _measure(self) -> None:
        self.metrics.set("waiting", self.jobs.waiting)
        self.metrics.set("running", self.jobs.running)
        self.metrics.set("memory", resident_bytes())
        self.metrics.set("ready", self.jobs.ready and not self.draining)

    # The API.

    async def keyphrases(self, request: Request) -> Response:
        def jobs(body: dict[str, Any]) -> list[Job]:
            return work.keyphrase_jobs(body, self.generator, self.recent, self.schemas.document)

        return await self._documents(request, self.schemas.keyphrases, jobs)

    async def expand(self, request: Request) -> Response:
        def jobs(body: dict[str, Any]) -> list[Job]:
            return work.expand_jobs(body, self.generator, self.limits.characters)

        return await self._documents(request, self.schemas.expand, jobs)

    async def rank(self, request: Request) -> Response:
        begin = time.perf_counter()
        with self._room() as share:
            body = check(await self._json(request, share), self.schemas.rank)
            (result,) = await self._run(request, [_settings_checked(lambda: work.run_rank(body, self.generator))])
        return json_response(b'{"results":%s,"took_ms":%.3f}' % (_raised(result), _ms(begin)))

    async def baseline(self, request: Request) -> Response:
        begin = time.perf_counter()
        with self._room() as share:
            body = check(await self._json(request, share), self.schemas.baseline)
            baseline = self.baselines.get(body["system"])
            (result,) = await self._run(request, [work.run_baseline(baseline, body["text"], body["top_k"])])
        return json_response(b'{"results":%s,"took_ms":%.3f}' % (_raised(result), _ms(begin)))

    async def read(self, request: Request) -> Response:
        with self.held.share() as share:
            body = await read_body(request, self.limits.file_bytes, self.limits.body_seconds, share)
            if not body:
                raise Problem(422, "The body is empty; send a PDF or text in it.")
            file = await sent_file(request, body)
            try:
                async with asyncio.timeout(self.limits.seconds):
                    return json_response(work.dump(await self.files.read(file)))
            except TimeoutError:
                raise self._timeout() from None

    async def baseline_list(self, request: Request) -> Response:
        return json_response(work.dump({"results": self.baselines.list()}))

    async def info(self, request: Request) -> Response:
        defaults = self.generator.settings
        settings = {
            f.name: {
                "value": getattr(defaults, f.name),
                "low": f.metadata.get("low"),
                "high": f.metadata.get("high"),
                "help": f.metadata["help"],
                "kind": {"bool": "switch", "int": "whole"}.get(str(f.type), "number"),
            }
            for f in dataclasses.fields(Settings)
        }
        known = {
            "version": __version__,
            "model": self.model,
            "collection": self.collection,
            "settings": settings,
            "limits": dataclasses.asdict(self.limits),
        }
        return json_response(work.dump(known))

    async def healthz(self, request: Request) -> Response:
        return json_response(b'{"status":"alive"}')

    async def readyz(self, request: Request) -> Response:
        if self.draining:
            raise Problem(503, "The service is stopping; ask another one.")
        self._measure()
        # One warm worker is enough: what reaches another before it is warm waits for that moment in its queue.
        if not self.metrics.total("ready"):
            raise Problem(503, "The service is still warming up; ask again in a moment.", {"Retry-After": "1"})
        return json_response(b'{"status":"ready"}')

    async def show_metrics(self, request: Request) -> Response:
        self._measure()
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    # How requests are worked on.

    def _room(self) -> Any:
        """A share of the bytes held, refused at once, before a body is read, when no document would fit the queue."""
        if self.jobs.full:
            raise self.jobs.rejection()
        return self.held.share()

    async def _json(self, request: Request, share: Any) -> Any:
        body = await read_body(request, self.limits.body_bytes, self.limits.body_seconds, share)
        return parse_json(request, body)

    async def _documents(
        self, request: Request, schemas: tuple[Any, Any], make: Callable[[dict[str, Any]], list[Job]]
    ) -> Response:
        begin = time.perf_counter()
        with self._room() as share:
            given = await self._json(request, share)
            many = isinstance(given, dict) and "documents" in given
            body = check(given, schemas[many])
            results = await self._run(request, _settings_checked(lambda: make(body)))
        if not many:
            return self._results([_raised(results[0])], begin)
        return self._results(
            [self._entry(one, result, request) for one, result in zip(body["documents"], results, strict=True)], begin
        )

    def _entry(self, given: Any, result: bytes | BaseException, request: Request) -> bytes:
        if isinstance(result, bytes):
            return result
        entry, own = work.document_error(given, result)
        self.metrics.add("document_errors")
        if not own:
            self.log.failure(result, request.scope["erukg.id"])
        return entry

    def _results(self, results: Sequence[bytes], begin: float) -> Response:
        return json_response(b'{"results":[' + b",".join(results) + self._end % _ms(begin))

    async def _run(self, request: Request, jobs: list[Job]) -> list[bytes | BaseException]:
        """The results of all jobs, in order; raises Problem when there is no room for them or no time."""
        batch = self.jobs.add(jobs)
        request.scope["erukg.documents"] = len(jobs)
        self.metrics.add("documents", len(jobs))
        try:
            await self._wait(request, batch)
        except TimeoutError:
            raise self._timeout() from None
        finally:
            self.jobs.cancel(batch)
        return batch.results

    async def _wait(self, request: Request, batch: Batch) -> None:
        first = min(_LOOK_AFTER, self.limits.seconds)
        await asyncio.wait((batch.done,), timeout=first)
        if batch.done.done():
            return
        gone = asyncio.ensure_future(_disconnected(request))
        try:
            left = max(0.0, self.limits.seconds - first)
            await asyncio.wait((batch.done, gone), timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if batch.done.done():
                return
            if gone.done():
                raise ClientGoneError
            raise TimeoutError
        finally:
            gone.cancel()

    def _timeout(self) -> Problem:
        sentence = f"The answer took longer than {self.limits.seconds:g} s; send less at a time, or try again later."
        return Problem(504, sentence, reason="timeout")


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _settings_checked(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except SettingsError as error:
        raise Problem(422, str(error)) from None


def _raised(result: bytes | BaseException) -> bytes:
    """The result of a request's only document; what went wrong with that is the request's own problem."""
    if isinstance(result, bytes):
        return result
    if isinstance(result, InputError):
        raise Problem(422, str(result)) from None
    raise result


def _ms(begin: float) -> float:
    return (time.perf_counter() - begin) * 1000

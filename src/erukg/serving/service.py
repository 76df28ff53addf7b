"""The service: a loaded generator, its queue, and what each path of the API answers."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from erukg._version import __version__
from erukg.backends.threads import cores
from erukg.core.settings import STYLES, Settings
from erukg.errors import did_you_mean
from erukg.generator import KeyphraseGenerator
from erukg.serving import tasks
from erukg.serving.answers import (
    BaselineInfo,
    BaselineList,
    CollectionInfo,
    FactorInfo,
    FileText,
    Info,
    SettingInfo,
    Status,
    VocabularyInfo,
)
from erukg.serving.bodies import parse_json, read_body
from erukg.serving.document_queue import DocumentQueue, Task
from erukg.serving.encoding_cache import EncodingCache
from erukg.serving.files import FileReader, uploaded_file
from erukg.serving.job_runner import JobRunner
from erukg.serving.jobs import JobStore
from erukg.serving.keys import Keys
from erukg.serving.limits import ServiceLimits
from erukg.serving.logs import Log
from erukg.serving.metrics import Metrics, resident_bytes
from erukg.serving.openapi import NDJSON
from erukg.serving.problems import Problem, json_response
from erukg.serving.processing import Processor, Result
from erukg.serving.report import band_info, factor_info
from erukg.serving.request_models import DocumentsRequest, RequestModels, SuggestRequest, check
from erukg.serving.subjects import SubjectsByName

__all__ = ["PATHS", "Comparisons", "Service", "raise_error"]

Comparisons: TypeAlias = Mapping[str, tuple[str, Callable[[str, int], Sequence[tuple[str, float]]]]]
"""Other extractors by name: a label, and a function from a text and top_k to phrases with scores."""

_Model = TypeVar("_Model", bound=BaseModel)

PATHS = tuple(
    "/v1/keyphrases /v1/rank /v1/expand /v1/suggest /v1/read /v1/baseline /v1/baselines /v1/info /v1/ /v1/vocabs "
    "/v1/jobs /v1/jobs/{job_id} /v1/jobs/{job_id}/results "
    "/v1/projects /v1/projects/{project_id} /v1/projects/{project_id}/suggest /v1/projects/{project_id}/suggest-batch "
    "/healthz /readyz /metrics /openapi.json / /assets/{name} /docs /docs/style.css".split()
)
_WARM_UP = "A warm engine\nThe first documents of a service are as fast as all that follow."


class Service:
    """The state of one worker process. `on_ready` is called when all is loaded, `on_failure` when the model fails."""

    def __init__(
        self,
        generator: KeyphraseGenerator,
        *,
        comparisons: Comparisons | None = None,
        subjects: SubjectsByName | None = None,
        jobs: JobStore | None = None,
        limits: ServiceLimits | None = None,
        keys: Keys | None = None,
        threads: int | None = None,
        metrics: Metrics | None = None,
        log: Log | None = None,
        on_ready: Callable[[], object] = bool,
        on_failure: Callable[[BaseException], None] | None = None,
    ) -> None:
        self.generator = generator
        self.comparisons = comparisons or {}
        self.subjects = subjects or {}
        self.jobs = jobs
        self.limits = limits or ServiceLimits()
        self.keys = keys or Keys()
        self.metrics = metrics or Metrics(PATHS)
        self.log = log or Log()
        self.draining = False
        self.models = RequestModels(self.limits, generator.settings, tuple(self.subjects))
        self.cache = EncodingCache(generator)
        self.files = FileReader(self.limits)
        self.queue = DocumentQueue(
            threads or cores(),
            self.limits.queue,
            self._warm_up,
            on_ready,
            on_failure or self.log.failure,
            seconds=self.limits.seconds,
            on_finished=partial(self.metrics.add, "documents"),
        )
        self.processor = Processor(self.queue, self.limits, self.metrics, self.log)
        background = generator.background
        self.model = generator.backend.name
        self.collection = None if background is None else CollectionInfo(documents=len(background))
        size = "null" if self.collection is None else self.collection.model_dump_json()
        self._about = b',"model":%s,"collection":%s' % (tasks.dump(self.model), size.encode())

    def _warm_up(self) -> None:
        self.generator.generate(_WARM_UP)
        self.generator.rank(_WARM_UP, ["warm engine"])
        for subjects in self.subjects.values():
            subjects.suggester.suggest(_WARM_UP, new_terms=1)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Starts the threads and keeps the gauges up to date; ends both."""
        self.queue.start()
        gauges = asyncio.create_task(self._update_gauges())
        runner = (
            None if self.jobs is None else JobRunner(self.jobs, self.processor, self.generator, self.limits, self.log)
        )
        try:
            yield
        finally:
            gauges.cancel()
            if runner is not None:
                await runner.stop()
            self.queue.close()
            self.files.close()

    async def _update_gauges(self) -> None:
        while True:
            self._measure()
            await asyncio.sleep(1)

    def _measure(self) -> None:
        self.metrics.set("waiting", self.queue.waiting)
        self.metrics.set("running", self.queue.running)
        self.metrics.set("memory", resident_bytes())
        self.metrics.set("ready", self.queue.ready and not self.draining)

    # The API; names and docstrings are its OpenAPI ids and summaries.

    async def keyphrases(self, request: Request) -> Response:
        """Keyphrases of one or many documents: those present in the text, and those absent from it."""
        make = partial(tasks.keyphrase_tasks, self.generator, self.cache, self.models.document)
        return await self._documents(request, self.models.keyphrases, make, lines=_wants_lines(request))

    async def expand(self, request: Request) -> Response:
        """For a search engine: documents with their keyphrases in separate fields, or queries with weighted phrases."""
        make = partial(tasks.expand_tasks, self.generator, self.limits.characters)
        return await self._documents(request, self.models.expand, make)

    async def rank(self, request: Request) -> Response:
        """Your own phrases, ranked by how well they describe a text."""
        return await self._single(request, self.models.rank, partial(tasks.rank_task, self.generator))

    async def suggest(self, request: Request) -> Response:
        """Concepts of a vocabulary for one or many documents, with the evidence for each, and terms that it lacks."""
        if not self.subjects:
            raise Problem(404, "This service has no vocabulary; start it with --vocabulary NAME=PATH, or --tagged.")

        def make(body: SuggestRequest) -> list[Task]:
            return tasks.suggest_tasks(self.subjects[body.vocabulary], self.models.document, body)

        return await self._documents(request, self.models.suggest, make, lines=_wants_lines(request))

    async def baseline(self, request: Request) -> Response:
        """The keyphrases that another extractor finds in a text."""

        def task(body: Any) -> Task:
            if body.system not in self.comparisons:
                hint = did_you_mean(body.system, self.comparisons, "GET /v1/baselines lists those available.")
                raise Problem(404, f"There is no baseline '{body.system}'; {hint}")
            _, extract = self.comparisons[body.system]
            return lambda: tasks.dump([{"phrase": p, "score": s} for p, s in extract(body.text, body.top_k)])

        return await self._single(request, self.models.baseline, task)

    async def read_file(self, request: Request) -> FileText:
        """The text of a PDF or text file."""
        with self.processor.budget.reserve() as take:
            body = await read_body(request, self.limits.file_bytes, self.limits.body_seconds, take)
            if not body:
                raise Problem(422, "The body is empty; send a PDF or text in it.")
            file = await uploaded_file(request, body)
            try:
                async with asyncio.timeout(self.limits.seconds):
                    return await self.files.read(file)
            except TimeoutError:
                raise self.processor.timeout() from None

    async def baselines(self, request: Request) -> BaselineList:
        """The other extractors available."""
        return BaselineList(results=[BaselineInfo(name=name, label=it) for name, (it, _) in self.comparisons.items()])

    async def info(self, request: Request) -> Info:
        """Version, model, collection, vocabularies, settings and their ranges, styles, factors of a score, limits."""
        defaults = self.generator.settings
        settings = {
            f.name: SettingInfo(
                value=getattr(defaults, f.name),
                low=f.metadata.get("low"),
                high=f.metadata.get("high"),
                help=f.metadata["help"],
                kind={"bool": "switch", "int": "whole"}.get(str(f.type), "number"),  # type: ignore[arg-type]
            )
            for f in dataclasses.fields(Settings)
        }
        return Info(
            version=__version__,
            model=self.model,
            collection=self.collection,
            settings=settings,
            styles={style: Settings.styled(style).to_dict() for style in STYLES},
            factors={name: FactorInfo(**about) for name, about in factor_info().items()},
            bands=band_info(),
            vocabularies=[VocabularyInfo(**subjects.to_dict()) for subjects in self.subjects.values()],
            limits=dataclasses.asdict(self.limits),
        )

    async def healthz(self, request: Request) -> Status:
        """Whether the process is alive."""
        return Status(status="alive")

    async def readyz(self, request: Request) -> Status:
        """Whether it is loaded, warm and not stopping."""
        if self.draining:
            raise Problem(503, "The service is stopping; ask another one.")
        self._measure()
        # One warm worker is enough: what reaches another before it is warm waits for that moment in its queue.
        if not self.metrics.total("ready"):
            raise Problem(503, "The service is still warming up; ask again in a moment.", {"Retry-After": "1"})
        return Status(status="ready")

    async def show_metrics(self, request: Request) -> Response:
        """Metrics for Prometheus."""
        self._measure()
        return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

    # How requests are processed.

    async def _documents(
        self,
        request: Request,
        model: type[DocumentsRequest],
        make_tasks: Callable[[Any], list[Task]],
        *,
        lines: bool = False,
    ) -> Response:
        begin = time.perf_counter()
        parse = partial(_checked, model, request)
        if lines:
            return self.processor.stream(request, parse, make_tasks, lambda body: body.given)
        body, results = await self.processor.process(request, parse, make_tasks)
        if body.many:
            id = request.scope["erukg.id"]
            entries = [self.processor.entry(*each, id) for each in zip(body.documents, results, strict=True)]
        else:
            entries = [raise_error(results[0])]
        about = self._about
        if isinstance(body, SuggestRequest):
            about += b',"vocabulary":' + tasks.dump(body.vocabulary)
        return _response(b"[" + b",".join(entries) + b"]" + about, begin)

    async def _single(self, request: Request, model: type[BaseModel], make_task: Callable[[Any], Task]) -> Response:
        begin = time.perf_counter()
        parse = partial(_checked, model, request)
        _, (result,) = await self.processor.process(request, parse, lambda body: [make_task(body)])
        return _response(raise_error(result), begin)


def _wants_lines(request: Request) -> bool:
    accepted = request.headers.get("accept", "").lower().split(",")
    return any(part.partition(";")[0].strip() == NDJSON for part in accepted)


def _checked(model: type[_Model], request: Request, raw: bytes) -> _Model:
    return check(model, parse_json(request, raw))


def raise_error(result: Result) -> bytes:
    """The result of a request's only document; its error is the request's own."""
    if isinstance(result, BaseException):
        raise result
    return result


def _response(results: bytes, begin: float) -> Response:
    milliseconds = (time.perf_counter() - begin) * 1000
    return json_response(b'{"results":%s,"took_ms":%.3f}' % (results, milliseconds))

"""The paths of jobs: a corpus is sent, worked off in the background, and its results are fetched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import IO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from erukg.serving.answers import Job, JobList
from erukg.serving.bodies import media_type, receive_body, unique
from erukg.serving.jobs import JobFolder, JobStore, Upload
from erukg.serving.limits import ServiceLimits
from erukg.serving.openapi import JSON_LINES, NDJSON, Operation
from erukg.serving.problems import Problem
from erukg.serving.request_models import check
from erukg.serving.service import Service

__all__ = ["JobsApi"]

_ACCEPTED = (NDJSON, "application/jsonl", "application/octet-stream")
_BLOCK = 1 << 20


class JobsApi:
    """What each path of it answers; names and docstrings are their OpenAPI ids and summaries."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def operations(self) -> list[Operation]:
        plain = partial(Operation, "Jobs", statuses=(401, 404))
        place = "/v1/jobs/{job_id}"
        submit = partial(plain, query=self._service.models.job, statuses=(401, 404, 507), success=202)
        results = {
            NDJSON: {"schema": {"type": "string", "description": "One result per line, as in KeyphraseResults."}}
        }
        return [
            submit("POST", "/v1/jobs", self.submit_job, Job, JSON_LINES),
            plain("GET", "/v1/jobs", self.list_jobs, JobList),
            plain("GET", place, self.get_job, Job),
            plain("GET", f"{place}/results", self.get_job_results, results),
            plain("DELETE", place, self.delete_job, Job),
        ]

    async def submit_job(self, request: Request) -> Response:
        """Submit a corpus for keyphrases: JSON Lines with `id`, `title`, `abstract` and `text`, perhaps as gzip."""
        store, limits = self._store, self._service.limits
        kind, parameters = media_type(request)
        if kind not in _ACCEPTED or parameters.get("charset", "utf-8") not in ("utf-8", "utf8"):
            raise Problem(415, f"The body must be JSON Lines in UTF-8; send it with the header Content-Type: {NDJSON}.")
        options = check(self._service.models.job, unique(request.query_params.multi_items(), "the query"))
        settings = options.apply(self._service.generator.settings)
        if options.mode == "extract":
            settings = settings.extraction()
        with self._service.processor.budget.reserve() as take, store.upload() as upload:
            await _receive(request, limits, upload, take)
            make = partial(upload.publish, options.top_k, options.explain, settings.to_dict())
            job = (await asyncio.to_thread(make)).answer()
        request.scope["erukg.documents"] = job.documents
        body = job.model_dump_json().encode()
        return Response(body, 202, {"Location": f"jobs/{job.id}"}, media_type="application/json")

    async def list_jobs(self, request: Request) -> JobList:
        """All jobs, the oldest first."""
        return JobList(results=[job.answer() for job in await asyncio.to_thread(self._store.jobs)])

    async def get_job(self, request: Request) -> Job:
        """How far a job has come."""
        return (await self._named(request)).answer()

    async def get_job_results(self, request: Request) -> Response:
        """The results of a job so far, in the order of its documents: what `/v1/keyphrases` gives, one per line."""
        file, size = await asyncio.to_thread((await self._named(request)).results)
        return StreamingResponse(_blocks(file, size), media_type=NDJSON)

    async def delete_job(self, request: Request) -> Job:
        """Cancel a job, or forget one that is done: its documents and results are deleted."""
        job = await self._named(request)
        await asyncio.to_thread(job.cancel)
        return job.answer()

    @property
    def _store(self) -> JobStore:
        if self._service.jobs is None:
            raise Problem(404, "This service takes no jobs; start it with --jobs-folder FOLDER.")
        return self._service.jobs

    async def _named(self, request: Request) -> JobFolder:
        return await asyncio.to_thread(self._store.named, request.path_params["job_id"])


async def _receive(request: Request, limits: ServiceLimits, upload: Upload, take: Callable[[int], None]) -> None:
    """Write the body to the disk, a block at a time; what is held meanwhile is taken from the budget."""
    waiting: list[bytes] = []
    size = most = 0

    async def put(chunk: bytes) -> None:
        nonlocal size, most
        waiting.append(chunk)
        size += len(chunk)
        if size + upload.held > most:
            take(size + upload.held - most)
            most = size + upload.held
        if size >= _BLOCK:
            await flush()

    async def flush() -> None:
        nonlocal size
        data, size = b"".join(waiting), 0
        waiting.clear()
        await asyncio.to_thread(upload.write, data)

    # Large bodies have more time, but may not arrive more slowly than others.
    await receive_body(request, limits.job_bytes, limits.body_seconds, put, limits.body_bytes)
    await flush()


async def _blocks(file: IO[bytes], left: int) -> AsyncIterator[bytes]:
    with file:
        while left > 0 and (data := await asyncio.to_thread(file.read, min(left, _BLOCK))):
            left -= len(data)
            yield data

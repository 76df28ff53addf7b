"""The service as an ASGI application: its paths, and what surrounds every request."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from pydantic import BaseModel
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from erukg.errors import InputError, SettingsError
from erukg.serving import answers, openapi
from erukg.serving.annif import AnnifApi, annif_problem, is_annif_path
from erukg.serving.job_api import JobsApi
from erukg.serving.openapi import Operation
from erukg.serving.page import Page
from erukg.serving.problems import Problem, json_response
from erukg.serving.reference import Reference
from erukg.serving.service import PATHS, Service
from erukg.serving.sites import Sites
from erukg.serving.tasks import dump

__all__ = ["create_app"]

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_PUBLIC = ("/healthz", "/readyz", "/openapi.json", "/", "/docs", "/docs/style.css")
_CLIENT_CLOSED = 499
_LEAST_COMPRESSED = 1_000
_PATTERNS = {path: re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))) for path in PATHS}


def create_app(service: Service, *, cors: Sequence[str] = (), hosts: Sequence[str] = ()) -> ASGIApp:
    """The application; `cors` are the origins whose pages may use it, none by default, and `hosts` the names it answers
    to beside those of this machine."""
    page = Page()
    operations = [*_operations(service), *JobsApi(service).operations(), *AnnifApi(service).operations()]
    description = openapi.describe(operations, keys=bool(service.keys))
    written, reference = dump(description), Reference(description)

    async def description_json(request: Request) -> Response:
        return json_response(written)

    routes = [Route(o.path, _endpoint(o.handler), methods=[o.method]) for o in operations]
    pages = {"/openapi.json": description_json, "/": page.send, "/assets/{name}": page.send}
    pages |= {"/docs": reference.send, "/docs/style.css": reference.send_style}
    routes += [Route(path, handler, methods=["GET"]) for path, handler in pages.items()]
    handle = _error_handler(service)
    router = _GuardedRouter(routes, service, Sites(hosts, cors))
    inner: ASGIApp = ExceptionMiddleware(router, {Exception: handle, HTTPException: handle})
    if cors:
        inner = CORSMiddleware(
            inner,
            allow_origins=list(cors),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["authorization", "content-encoding", "content-type", "x-api-key", "x-request-id"],
            expose_headers=["retry-after", "x-request-id"],
        )
    return _RequestLogging(_Compressing(inner, minimum_size=_LEAST_COMPRESSED, compresslevel=5), service)


def _operations(service: Service) -> list[Operation]:
    models = service.models
    many = partial(Operation, stream=True)
    named = (401, 404)
    return [
        many("Keyphrases", "POST", "/v1/keyphrases", service.keyphrases, answers.KeyphraseResults, models.keyphrases),
        Operation("Keyphrases", "POST", "/v1/rank", service.rank, answers.RankResults, models.rank),
        Operation("Search", "POST", "/v1/expand", service.expand, answers.ExpandResults, models.expand),
        many("Subjects", "POST", "/v1/suggest", service.suggest, answers.SuggestResults, models.suggest, named),
        Operation("Files", "POST", "/v1/read", service.read_file, answers.FileText, openapi.FILE),
        Operation("Comparison", "POST", "/v1/baseline", service.baseline, answers.RankResults, models.baseline, named),
        Operation("Comparison", "GET", "/v1/baselines", service.baselines, answers.BaselineList),
        Operation("Service", "GET", "/v1/info", service.info, answers.Info),
        Operation("Service", "GET", "/healthz", service.healthz, answers.Status, statuses=()),
        Operation("Service", "GET", "/readyz", service.readyz, answers.Status, statuses=(503,)),
        Operation("Service", "GET", "/metrics", service.show_metrics, openapi.TEXT),
    ]


def _endpoint(
    handler: Callable[[Request], Awaitable[Response | BaseModel]],
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        found = await handler(request)
        # What was left out of a model is left out of its JSON.
        return (
            found if isinstance(found, Response) else json_response(found.model_dump_json(exclude_unset=True).encode())
        )

    return answer


class _Compressing(GZipMiddleware):
    """gzip for those who accept it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _accepts_gzip(Headers(scope=scope).get("accept-encoding", "")):
            await super().__call__(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def _accepts_gzip(accepted: str) -> bool:
    kinds = (part.replace(" ", "").partition(";q=") for part in accepted.lower().split(","))
    return any(kind == "gzip" and (not quality or quality.strip("0.") != "") for kind, _, quality in kinds)


class _GuardedRouter(Router):
    """Routes requests that may come from where they come, with a valid API key where keys are needed."""

    def __init__(self, routes: Sequence[Route], service: Service, sites: Sites) -> None:
        super().__init__(routes, redirect_slashes=False, lifespan=lambda app: service.running())
        self._keys = service.keys
        self._sites = sites

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["app"] = self  # makes the router raise its errors instead of answering in plain text
            self._sites.check(scope)
            public = scope["path"] in _PUBLIC or scope["path"].startswith("/assets/")
            if not public and not self._keys.admit(Headers(scope=scope)):
                sentence = "An API key is needed; send it as Authorization: Bearer KEY or as X-API-Key: KEY."
                raise Problem(401, sentence, {"WWW-Authenticate": "Bearer"}, "api_key")
        await super().app(scope, receive, send)


def _error_handler(service: Service) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Turns everything that is raised for a request into its answer."""

    async def handle(request: Request, error: Exception) -> Response:
        match error:
            case ClientDisconnect():
                raise error
            case Problem():
                problem = error
            case InputError() | SettingsError():
                problem = Problem(422, str(error))
            case HTTPException(status_code=404):
                problem = Problem(404, "There is nothing at this path; GET /openapi.json lists all paths.")
            case HTTPException(status_code=405):
                sentence = f"This path does not accept {request.method}; GET /openapi.json says what it accepts."
                problem = Problem(405, sentence, error.headers)
            case _:
                service.log.failure(error, request.scope["erukg.id"])
                problem = Problem(500, "The service failed on this request; its log says more under the request's id.")
        request.scope["erukg.reason"] = problem.reason
        return (
            annif_problem(problem) if is_annif_path(request.url.path) else problem.response(request.scope["erukg.id"])
        )

    return handle


class _RequestLogging:
    """Gives every request an id, a line in the log and its share of the metrics."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        service = self._service
        begin = time.perf_counter()
        given = Headers(scope=scope).get("x-request-id", "")
        id = scope["erukg.id"] = given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)
        status, complete = _CLIENT_CLOSED, False

        async def send_with_headers(message: Message) -> None:
            nonlocal status, complete
            complete = message["type"] == "http.response.body" and not message.get("more_body", False)
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = id
                headers.setdefault("X-Content-Type-Options", "nosniff")
                headers.setdefault("Cache-Control", "no-store")
                if service.draining:
                    headers["Connection"] = "close"
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except ClientDisconnect:
            pass  # counted and logged with a status of its own
        finally:
            seconds = time.perf_counter() - begin
            path = _path_label(scope["path"])
            status = status if complete else _CLIENT_CLOSED
            service.metrics.request(path, status, seconds)
            if reason := scope.get("erukg.reason"):
                service.metrics.rejected(reason)
            service.log.request(id, scope["method"], path, status, seconds, scope.get("erukg.documents", 0))


def _path_label(path: str) -> str:
    """The path in logs and metrics: unknown paths may hold anything, and are not repeated."""
    return next((known for known, pattern in _PATTERNS.items() if pattern.fullmatch(path)), "other")

"""The service as an ASGI application: its paths, and what surrounds every request."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from erukg.errors import InputError, SettingsError
from erukg.serving import openapi
from erukg.serving.annif import AnnifApi, is_annif_path, problem_response
from erukg.serving.openapi import Operation
from erukg.serving.page import Page
from erukg.serving.problems import Problem, json_response
from erukg.serving.service import PATHS, Service
from erukg.serving.sites import Sites
from erukg.serving.tasks import dump

__all__ = ["create_app"]

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_PUBLIC = ("/healthz", "/readyz", "/openapi.json", "/")
_CLIENT_CLOSED = 499
_PATTERNS = {path: re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))) for path in PATHS}


def create_app(service: Service, *, cors: Sequence[str] = (), hosts: Sequence[str] = ()) -> ASGIApp:
    """The application; `cors` are the origins whose pages may use it, none by default, and `hosts` the names it answers
    to beside those of this machine."""
    page, models = Page(), service.models
    operations = [
        Operation("POST", "/v1/keyphrases", service.keyphrases, openapi.KeyphraseResults, models.keyphrases),
        Operation("POST", "/v1/rank", service.rank, openapi.RankResults, models.rank),
        Operation("POST", "/v1/expand", service.expand, openapi.ExpandResults, models.expand),
        Operation("POST", "/v1/suggest", service.suggest, openapi.SuggestResults, models.suggest, statuses=(401, 404)),
        Operation("POST", "/v1/read", service.read, openapi.FileText),
        Operation("POST", "/v1/baseline", service.baseline, openapi.RankResults, models.baseline, statuses=(401, 404)),
        Operation("GET", "/v1/baselines", service.baseline_list, openapi.BaselineList),
        Operation("GET", "/v1/info", service.info, openapi.Info),
        *AnnifApi(service).operations(),
        Operation("GET", "/healthz", service.healthz, openapi.Status, statuses=()),
        Operation("GET", "/readyz", service.readyz, openapi.Status, statuses=(503,)),
        Operation("GET", "/metrics", service.show_metrics, None),
    ]
    description = dump(openapi.describe(operations, keys=bool(service.keys)))

    async def description_json(request: Request) -> Response:
        return json_response(description)

    routes = [Route(o.path, o.handler, methods=[o.method]) for o in operations]
    pages = {"/openapi.json": description_json, "/": page.send, "/assets/{name}": page.send}
    routes += [Route(path, handler, methods=["GET"]) for path, handler in pages.items()]
    handle = _error_handler(service)
    router = _GuardedRouter(routes, service, Sites(hosts, cors))
    inner: ASGIApp = ExceptionMiddleware(router, {Exception: handle, HTTPException: handle})
    if cors:
        inner = CORSMiddleware(
            inner,
            allow_origins=list(cors),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type", "x-api-key", "x-request-id"],
            expose_headers=["retry-after", "x-request-id"],
        )
    return _RequestLogging(inner, service)


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
        return problem_response(problem) if is_annif_path(request.url.path) else problem.response()

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
        status = _CLIENT_CLOSED

        async def send_with_headers(message: Message) -> None:
            nonlocal status
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
            service.metrics.request(path, status, seconds)
            if reason := scope.get("erukg.reason"):
                service.metrics.add(f"rejected.{reason}")
            service.log.request(id, scope["method"], path, status, seconds, scope.get("erukg.documents", 0))


def _path_label(path: str) -> str:
    """The path in logs and metrics: unknown paths may hold anything, and are not repeated."""
    return next((known for known, pattern in _PATTERNS.items() if pattern.fullmatch(path)), "other")

"""The service as an ASGI application: paths, and what surrounds every request."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from erukg.serving.openapi import describe
from erukg.serving.page import Page
from erukg.serving.problems import ClientGoneError, Problem, json_response
from erukg.serving.service import PATHS, Service
from erukg.serving.work import dump

__all__ = ["create_app"]

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_NO_KEY_NEEDED = ("/healthz", "/readyz", "/openapi.json", "/")
_GONE = 499


def create_app(service: Service, *, cors: Sequence[str] = ()) -> ASGIApp:
    """The application; `cors` are the origins whose pages may use it, none by default."""
    page = Page()
    description = dump(describe(service))

    async def openapi(request: Request) -> Response:
        return json_response(description)

    @asynccontextmanager
    async def lifespan(app: object) -> AsyncIterator[None]:
        async with service.running():
            yield

    handlers: dict[str, tuple[str, Any]] = {
        "/v1/keyphrases": ("POST", service.keyphrases),
        "/v1/rank": ("POST", service.rank),
        "/v1/expand": ("POST", service.expand),
        "/v1/read": ("POST", service.read),
        "/v1/baseline": ("POST", service.baseline),
        "/v1/baselines": ("GET", service.baseline_list),
        "/v1/info": ("GET", service.info),
        "/healthz": ("GET", service.healthz),
        "/readyz": ("GET", service.readyz),
        "/metrics": ("GET", service.show_metrics),
        "/openapi.json": ("GET", openapi),
        "/": ("GET", page.index),
        "/assets/{name}": ("GET", page.asset),
    }
    routes = [Route(path, handlers[path][1], methods=[handlers[path][0]]) for path in PATHS]
    inner: ASGIApp = _Answers(Router(routes, redirect_slashes=False, lifespan=lifespan), service)
    if cors:
        inner = CORSMiddleware(
            inner,
            allow_origins=list(cors),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type", "x-api-key", "x-request-id"],
            expose_headers=["retry-after", "x-request-id"],
        )
    return _Envelope(inner, service)


class _Answers:
    """Lets in only who has a key, where there are keys, and turns all that is raised inside into an answer."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope["app"] = self  # makes the router raise its refusals instead of answering in plain text
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            if not _open(scope["path"]) and not self._service.keys.admit(Headers(scope=scope)):
                raise _no_key()
            await self._app(scope, receive, watched)
            return
        except Problem as error:
            problem = error
        except HTTPException as error:
            problem = _http(scope["method"], error)
        except ClientGoneError:
            raise
        except Exception as error:
            self._service.log.failure(error, scope["erukg.id"])
            if begun:
                raise
            problem = Problem(500, "The service failed on this request; its log says more under the request's id.")
        scope["erukg.reason"] = problem.reason
        await problem.response()(scope, receive, send)


def _no_key() -> Problem:
    sentence = "An API key is needed; send it as Authorization: Bearer KEY or as X-API-Key: KEY."
    return Problem(401, sentence, {"WWW-Authenticate": "Bearer"}, "api_key")


def _open(path: str) -> bool:
    return path in _NO_KEY_NEEDED or path.startswith("/assets/")


def _http(method: str, error: HTTPException) -> Problem:
    """The router's own refusals, in the words of all others."""
    sentences = {
        404: "There is nothing at this path; GET /openapi.json lists what there is.",
        405: f"This path does not take {method}; GET /openapi.json says what it takes.",
    }
    return Problem(error.status_code, sentences.get(error.status_code, f"{error.detail}."), error.headers)


class _Envelope:
    """Around every request: its id, its line in the log and its numbers."""

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
        id = given if _ID.fullmatch(given) else secrets.token_hex(8)
        scope["erukg.id"] = id
        status = _GONE

        async def answer(message: Message) -> None:
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
            await self._app(scope, receive, answer)
        except ClientGoneError:
            pass  # counted and logged with the status of those who left
        finally:
            seconds = time.perf_counter() - begin
            path = _name(scope["path"])
            service.metrics.request(path, status, seconds)
            if reason := scope.get("erukg.reason"):
                service.metrics.add(f"rejected.{reason}")
            service.log.request(id, scope["method"], path, status, seconds, scope.get("erukg.documents", 0))


def _name(path: str) -> str:
    """The path as logs and metrics know it: what is not ours may be anything, and is not repeated."""
    if path in PATHS:
        return path
    return "/assets/{name}" if path.startswith("/assets/") else "other"

"""The page's files: read once from the package, and nothing else is ever served."""

from __future__ import annotations

import hashlib
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from erukg.serving.problems import Problem

__all__ = ["HEADERS", "Page"]

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain; charset=utf-8",
}
_INDEX = "index.html"


class Page:
    """The files of `erukg/serving/page` by name: a request's path is looked up here and never on disk."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, str, str]] = {}
        folder = files("erukg.serving") / "page"
        for item in folder.iterdir() if folder.is_dir() else ():
            kind = _TYPES.get(item.name[item.name.rfind(".") :]) if "." in item.name else None
            if kind is not None and item.is_file():
                content = item.read_bytes()
                self._files[item.name] = content, kind, f'"{hashlib.sha256(content).hexdigest()[:32]}"'

    async def index(self, request: Request) -> Response:
        if _INDEX not in self._files:
            return Response("This build of the service has no page; its API is described at /openapi.json.\n")
        return self._send(request, _INDEX)

    async def asset(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self._files or name == _INDEX:
            raise Problem(404, "The page has no file of this name.")
        return self._send(request, name)

    def _send(self, request: Request, name: str) -> Response:
        content, kind, tag = self._files[name]
        headers = {**HEADERS, "ETag": tag, "Content-Type": kind}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers)

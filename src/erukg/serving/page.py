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
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


class Page:
    """The files of `erukg/serving/page` by name: a request's path is looked up here and never on disk."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[bytes, dict[str, str]]] = {}
        read = {item.name: item.read_bytes() for item in (files("erukg.serving") / "page").iterdir() if item.is_file()}
        read[""] = _with_preloads(read.pop("index.html"), [name for name in read if name.endswith(".js")])
        for name, content in read.items():
            if kind := _TYPES.get(name.rpartition(".")[2] if name else "html"):
                etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
                self._files[name] = content, {**HEADERS, "ETag": etag, "Content-Type": kind}

    async def send(self, request: Request) -> Response:
        """The file of the name in the path, the page itself where there is none."""
        name = request.path_params.get("name", "")
        if name not in self._files:
            raise Problem(404, "The page has no file of this name.")
        content, headers = self._files[name]
        if request.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers)


def _with_preloads(page: bytes, scripts: list[str]) -> bytes:
    """The page, asking for all its modules at once instead of one after the other as they import each other."""
    links = "".join(
        f'<link rel="modulepreload" href="assets/{name}">\n' for name in sorted(scripts) if name != "theme.js"
    )
    return page.replace(b"</head>", links.encode() + b"</head>", 1)

"""HTTP/1.1 on one connection, with limits that the server library lacks."""

from __future__ import annotations

import asyncio
import json
import secrets
from http import HTTPStatus
from typing import Any, TypeAlias

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from erukg.serving.service import Service

__all__ = ["SPARE_CONNECTIONS", "LimitedProtocol", "limited_protocol"]

_MAX_HEADER_BYTES = 65_536
# Connections beyond the limit on them, for these paths only and not for long: who asks whether the service is alive
# is to be answered even when it is overrun.
SPARE_CONNECTIONS = 16
_PROBES = (b"/healthz", b"/readyz", b"/metrics")
_SPARE_SECONDS = 2.0
# Status, sentence, what it is counted as, headers.
_Refusal: TypeAlias = tuple[int, str, str, str]
_NOT_HTTP = (400, "This is not a valid HTTP/1.1 request.", "not_http", "")
_LARGE_HEADERS = (
    431,
    f"The request's headers are larger than {_MAX_HEADER_BYTES} bytes; send less in them.",
    "large_headers",
    "",
)
# The codes of problems that are counted as something more exact.
_CODES = {"not_http": "malformed", "large_headers": "headers_too_large"}


def limited_protocol(service: Service, connections: int) -> type[LimitedProtocol]:
    """The protocol for a service, with so many connections at a time."""
    return type("Protocol", (LimitedProtocol,), {"service": service, "most": connections})


class LimitedProtocol(HttpToolsProtocol):
    """Limits the number of connections, and the bytes and the time of headers.

    Errors are JSON here too, and everything that is refused here is logged and counted as requests are.
    """

    service: Service
    most: int
    _timer: asyncio.TimerHandle | None = None
    _spare = False
    _in_head = False
    _head_bytes = 0
    _unparsed_bytes = 0
    _refusal: _Refusal | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._spare = len(self.connections) > self.most
        self._arm()
        if len(self.connections) > self.most + SPARE_CONNECTIONS:
            self._refuse(*self._too_many())

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        # The parser says nothing of a header before all of it has come, so that one without end has to be noticed here.
        self._unparsed_bytes += len(data) if self._in_head else 0
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._in_head and self._unparsed_bytes > _MAX_HEADER_BYTES:
            self._refuse(*_LARGE_HEADERS)
        elif self._busy():
            self._disarm()

    def on_message_begin(self) -> None:
        self._in_head, self._head_bytes, self._unparsed_bytes = True, 0, 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._count(len(name) + len(value) + 4)
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_head = False
        if self._spare and self.url not in _PROBES:
            self._stop_parsing(self._too_many())
        super().on_headers_complete()

    def _count(self, count: int) -> None:
        self._head_bytes += count
        if self._head_bytes > _MAX_HEADER_BYTES:
            self._stop_parsing(_LARGE_HEADERS)

    def _stop_parsing(self, refusal: _Refusal) -> None:
        self._refusal = refusal
        raise ValueError("refused")  # the parser ends, and `send_400_response` is called

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._busy() and not self.transport.is_closing():
            self._arm()

    def send_400_response(self, msg: str) -> None:
        self._refuse(*(self._refusal or _NOT_HTTP))

    def _busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _arm(self) -> None:
        self._disarm()
        seconds = self.service.limits.idle_seconds
        self._timer = self.loop.call_later(min(seconds, _SPARE_SECONDS) if self._spare else seconds, self._expired)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expired(self) -> None:
        # Also ends the rest of a body that was refused: until now it was read and thrown away, so that the
        # client could see the refusal.
        if self._busy() or self.transport.is_closing():
            return
        if self._in_head:
            self._note(408, "slow_headers", secrets.token_hex(8))
        self.transport.close()

    def _too_many(self) -> _Refusal:
        sentence = f"The service has {self.most} connections, as many as it may; try again in a second."
        return 429, sentence, "connections", "retry-after: 1\r\n"

    def _refuse(self, status: int, sentence: str, reason: str, headers: str = "") -> None:
        id = secrets.token_hex(8)
        title = HTTPStatus(status).phrase
        problem = {"type": "about:blank", "title": title, "status": status, "detail": sentence}
        body = json.dumps({**problem, "code": _CODES.get(reason, reason), "request_id": id}).encode()
        head = (
            f"content-type: application/problem+json\r\ncontent-length: {len(body)}\r\nx-request-id: {id}\r\n{headers}"
        )
        self.transport.write(STATUS_LINE[status] + head.encode() + b"connection: close\r\n\r\n" + body)
        self.transport.close()
        self._note(status, reason, id)

    def _note(self, status: int, reason: str, id: str) -> None:
        self.service.metrics.request("other", status, 0.0)
        self.service.metrics.rejected(reason)
        self.service.log.request(id, "-", "other", status, 0.0, 0, reason)

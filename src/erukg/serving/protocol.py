"""HTTP/1.1 on one connection, with limits that the server library lacks: on headers, in bytes and time."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

__all__ = ["protocol"]

_MAX_HEADER_BYTES = 65_536


class _Protocol(HttpToolsProtocol):
    """Closes connections without a whole request in time or with endless headers; errors are JSON here too."""

    idle_seconds = 30.0
    _timer: asyncio.TimerHandle | None = None
    _unread = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._arm()

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._unread += len(data)
        super().data_received(data)
        if self._busy():
            self._disarm()
        elif self._unread > _MAX_HEADER_BYTES and self.cycle is None and not self.transport.is_closing():
            self._refuse(431, "The request's headers are too large.")

    def on_headers_complete(self) -> None:
        self._unread = 0
        super().on_headers_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._busy() and not self.transport.is_closing():
            self._arm()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "This is not a valid HTTP/1.1 request.")

    def _busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _arm(self) -> None:
        self._disarm()
        self._timer = self.loop.call_later(self.idle_seconds, self._expired)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _expired(self) -> None:
        # Also ends the rest of a body that was refused: until now it was read and thrown away, so that the
        # client could see the refusal.
        if not self._busy() and not self.transport.is_closing():
            self.transport.close()

    def _refuse(self, status: int, sentence: str) -> None:
        body = json.dumps({"error": sentence}).encode()
        head = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body)
        self.transport.write(STATUS_LINE[status] + head + body)
        self.transport.close()


def protocol(idle_seconds: float) -> type[asyncio.Protocol]:
    """The protocol class, with this time limit for a request's headers."""
    return type("Protocol", (_Protocol,), {"idle_seconds": idle_seconds})

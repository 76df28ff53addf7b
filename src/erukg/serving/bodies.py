"""Request bodies: read with a limit on bytes and time, and parsed as JSON that means one thing only."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NoReturn

from starlette.requests import Request

from erukg.serving.problems import ClientGoneError, Problem

__all__ = ["Held", "media_type", "parse_json", "read_body"]

_CLOSE = {"Connection": "close"}


class Held:
    """Counts the bytes of all bodies that are being read or worked on, against one limit."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.bytes = 0

    @contextmanager
    def share(self) -> Iterator[_Share]:
        """A request's part of it, given back at the end."""
        share = _Share(self)
        try:
            yield share
        finally:
            self.bytes -= share.bytes


class _Share:
    def __init__(self, held: Held) -> None:
        self._held = held
        self.bytes = 0

    def take(self, count: int) -> None:
        self.bytes += count
        self._held.bytes += count
        if self._held.bytes > self._held.limit:
            raise Problem(
                429,
                "The service holds as many bytes of other requests as it may; try again in a second.",
                {"Retry-After": "1"},
                "held_bytes",
            )


async def read_body(request: Request, limit: int, seconds: float, share: _Share) -> bytes:
    """The whole body; raises Problem when it is over the limit or too slow."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "Compressed bodies are not taken; send it without Content-Encoding.")
    announced = request.headers.get("content-length", "0")
    if announced.isascii() and announced.isdigit() and int(announced[:20]) > limit:
        raise _too_large(limit)
    chunks: list[bytes] = []
    total = 0
    async with _deadline(seconds):
        more = True
        while more:
            message = await request.receive()
            if message["type"] != "http.request":
                raise ClientGoneError
            chunk = message.get("body", b"")
            total += len(chunk)
            if total > limit:
                raise _too_large(limit)
            share.take(len(chunk))
            chunks.append(chunk)
            more = message.get("more_body", False)
    return b"".join(chunks)


@asynccontextmanager
async def _deadline(seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise Problem(
            408, f"The body did not arrive within {seconds:g} s; send it faster, or less of it.", _CLOSE, "slow_body"
        ) from None


def _too_large(limit: int) -> Problem:
    return Problem(413, f"The body is larger than {limit / 1e6:g} MB; send less at a time.", reason="too_large")


def media_type(request: Request) -> tuple[str, dict[str, str]]:
    """The type of the body, and the parameters that came with it, all lower-case."""
    kind, *rest = request.headers.get("content-type", "").lower().split(";")
    pairs = (part.partition("=") for part in rest)
    return kind.strip(), {name.strip(): value.strip().strip('"') for name, _, value in pairs}


def parse_json(request: Request, body: bytes) -> Any:
    """The body's JSON, in UTF-8, without numbers that JSON cannot have."""
    kind, parameters = media_type(request)
    if kind != "application/json":
        raise Problem(415, "The body must be JSON; send it with the header Content-Type: application/json.")
    if parameters.get("charset", "utf-8") not in ("utf-8", "utf8"):
        raise Problem(415, "JSON is taken in UTF-8 only; send it so, and without another charset.")
    try:
        return json.loads(body.decode("utf-8-sig"), parse_constant=_not_json)
    except UnicodeDecodeError as error:
        raise Problem(400, f"The body is not UTF-8 (at byte {error.start}); send JSON in UTF-8.") from None
    except json.JSONDecodeError as error:
        raise Problem(400, f"The body is not JSON: {error.msg} at character {error.pos}.") from None
    except RecursionError:
        raise Problem(400, "The body is JSON nested too deeply.") from None
    except ValueError:  # a whole number of thousands of digits
        raise Problem(400, "The body holds a number that is too large.") from None


def _not_json(name: str) -> NoReturn:
    raise Problem(400, f"The body holds {name}, which is not JSON; leave it out, or send a number.")

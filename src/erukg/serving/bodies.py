"""Request bodies: received and decompressed with limits on bytes and time, and parsed as strict JSON or as a form."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from starlette.requests import Request

from erukg.serving.problems import Problem
from erukg.serving.request_models import shown

__all__ = [
    "ByteBudget",
    "announced_bytes",
    "media_type",
    "parse_form",
    "parse_json",
    "read_body",
    "receive_body",
    "unique",
]

_MOST_FIELDS = 100


class ByteBudget:
    """Limits the bytes of all bodies that are being received or processed at a time."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0

    @contextmanager
    def reserve(self) -> Iterator[Callable[[int], None]]:
        """A function that takes bytes from the budget for one request; they are given back at the end."""
        taken = 0

        def take(count: int) -> None:
            nonlocal taken
            taken += count
            self.used += count
            if self.used > self.limit:
                sentence = "The service already holds as many bytes of other requests as it may; try again in a second."
                raise Problem(429, sentence, {"Retry-After": "1"}, "held_bytes")

        try:
            yield take
        finally:
            self.used -= taken


async def read_body(request: Request, limit: int, seconds: float, take: Callable[[int], None]) -> bytes:
    """The whole body, its bytes taken from a budget; raises Problem as `receive_body` does."""
    chunks: list[bytes] = []

    async def put(chunk: bytes) -> None:
        take(len(chunk))
        chunks.append(chunk)

    await receive_body(request, limit, seconds, put)
    return b"".join(chunks)


async def receive_body(
    request: Request, limit: int, seconds: float, put: Callable[[bytes], Awaitable[object]], again_after: int = 0
) -> None:
    """Give the body to `put` as it arrives, decompressed; raises Problem when it is over the limit or too slow.

    It has so many seconds in all, or for every `again_after` bytes.
    """
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        raise Problem(415, "Of compressed bodies only gzip is accepted; send it so, or without Content-Encoding.")
    if announced_bytes(request) > limit:
        raise _too_large(limit)
    gunzip = _Gunzip() if encoding == "gzip" else None
    arrived = total = 0
    begin = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout(seconds) as deadline:
            async for chunk in request.stream():
                arrived += len(chunk)
                if again_after:
                    deadline.reschedule(begin + seconds * (1 + arrived / again_after))
                for part in (chunk,) if gunzip is None else gunzip.unpack(chunk):
                    total += len(part)
                    if max(arrived, total) > limit:
                        raise _too_large(limit)
                    await put(part)
    except TimeoutError:
        waited = asyncio.get_running_loop().time() - begin
        sentence = f"The body did not arrive within {round(waited, 1):g} s; send it faster, or send less."
        raise Problem(408, sentence, {"Connection": "close"}, "slow_body") from None
    if gunzip is not None:
        gunzip.check_end()


def announced_bytes(request: Request) -> int:
    """The bytes of the body that are said to come; 0 when nothing is said."""
    given = request.headers.get("content-length", "")
    return int(given[:20]) if given.isascii() and given.isdigit() else 0


class _Gunzip:
    """gzip data as it arrives, unpacked in small pieces: a little of it may be a lot."""

    _PIECE = 1 << 18
    _MOST_MEMBERS = 10_000

    def __init__(self) -> None:
        self._members = 0
        self._member: Any = None

    def unpack(self, chunk: bytes) -> Iterator[bytes]:
        while chunk or self._member is not None:
            if self._member is None:
                self._members += 1
                if self._members > self._MOST_MEMBERS:  # each costs time, even an empty one
                    raise Problem(400, f"The gzip data has more than {self._MOST_MEMBERS} parts; compress it as one.")
                self._member = zlib.decompressobj(zlib.MAX_WBITS | 16)
            try:
                out = self._member.decompress(chunk, self._PIECE)
            except zlib.error:
                raise Problem(400, "The body is not gzip data, as its Content-Encoding says.") from None
            yield out
            if self._member.eof:
                chunk, self._member = self._member.unused_data, None
            elif len(out) < self._PIECE:
                return
            else:
                chunk = self._member.unconsumed_tail

    def check_end(self) -> None:
        if self._member is not None or not self._members:
            raise Problem(400, "The gzip data of the body ends too early; send all of it.")


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
        raise Problem(415, "JSON must be in UTF-8; send it without another charset.")
    try:
        return json.loads(body.decode("utf-8-sig"), parse_constant=_not_json, object_pairs_hook=unique)
    except UnicodeDecodeError as error:
        raise Problem(400, f"The body is not UTF-8 (at byte {error.start}); send JSON in UTF-8.") from None
    except json.JSONDecodeError as error:
        raise Problem(400, f"The body is not JSON: {error.msg} at character {error.pos}.") from None
    except RecursionError:
        raise Problem(400, "The body is JSON nested too deeply.") from None
    except ValueError:  # a whole number of thousands of digits
        raise Problem(400, "The body holds a number that is too large.") from None


def parse_form(request: Request, body: bytes) -> dict[str, str]:
    """The fields of a form, in UTF-8, none of them twice."""
    kind, parameters = media_type(request)
    if kind != "application/x-www-form-urlencoded":
        raise Problem(415, "The body must be a form; send it as Content-Type: application/x-www-form-urlencoded.")
    if parameters.get("charset", "utf-8") not in ("utf-8", "utf8"):
        raise Problem(415, "The form must be in UTF-8; send it without another charset.")
    try:
        options = {"keep_blank_values": True, "errors": "strict", "max_num_fields": _MOST_FIELDS}
        pairs = parse_qsl(body.decode(), **options)  # type: ignore[arg-type]
    except UnicodeDecodeError:
        raise Problem(400, "The form is not UTF-8; send it in UTF-8.") from None
    except ValueError:
        raise Problem(400, f"The form has more than {_MOST_FIELDS} fields; send fewer.") from None
    return unique(pairs, "the form")


def unique(pairs: list[tuple[str, Any]], where: str = "one object of the body") -> dict[str, Any]:
    """Pairs whose names differ: of two values for one name, others would see another one than we do."""
    out = dict(pairs)
    if len(out) != len(pairs):
        name, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise Problem(400, f"{shown(name)} stands twice in {where}; give it once.")
    return out


def _not_json(name: str) -> NoReturn:
    raise Problem(400, f"The body holds {name}, which is not JSON; leave it out, or send a number.")

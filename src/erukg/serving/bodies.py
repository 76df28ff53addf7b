"""Request bodies: received with limits on bytes and time, and parsed as strict JSON or as a form."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from starlette.requests import Request

from erukg.serving.problems import Problem
from erukg.serving.request_models import shown

__all__ = ["ByteBudget", "media_type", "parse_form", "parse_json", "read_body", "unique"]

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
    """The whole body, its bytes taken from a budget; raises Problem when it is over the limit or too slow."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "Compressed bodies are not accepted; send it without Content-Encoding.")
    announced = request.headers.get("content-length", "0")
    if announced.isascii() and announced.isdigit() and int(announced[:20]) > limit:
        raise _too_large(limit)
    chunks: list[bytes] = []
    total = 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                total += len(chunk)
                if total > limit:
                    raise _too_large(limit)
                take(len(chunk))
                chunks.append(chunk)
    except TimeoutError:
        sentence = f"The body did not arrive within {seconds:g} s; send it faster, or send less."
        raise Problem(408, sentence, {"Connection": "close"}, "slow_body") from None
    return b"".join(chunks)


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

"""gzip in both directions: bodies that unfold into more than they may, and answers for those who accept them."""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from erukg import KeyphraseGenerator
from erukg.serving.limits import ServiceLimits
from erukg.serving.service import Service
from serving.serving_tools import inside

GZIPPED = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
LIMITS = ServiceLimits(body_bytes=1_000_000)


def post(generator: KeyphraseGenerator, content: Any, **headers: str) -> httpx.Response:
    async def scenario(client: httpx.AsyncClient, service: Service) -> httpx.Response:
        response = await client.post("/v1/keyphrases", content=content, headers={**GZIPPED, **headers})
        assert service.processor.budget.used == 0
        return response

    return inside(generator, scenario, limits=LIMITS)


def test_a_compressed_body_is_read_like_any_other(generator: KeyphraseGenerator, text: str) -> None:
    body = json.dumps({"text": text}).encode()
    expected = json.loads(generator.generate(text).to_json())
    parts = gzip.compress(body[:20]) + gzip.compress(b"") + gzip.compress(body[20:])
    for content in (gzip.compress(body), parts):
        assert post(generator, content).json()["results"] == [expected]


def test_a_bomb_is_refused_by_what_it_unfolds_into_while_it_arrives(generator: KeyphraseGenerator) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    bomb = b"".join(packer.compress(b" " * 1_000_000) for _ in range(500)) + packer.flush()
    assert len(bomb) < LIMITS.body_bytes  # what arrives is within the limit
    sent = 0

    async def slices() -> AsyncIterator[bytes]:
        nonlocal sent
        for at in range(0, len(bomb), 4096):
            sent += 4096
            yield bomb[at : at + 4096]

    begin = time.process_time()
    response = post(generator, slices())
    assert (response.status_code, response.json()["code"]) == (413, "too_large")
    assert sent <= 3 * 4096  # a thousandth is enough to see it
    assert time.process_time() - begin < 2


def test_thousands_of_empty_parts_are_refused(generator: KeyphraseGenerator) -> None:
    empty = gzip.compress(b"", 1, mtime=0)
    begin = time.process_time()
    response = post(generator, empty * (LIMITS.body_bytes // len(empty)))
    assert response.status_code == 400
    assert "more than 10000 parts" in response.json()["detail"]
    assert time.process_time() - begin < 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"text": "a"}', "not gzip data"),
        (b"", "ends too early"),
        (gzip.compress(b'{"text": "a"}')[:-4], "ends too early"),
        (gzip.compress(b'{"text": "a"}') + b"more", "not gzip data"),
        (gzip.compress(b'{"text": "a"}')[:-8] + b"\0" * 8, "not gzip data"),
        (gzip.compress(gzip.compress(b'{"text": "a"}')), "not UTF-8"),
    ],
    ids=["plain", "empty", "cut", "more behind", "wrong sum", "packed twice"],
)
def test_damaged_data_is_refused(generator: KeyphraseGenerator, content: bytes, words: str) -> None:
    response = post(generator, content)
    assert (response.status_code, response.json()["code"]) == (400, "malformed")
    assert words in response.json()["detail"]


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [("gzip", True), ("br, gzip;q=0.5", True), ("gzip;q=0", False), ("gzip; q=0.000", False), ("identity", False)],
)
def test_answers_are_compressed_for_those_who_accept_it(
    generator: KeyphraseGenerator, text: str, accepted: str, packed: bool
) -> None:
    body = gzip.compress(json.dumps({"text": text, "explain": True}).encode())
    large = post(generator, body, **{"Accept-Encoding": accepted})
    assert large.status_code == 200
    assert (large.headers.get("content-encoding") == "gzip") is packed
    assert large.json()["results"][0]["present"]
    small = post(generator, b"", **{"Accept-Encoding": accepted})
    assert "content-encoding" not in small.headers

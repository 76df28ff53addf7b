"""Every limit, with the status and sentence that it answers."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from erukg import KeyphraseGenerator
from erukg.core.inputs import as_item
from erukg.errors import SettingsError
from erukg.serving.app import create_app
from erukg.serving.limits import ServiceLimits
from erukg.serving.service import Service
from serving.serving_tools import GatedGenerator, inside

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("keyphrases", {"text": "x" * 1001}, 413, "longer than 1000 characters"),
        ("keyphrases", {"documents": [{"text": "a"}] * 4}, 413, "more than 3 entries"),
        ("keyphrases", {"text": "a", "top_k": 21}, 422, "from 0 to 20"),
        ("rank", {"text": "a", "phrases": ["a"] * 6}, 413, "more than 5 entries"),
        ("rank", {"text": "a", "phrases": ["a" * 501]}, 413, "longer than 500 characters"),
        ("baseline", {"text": "a" * 101, "system": "textrank"}, 413, "longer than 100 characters"),
        ("expand", {"documents": [{"text": "a"}] * 4}, 413, "more than 3 entries"),
        ("keyphrases", {"text": "x" * 3000}, 413, "larger than 0.002 MB"),
    ],
)
def test_limits_of_a_request(generator: KeyphraseGenerator, path: str, body: Any, status: int, words: str) -> None:
    limits = ServiceLimits(characters=1000, documents=3, top_k=20, phrases=5, baseline_characters=100, body_bytes=2000)

    async def scenario(client: httpx.AsyncClient, service: Service) -> httpx.Response:
        return await client.post(f"/v1/{path}", json=body)

    response = inside(generator, scenario, limits=limits)
    assert response.status_code == status
    assert words in response.json()["detail"]


def test_a_body_without_announced_length_is_cut_off_while_it_streams(generator: KeyphraseGenerator) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 1000
            yield b" " * 1000

    async def scenario(client: httpx.AsyncClient, service: Service) -> httpx.Response:
        return await client.post("/v1/keyphrases", content=endless(), headers=JSON)

    response = inside(generator, scenario, limits=ServiceLimits(body_bytes=10_000))
    assert response.status_code == 413
    assert sent <= 12_000


def test_a_slow_body_ends_in_408(generator: KeyphraseGenerator) -> None:
    async def slow() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" "
            await asyncio.sleep(0.05)

    async def scenario(client: httpx.AsyncClient, service: Service) -> httpx.Response:
        return await client.post("/v1/keyphrases", content=slow(), headers=JSON)

    begin = time.monotonic()
    response = inside(generator, scenario, limits=ServiceLimits(body_seconds=0.2))
    assert response.status_code == 408
    assert response.headers["connection"] == "close"
    assert time.monotonic() - begin < 3


def test_a_full_queue_answers_429_at_once_and_takes_up_again(gated: GatedGenerator) -> None:
    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        async def ask(text: str) -> httpx.Response:
            return await client.post("/v1/keyphrases", json={"text": text})

        accepted = [asyncio.create_task(ask("wait for it"))]
        while not gated.begun:
            await asyncio.sleep(0.005)
        accepted += [asyncio.create_task(ask("wait, graph data")) for _ in range(3)]
        while service.queue.waiting < 3:
            await asyncio.sleep(0.005)
        for body in ({"text": "one more"}, {"documents": [{"text": "a"}] * 3}, {"text": "x" * 3_000}):
            # The gate is still closed: a request that had to wait for the others would get no answer.
            refused = await asyncio.wait_for(client.post("/v1/keyphrases", json=body), 5)
            assert refused.status_code == 429
            assert int(refused.headers["retry-after"]) >= 1
            assert "3 documents waiting" in refused.json()["detail"]
        assert "erukg_queue_documents 3" in (await client.get("/metrics")).text
        assert 'erukg_rejected_total{reason="queue_full"} 3' in (await client.get("/metrics")).text
        # What costs more waits in a lane of its own, which has room.
        long = await client.post("/v1/keyphrases", json={"text": "x" * 100_000})
        assert long.status_code == 200, long.text
        gated.gate.set()
        assert [r.status_code for r in await asyncio.gather(*accepted)] == [200] * 4
        assert (await ask("one more")).status_code == 200
        assert service.queue.waiting == service.queue.running == 0

    inside(gated, scenario, limits=ServiceLimits(queue=3, documents=3))


def test_a_request_takes_all_its_places_in_the_queue_or_none(gated: GatedGenerator) -> None:
    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        first = asyncio.create_task(client.post("/v1/keyphrases", json={"documents": [{"text": "wait"}] * 3}))
        while not gated.begun:
            await asyncio.sleep(0.005)
        assert service.queue.waiting == 2
        two = await client.post("/v1/keyphrases", json={"documents": [{"text": "a"}] * 2})
        assert two.status_code == 429
        assert service.queue.waiting == 2
        gated.gate.set()
        assert (await first).status_code == 200

    inside(gated, scenario, limits=ServiceLimits(queue=3, documents=3))


def test_small_requests_are_not_kept_waiting_by_a_large_one(gated: GatedGenerator) -> None:
    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        batch = {"documents": [{"text": "wait"}] * 50}
        large = [asyncio.create_task(client.post("/v1/keyphrases", json=batch)) for _ in range(3)]
        large.append(asyncio.create_task(client.post("/v1/keyphrases", json={"text": "wait " * 20_000})))
        while service.queue.waiting < 150:
            await asyncio.sleep(0.005)
        # The gate is still closed: all threads but those for short requests are taken.
        small = await asyncio.wait_for(client.post("/v1/keyphrases", json={"text": "graph data"}), 5)
        assert small.status_code == 200
        gated.gate.set()
        assert [(await each).status_code for each in large] == [200] * 4

    inside(gated, scenario)


def test_what_takes_too_long_ends_in_504_and_leaves_the_queue(gated: GatedGenerator) -> None:
    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        response = await client.post("/v1/keyphrases", json={"documents": [{"text": "wait"}] * 5})
        assert response.status_code == 504
        assert "longer than 0.2 s" in response.json()["detail"]
        assert service.queue.waiting == 0
        gated.gate.set()
        assert (await client.post("/v1/keyphrases", json={"text": "graph data"})).status_code == 200
        assert gated.begun == 1
        assert 'erukg_rejected_total{reason="timeout"} 1' in service.metrics.text()

    inside(gated, scenario, limits=ServiceLimits(seconds=0.2))


def test_documents_of_a_client_that_left_leave_the_queue(gated: GatedGenerator) -> None:
    body = json.dumps({"documents": [{"text": "wait"}] * 5}).encode()
    scope = {"type": "http", "method": "POST", "path": "/v1/keyphrases", "query_string": b"", "root_path": ""}
    headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
    sent: list[Any] = []

    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        messages = iter([{"type": "http.request", "body": body}, {"type": "http.disconnect"}])

        async def receive() -> Any:
            return next(messages)

        async def send(message: Any) -> None:
            sent.append(message)

        await create_app(service)({**scope, "headers": headers}, receive, send)
        assert service.queue.waiting == 0
        assert 'erukg_requests_total{path="/v1/keyphrases",status="499"} 1' in service.metrics.text()
        gated.gate.set()

    inside(gated, scenario)
    assert sent == []
    assert gated.begun == 1


def test_bytes_held_by_all_requests_have_a_limit(gated: GatedGenerator) -> None:
    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        first = asyncio.create_task(client.post("/v1/keyphrases", json={"text": "wait" + "x" * 3000}))
        while not gated.begun:
            await asyncio.sleep(0.005)
        assert service.processor.budget.used > 3000
        refused = await client.post("/v1/keyphrases", json={"text": "x" * 3000})
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "1"
        gated.gate.set()
        assert (await first).status_code == 200
        assert service.processor.budget.used == 0

    inside(gated, scenario, limits=ServiceLimits(held_bytes=5000))


def written(capfd: pytest.CaptureFixture[str], count: int) -> list[str]:
    """The lines of the log, which a thread writes: `count` of them, or what there is after some seconds."""
    lines: list[str] = []
    end = time.monotonic() + 10
    while len(lines) < count and time.monotonic() < end:
        time.sleep(0.01)
        lines += capfd.readouterr().err.splitlines()
    return lines


def test_one_failing_document_is_reported_without_its_text(
    generator: KeyphraseGenerator, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    real = KeyphraseGenerator.prepare

    def fail(self: KeyphraseGenerator, item: object, *args: Any, **options: Any) -> Any:
        text = as_item(item).text
        if text.startswith("secret"):
            raise ArithmeticError(f"cannot cope with {text}")
        return real(self, item, *args, **options)

    monkeypatch.setattr(KeyphraseGenerator, "prepare", fail)

    async def scenario(client: httpx.AsyncClient, service: Service) -> list[httpx.Response]:
        documents = [{"text": "graph data"}, {"id": "s", "text": "secret plans"}]
        return [
            await client.post("/v1/keyphrases", json={"documents": documents}),
            await client.post("/v1/keyphrases", json={"text": "secret plans"}, headers={"X-Request-Id": "mine"}),
        ]

    many, one = inside(generator, scenario)
    assert many.status_code == 200
    assert many.json()["results"][0]["present"]
    sentence = "The service failed on this document; its log says more."
    assert many.json()["results"][1] == {"id": "s", "error": sentence, "code": "internal_error"}
    assert one.status_code == 500
    assert one.headers["x-request-id"] == "mine"
    lines = [json.loads(line) for line in written(capfd, 2)]
    assert [line["error"] for line in lines] == ["ArithmeticError"] * 2
    assert lines[1]["id"] == "mine"
    assert any("fail" in frame for frame in lines[0]["at"])
    assert "secret" not in json.dumps(lines)


def test_limits_that_make_no_sense_are_refused() -> None:
    with pytest.raises(SettingsError, match="would never fit"):
        ServiceLimits(queue=5, documents=6)
    with pytest.raises(SettingsError, match="'seconds' must be from"):
        ServiceLimits(seconds=0)

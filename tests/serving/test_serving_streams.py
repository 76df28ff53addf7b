"""Results as lines, sent as they are ready."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
import pytest

from erukg import KeyphraseGenerator
from erukg.serving.app import create_app
from erukg.serving.limits import ServiceLimits
from erukg.serving.service import Service
from erukg.serving.subjects import SubjectsByName
from serving.serving_tools import GatedGenerator, inside

LINES = {"Accept": "application/x-ndjson"}


class Talk:
    """A request to the application itself, whose answer is looked at while it is sent."""

    def __init__(self, service: Service, body: Any, path: str = "/v1/keyphrases") -> None:
        self.sent: list[Any] = []
        self.reading = asyncio.Event()
        self.reading.set()
        self.leaving = asyncio.Event()
        headers = {"host": "localhost", "content-type": "application/json", "accept": "application/x-ndjson"}
        scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "root_path": ""}
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._messages = iter([{"type": "http.request", "body": json.dumps(body).encode()}])
        answer: Any = create_app(service)({**scope, "headers": raw}, self._receive, self._send)
        self.task: asyncio.Task[None] = asyncio.create_task(answer)

    async def _receive(self) -> Any:
        if message := next(self._messages, None):
            return message
        await self.leaving.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await self.reading.wait()
        self.sent.append(message)

    @property
    def lines(self) -> list[Any]:
        body = b"".join(message.get("body", b"") for message in self.sent)
        return [json.loads(line) for line in body.splitlines()]

    async def until(self, count: int) -> None:
        deadline = time.monotonic() + 10
        while len(self.lines) < count:
            assert time.monotonic() < deadline, self.sent
            await asyncio.sleep(0.005)


def test_every_document_has_one_line_with_its_index(
    generator: KeyphraseGenerator, subjects: SubjectsByName, text: str
) -> None:
    documents: list[Any] = [{"id": f"d{i}", "text": f"{text} {i}"} for i in range(12)]
    documents[5] = {"id": "bad", "txt": "graph data"}

    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        for path in ("/v1/keyphrases", "/v1/suggest"):
            body = {"documents": documents}
            expected = (await client.post(path, json=body)).json()["results"]
            answer = await client.post(path, json=body, headers=LINES)
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "application/x-ndjson"
            lines = [json.loads(line) for line in answer.text.splitlines()]
            assert sorted(line["index"] for line in lines) == list(range(12))
            for line in lines:
                assert line == {"index": line["index"], **expected[line["index"]]}
            (alone,) = (await client.post(path, json={"text": text}, headers=LINES)).text.splitlines()
            assert json.loads(alone)["index"] == 0
        assert "erukg_document_errors_total 4" in service.metrics.text()

    inside(generator, scenario, subjects=subjects, threads=2)


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "invalid_request"),
        ({"documents": [{"text": "a"}] * 4}, 413, "too_large"),
        ([], 422, "invalid_request"),
    ],
)
def test_a_request_that_is_refused_is_a_problem_as_ever(
    generator: KeyphraseGenerator, body: Any, status: int, code: str
) -> None:
    async def scenario(client: httpx.AsyncClient, service: Service) -> httpx.Response:
        return await client.post("/v1/keyphrases", json=body, headers=LINES)

    response = inside(generator, scenario, limits=ServiceLimits(documents=3))
    assert (response.status_code, response.json()["code"]) == (status, code)


def test_lines_come_as_they_are_ready_and_all_of_them_in_time(gated: GatedGenerator) -> None:
    documents = [{"id": "slow", "text": "wait"}, {"id": "quick", "text": "graph data"}, {"id": "late", "text": "wait"}]

    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        talk = Talk(service, {"documents": documents})
        await talk.until(1)
        assert (talk.lines[0]["index"], talk.lines[0]["id"]) == (1, "quick")
        assert not talk.task.done()
        # The time is over: the others are told so, and leave the queue.
        await talk.until(3)
        assert [(line["index"], line["id"], line["code"]) for line in talk.lines[1:]] == [
            (0, "slow", "timeout"),
            (2, "late", "timeout"),
        ]
        await talk.task
        assert talk.sent[-1] == {"type": "http.response.body", "body": b""}
        assert service.queue.waiting == 0
        assert service.processor.budget.used == 0
        gated.gate.set()

    inside(gated, scenario, limits=ServiceLimits(seconds=0.5), threads=2)


def test_a_client_that_leaves_or_does_not_read_is_not_waited_for(gated: GatedGenerator) -> None:
    documents = [{"text": "graph data"}, *[{"text": "wait"}] * 5]

    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        leaving, idle = Talk(service, {"documents": documents}), Talk(service, {"documents": documents})
        await leaving.until(1)
        leaving.leaving.set()
        await leaving.task
        idle.reading.clear()
        gated.gate.set()
        await asyncio.wait_for(idle.task, 10)
        assert service.queue.waiting == 0
        assert service.processor.budget.used == 0
        # Neither got all of its answer.
        assert 'erukg_requests_total{path="/v1/keyphrases",status="499"} 2' in service.metrics.text()

    inside(gated, scenario, limits=ServiceLimits(seconds=0.5, body_seconds=0.3))

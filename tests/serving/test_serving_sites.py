"""Requests that name another host or come from another site's page; headers and keys that come twice."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from erukg import KeyphraseGenerator
from erukg.serving.service import Service
from serving.serving_tools import Process, inside

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def server(tiny_model: Path) -> Iterator[Process]:
    with Process("--model", tiny_model, "--allowed-host", "Search.example", "--no-request-log") as process:
        yield process


def talk(server: Process, *lines: bytes, body: bytes = b"") -> bytes:
    """The answer to a request of these lines."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
        connection.sendall(b"\r\n".join((*lines, b"Connection: close", b"", body)))
        out = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := connection.recv(65536):
                out += chunk
        return out


@pytest.mark.parametrize(
    ("host", "status"),
    [
        (b"localhost:8000", 200),
        (b"LOCALHOST", 200),
        (b"page.localhost", 200),
        (b"127.0.0.1:1", 200),
        (b"[::1]:8000", 200),
        (b"10.1.2.3", 200),
        (b"search.EXAMPLE.:80", 200),
        (b"rebound.example", 421),
        (b"localhost.rebound.example", 421),
        (b"127.0.0.1.rebound.example", 421),
        (b"search.example:80@rebound.example", 400),
        (b"", 400),
        (b"a b", 400),
        (b"localhost, rebound.example", 400),
    ],
)
def test_only_its_own_names_are_answered(server: Process, host: bytes, status: int) -> None:
    for path in (b"/v1/info", b"/", b"/healthz"):
        answer = talk(server, b"GET %s HTTP/1.1" % path, b"Host: " + host)
        assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:200]
        assert status == 200 or b'"detail": "' in answer


def test_a_request_has_one_host(server: Process) -> None:
    assert talk(server, b"GET /healthz HTTP/1.1").startswith(b"HTTP/1.1 400 ")
    assert talk(server, b"GET /healthz HTTP/1.1", b"Host: localhost", b"Host: localhost").startswith(b"HTTP/1.1 400 ")
    assert talk(server, b"GET /healthz HTTP/1.0").startswith(b"HTTP/1.1 200 ")
    metrics = httpx.get(f"{server.url}/metrics").text
    assert 'erukg_rejected_total{reason="host"} ' in metrics


def test_large_headers_are_refused_however_they_come(server: Process) -> None:
    for head in (b"X-Large: " + b"x" * 70_000, b"\r\n".join(b"X-%d: " % i + b"x" * 700 for i in range(100))):
        first = b"POST /v1/rank HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n"
        for before in (b"", first):  # also on a connection that has been used
            answer = talk(server, before + b"GET /healthz HTTP/1.1", b"Host: localhost", head)
            assert b"HTTP/1.1 431 " in answer, answer[:300]
            assert b"alive" not in answer
    target = b"/healthz?" + b"x" * 70_000
    assert talk(server, b"GET %s HTTP/1.1" % target, b"Host: localhost").startswith(b"HTTP/1.1 431 ")
    assert talk(server, b"GET /healthz HTTP/1.1", b"Host: localhost", b"X: " + b"x" * 40_000).startswith(
        b"HTTP/1.1 200 "
    )


FOREIGN = "https://pages.example"
FROM = [
    ({}, 200),
    ({"Origin": "http://localhost"}, 200),
    ({"Sec-Fetch-Site": "same-origin", "Origin": "https://behind-a-proxy.example"}, 200),
    ({"Sec-Fetch-Site": "none"}, 200),
    ({"Origin": FOREIGN}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "http://localhost:3000"}, 403),
    ({"Origin": "http://localhost.pages.example"}, 403),
    ({"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost"}, 403),
    ({"Sec-Fetch-Site": "cross-site"}, 403),
    ({"Sec-Fetch-Site": "same-site"}, 403),
]


@pytest.mark.parametrize(("headers", "status"), FROM)
def test_pages_of_other_sites_cannot_make_it_work(
    generator: KeyphraseGenerator, headers: dict[str, str], status: int
) -> None:
    async def scenario(client: httpx.AsyncClient, service: Service) -> list[int]:
        plain = {"Content-Type": "text/plain", **headers}
        answers = [
            await client.post("/v1/read", content=b"graph data", headers=plain),
            await client.post("/v1/read", files={"file": ("a.txt", b"graph data")}, headers=headers),
            await client.post("/v1/keyphrases", json={"text": "graph data"}, headers=headers),
        ]
        assert (await client.get("/v1/info", headers=headers)).status_code == 200
        return [answer.status_code for answer in answers]

    assert inside(generator, scenario) == [status] * 3
    wanted = 200 if headers.get("Origin") == FOREIGN else status
    assert inside(generator, scenario, cors=(FOREIGN,)) == [wanted] * 3


@pytest.mark.parametrize(
    "body",
    [
        b'{"text": "a", "text": "b"}',
        b'{"text": "a", "settings": {"alpha": 0.5, "alpha": 1}}',
        b'{"documents": [{"text": "a"}, {"text": "a", "te\\u0078t": "b"}]}',
    ],
)
def test_a_key_stands_once_in_an_object(generator: KeyphraseGenerator, body: bytes) -> None:
    async def scenario(client: httpx.AsyncClient, service: Service) -> httpx.Response:
        return await client.post("/v1/keyphrases", content=body, headers=JSON)

    response = inside(generator, scenario)
    assert response.status_code == 400, response.text
    name = "alpha" if b"alpha" in body else "text"
    assert response.json()["detail"] == f'"{name}" stands twice in one object of the body; give it once.'

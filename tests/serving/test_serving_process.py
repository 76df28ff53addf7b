"""`erukg serve` as a process: signals, workers that die, connections that misbehave, logs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from serving.serving_tools import Process
from tiny import listed

TEXT = "Neural retrieval for the sparse index\nWe propose a distributed search engine and graph data storage {}."


@pytest.fixture(scope="module")
def server(tiny_model: Path) -> Iterator[Process]:
    """A service of two workers, for tests that leave it as they found it."""
    limits = ("--max-idle-seconds", 0.6, "--max-body-seconds", 0.6, "--max-body-bytes", 200_000)
    with Process("--model", tiny_model, "--workers", 2, "--threads", 1, *limits) as process:
        yield process


def talk(port: int, data: bytes, *, seconds: float = 5) -> bytes:
    """Send raw bytes; all that comes back until the service closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as connection:
        connection.sendall(data)
        out = b""
        while chunk := connection.recv(65536):
            out += chunk
        return out


def post(body: bytes, *headers: bytes) -> bytes:
    head = [b"POST /v1/keyphrases HTTP/1.1", b"Host: localhost", b"Content-Type: application/json", *headers]
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def test_it_serves_all_paths(server: Process) -> None:
    with httpx.Client(base_url=server.url) as client:
        assert client.get("/healthz").json() == {"status": "alive"}
        assert client.get("/readyz").json() == {"status": "ready"}
        found = client.post("/v1/keyphrases", json={"text": TEXT}).json()
        assert found["results"][0]["present"]
        assert found["collection"] is None
        assert client.get("/openapi.json").json()["openapi"].startswith("3.")
        assert client.get("/docs").status_code == 200
        assert client.get("/redoc").status_code == 404
        metrics = client.get("/metrics")
        assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
        values = {
            line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1])
            for line in metrics.text.splitlines()
            if line[0] != "#"
        }
        assert values['erukg_requests_total{path="/v1/keyphrases",status="200"}'] >= 1
        assert values['erukg_request_seconds_bucket{path="/v1/keyphrases",le="+Inf"}'] >= 1
        assert values["erukg_documents_total"] >= 1
        assert values['erukg_memory_bytes{worker="0"}'] > 10_000_000


def test_a_request_is_one_line_of_log_without_text(server: Process) -> None:
    headers = {"X-Request-Id": "of-mine.1"}
    response = httpx.post(f"{server.url}/v1/keyphrases", json={"text": "confidential graph data"}, headers=headers)
    assert response.headers["x-request-id"] == "of-mine.1"
    line = server.until(lambda line: line.get("id") == "of-mine.1")
    assert {k: line[k] for k in ("method", "path", "status", "documents")} == {
        "method": "POST",
        "path": "/v1/keyphrases",
        "status": 200,
        "documents": 1,
    }
    assert line["ms"] > 0
    httpx.get(f"{server.url}/confidential?q=confidential", headers={"X-Request-Id": 'confidential "id"'})
    server.until(lambda line: line.get("path") == "other")
    assert "confidential" not in json.dumps(server.log)


def test_a_killed_worker_is_replaced(server: Process) -> None:
    def workers() -> set[int]:
        children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
        return {int(pid) for pid in children}

    before = workers()
    assert len(before) == 2
    victim = min(before)
    os.kill(victim, signal.SIGKILL)
    server.until(lambda line: line.get("event") == "worker died" and line["worker_pid"] == victim)
    deadline = time.monotonic() + 10
    while len(workers()) < 2 or victim in workers():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    # The dead worker's connections are lost with it; new ones are answered by either.
    for i in range(20):
        assert httpx.post(f"{server.url}/v1/keyphrases", json={"text": TEXT.format(i)}).status_code == 200
    assert "erukg_worker_restarts_total 1" in httpx.get(f"{server.url}/metrics").text


def test_headers_that_come_slowly_or_without_end_are_cut_off(server: Process) -> None:
    begin = time.monotonic()
    assert talk(server.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ") == b""
    assert talk(server.port, b"") == b""
    assert 1.0 < time.monotonic() - begin < 4
    with contextlib.suppress(ConnectionError):  # closed on us while we still send
        assert b" 431 " in talk(server.port, b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X-More: again\r\n" * 10_000)


def test_bodies_that_come_slowly_or_too_large_are_refused(server: Process) -> None:
    answer = talk(server.port, post(b'{"text":', b"Content-Length: 100"))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"within 0.6 s" in answer
    answer = talk(server.port, post(b"", b"Content-Length: 99999999999999999999999"))
    assert answer.startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 400 "))
    answer = talk(server.port, post(b"x" * 1000, b"Content-Length: 3000000"))
    assert answer.startswith(b"HTTP/1.1 413 ")
    chunk = b"%x\r\n%s\r\n" % (50_000, b" " * 50_000)
    answer = talk(server.port, post(chunk * 5, b"Transfer-Encoding: chunked"))
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_connection_goes_on_after_a_refusal(server: Process) -> None:
    """What is left of a refused body is thrown away, and not taken for the next request."""
    body = json.dumps({"text": "graph data"}).encode()
    inner = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    refused = post(inner * 8000, b"Content-Length: %d" % (len(inner) * 8000))
    assert len(refused) > 200_000
    good = post(body, b"Content-Length: %d" % len(body), b"Connection: close")
    answer = talk(server.port, refused + good)
    assert answer.count(b"HTTP/1.1 ") == 2
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"HTTP/1.1 200 OK" in answer
    assert b"erukg_requests_total" not in answer


def test_who_leaves_early_is_not_worked_for(server: Process) -> None:
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(post(b'{"text":', b"Content-Length: 100", b"X-Request-Id: left-early"))
    line = server.until(lambda line: line.get("id") == "left-early")
    assert (line["status"], line["documents"]) == (499, 0)


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT x:1 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /v1/keyphrases HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST /v1/keyphrases HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/keyphrases HTTP/1.1\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
    ],
)
def test_what_is_not_http_is_refused_in_json(server: Process, data: bytes) -> None:
    answer = talk(server.port, data)
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 404 ", b"HTTP/1.1 405 ")), answer
    assert b'"detail": "' in answer or b'{"error": "' in answer
    assert httpx.get(f"{server.url}/healthz").status_code == 200


@pytest.mark.parametrize(
    ("data", "status", "reason"),
    [
        (b"\x16\x03\x01\x02\x00\x01", 400, "not_http"),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 70_000 + b"\r\n\r\n", 431, "large_headers"),
        (b"GET / HTTP/1.1\r\nHost: loc", 408, "slow_headers"),
    ],
)
def test_what_is_refused_before_it_is_a_request_is_logged_and_counted(
    server: Process, data: bytes, status: int, reason: str
) -> None:
    def counted() -> float:
        text = httpx.get(f"{server.url}/metrics").text
        return next(float(line.split()[1]) for line in text.splitlines() if f'reason="{reason}"' in line)

    server.read_log()
    before, seen = counted(), len(server.log)
    with socket.create_connection(("127.0.0.1", server.port)) as connection, contextlib.suppress(ConnectionError):
        connection.sendall(data)
        while connection.recv(65536):
            pass
    line = server.until(lambda line: line.get("reason") == reason and line in server.log[seen:])
    assert (line["status"], line["path"]) == (status, "other")
    assert counted() == before + 1


async def hammer(url: str, number: int, answered: dict[str, bool], stop: asyncio.Event) -> int:
    """Ask until told to stop or refused a connection; how many requests failed once they were under way."""
    failed = asked = 0
    async with httpx.AsyncClient(base_url=url, timeout=20) as client:
        while not stop.is_set():
            asked += 1
            id = f"{number}-{asked}"
            text = TEXT.format(id)
            answered[id] = False
            try:
                body = {"documents": [{"id": id, "text": text}] * 3}
                response = await client.post("/v1/keyphrases", json=body, headers={"X-Request-Id": id})
            except httpx.ConnectError:
                del answered[id]
                break
            except httpx.TransportError:
                failed += 1
                break
            assert response.status_code == 200
            assert {result["id"] for result in response.json()["results"]} == {id}
            answered[id] = True
    return failed


@pytest.mark.parametrize("workers", [1, 2])
def test_sigterm_under_load_loses_no_accepted_request(tiny_model: Path, workers: int) -> None:
    async def load(server: Process) -> dict[str, bool]:
        answered: dict[str, bool] = {}
        stop = asyncio.Event()
        clients = [asyncio.create_task(hammer(server.url, i, answered, stop)) for i in range(16)]
        while sum(answered.values()) <= 30 and not any(client.done() for client in clients):
            await asyncio.sleep(0.02)
        server.terminate()
        draining = await asyncio.to_thread(server.until, lambda line: line.get("event") == "draining")
        assert draining["signal"] == "SIGTERM"
        assert sum(await asyncio.gather(*clients)) == 0
        return answered

    with Process("--model", tiny_model, "--workers", workers, "--threads", 1) as server:
        answered = asyncio.run(load(server))
        assert server.end() == 0
    accepted = {line["id"]: line["status"] for line in server.log if "status" in line and "-" in line["id"]}
    assert len(accepted) > 30
    assert set(accepted.values()) == {200}
    assert [id for id in accepted if not answered[id]] == []
    assert [id for id, done in answered.items() if done and id not in accepted] == []


def test_readiness_goes_before_the_connections_do(tiny_model: Path) -> None:
    with Process("--model", tiny_model, "--drain-seconds", 1.5) as server:
        server.terminate()
        server.until(lambda line: line.get("event") == "draining")
        answer = httpx.get(f"{server.url}/readyz")
        assert answer.status_code == 503
        assert answer.headers["connection"] == "close"
        assert httpx.post(f"{server.url}/v1/keyphrases", json={"text": TEXT}).status_code == 200
        assert server.end() == 0
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{server.url}/readyz")


def serve(*arguments: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "erukg.cli", "serve", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=30, env={**os.environ, **(env or {})}, check=False
    )


def test_what_cannot_be_served_is_said_in_one_line(server: Process, tiny_model: Path, tmp_path: Path) -> None:
    taken = serve("--model", tiny_model, "--port", server.port)
    assert taken.returncode == 1
    assert "Cannot listen on 127.0.0.1" in taken.stderr
    assert taken.stderr.count("\n") == 1
    hide = "import sys; sys.modules['starlette'] = None; from erukg.cli import main; main()"
    bare = subprocess.run(
        [sys.executable, "-c", hide, "serve"], capture_output=True, text=True, timeout=30, check=False
    )
    assert bare.returncode == 1
    assert "pip install 'erukg[serve]'" in bare.stderr
    lost = serve("--model", tiny_model, "--port", 0, "--vocabulary", f"a={tmp_path / 'none.tsv'}")
    assert lost.returncode == 1
    assert "none.tsv" in lost.stderr
    empty = tmp_path / "keys"
    empty.write_text("# none\n")
    no_key = serve("--api-key-file", empty, env={"ERUKG_API_KEY": ""})
    assert no_key.returncode == 1
    assert "holds no API key" in no_key.stderr
    broken = tmp_path / "model"
    broken.mkdir()
    for part in tiny_model.iterdir():
        content = part.read_bytes()
        (broken / part.name).write_bytes(b"\0" * len(content) if part.suffix == ".onnx" else content)
    damaged = serve("--model", broken, "--port", 0)
    assert damaged.returncode == 1, damaged.stderr
    assert "encoder.onnx does not match its checksum" in damaged.stderr
    assert damaged.stderr.count("\n") == 1
    # A graph with the right checksum that still cannot be run.
    config = json.loads((broken / "config.json").read_text())
    config["files"]["encoder.onnx"] = listed(broken / "encoder.onnx")
    (broken / "config.json").write_text(json.dumps(config))
    for workers in (1, 2):
        done = serve("--model", broken, "--port", 0, "--workers", workers)
        assert done.returncode == 1, done.stderr
        assert "cannot be run" in done.stderr


def test_an_api_key_from_the_environment(tiny_model: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# of the team\nanother-long-key\n")
    env = {"ERUKG_API_KEY": "a-long-enough-key"}
    with Process("--model", tiny_model, "--api-key-file", file, "--host", "0.0.0.0", env=env) as server:
        assert httpx.get(f"{server.url}/v1/info").status_code == 401
        for key in ("a-long-enough-key", "another-long-key"):
            assert httpx.get(f"{server.url}/v1/info", headers={"Authorization": f"Bearer {key}"}).status_code == 200
        assert server.end() == 0
        assert "long" not in json.dumps(server.log)

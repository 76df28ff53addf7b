"""Jobs: whole corpora in the background, that survive whatever happens to a worker or to the service."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from erukg import KeyphraseGenerator, Settings
from erukg.errors import InputError
from erukg.serving.jobs import JobStore
from erukg.serving.limits import ServiceLimits
from erukg.serving.service import Service
from serving.serving_tools import GatedGenerator, Process, inside

LINES = {"Content-Type": "application/x-ndjson"}


def corpus(text: str, count: int) -> list[dict[str, str]]:
    return [{"id": f"d{i}", "title": f"graph data {i}", "text": text} for i in range(count)]


def lines(rows: list[Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def with_jobs(
    generator: KeyphraseGenerator, folder: Path, scenario: Callable[[httpx.AsyncClient, Service], Any], **limits: Any
) -> Any:
    bounds = ServiceLimits(**limits)
    return inside(generator, scenario, jobs=JobStore(folder, bounds), limits=bounds)


async def until(is_so: Callable[[], Any], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def has_lines(client: httpx.AsyncClient, id: str, count: int) -> None:
    deadline = time.monotonic() + 20
    while len((await client.get(f"/v1/jobs/{id}/results")).text.splitlines()) < count:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


async def ended(client: httpx.AsyncClient, id: str, seconds: float = 20) -> dict[str, Any]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        job: dict[str, Any] = (await client.get(f"/v1/jobs/{id}")).json()
        if job["status"] in ("done", "failed"):
            return job
        await asyncio.sleep(0.05)
    raise AssertionError(f"the job did not end: {job}")


def test_a_corpus_comes_back_as_the_generator_finds_it(
    generator: KeyphraseGenerator, tmp_path: Path, text: str
) -> None:
    rows: list[Any] = [
        *corpus(text, 20),
        5,
        {"id": "long", "text": "x" * 3000},
        {"text": text},
        {"id": "\ud800", "text": ""},
    ]
    body = gzip.compress(lines(rows[:10]) + b"\n  \n" + lines(rows[10:])[:-1])

    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        sent = await client.post(
            "/v1/jobs?top_k=4&mode=extract&diversity=0.5&explain=true",
            content=body,
            headers={**LINES, "Content-Encoding": "gzip"},
        )
        assert sent.status_code == 202, sent.text
        job = sent.json()
        assert sent.headers["location"] == f"jobs/{job['id']}"
        assert (job["status"], job["documents"], job["finished"]) == ("waiting", 24, 0)
        done = await ended(client, job["id"])
        assert (done["status"], done["finished"], done["errors"], done["error"]) == ("done", 24, 3, None)
        assert (await client.get("/v1/jobs")).json() == {"results": [done]}
        answer = await client.get(f"/v1/jobs/{job['id']}/results")
        assert answer.headers["content-type"] == "application/x-ndjson"
        found = [json.loads(line) for line in answer.text.splitlines()]
        settings = Settings(diversity=0.5).extraction()
        for row, one in zip(rows[:20], found, strict=False):
            whole = f"{row['title']}\n{row['text']}"
            assert one == json.loads(generator.generate(whole, 4, settings, explain=True, id=row["id"]).to_json())
        assert [one["id"] for one in found[20:]] == ["line:23", "long", "line:25", "\ud800"]
        assert ["error" in one for one in found[20:]] == [True, True, False, True]
        assert {one.get("code") for one in found[20:]} == {"invalid_request", None}
        assert "erukg_documents_total 24" in service.metrics.text()
        foreign = {"Origin": "https://pages.example"}
        assert (await client.delete(f"/v1/jobs/{job['id']}", headers=foreign)).status_code == 403
        gone = await client.delete(f"/v1/jobs/{job['id']}")
        assert gone.json() == done
        assert (await client.get(f"/v1/jobs/{job['id']}")).status_code == 404
        assert list(tmp_path.iterdir()) == []

    with_jobs(generator, tmp_path, scenario, characters=2000)


def test_what_is_wrong_with_a_job_is_said_and_nothing_of_it_is_left(
    generator: KeyphraseGenerator, tmp_path: Path
) -> None:
    good = lines([{"text": "graph data"}])
    bomb = gzip.compress(b"\n" * 50_000_000)
    cases: list[tuple[str, bytes, dict[str, str], int, str]] = [
        ("", good, {"Content-Type": "text/plain"}, 415, "JSON Lines"),
        ("", good, {**LINES, "Content-Encoding": "br"}, 415, "only gzip"),
        ("?top_k=x", good, LINES, 422, "'top_k' must be a whole number"),
        ("?topk=1", good, LINES, 422, "did you mean 'top_k'"),
        ("?top_k=1&top_k=2", good, LINES, 400, "stands twice"),
        ("?alpha=2", good, LINES, 422, "'alpha' must be a number from 0 to 1"),
        ("?style=papr", good, LINES, 422, "did you mean 'paper'"),
        ("", b"", LINES, 422, "no documents"),
        ("", b" \n\n", LINES, 422, "no documents"),
        ("", good * 6, LINES, 413, "more than 5 documents"),
        ("", good + b"x" * 3000, LINES, 413, "A line is longer"),
        ("", b"\n" * 20_000, LINES, 413, "larger than 0.01 MB"),
        ("", bomb, {**LINES, "Content-Encoding": "gzip"}, 413, "larger than 0.01 MB"),
        ("", bomb[:1000], {**LINES, "Content-Encoding": "gzip"}, 413, "larger than 0.01 MB"),
    ]

    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        for query, body, headers, status, words in cases:
            refused = await client.post(f"/v1/jobs{query}", content=body, headers=headers)
            assert (refused.status_code, words in refused.json()["detail"]) == (status, True), refused.text
            assert list(tmp_path.iterdir()) == []
            assert service.processor.budget.used == 0
        for id in ("0" * 32, "..", "%2e%2e", "x", "../../etc/passwd", "lock"):
            assert (await client.get(f"/v1/jobs/{id}")).status_code == 404
            assert (await client.delete(f"/v1/jobs/{id}")).status_code in (404, 405)

    with_jobs(generator, tmp_path, scenario, job_documents=5, body_bytes=2000, job_bytes=10_000)
    with_jobs(generator, tmp_path, none_are_taken_without_a_folder)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be used"):
        JobStore(tmp_path / "file", ServiceLimits())


def test_an_upload_that_is_slow_or_breaks_off_leaves_nothing(generator: KeyphraseGenerator, tmp_path: Path) -> None:
    async def slow() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield lines([{"text": "graph data"}])
            await asyncio.sleep(0.05)

    async def broken() -> AsyncIterator[bytes]:
        yield lines([{"text": "graph data"}])
        raise OSError("something failed in between")

    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        begin = time.monotonic()
        late = await client.post("/v1/jobs", content=slow(), headers=LINES)
        assert time.monotonic() - begin < 2
        assert (late.status_code, late.json()["code"]) == (408, "slow_body")
        assert (await client.post("/v1/jobs", content=broken(), headers=LINES)).status_code == 500
        assert list(tmp_path.iterdir()) == []
        assert service.processor.budget.used == 0

    with_jobs(generator, tmp_path, scenario, body_seconds=0.2)


async def none_are_taken_without_a_folder(client: httpx.AsyncClient, service: Service) -> None:
    service.jobs = None
    for ask in (client.get("/v1/jobs"), client.post("/v1/jobs", content=b"{}", headers=LINES)):
        refused = await ask
        assert refused.status_code == 404
        assert "--jobs-folder" in refused.json()["detail"]


def test_jobs_are_bounded_in_number_size_and_age(generator: KeyphraseGenerator, tmp_path: Path, text: str) -> None:
    foreign = tmp_path / "somebody's"
    foreign.mkdir()
    left = tmp_path / f".{'a' * 32}.part"
    left.mkdir()
    (left / "documents.jsonl").write_text("{}")
    for path in (left / "documents.jsonl", left):
        os.utime(path, (0, 0))

    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        async def submit(query: str = "") -> httpx.Response:
            return await client.post(f"/v1/jobs{query}", content=lines(corpus(text, 3)), headers=LINES)

        await until(lambda: not left.exists())  # what a crash has left
        first = (await submit("?explain=true&top_k=100")).json()["id"]
        failed = await ended(client, first)
        assert failed["status"] == "failed"
        assert "results are larger than" in failed["error"]
        second = (await submit("?top_k=1&mode=extract")).json()["id"]
        assert (await ended(client, second))["status"] == "done"
        refused = await submit()
        assert (refused.status_code, refused.json()["code"]) == (429, "jobs_full")
        (tmp_path / second / "notes.txt").write_text("mine")
        (tmp_path / ("b" * 32)).symlink_to(foreign)
        (foreign / "results.jsonl").write_text("theirs")
        over = (tmp_path / first, tmp_path / second / "job.json")
        await until(lambda: not any(path.exists() for path in over))  # for long enough

    with_jobs(generator, tmp_path, scenario, jobs=2, job_bytes=4_000, job_hours=2 / 3600)
    # Only its own files were deleted.
    (kept,) = (path for path in tmp_path.iterdir() if path.is_dir() and path != foreign and not path.is_symlink())
    assert [path.name for path in kept.iterdir()] == ["notes.txt"]
    assert (foreign / "results.jsonl").read_text() == "theirs"


def test_a_short_queue_takes_a_job_in_smaller_parts(generator: KeyphraseGenerator, tmp_path: Path, text: str) -> None:
    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        sent = await client.post("/v1/jobs?mode=extract", content=lines(corpus(text, 10)), headers=LINES)
        done = await ended(client, sent.json()["id"])
        assert (done["status"], done["finished"], done["errors"]) == ("done", 10, 0)

    with_jobs(generator, tmp_path, scenario, queue=3, documents=2)


def test_a_job_can_be_watched_and_cancelled_while_it_runs(gated: GatedGenerator, tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "graph data"}] * 16 + [{"id": "b", "text": "wait"}] * 8

    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        job = (await client.post("/v1/jobs", content=lines(rows), headers=LINES)).json()
        await until(lambda: gated.begun)
        running = (await client.get(f"/v1/jobs/{job['id']}")).json()
        assert running["status"] == "running"
        await has_lines(client, job["id"], 8)
        # Requests are answered although a job is under way.
        gated.gate.set()
        assert (await client.post("/v1/keyphrases", json={"text": "graph data"})).status_code == 200
        gated.gate.clear()
        await client.delete(f"/v1/jobs/{job['id']}")
        assert (await client.get("/v1/jobs")).json() == {"results": []}
        assert (await client.get(f"/v1/jobs/{job['id']}/results")).status_code == 404
        gated.gate.set()
        await until(lambda: not list(tmp_path.iterdir()))
        assert service.queue.waiting == 0

    with_jobs(gated, tmp_path, scenario)


def test_a_service_with_another_model_does_not_go_on_with_a_job(
    generator: KeyphraseGenerator, gated: GatedGenerator, tmp_path: Path
) -> None:
    rows = [{"text": "graph data"}] * 16 + [{"text": "wait"}] * 8

    async def begin(client: httpx.AsyncClient, service: Service) -> str:
        job = (await client.post("/v1/jobs", content=lines(rows), headers=LINES)).json()
        await has_lines(client, job["id"], 8)
        return str(job["id"])

    id = with_jobs(gated, tmp_path, begin)

    async def go_on(client: httpx.AsyncClient, service: Service) -> dict[str, Any]:
        return await ended(client, id)

    gated.gate.set()
    other = with_jobs(generator, tmp_path, go_on)  # it has a collection
    assert other["status"] == "failed"
    assert "another model, collection or version" in other["error"]


def test_a_job_that_makes_the_service_fail_is_given_up(gated: GatedGenerator, tmp_path: Path) -> None:
    async def submit(client: httpx.AsyncClient, service: Service) -> str:
        job = (await client.post("/v1/jobs", content=lines([{"text": "wait"}]), headers=LINES)).json()
        await until(lambda: gated.begun)
        return str(job["id"])

    id = with_jobs(gated, tmp_path, submit)

    async def look(client: httpx.AsyncClient, service: Service) -> dict[str, Any]:
        return await ended(client, id)

    state = tmp_path / id / "state.json"
    noted = json.loads(state.read_text())
    assert (noted["status"], noted["begun"]) == ("waiting", 0)  # an orderly end does not count
    state.write_text(json.dumps({**noted, "begun": 3, "begun_at": 0}))
    gated.gate.set()
    assert "failed again and again" in with_jobs(gated, tmp_path, look)["error"]


def test_a_job_survives_the_death_of_its_worker_and_of_the_service(
    tiny_model: Path, tiny_collection: Path, generator: KeyphraseGenerator, tmp_path: Path, text: str
) -> None:
    rows = corpus(text, 500)
    parts = ("--model", tiny_model, "--collection", tiny_collection, "--jobs-folder", tmp_path / "jobs")

    def finished(server: Process, id: str) -> int:
        return len(httpx.get(f"{server.url}/v1/jobs/{id}/results", timeout=10).text.splitlines())

    def finish(server: Process, id: str, count: int) -> int:
        deadline = time.monotonic() + 30
        while (found := finished(server, id)) < count and time.monotonic() < deadline:
            time.sleep(0.1)
        return found

    with Process(*parts, "--workers", 2) as server:
        sent = httpx.post(f"{server.url}/v1/jobs", content=lines(rows), headers=LINES)
        id = sent.json()["id"]
        assert 1 <= finish(server, id, 20) < 500
        holder = worker_with(tmp_path / "jobs" / id / "lock", server)
        os.kill(holder, signal.SIGKILL)
        before = finished(server, id)
        after = finish(server, id, before + 20)
        assert before < after < 500
        for pid in (*children(server.process.pid), server.process.pid):
            os.kill(pid, signal.SIGKILL)
    with Process(*parts) as server:
        assert finished(server, id) >= after
        assert finish(server, id, 500) == 500
        found = [json.loads(line) for line in httpx.get(f"{server.url}/v1/jobs/{id}/results").text.splitlines()]
        assert server.end() == 0
    assert [one["id"] for one in found] == [row["id"] for row in rows]
    for i in (0, after - 1, after, 499):
        whole = f"{rows[i]['title']}\n{rows[i]['text']}"
        assert found[i] == json.loads(generator.generate(whole, id=rows[i]["id"]).to_json())


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def worker_with(file: Path, server: Process) -> int:
    """The worker that has this file open."""
    for pid in children(server.process.pid):
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            if handle.is_symlink() and handle.readlink() == file:
                return pid
    raise AssertionError("no worker works on the job")

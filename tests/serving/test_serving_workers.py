"""`erukg serve` attacked as a process: signals at bad moments, logs that nobody reads, hung workers, no files left."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from serving.serving_tools import Process

TEXT = "Neural retrieval for the sparse index\nWe propose a distributed search engine and graph data storage."
TWO = ("--workers", 2, "--threads", 1, "--drain-seconds", 0)


def workers(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def until(what: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def gone(pids: list[int]) -> bool:
    return not any(_alive(pid) for pid in pids)


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def hammer(server: Process, until_ended: float) -> None:
    """Send SIGTERM to the service and its workers again and again, until it has ended or for so long."""
    children = workers(server.process.pid)
    deadline = time.monotonic() + until_ended
    while server.process.poll() is None and time.monotonic() < deadline:
        server.process.send_signal(signal.SIGTERM)
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGTERM)
        server.read_log()
        time.sleep(0.002)
    until(lambda: gone(children))


def test_workers_that_hang_or_are_told_to_end_at_any_moment(tiny_model: Path) -> None:
    with Process("--model", tiny_model, *TWO, "--hung-seconds", 3) as server:
        victim = workers(server.process.pid)[0]
        os.kill(victim, signal.SIGSTOP)
        server.until(lambda line: line.get("event") == "worker hung" and line["worker_pid"] == victim)
        until(lambda: len(workers(server.process.pid)) == 2 and victim not in workers(server.process.pid))
        # From their fork on: none may swallow it, and stay.
        replaced: set[int] = set()
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            for child in workers(server.process.pid):
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGTERM)
                replaced.add(child)
            server.read_log()
        assert len(replaced) > 2
        server.ready()
        restarts = httpx.get(f"{server.url}/metrics").text.split("\nerukg_worker_restarts_total ")[1].split()[0]
        assert int(restarts) >= len(replaced) - 1
        hammer(server, 20)
        assert server.process.wait(1) == 0


def test_a_log_that_nobody_reads_delays_nothing(tiny_model: Path) -> None:
    with (
        Process("--model", tiny_model, "--threads", 1, "--drain-seconds", 0) as server,
        httpx.Client(base_url=server.url, timeout=10) as client,
    ):
        assert server.process.stderr is not None
        # The pipe holds as little as a pipe can; a line has over a hundred bytes.
        fcntl.fcntl(server.process.stderr, fcntl.F_SETPIPE_SZ, 4096)
        id = {"X-Request-Id": "x" * 64}
        for _ in range(150):
            assert client.get("/healthz", headers=id).status_code == 200
        assert client.post("/v1/keyphrases", json={"text": TEXT}).status_code == 200
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        hammer(server, 10)
        assert server.process.wait(1) == 0


def test_sigterm_with_standard_error_closed_ends_with_0(tiny_model: Path) -> None:
    with Process("--model", tiny_model, *TWO) as server:
        children = workers(server.process.pid)
        assert server.process.stderr is not None
        server.process.stderr.close()
        assert httpx.post(f"{server.url}/v1/keyphrases", json={"text": TEXT}).status_code == 200
        time.sleep(0.1)  # its line goes nowhere
        assert "erukg_log_lines_dropped_total 0" not in httpx.get(f"{server.url}/metrics").text
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(20) == 0
        until(lambda: gone(children))


def test_no_worker_outlives_its_parent(tiny_model: Path) -> None:
    with Process("--model", tiny_model, *TWO) as server:
        children = workers(server.process.pid)
        assert len(children) == 2
        os.kill(children[0], signal.SIGSTOP)  # even one that can do nothing about it
        assert server.process.stderr is not None
        server.process.stderr.close()
        server.process.kill()
        until(lambda: gone(children), 5)


def test_a_start_without_standard_files(tiny_model: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "erukg.cli", "serve", "--model", str(tiny_model), "--port", str(port)]
    close = "import os, sys; os.closerange(0, 3); os.execv(sys.argv[1], sys.argv[1:])"
    process = subprocess.Popen([sys.executable, "-c", close, *command])
    try:
        until(lambda: _status(port, "/readyz") == 200)
        # Its log would be written to whoever got the number of standard error.
        answer = httpx.post(f"http://127.0.0.1:{port}/v1/keyphrases", json={"text": TEXT})
        assert answer.status_code == 200
        assert answer.json()["results"][0]["present"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()


def _status(port: int, path: str) -> int:
    try:
        return httpx.get(f"http://127.0.0.1:{port}{path}", timeout=5).status_code
    except httpx.TransportError:
        return 0


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs prlimit of util-linux")
def test_out_of_file_descriptors_the_health_check_is_answered(tiny_model: Path) -> None:
    few = ["prlimit", "--nofile=110:110"]
    with Process("--model", tiny_model, "--threads", 1, "--max-idle-seconds", 20, before=few) as server:
        warning = server.until(lambda line: line.get("event") == "warning" and "open files" in line["message"])
        most = int(warning["message"].split("at most ")[1].split()[0])
        assert most == 110 - 64 - 16
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(most)]
        try:
            assert httpx.get(f"{server.url}/healthz").status_code == 200
            refused = httpx.post(f"{server.url}/v1/keyphrases", json={"text": TEXT})
            assert refused.status_code == 429
            assert refused.headers["retry-after"] == "1"
            assert refused.json()["code"] == "connections"
            held += [socket.create_connection(("127.0.0.1", server.port)) for _ in range(60)]
            assert server.until(lambda line: line.get("reason") == "connections")["status"] == 429
            until(lambda: _counted(server, "connections") >= 40)
        finally:
            for connection in held:
                connection.close()
        until(lambda: _status_of_text(server) == 200)
        assert server.end() == 0


def _status_of_text(server: Process) -> int:
    return httpx.post(f"{server.url}/v1/keyphrases", json={"text": TEXT}).status_code


def _counted(server: Process, reason: str) -> float:
    try:
        text = httpx.get(f"{server.url}/metrics").text
    except httpx.TransportError:
        return 0
    return next((float(line.split()[1]) for line in text.splitlines() if f'reason="{reason}"' in line), 0)


def test_a_signal_between_bytes_of_the_log() -> None:
    """A handler that logs while its thread is logging: neither waits for the other."""
    code = """
import signal, os
from erukg.serving.logs import Log
log = Log()
signal.signal(signal.SIGALRM, lambda *_: log.event("from the handler"))
signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
for i in range(3000):
    log.event("from the thread", i=i)
signal.setitimer(signal.ITIMER_REAL, 0)
log.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=30, check=True)
    assert done.stderr.count(b"from the thread") == 3000
    assert done.stderr.count(b"from the handler") > 3


def test_a_reader_that_comes_back_is_told_what_it_missed() -> None:
    read, write = os.pipe()
    code = """
import sys, threading
from erukg.serving import logs
dropped = []
log = logs.Log(on_dropped=dropped.append)
for i in range(logs._MOST_WAITING_LINES + 5000):
    log.event("line", i=i)
print(sum(dropped), flush=True)
sys.stdin.readline()
log.event("last")
log.close()
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdin=-1, stdout=-1, stderr=write)
    os.close(write)
    assert process.stdin is not None
    assert process.stdout is not None
    dropped = int(process.stdout.readline())
    assert 0 < dropped <= 5000
    text: list[bytes] = []
    reader = threading.Thread(target=lambda: text.append(b"".join(iter(lambda: os.read(read, 1 << 16), b""))))
    reader.start()
    time.sleep(0.5)
    process.stdin.write(b"\n")
    process.stdin.close()
    assert process.wait(20) == 0
    reader.join(10)
    os.close(read)
    process.stdout.close()
    assert f'"event": "log lines dropped", "lines": {dropped}'.encode() in text[0]
    assert text[0].rstrip().endswith(b'"event": "last"}')

"""A service to test: inside the test (`inside`), or as a real process on a port of its own (`Process`)."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import httpx

from erukg import KeyphraseGenerator
from erukg.backends import OnnxBackend
from erukg.core.analysis import Prepared
from erukg.core.inputs import as_item
from erukg.research.baselines.comparisons import comparisons
from erukg.serving.app import create_app
from erukg.serving.logs import Log
from erukg.serving.service import Service

T = TypeVar("T")
BASE = "http://localhost"


def inside(
    generator: KeyphraseGenerator,
    scenario: Callable[[httpx.AsyncClient, Service], Awaitable[T]],
    *,
    cors: tuple[str, ...] = (),
    **options: Any,
) -> T:
    """What `scenario` returns, given a client of an application that runs in this process."""

    async def run() -> T:
        options.setdefault("threads", 1)
        options.setdefault("comparisons", comparisons(generator))
        options.setdefault("log", Log(requests=False))
        service = Service(generator, **options)
        app = create_app(service, cors=cors)
        transport = httpx.ASGITransport(app)
        async with service.running(), httpx.AsyncClient(transport=transport, base_url=BASE) as client:
            while not service.queue.ready:
                await asyncio.sleep(0.005)
            return await scenario(client, service)

    return asyncio.run(run())


def ask(generator: KeyphraseGenerator, path: str, body: Any = None, **options: Any) -> httpx.Response:
    """The answer to one request: a POST where there is a body, else a GET."""

    async def scenario(client: httpx.AsyncClient, service: Service) -> httpx.Response:
        return await (client.get(path) if body is None else client.post(path, json=body))

    return inside(generator, scenario, **options)


class GatedGenerator(KeyphraseGenerator):
    """The real one, except that texts beginning with "wait" wait for `gate`: a stand-in for heavy load only."""

    def __init__(self, encoder: OnnxBackend) -> None:
        super().__init__(encoder)
        self.gate = threading.Event()
        self.begun = 0
        self.order: list[str] = []

    def prepare(self, item: object, *args: Any, **options: Any) -> Prepared:
        text = as_item(item).text
        self.order.append(text)
        if text.startswith("wait"):
            self.begun += 1
            self.gate.wait(20)
        return super().prepare(item, *args, **options)


class Process:
    """`erukg serve` in a process of its own, on any free port."""

    def __init__(
        self,
        *arguments: object,
        env: dict[str, str] | None = None,
        before: Sequence[str] = (),
        wait: bool = True,
    ) -> None:
        """`before` is a command that runs the one after it."""
        command = [*before, sys.executable, "-m", "erukg.cli", "serve", "--port", "0", *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ, **(env or {})}
        )
        self.log: list[dict[str, Any]] = []
        self._rest = b""
        self._told = False
        self.port = int(self.until(lambda line: line.get("event") == "listening")["port"])
        self.url = f"http://127.0.0.1:{self.port}"
        if wait:
            self.ready()

    def ready(self, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.05)
        raise AssertionError("the service did not get ready")

    def until(self, wanted: Callable[[dict[str, Any]], bool], seconds: float = 30) -> dict[str, Any]:
        """The first line of the log, read so far or to come, that is wanted."""
        seen = 0
        deadline = time.monotonic() + seconds
        while True:
            for line in self.log[seen:]:
                if wanted(line):
                    return line
            seen = len(self.log)
            if time.monotonic() > deadline or not self.read_log(0.1):
                raise AssertionError(f"the log ended without it: {self.log[-5:]}")

    def read_log(self, seconds: float = 0) -> bool:
        """Take in what the process has written; False when it has closed its log."""
        assert self.process.stderr is not None
        while select.select([self.process.stderr], [], [], seconds)[0]:
            data = os.read(self.process.stderr.fileno(), 1 << 20)
            if not data:
                return False
            *lines, self._rest = (self._rest + data).split(b"\n")
            self.log += [json.loads(line) for line in lines if line.startswith(b"{")]
            seconds = 0
        return True

    def terminate(self) -> None:
        """Send SIGTERM, once: one that comes while the interpreter ends would kill it, and be its exit code."""
        if not self._told and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self._told = True

    def end(self, seconds: float = 20) -> int:
        """Send SIGTERM if it still runs; the exit code. All of the log is read."""
        self.terminate()
        deadline = time.monotonic() + seconds
        while self.read_log(0.05) and time.monotonic() < deadline:
            pass
        try:
            return self.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()

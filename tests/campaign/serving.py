"""The service under blows: logs that nobody reads, signals at every step, no descriptors left."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import json
import os
import random
import resource
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from campaign.children import Child, children_of, fork
from campaign.kinds import Kind, Outcome
from campaign.samples import Samples
from erukg import KeyphraseGenerator

__all__ = ["Running", "Service"]

_BODY = json.dumps({"text": "Sparse graph data for a neural network of sea ice."}).encode()


class Running:
    """A service in a child with everything loaded; `before` is called in it just before it starts."""

    def __init__(
        self, samples: Samples, *, workers: int = 1, before: Callable[[], object] = bool, wait: bool = True
    ) -> None:
        self.port = _free_port()
        generator = samples.generator  # loaded here, so that the child has it
        self.child: Child = fork(lambda: self._serve(generator, workers, before))
        if wait:
            self.until_ready()

    def _serve(self, generator: KeyphraseGenerator, workers: int, before: Callable[[], object]) -> int:
        from erukg.serving.limits import ServerOptions, ServiceLimits
        from erukg.serving.server import run

        options = ServerOptions(port=self.port, workers=workers, threads=1, drain_seconds=0.0, grace_seconds=1.0)
        before()
        return run(lambda: (generator, {}, {}), options, ServiceLimits(seconds=20))

    def until_ready(self, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                if b" 200 " in self.ask(b"GET", b"/readyz", seconds=5)[:20]:
                    return
            time.sleep(0.01)
        raise AssertionError("the service does not get ready")

    def ask(self, method: bytes = b"POST", path: bytes = b"/v1/keyphrases", seconds: float = 20) -> bytes:
        """The whole answer to one request."""
        body = _BODY if method == b"POST" else b""
        head = b"%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" % (method, path)
        head += b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        with socket.create_connection(("127.0.0.1", self.port), timeout=seconds) as connection:
            connection.sendall(head + body)
            out = b""
            while chunk := connection.recv(65536):
                out += chunk
            return out

    def answers(self) -> None:
        found = self.ask()
        assert b" 200 " in found[:20] and b'"present"' in found, found[:300]

    def end(self, number: int = signal.SIGTERM, seconds: float = 15) -> int:
        """Its exit code after a signal."""
        self.child.send(number)
        ending = self.child.wait(seconds)
        if ending is None:
            self.child.kill()
            raise AssertionError(f"it lives {seconds:g} s after {signal.Signals(number).name}")
        assert not ending.error, ending.error
        return ending.value if ending.code == 0 else ending.code

    def gone(self) -> None:
        """An AssertionError where somebody still listens on its port."""
        deadline = time.monotonic() + 5
        while time.monotonic() < deadline:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                return
            time.sleep(0.02)
        raise AssertionError("somebody still listens")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


class Service(Kind):
    """Each of the ways below in turn, with one worker or two."""

    share = 2.0

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)

        importlib.import_module("erukg.serving.server")
        self._ways = [
            self._closed_log,
            self._full_log,
            self._terminated_while_starting,
            self._stopped,
            self._no_descriptors,
            self.kill,
        ]
        with self._running(1) as running:  # whatever is imported by it, the children have then
            running.answers()

    def blow(self, rng: random.Random, number: int, scratch: Path) -> Outcome:
        way = self._ways[number % len(self._ways)]
        return Outcome(Counter([way(rng)]))

    @contextlib.contextmanager
    def _running(self, workers: int, **options: Any) -> Iterator[Running]:
        running = Running(self.samples, workers=workers, **options)
        try:
            yield running
            assert running.end() in (0, -signal.SIGTERM)
            running.gone()
        finally:
            with contextlib.suppress(ChildProcessError, OSError):
                running.child.kill()

    def _closed_log(self, rng: random.Random) -> str:
        def before() -> None:
            if rng.random() < 0.5:
                os.close(2)
            else:
                sys.stderr.close()

        with self._running(rng.choice((1, 2)), before=before) as running:
            for _ in range(5):
                running.answers()
        return "closed standard error: answers, ends on SIGTERM"

    def _full_log(self, rng: random.Random) -> str:
        device = rng.random() < 0.3
        reading, writing = os.pipe()
        with contextlib.suppress(OSError):
            fcntl.fcntl(writing, 1031, 4096)  # F_SETPIPE_SZ

        def before() -> None:
            handle = os.open("/dev/full", os.O_WRONLY) if device else writing
            os.dup2(handle, 2)

        try:
            with self._running(rng.choice((1, 2)), before=before) as running:
                for _ in range(60):
                    running.answers()
        finally:
            os.close(reading)
            os.close(writing)
        return f"{'/dev/full' if device else 'a full pipe'} as standard error: answers, ends on SIGTERM"

    def _terminated_while_starting(self, rng: random.Random) -> str:
        """At some event of the interpreter (opening, binding, forking, importing) between start and first answer."""
        at, workers = rng.randrange(120), rng.choice((1, 2))

        def before() -> None:
            seen, parent = 0, os.getpid()

            def hook(event: str, arguments: tuple[Any, ...]) -> None:
                nonlocal seen
                if os.getpid() == parent and not event.startswith(("object.", "sys._getframe", "compile")):
                    seen += 1
                    if seen == at:
                        os.kill(parent, signal.SIGTERM)

            sys.addaudithook(hook)

        running = Running(self.samples, workers=workers, before=before, wait=False)
        early = running.child.wait(rng.choice((0.4, 1.0)))
        code = running.end() if early is None else (early.value if early.code == 0 else early.code)
        assert early is None or not early.error, early.error
        assert code in (0, -signal.SIGTERM), f"SIGTERM at event {at}: exit code {code}"
        running.gone()
        return f"SIGTERM while starting: ended {'by its handler' if code == 0 else 'at once'}"

    def _stopped(self, rng: random.Random) -> str:
        """Stopped and continued, it answers; ended while a worker is stopped, nobody is left."""
        with self._running(2) as running:
            running.answers()
            workers = children_of(running.child.pid)
            victim = rng.choice([running.child.pid, *workers])
            os.kill(victim, signal.SIGSTOP)
            time.sleep(rng.uniform(0, 0.1))
            if victim == running.child.pid or rng.random() < 0.5:
                os.kill(victim, signal.SIGCONT)
                running.answers()
                return "SIGSTOP, SIGCONT: answers"
        return "SIGSTOP of a worker, SIGTERM: nobody left"

    def _no_descriptors(self, rng: random.Random) -> str:
        """Connections use up all descriptors; when they are gone, requests are answered again."""

        def before() -> None:
            used = len(list(Path("/proc/self/fd").iterdir()))
            resource.setrlimit(resource.RLIMIT_NOFILE, (used + 24,) * 2)

        with self._running(1, before=before) as running:
            held = []
            with contextlib.suppress(OSError):
                for _ in range(60):
                    held.append(socket.create_connection(("127.0.0.1", running.port), timeout=1))
            time.sleep(rng.uniform(0, 0.2))
            for connection in held:
                connection.close()
            deadline = time.monotonic() + 15
            while True:
                try:
                    running.answers()
                    break
                except (OSError, AssertionError):
                    assert time.monotonic() < deadline, "no answer after descriptors were free again"
                    time.sleep(0.05)
        return "descriptors used up: answers again"

    def kill(self, rng: random.Random) -> str:
        """A worker is replaced; with the parent all end."""
        running = Running(self.samples, workers=2, wait=rng.random() < 0.7)
        time.sleep(rng.uniform(0, 0.1))
        workers = children_of(running.child.pid)
        if workers and rng.random() < 0.5:
            os.kill(rng.choice(workers), signal.SIGKILL)
            running.until_ready()
            running.answers()
            assert running.end() in (0, -signal.SIGTERM)
            word = "a worker killed: replaced"
        else:
            running.child.kill()
            word = "the parent killed: nobody left"
        running.gone()
        return word

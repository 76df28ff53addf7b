"""A bounded load test of the real service with the bundled model, on this machine.

    python tests/serving/load.py --clients 200 --seconds 60

It starts `erukg serve` on a free port of 127.0.0.1, and asks for keyphrases over as many connections as there are
clients, each waiting for its answer before it asks again. Every answer must be, byte for byte, the one that
`generate_batch` gave for the same text before. Printed are failures, throughput beside that of `generate_batch` in the
same run, latencies, and memory of the service at the start and at the end. A second, short run with a queue far too
short for the clients shows how fast 429 comes. The exit code is 1 when an answer was wrong, lost or 5xx.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from erukg import KeyphraseGenerator
from erukg.research.benchmark.texts import documents


class Server:
    """`erukg serve` as a process, its log in a file."""

    def __init__(self, *arguments: object) -> None:
        self._log = tempfile.NamedTemporaryFile("w+b", suffix=".log")  # noqa: SIM115 - lives as long as the server
        command = [sys.executable, "-m", "erukg.cli", "serve", "--port", "0", *map(str, arguments)]
        self.process = subprocess.Popen(command, stderr=self._log)
        self.port = self._find_port()
        while not self._ready():
            time.sleep(0.1)

    def _ready(self) -> bool:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=10):
            pass  # alive, or this raises
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=10) as answer:
                return bool(answer.status == 200)
        except urllib.error.HTTPError:
            return False

    def _find_port(self) -> int:
        for _ in range(600):
            for line in Path(self._log.name).read_text().splitlines():
                if line.startswith("{") and json.loads(line).get("event") == "listening":
                    return int(json.loads(line)["port"])
            if self.process.poll() is not None:
                raise SystemExit(f"the service ended: {Path(self._log.name).read_text()}")
            time.sleep(0.1)
        raise SystemExit("the service did not start within a minute")

    def resident(self) -> int:
        """Megabytes of the process and its workers."""
        root = self.process.pid
        children = Path(f"/proc/{root}/task/{root}/children").read_text().split()
        pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in (root, *children)]
        return sum(pages) * os.sysconf("SC_PAGE_SIZE") // 1_000_000

    def cpu(self) -> float:
        """Seconds of processor time that the process and its workers have taken."""
        root = self.process.pid
        children = Path(f"/proc/{root}/task/{root}/children").read_text().split()
        ticks = [sum(map(int, _stat(pid)[11:13])) for pid in (root, *children)]
        return sum(ticks) / os.sysconf("SC_CLK_TCK")

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(120)
        self._log.close()
        return code


def _stat(pid: object) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()


@dataclass
class Counts:
    """What the clients saw."""

    statuses: Counter[int] = field(default_factory=Counter)
    wrong: int = 0
    lost: int = 0
    times: dict[int, list[float]] = field(default_factory=dict)


class Load:
    """Clients of one server, each on a connection of its own."""

    def __init__(self, port: int, texts: Sequence[str], expected: Sequence[bytes]) -> None:
        self._port = port
        self._requests = [_request(text) for text in texts]
        self._expected = expected
        self._next = 0
        self.counts = Counts()

    async def run(self, clients: int, seconds: float, pause: float | None) -> float:
        """Ask for `seconds`; the time it took in the end. After 429 clients wait `pause`, or as long as told."""
        begin = time.perf_counter()
        # Spread over a second, as clients that know nothing of each other are.
        await asyncio.gather(*(self._client(i / clients, begin + seconds, pause) for i in range(clients)))
        return time.perf_counter() - begin

    async def _client(self, delay: float, end: float, pause: float | None) -> None:
        await asyncio.sleep(delay)
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            while time.perf_counter() < end:
                i, self._next = self._next % len(self._requests), self._next + 1
                begin = time.perf_counter()
                writer.write(self._requests[i])
                status, headers, body = await _answer(reader)
                self.counts.statuses[status] += 1
                self.counts.times.setdefault(status, []).append(time.perf_counter() - begin)
                if status == 429:
                    await asyncio.sleep((pause or float(headers["retry-after"])) * random.uniform(1, 1.5))
                elif status == 200 and not body.startswith(self._expected[i]):
                    self.counts.wrong += 1
        except (OSError, EOFError):
            self.counts.lost += 1
        finally:
            writer.close()


def _request(text: str) -> bytes:
    body = json.dumps({"text": text}).encode()
    head = b"POST /v1/keyphrases HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


async def _answer(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:])}
    return int(head[0].split()[1]), headers, await reader.readexactly(int(headers["content-length"]))


def throughput(generator: KeyphraseGenerator, texts: Sequence[str], seconds: float) -> tuple[float, float]:
    """By `generate_batch` on all cores: documents a second, and processor time a document."""
    begin, cpu = time.perf_counter(), time.process_time()
    done = 0
    while (elapsed := time.perf_counter() - begin) < seconds:
        done += sum(1 for _ in generator.generate_batch(texts))
    return done / elapsed, (time.process_time() - cpu) / done


def spread(seconds: Sequence[float]) -> str:
    if len(seconds) < 2:
        return "too few to say"
    cuts = statistics.quantiles(seconds, n=1000, method="inclusive")
    return ", ".join(
        f"{name} {value * 1000:.1f} ms"
        for name, value in (("p50", cuts[499]), ("p95", cuts[949]), ("p99", cuts[989]), ("max", max(seconds)))
    )


def main() -> int:
    parser = argparse.ArgumentParser(description="A bounded load test of `erukg serve`.")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--words", type=int, default=150, help="length of a document")
    parser.add_argument("--workers", type=int, default=1, help="worker processes of the service")
    parser.add_argument("--reference-seconds", type=float, default=8, help="for generate_batch, before and after")
    options = parser.parse_args()

    generator = KeyphraseGenerator.from_pretrained()
    texts = documents(240, options.words)
    expected = [
        b'{"results":[' + json.dumps(found.to_dict(), ensure_ascii=False, separators=(",", ":")).encode() + b"]"
        for found in generator.generate_batch(texts)
    ]
    before, before_cpu = throughput(generator, texts[:60], options.reference_seconds)

    server = Server("--workers", options.workers)
    load = Load(server.port, texts, expected)
    asyncio.run(load.run(options.clients, min(5.0, options.seconds), None))
    warm = server.resident()
    load.counts = Counts()
    server_cpu, own_cpu = server.cpu(), time.process_time()
    seconds = asyncio.run(load.run(options.clients, options.seconds, None))
    counts, end_memory = load.counts, server.resident()
    server_cpu, own_cpu = server.cpu() - server_cpu, time.process_time() - own_cpu
    code = server.end()
    after, after_cpu = throughput(generator, texts[:60], options.reference_seconds)

    reference = (before + after) / 2
    rate = counts.statuses[200] / seconds
    errors = sum(count for status, count in counts.statuses.items() if status >= 500)
    print(f"{options.clients} clients for {seconds:.1f} s: {dict(counts.statuses)} by status")
    print(f"5xx {errors}, wrong answers {counts.wrong}, lost {counts.lost}, exit code of the service {code}")
    around = f"{before:.1f} before, {after:.1f} after"
    print(f"throughput {rate:.1f} documents/s; generate_batch {around}: {rate / reference:.0%}")
    # Others may use the machine meanwhile; the processor time of a document says the same without them.
    cpu, reference_cpu = server_cpu / counts.statuses[200], (before_cpu + after_cpu) / 2
    print(
        f"processor time a document: {cpu * 1000:.1f} ms; generate_batch {reference_cpu * 1000:.1f} ms: "
        f"{reference_cpu / cpu:.0%} (the clients took {own_cpu / seconds:.0%} of a core)"
    )
    print(f"latency of 200: {spread(counts.times.get(200, []))}")
    print(f"memory {warm} MB after warming up, {end_memory} MB at the end")

    server = Server("--workers", options.workers, "--max-queue", 8 * options.workers, "--max-documents", 8)
    flood = Load(server.port, texts, expected)
    asyncio.run(flood.run(options.clients, min(10.0, options.seconds), 1.0))
    flood_code = server.end()
    flooded = flood.counts
    errors += sum(count for status, count in flooded.statuses.items() if status >= 500)
    print(f"overload (a queue of 8): {dict(flooded.statuses)} by status, wrong {flooded.wrong}, lost {flooded.lost}")
    print(f"latency of 429: {spread(flooded.times.get(429, []))}")
    return int(bool(errors or counts.wrong or counts.lost or flooded.wrong or flooded.lost or code or flood_code))


if __name__ == "__main__":
    raise SystemExit(main())

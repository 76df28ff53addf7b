"""A bounded load test of the real service with the bundled model, on this machine.

    python tests/serving/load.py --clients 200 --seconds 60

It starts `erukg serve` on a free port of 127.0.0.1, and asks for keyphrases over as many connections as there are
clients, each waiting for its answer before it asks again. Every answer must be, byte for byte, the one that
`generate_batch` gave for the same text before.

First one client sends short texts, one at a time: alone, and then beside two long texts that are always running and a
client of which every tenth request is a batch. Then all clients do: with short texts only, and with the whole mix. A
last, short run with a queue far too short for the clients shows how fast 429 comes. The exit code is 1 when an answer
was wrong, lost or 5xx. `--out docs/results/runs/load.json` stores the figures.
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
from typing import Any

from erukg import KeyphraseGenerator, Keyphrases
from erukg.research.benchmark.machine import report_head
from erukg.research.benchmark.texts import documents

_LONG_TEXTS = 12


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

    def end(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(120)
        self._log.close()
        return code


@dataclass
class Counts:
    """What the clients saw of one kind of request."""

    statuses: Counter[int] = field(default_factory=Counter)
    documents: int = 0
    wrong: int = 0
    lost: int = 0
    times: dict[int, list[float]] = field(default_factory=dict)

    @property
    def errors(self) -> int:
        return sum(count for status, count in self.statuses.items() if status >= 500)

    @property
    def bad(self) -> int:
        return self.errors + self.wrong + self.lost

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"answers": {str(status): count for status, count in sorted(self.statuses.items())}}
        out |= {"documents": self.documents, "wrong": self.wrong, "lost": self.lost, "5xx": self.errors}
        return out | {"seconds": quantiles(self.times.get(200, []))}


@dataclass
class Kind:
    """Requests of one kind: as they are sent, and how the answer to each begins."""

    requests: list[bytes]
    expected: list[bytes]
    documents: int = 1

    @classmethod
    def texts(cls, texts: Sequence[str], found: Sequence[bytes]) -> Kind:
        return cls([_request({"text": text}) for text in texts], [b'{"results":[' + each + b"]" for each in found])

    @classmethod
    def batches(cls, texts: Sequence[str], found: Sequence[bytes], size: int) -> Kind:
        parts = [slice(i, i + size) for i in range(0, len(texts) - size + 1, size)]
        bodies = [{"documents": [{"text": text} for text in texts[part]]} for part in parts]
        return cls([_request(body) for body in bodies], [_results(found[part]) for part in parts], size)


def _results(found: Sequence[bytes]) -> bytes:
    return b'{"results":[' + b",".join(found) + b"]"


class Load:
    """Clients of one server, each on a connection of its own."""

    def __init__(self, port: int, **kinds: Kind) -> None:
        self._port = port
        self._kinds = kinds
        self._next = Counter[str]()
        self.counts = {name: Counts() for name in kinds}

    async def run(self, seconds: float, clients: Sequence[str | None], pause: float | None = None) -> float:
        """Ask for `seconds`; the time it took in the end. A client asks for one kind, or for None: one request in ten
        is then a batch, and the others are short. After 429 clients wait `pause`, or as long as told."""
        begin = time.perf_counter()
        self._end = begin + seconds
        # Spread over a second, as clients that know nothing of each other are.
        spread = enumerate(clients)
        await asyncio.gather(*(self._client(kind, i / len(clients), pause) for i, kind in spread))
        return time.perf_counter() - begin

    async def _client(self, kind: str | None, delay: float, pause: float | None) -> None:
        await asyncio.sleep(delay)
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        name = kind or "short"
        try:
            while time.perf_counter() < self._end:
                name = kind or ("batch" if random.random() < 0.1 else "short")
                status, headers = await self._ask(reader, writer, name)
                if status == 429:
                    # On another connection: the service closes those that are idle for long.
                    writer.close()
                    await asyncio.sleep((pause or float(headers["retry-after"])) * random.uniform(1, 1.5))
                    reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        except (OSError, EOFError):
            self.counts[name].lost += 1
        finally:
            writer.close()

    async def _ask(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str
    ) -> tuple[int, dict[str, str]]:
        kind, counts = self._kinds[name], self.counts[name]
        i, self._next[name] = self._next[name] % len(kind.requests), self._next[name] + 1
        begin = time.perf_counter()
        writer.write(kind.requests[i])
        status, headers, body = await _answer(reader)
        counts.statuses[status] += 1
        counts.times.setdefault(status, []).append(time.perf_counter() - begin)
        if status == 200:
            counts.documents += kind.documents
            counts.wrong += not body.startswith(kind.expected[i])
        return status, headers


def _request(body: dict[str, Any]) -> bytes:
    data = json.dumps(body).encode()
    head = b"POST /v1/keyphrases HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return head + b"Content-Length: %d\r\n\r\n" % len(data) + data


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


def quantiles(seconds: Sequence[float]) -> dict[str, float]:
    if len(seconds) < 2:
        return {"max": max(seconds)} if seconds else {}
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    return {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "max": max(seconds)}


def shown(counts: Counts, status: int = 200) -> str:
    times = quantiles(counts.times.get(status, []))
    spread = ", ".join(f"{name} {value * 1000:.1f} ms" for name, value in times.items())
    return (
        f"{dict(counts.statuses)} by status, wrong {counts.wrong}, lost {counts.lost}; of {status}: {spread or 'none'}"
    )


class Mix:
    """The measurements, one after the other, with their results so far."""

    def __init__(self, kinds: dict[str, Kind], options: argparse.Namespace) -> None:
        self.kinds = kinds
        self.options = options
        self.run: dict[str, Any] = {}
        self.bad = 0

    def measure(self, name: str, server: Server, clients: Sequence[str | None], seconds: float) -> dict[str, Counts]:
        load = Load(server.port, **self.kinds)
        took = asyncio.run(load.run(seconds, clients))
        counts = {kind: each for kind, each in load.counts.items() if each.statuses}
        self.run[name] = {"clients": len(clients), "took": took} | {k: c.to_dict() for k, c in counts.items()}
        self.bad += sum(each.bad for each in counts.values())
        for kind, each in counts.items():
            print(f"{name}, {len(clients)} clients, {took:.0f} s, {kind}: {shown(each)}", flush=True)
        return counts

    def fairness(self, server: Server) -> None:
        """Short requests one at a time: alone, and beside batches and two long texts that are always running."""
        seconds = self.options.seconds / 2
        alone = self.measure("alone", server, ["short"], seconds / 2)["short"]
        mixed = self.measure("mixed", server, ["long", "long", None, "short"], seconds)["short"]
        ours, reference = quantiles(mixed.times[200]), quantiles(alone.times[200])
        self.run["short_p99_to_median_alone"] = ours["p99"] / reference["p50"]
        self.run["short_p99_to_p99_alone"] = ours["p99"] / reference["p99"]
        print(
            f"short requests in the mix: p99 {ours['p99'] / reference['p50']:.1f} times their median alone, "
            f"{ours['p99'] / reference['p99']:.1f} times their p99 alone"
        )

    def crowd(self, server: Server) -> float:
        """Many clients at a time: with short requests only, and with all kinds; short answers a second of the first."""
        many, seconds = self.options.clients, self.options.seconds
        alone = self.measure("crowd_short", server, ["short"] * many, seconds)["short"]
        rate = float(alone.statuses[200] / self.run["crowd_short"]["took"])
        self.run["crowd_short"]["documents_per_second"] = rate
        mixed = self.measure("crowd_mixed", server, ["long", "long", *([None] * (many - 2))], seconds)
        documents = sum(each.documents for each in mixed.values())
        self.run["crowd_mixed"]["documents_per_second"] = documents / self.run["crowd_mixed"]["took"]
        ratio = quantiles(mixed["short"].times[200])["p99"] / quantiles(alone.times[200])["p99"]
        self.run["crowd_short_p99_to_alone"] = ratio
        print(f"in a crowd, p99 of short requests in the mix: {ratio:.1f} times that without")
        return rate

    def overload(self) -> None:
        """A queue far too short for the clients: how fast 429 comes."""
        workers = self.options.workers
        server = Server("--workers", workers, "--max-queue", 8 * workers, "--max-documents", 8)
        load = Load(server.port, short=self.kinds["short"])
        asyncio.run(load.run(min(10.0, self.options.seconds), ["short"] * self.options.clients, 1.0))
        code = server.end()
        counts = load.counts["short"]
        self.bad += counts.bad + bool(code)
        self.run["overload"] = {**counts.to_dict(), "seconds_of_429": quantiles(counts.times.get(429, []))}
        print(f"overload (a queue of 8): {shown(counts, 429)}")


def main() -> int:
    parser = argparse.ArgumentParser(description="A bounded load test of `erukg serve`.")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--words", type=int, default=150, help="length of a short document")
    parser.add_argument("--batch", type=int, default=20, help="documents of a batch")
    parser.add_argument("--long", type=int, default=160_000, help="characters of a long text")
    parser.add_argument("--workers", type=int, default=1, help="worker processes of the service")
    parser.add_argument("--reference-seconds", type=float, default=8, help="for generate_batch, before and after")
    parser.add_argument("--out", type=Path, help="write the figures to this file")
    options = parser.parse_args()

    generator = KeyphraseGenerator.from_pretrained()
    texts = documents(240, options.words)
    # More than are asked for within a phase: the service remembers texts, and none is to be answered from memory.
    long = [text[: options.long] for text in documents(_LONG_TEXTS, options.long // 5)]
    found, found_long = ([_json(each) for each in generator.generate_batch(some)] for some in (texts, long))
    kinds = {
        "short": Kind.texts(texts, found),
        "batch": Kind.batches(texts, found, options.batch),
        "long": Kind.texts(long, found_long),
    }
    mix = Mix(kinds, options)
    before, before_cpu = throughput(generator, texts[:60], options.reference_seconds)
    server = Server("--workers", options.workers)
    asyncio.run(Load(server.port, **kinds).run(min(5.0, options.seconds), ["short"] * 20))
    warm = server.resident()
    mix.fairness(server)
    rate = mix.crowd(server)
    memory = server.resident()
    code = server.end()
    after, after_cpu = throughput(generator, texts[:60], options.reference_seconds)
    mix.overload()
    reference = (before + after) / 2
    mix.run |= {
        "generate_batch": {"before": before, "after": after, "cpu_seconds": (before_cpu + after_cpu) / 2},
        "throughput_to_generate_batch": rate / reference,
        "megabytes": {"warm": warm, "end": memory},
    }
    print(f"throughput {rate:.1f} documents/s; generate_batch {before:.1f} before, {after:.1f} after")
    print(f"memory {warm} MB after warming up, {memory} MB at the end; exit code of the service {code}")
    if options.out:
        settings = {k: v for k, v in vars(options).items() if k != "out"}
        report = {**report_head("erukg-load"), "settings": settings, **mix.run}
        options.out.write_text(json.dumps(report, indent=2) + "\n")
    return int(bool(mix.bad or code))


def _json(found: Keyphrases) -> bytes:
    return json.dumps(found.to_dict(), ensure_ascii=False, separators=(",", ":")).encode()


if __name__ == "__main__":
    raise SystemExit(main())

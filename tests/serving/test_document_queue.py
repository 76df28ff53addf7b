"""The queue of documents: lanes, pauses of long texts, expected times."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from erukg.core.pauses import pause_point
from erukg.serving.document_queue import Batch, DocumentQueue, Task
from erukg.serving.problems import Problem

T = TypeVar("T")
SHORT, MEDIUM, LONG = 100, 20_000, 160_000
SECONDS = 20


def with_queue(scenario: Callable[[DocumentQueue], Awaitable[T]], threads: int = 1, **options: float) -> T:
    """What `scenario` returns, given a queue whose threads run."""

    async def run() -> T:
        limit = int(options.pop("limit", 1000))
        queue = DocumentQueue(threads, limit, bool, bool, lambda error: None, **options)  # type: ignore[arg-type]
        queue.start()
        try:
            return await asyncio.wait_for(scenario(queue), SECONDS)
        finally:
            queue.close()

    return asyncio.run(run())


def busy(seconds: float) -> bytes:
    """Take this time, as a document does."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
    return b"done"


def windows(order: list[str], name: str, count: int, took: dict[str, list[float]] | None = None) -> Task:
    """A text of some windows, each with its place in `order` and the time that it took."""

    def work() -> bytes:
        for i in range(count):
            if i:
                pause_point()
            begin = time.perf_counter()
            busy(0.01)
            order.append(name)
            if took is not None:
                took[name].append(time.perf_counter() - begin)
        return name.encode()

    return work


def test_a_long_text_shares_its_thread_evenly_between_its_windows() -> None:
    order: list[str] = []
    took: dict[str, list[float]] = {"long": [], "batch": []}

    async def scenario(queue: DocumentQueue) -> None:
        long = queue.add([windows(order, "long", 60, took)], LONG)
        while not order:
            await asyncio.sleep(0.001)
        batch = queue.add([windows(order, "batch", 1, took) for _ in range(12)], MEDIUM)
        await batch.done
        assert not long.done.done()
        await long.done
        assert long.results == [b"long"]
        assert batch.results == [b"batch"] * 12

    with_queue(scenario)
    begin, end = order.index("batch"), len(order) - order[::-1].index("batch")
    assert order[begin:end].count("batch") == 12
    # Half of the time each, give or take what one of them takes and what lies between them; on a busy machine the
    # windows of one may take longer than those of the other.
    first = order[:begin].count("long")
    between = took["long"][first : first + order[begin:end].count("long")]
    most = max(took["long"] + took["batch"])
    assert abs(sum(between) - sum(took["batch"])) <= 3 * most + 0.05


def test_what_short_requests_took_before_is_not_held_against_a_batch() -> None:
    order: list[str] = []

    async def scenario(queue: DocumentQueue) -> None:
        for _ in range(40):
            await queue.add([lambda: busy(0.02)], SHORT).done
        long = queue.add([windows(order, "long", 200)], LONG)
        while not order:
            await asyncio.sleep(0.001)
        short = queue.add([lambda: busy(0.1)], SHORT)
        await queue.add([windows(order, "batch", 1) for _ in range(5)], MEDIUM).done
        await asyncio.gather(short.done, long.done)

    with_queue(scenario)
    # The batch has its share as soon as it comes, not after as long as all short requests took.
    assert order.index("batch") < 40


def test_a_batch_is_not_starved_by_short_requests_nor_by_later_batches() -> None:
    async def scenario(queue: DocumentQueue) -> int:
        large = queue.add([lambda: busy(0.01)] * 20, MEDIUM)
        answered = 0
        other = queue.add([lambda: busy(0.01)] * 10, MEDIUM)
        while not large.done.done():
            if other.done.done():  # there is always another one
                other = queue.add([lambda: busy(0.01)] * 10, MEDIUM)
            await queue.add([lambda: busy(0.005)], SHORT).done
            answered += 1
        return answered

    begin = time.monotonic()
    assert with_queue(scenario) > 3
    assert time.monotonic() - begin < 5


def test_a_small_request_overtakes_a_large_one_of_its_lane() -> None:
    order: list[str] = []

    async def scenario(queue: DocumentQueue) -> None:
        large = queue.add([windows(order, "large", 1) for _ in range(30)], 10 * MEDIUM)
        while not order:
            await asyncio.sleep(0.001)
        small = queue.add([windows(order, "small", 1) for _ in range(2)], MEDIUM // 2)
        await small.done
        assert not large.done.done()

    with_queue(scenario)


def test_what_cannot_be_done_in_time_is_refused_at_once() -> None:
    async def scenario(queue: DocumentQueue) -> None:
        for _ in range(60):  # it learns what a document takes
            await queue.add([lambda: busy(0.01)], SHORT).done
        gate = threading.Event()

        def wait() -> bytes:
            gate.wait(SECONDS)
            return b""

        taken: list[Batch] = []

        def fill() -> None:
            while True:
                taken.append(queue.add([wait], SHORT))

        begin = time.monotonic()
        with pytest.raises(Problem) as refused:
            fill()
        assert time.monotonic() - begin < 1
        assert (refused.value.status, refused.value.reason) == (429, "expected_wait")
        assert "would take some" in refused.value.sentence
        assert refused.value.headers is not None
        assert int(refused.value.headers["Retry-After"]) >= 1
        # 10 ms each or more, and one second for a request: at most some eighty fit.
        assert 4 < len(taken) < 140
        # Another lane has its own threads.
        queue.cancel(queue.add([wait], MEDIUM))
        gate.set()
        for batch in taken:
            queue.cancel(batch)

    with_queue(scenario, seconds=1.0)


def test_one_alone_is_taken_however_long_it_may_take() -> None:
    async def scenario(queue: DocumentQueue) -> None:
        assert (await _results(queue.add([lambda: b"x"], 100 * LONG))) == [b"x"]

    with_queue(scenario, seconds=0.5)


async def _results(batch: Batch) -> list[bytes | BaseException]:
    await batch.done
    return batch.results


def test_what_nobody_waits_for_ends_at_its_next_window() -> None:
    order: list[str] = []
    finished: list[int] = []

    async def scenario(queue: DocumentQueue) -> None:
        batch = queue.add([windows(order, "long", 10_000)], LONG)
        while not order:
            await asyncio.sleep(0.001)
        queue.cancel(batch)
        while queue.running:
            await asyncio.sleep(0.001)
        assert (await _results(queue.add([lambda: b"next"], LONG))) == [b"next"]

    with_queue(scenario, on_finished=lambda: finished.append(1))  # type: ignore[arg-type]
    assert len(order) < 1000
    assert finished == [1]


def test_threads_that_never_come_back_are_noticed() -> None:
    gate = threading.Event()

    async def scenario(queue: DocumentQueue) -> None:
        batch = queue.add([lambda: bytes(gate.wait(SECONDS))], SHORT)
        while not queue.running:
            await asyncio.sleep(0.001)
        assert not queue.hung(0.0)
        queue.cancel(batch)
        await asyncio.sleep(0.01)
        assert queue.hung(0.001)
        assert not queue.hung(5.0)
        gate.set()
        while queue.running:
            await asyncio.sleep(0.001)
        assert not queue.hung(0.0)

    with_queue(scenario)

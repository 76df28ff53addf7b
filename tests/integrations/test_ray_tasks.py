"""The search for documents that crash a task, without a cluster."""

from __future__ import annotations

import asyncio
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erukg.integrations.ray.collection_job import CollectionJob
from erukg.integrations.ray.partitions import Partition
from erukg.integrations.ray.plan import CRASHED, DONE, Outcome
from erukg.integrations.ray.tasks import TaskRunner, probe_rows
from integrations.ray_tools import TroubledJob, write_rows


class Simulated(TaskRunner):
    """Its tasks crash at certain rows, or always, and are counted."""

    def __init__(self, crashing: set[int], always: bool = False) -> None:
        self._job, self._probe_rows = (CollectionJob(), "run"), None
        self._crashing, self._always = crashing, always
        self.probed = 0

    async def _run(self, losses: int, partition: Partition, function: object, *arguments: object) -> Outcome:
        rows = arguments[-1]
        assert isinstance(rows, range)
        self.probed += len(rows) > 0
        crashed = self._always or any(row in rows for row in self._crashing)
        return Outcome(partition.number, CRASHED if crashed else DONE)


def search(runner: Simulated, rows: int) -> set[int]:
    return set(asyncio.run(runner._find_crashing(Partition(0, "a", "/a", "jsonl", rows=rows))))


@settings(max_examples=60, deadline=None)
@given(st.sets(st.integers(0, 9_999), max_size=32), st.booleans())
def test_exactly_the_crashing_rows_are_found(crashing: set[int], counted: bool) -> None:
    runner = Simulated(crashing)
    assert search(runner, 10_000 if counted else -1) == crashing
    # Both halves of every range that crashed, and the whole.
    assert runner.probed <= 1 + 2 * len(crashing) * (14 if counted else 32)


def test_documents_are_not_blamed_for_what_crashes_without_them() -> None:
    always = Simulated(set(), always=True)
    assert (search(always, 10_000), always.probed) == (set(), 0)
    assert search(Simulated(set(range(0, 330, 10))), 10_000) == set()


def test_a_probe_writes_nothing_even_when_it_is_killed(
    tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    texts = ["neural network", "please end the worker", "sea ice radar"]
    source = write_rows(tmp_path / "a.jsonl", [{"id": str(i), "text": text} for i, text in enumerate(texts)])
    partition = Partition(0, str(source), str(source), "jsonl", rows=3)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    for form in ("jsonl", "parquet"):
        job = TroubledJob(command="extract", model=str(tiny_model), collection=False, form=form)
        outcome = probe_rows(job, form, partition, range(1))
        assert (outcome.status, outcome.documents) == (DONE, 1)
    process = get_context("spawn").Process(target=probe_rows, args=(job, "run", partition, range(3)))
    process.start()
    process.join(60)
    assert process.exitcode == 9
    assert [path.name for path in scratch.iterdir() if path.name.startswith("erukg")] == []

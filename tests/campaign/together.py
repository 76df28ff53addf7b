"""Several at once: writers of one collection, of one output, and readers, which never see half of a change."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

from typer.testing import CliRunner

from campaign.children import Child, fork
from campaign.folders import Strangers, fresh, state_of
from campaign.kinds import Kind, Outcome
from campaign.samples import OLD, PART
from collection.samples import WordAnalyser, make_records, write_jsonl
from erukg import Collection
from erukg.cli import app
from erukg.collection import Writer, verify
from erukg.collection.build import add
from erukg.errors import CollectionError

__all__ = ["Writers"]


class Writers(Kind):
    """One writes, the others are told so, and nobody sees half a commit."""

    share = 1.5

    def blow(self, rng: random.Random, number: int, scratch: Path) -> Outcome:
        return (self._collection if rng.random() < 0.7 else self._output)(rng, scratch)

    def _collection(self, rng: random.Random, scratch: Path) -> Outcome:
        copy = fresh(scratch / "c", self.samples.base)
        strangers = Strangers(scratch, copy)
        added: list[tuple[int, Child]] = []
        for i in range(rng.randint(2, 4)):
            new = make_records(rng.randint(5, 40), seed=rng.randrange(10**6), prefix=f"w{i}-")
            source = write_jsonl(scratch / f"{i}.jsonl", new)
            added.append((len(new), fork(lambda source=source: _add(copy, source, rng.random()))))  # type: ignore[misc]
        merging = fork(lambda: _merge(copy))
        reading = fork(lambda: _read(copy, 0.15))
        total, wrote = len(OLD), 0
        for count, child in added:
            ending = child.wait(60)
            assert ending is not None
            assert ending.code == 0, ending.error
            assert ending.value in (None, "busy"), ending.value
            if ending.value is None:
                total, wrote = total + count, wrote + 1
        for child in (merging, reading):
            ending = child.wait(60)
            assert ending is not None
            assert ending.code == 0, ending.error
        assert verify(copy) == []
        assert len(Collection.open(copy)) == total
        strangers.check()
        with Writer.open(copy) as writer:
            writer.merge()
        assert state_of(copy) is not None
        return Outcome(Counter([f"collection: {wrote} of {len(added)} wrote"]))

    def _output(self, rng: random.Random, scratch: Path) -> Outcome:
        output = scratch / "out.jsonl"
        strangers = Strangers(scratch)
        model = ["--model", str(self.samples.model), "--threads", "1", "--no-collection"]
        line = ["generate", str(self.samples.corpus), *model, "--output", str(output), "--resume"]
        runs = [fork(lambda: _command(line)) for _ in range(rng.randint(2, 4))]
        wrote = 0
        for run in runs:
            ending = run.wait(60)
            assert ending is not None
            assert ending.code == 0, ending.error
            code, said = ending.value
            assert code == 0 or "is being written by another run" in said, said
            wrote += code == 0
        assert wrote
        assert CliRunner().invoke(app, [*line[:-3], "--output", str(scratch / "twin.jsonl")]).exit_code == 0
        assert output.read_bytes() == (scratch / "twin.jsonl").read_bytes()
        strangers.check()
        return Outcome(Counter([f"output: {wrote} of {len(runs)} wrote"]))


def _add(folder: Path, source: Path, wait: float) -> str | None:
    time.sleep(0.03 * wait)
    try:
        add(folder, [source], WordAnalyser(), part_documents=PART)
    except CollectionError as error:
        return "busy" if "is being written by" in str(error) else str(error)
    return None


def _merge(folder: Path) -> None:
    try:
        with Writer.open(folder) as writer:
            writer.merge()
    except CollectionError as error:
        if "is being written by" not in str(error):
            raise


def _read(folder: Path, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert verify(folder) == []
        collection = Collection.open(folder)
        assert len(collection) >= len(OLD)
        collection.ids(collection.search("kaka lova", 5).documents)


def _command(line: list[str]) -> tuple[int, str]:
    done = CliRunner().invoke(app, line)
    return done.exit_code, done.stderr

"""Killed at any moment, or out of disk space: the last commit stays, and the next run completes."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from collection.samples import (
    WordAnalyser,
    contents,
    make_collection,
    make_records,
    make_tagged,
    make_text,
    write_jsonl,
)
from erukg.collection import Collection, DocumentRecord, Writer, verify
from erukg.collection.build import add, build
from erukg.errors import CollectionError

# Builds are interrupted here on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:The build of:erukg.errors.ErukgWarning")

WORKER = Path(__file__).with_name("worker.py")
QUERIES = [make_text(random.Random(70 + i), 25) for i in range(3)]
OLD = make_tagged(160, seed=21)
NEW = make_tagged(120, seed=22, prefix="n")
GONE = [r.id for r in OLD[::3]]


class Bench:
    """A folder to work in, the files that operations need, and what each operation must come to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.old = write_jsonl(path / "old.jsonl", OLD)
        self.new = write_jsonl(path / "new.jsonl", NEW)
        self.ids = path / "ids"
        self.ids.write_text("\n".join(GONE))
        self.base = make_collection(path / "base", OLD, part=45)
        self.ready = path / "work"
        survivors = [r for r in OLD if r.id not in set(GONE)]
        self.after: dict[str, list[DocumentRecord]] = {
            "build": OLD,
            "add": OLD + NEW,
            "remove": survivors,
            "merge": OLD,
        }
        self.expected = {
            name: contents(Collection.open(make_collection(path / f"after-{name}", records)), QUERIES)
            for name, records in self.after.items()
        }
        self.seconds = {name: self.run(name, None) for name in self.after}

    def prepare(self, operation: str) -> None:
        shutil.rmtree(self.ready, ignore_errors=True)
        if operation != "build":
            shutil.copytree(self.base, self.ready)

    def start(self, operation: str) -> subprocess.Popen[str]:
        source = self.old if operation == "build" else self.new
        process = subprocess.Popen(
            [sys.executable, str(WORKER), operation, str(self.ready), str(source), str(self.ids)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    def run(self, operation: str, kill_after: float | None) -> float:
        """Run an operation on a fresh copy, killing it after some time; returns how long it ran."""
        self.prepare(operation)
        process = self.start(operation)
        start = time.monotonic()
        if kill_after is None:
            assert process.stdout is not None
            assert process.stdout.readline() == "done\n"
        else:
            time.sleep(kill_after)
            process.send_signal(signal.SIGKILL)
        taken = time.monotonic() - start
        process.communicate()
        return taken


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("crash"))


def sizes_allowed(operation: str) -> set[int]:
    """How many documents a collection may hold at any commit on the way."""
    if operation == "build":
        return {*range(0, len(OLD) + 1, 40)}
    if operation == "add":
        return {len(OLD) + n for n in range(0, len(NEW) + 1, 40)}
    return {len(OLD), len(OLD) - len(GONE)} if operation == "remove" else {len(OLD)}


def kill_and_check(bench: Bench, operation: str, moment: float) -> None:
    bench.run(operation, moment)
    if (bench.ready / "manifest.json").exists():
        assert verify(bench.ready) == []
        collection = Collection.open(bench.ready)
        assert len(collection) in sizes_allowed(operation)
        if collection.complete and len(collection) == len(bench.after[operation]) and operation == "build":
            return
        if len(collection):
            # What is there is exactly a commit: the first documents of the input, whole.
            records = bench.after[operation][: len(collection)]
            if operation == "remove" and len(collection) == len(OLD):
                records = OLD
            assert set(collection.ids(collection.search(" ".join(r.text for r in records), 10**6).documents)) == {
                r.id for r in records
            }
    else:
        assert operation == "build"
    process = bench.start(operation)
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert verify(bench.ready) == []
    assert contents(Collection.open(bench.ready), QUERIES) == bench.expected[operation]
    # Nothing is left lying about: the manifest, the lock, the commit and its segments.
    collection = Collection.open(bench.ready)
    names = {entry.name for entry in collection.manifest.files}
    assert {p.name for p in bench.ready.iterdir()} == names | {"manifest.json", "lock"}


def kills(bench: Bench, number: int, seed: int) -> None:
    rng = random.Random(seed)
    for i in range(number):
        operation = ("build", "add", "remove", "merge")[i % 4]
        kill_and_check(bench, operation, rng.uniform(0.0, bench.seconds[operation]))


def test_killed_at_random_moments(bench: Bench) -> None:
    kills(bench, 4, seed=int.from_bytes(os.urandom(4), "little"))


@pytest.mark.slow
def test_killed_two_hundred_times(bench: Bench) -> None:
    kills(bench, 200, seed=1)


FULL = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import worker
from erukg.errors import CollectionError
worker.warm_up()
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    worker.work(*sys.argv[3:])
except CollectionError as error:
    print(error)
    sys.exit(7)
"""


@pytest.mark.parametrize("operation", ["build", "add", "remove", "merge"])
@pytest.mark.parametrize("room", [500, 4_000])
def test_full_disk(bench: Bench, operation: str, room: int) -> None:
    """No file may grow beyond `room` bytes, which the system reports as it does a full disk."""
    bench.prepare(operation)
    source = bench.old if operation == "build" else bench.new
    before = Collection.open(bench.ready).manifest.number if operation != "build" else 0
    arguments = [WORKER.parent, room, operation, bench.ready, source, bench.ids]
    done = subprocess.run(
        [sys.executable, "-c", FULL, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 7, done.stdout + done.stderr
    assert "no room to write" in done.stdout or "cannot be written to" in done.stdout
    if operation != "build":
        assert verify(bench.ready) == []
        assert Collection.open(bench.ready).manifest.number == before
        assert contents(Collection.open(bench.ready), QUERIES) == contents(Collection.open(bench.base), QUERIES)
        assert not list(bench.ready.glob("*.tmp"))
    elif (bench.ready / "manifest.json").exists():
        assert verify(bench.ready) == []
    if operation == "build":
        build(bench.ready, [bench.old], WordAnalyser(), part_documents=40, tags="subjects")
    elif operation == "add":
        add(bench.ready, [bench.new], WordAnalyser(), part_documents=40, tags="subjects")
    else:
        with Writer.open(bench.ready) as writer:
            if operation == "remove":
                writer.remove(GONE)
            else:
                writer.merge()
    assert contents(Collection.open(bench.ready), QUERIES) == bench.expected[operation]


def test_full_small_filesystem(bench: Bench, tmp_path: Path) -> None:
    """The real thing where the tests may mount: a file system of 1 MB."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(tmp_path)], capture_output=True)
    if mounted.returncode:
        return
    try:
        folder = make_collection(tmp_path / "c", OLD[:60])
        source = write_jsonl(bench.path / "many.jsonl", make_records(2_000, seed=5, prefix="m"))
        with pytest.raises(CollectionError, match="no room to write"):
            add(folder, [source], WordAnalyser(), part_documents=2_000)
        assert verify(folder) == []
        assert len(Collection.open(folder)) == 60
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)

"""The kinds of blows. Each is set up once; a blow is drawn from a generator of random numbers, struck, and what must
hold afterwards is checked: an AssertionError, or any other error, is a failure of the product.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from collection.samples import WordAnalyser, make_collection, make_records, write_jsonl
from collection.test_collection_crash import FULL, WORKER, Bench, kill_and_check
from collection.test_collection_damage import WORKER as DAMAGE_WORKER
from collection.test_collection_damage import noticed, spoil
from core.test_arguments import VALUES, fault, public_entries
from erukg import Collection, KeyphraseGenerator
from erukg.backends import OnnxBackend
from erukg.collection import Writer, verify
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.build import add, build
from erukg.errors import CollectionError
from tiny import ADJECTIVES, NOUNS, OTHERS, write_corpus, write_model

__all__ = ["KINDS", "Kind"]

OPERATIONS = ("build", "add", "remove", "merge")


class Kind(Protocol):
    """Made with a folder to work in, which it may fill."""

    def blow(self, rng: random.Random) -> str:
        """Strike once and check; a word for what came of it, to be counted."""
        ...


class Kill:
    """A writer is killed at a random moment: the last commit stays, and the next run completes."""

    def __init__(self, folder: Path) -> None:
        self._bench = Bench(folder)

    def blow(self, rng: random.Random) -> str:
        operation = rng.choice(OPERATIONS)
        kill_and_check(self._bench, operation, rng.uniform(0.0, self._bench.seconds[operation]))
        return operation


class Disk:
    """No file may grow beyond some bytes: an error that says so, and the last commit stays."""

    def __init__(self, folder: Path) -> None:
        self._bench = Bench(folder)

    def blow(self, rng: random.Random) -> str:
        operation, room = rng.choice(OPERATIONS), int(10 ** rng.uniform(1.5, 5.5))
        bench = self._bench
        bench.prepare(operation)
        source = bench.old if operation == "build" else bench.new
        arguments = [WORKER.parent, room, operation, bench.ready, source, bench.ids]
        done = subprocess.run([sys.executable, "-c", FULL, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode in (0, 7), f"{operation} with {room} bytes: {done.stderr}"
        if done.returncode:
            assert "no room to write" in done.stdout or "cannot be written to" in done.stdout
        if (bench.ready / "manifest.json").exists():
            assert verify(bench.ready) == [], f"{operation} with {room} bytes"
        else:
            assert operation == "build"
        return "refused" if done.returncode else "done"


class Damage:
    """A file is changed: `verify` tells, no reader dies, and no writer makes it look sound."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        records = make_records(260, seed=31)
        self._sound = make_collection(folder / "sound", records, part=110)
        with Writer.open(self._sound) as writer:
            writer.remove([record.id for record in records[::9]])

    def blow(self, rng: random.Random) -> str:
        copy = self._folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self._sound, copy)
        what = spoil(copy, rng)
        assert noticed(copy), what
        reader = subprocess.run(
            [sys.executable, str(DAMAGE_WORKER)], input=f"{copy}\n", capture_output=True, text=True, timeout=60
        )
        assert reader.returncode == 0, f"{what}: {reader.stderr}"
        try:
            with Writer.open(copy) as writer:
                writer.merge()
        except CollectionError:
            assert noticed(copy), f"{what}: not noticed after a refused merge"
            return "refused"
        assert noticed(copy), f"{what}: merged as if it were sound"
        return "opened"


class Writers:
    """Several writers at once, and a reader: one writes, the others are told so, and nobody sees half a commit."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._base = make_collection(folder / "base", make_records(160, seed=21), part=45)
        self._ids = folder / "ids"
        self._ids.write_text("")

    def blow(self, rng: random.Random) -> str:
        copy = self._folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self._base, copy)
        running = []
        for number in range(rng.randint(2, 3)):
            new = make_records(rng.randint(20, 150), seed=rng.randrange(10**6), prefix=f"w{number}-")
            source = write_jsonl(self._folder / f"{number}.jsonl", new)
            line = [sys.executable, str(WORKER), "add", str(copy), str(source), str(self._ids)]
            process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            running.append((len(new), process))
        while any(process.poll() is None for _, process in running):
            assert verify(copy) == []
            Collection.open(copy).search("kaka lova", 5)
        added = 0
        for count, process in running:
            _, errors = process.communicate()
            assert process.returncode == 0 or "is being written by" in errors, errors
            added += count if process.returncode == 0 else 0
        assert verify(copy) == []
        assert len(Collection.open(copy)) == 160 + added
        return f"{sum(process.returncode == 0 for _, process in running)} of {len(running)} wrote"


class Fuzz:
    """Any value for any argument of any public function: a result, or one sentence."""

    def __init__(self, folder: Path) -> None:
        model, corpus = write_model(folder / "model"), write_corpus(folder / "corpus.jsonl")
        build(folder / "collection", [corpus], ModelAnalyser(OnnxBackend.load(model)))
        self._scratch = folder / "scratch"
        self._entries = public_entries(model, folder / "collection", corpus, self._scratch)

    def blow(self, rng: random.Random) -> str:
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir()
        entry = rng.choice(self._entries)
        name = rng.choice(sorted(entry.arguments))
        value = self._value(rng, 3)
        found = fault(entry, name, value)
        assert found is None, f"{entry.name}({name}={value!r}): {found}"
        return "answered"

    def _value(self, rng: random.Random, depth: int) -> object:
        """One of the strange values, or a list, pair or mapping of such."""
        if depth == 0 or rng.random() < 0.5:
            return rng.choice(VALUES)
        inside = [self._value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
        return rng.choice((list, tuple, lambda values: {str(i): value for i, value in enumerate(values)}))(inside)


class Growth:
    """A random sentence, repeated: four times the text takes no more than eight times as long."""

    _TIMES, _MOST, _SENTENCES = 4, 8, 600

    def __init__(self, folder: Path) -> None:
        self._generator = KeyphraseGenerator(OnnxBackend.load(write_model(folder / "model")))
        self._generator.generate("A graph of networks.")

    def blow(self, rng: random.Random) -> str:
        words = [rng.choice((rng.choice(NOUNS), rng.choice(ADJECTIVES), rng.choice(OTHERS), "x{i}")) for _ in range(8)]
        sentence = " ".join(words) + rng.choice((". ", " ", "\n", ", ", " (X{i}) "))
        short = min(self._seconds(sentence, self._SENTENCES) for _ in range(2))
        ratio = self._seconds(sentence, self._TIMES * self._SENTENCES) / short
        assert ratio < self._MOST, f"{sentence!r} takes {ratio:.1f} times as long"
        return "linear"

    def _seconds(self, sentence: str, count: int) -> float:
        text = "".join(sentence.format(i=i) for i in range(count))
        start = time.process_time()
        self._generator.generate(text)
        return time.process_time() - start


class Same:
    """Whatever way a document takes, its keyphrases are the same; and so are a collection's answers after merging."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        backend = OnnxBackend.load(write_model(folder / "model"))
        build(folder / "tiny", [write_corpus(folder / "corpus.jsonl")], ModelAnalyser(backend))
        self._generator = KeyphraseGenerator(backend, Collection.open(folder / "tiny"))

    def blow(self, rng: random.Random) -> str:
        ways: list[Callable[[random.Random], None]] = [self._streams, self._merging]
        way = rng.choice(ways)
        way(rng)
        return way.__name__.strip("_")

    def _streams(self, rng: random.Random) -> None:
        words = (*NOUNS, *ADJECTIVES, *OTHERS)
        texts = [" ".join(rng.choices(words, k=rng.randint(0, 200))) for _ in range(8)]
        alone = [self._generator.generate(text, explain=True).to_json() for text in texts]
        for threads in (1, 2):
            batch = self._generator.generate_batch(texts, explain=True, threads=threads)
            assert [found.to_json() for found in batch] == alone

    def _merging(self, rng: random.Random) -> None:
        records = make_records(rng.randint(20, 200), seed=rng.randrange(10**6))
        copy = self._folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        make_collection(copy, records[::2], part=rng.randint(5, 60))
        source = write_jsonl(self._folder / "more.jsonl", records[1::2])
        add(copy, [source], WordAnalyser(), part_documents=rng.randint(5, 60))
        query = rng.choice(records).text
        before = self._answers(copy, query)
        with Writer.open(copy) as writer:
            writer.merge()
        assert self._answers(copy, query) == before
        assert verify(copy) == []

    def _answers(self, folder: Path, query: str) -> list[tuple[str, float]]:
        collection = Collection.open(folder)
        hits = collection.search(query, 50)
        return sorted(zip(collection.ids(hits.documents), hits.scores.tolist(), strict=True))


KINDS: dict[str, Callable[[Path], Kind]] = {
    "kill": Kill,
    "damage": Damage,
    "fuzz": Fuzz,
    "disk": Disk,
    "writers": Writers,
    "growth": Growth,
    "same": Same,
}

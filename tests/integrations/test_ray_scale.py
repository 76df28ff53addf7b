"""The long tier: 20,000 documents, a node removed, memory, throughput; `pytest -m slow -s` prints the figures."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from erukg import KeyphraseGenerator
from erukg.backends import OnnxBackend
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.build import build
from erukg.integrations.ray import keyphrases
from erukg.integrations.ray.collection_job import CollectionJob, build_collection
from erukg.integrations.ray.driver import run_job
from erukg.integrations.ray.keyphrase_job import KeyphraseJob
from erukg.integrations.ray.storage import Store
from erukg.integrations.ray.tasks import Resources
from erukg.io import InputDocument, read_documents
from integrations.ray_tools import STORE_BYTES, TroubledJob, add_node, marks, parts, wait_for, worker_pids, write_rows
from tiny import write_corpus

pytestmark = pytest.mark.slow


def memory(pid: int | str) -> float:
    """The most memory a process has had for itself, in MB: shared pages, such as the object store's, not counted."""
    try:
        found = dict(re.findall(r"^(\w+):\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE))
        return (int(found["RssAnon"])) / 1e3
    except (OSError, KeyError):
        return 0.0


class Watch:
    """The largest memory of this process and of the cluster's workers while the block runs."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self._end = threading.Event()
        self.driver = self.workers = 0.0
        self._thread = threading.Thread(target=self._look, daemon=True)

    def _look(self) -> None:
        while not self._end.wait(0.1):
            self.driver = max(self.driver, memory("self"))
            self.workers = max([self.workers, *map(memory, worker_pids(self._cluster))])

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *about: object) -> None:
        self._end.set()
        self._thread.join()


def test_20000_documents_and_a_collection_of_them(
    cluster: Any, tiny_model: Path, tiny_encoder: OnnxBackend, tiny_collection: Path, tmp_path: Path
) -> None:
    source = write_corpus(tmp_path / "corpus.jsonl", 20_000, seed=5)
    job = KeyphraseJob(command="generate", model=str(tiny_model), collection=str(tiny_collection))
    start = time.perf_counter()
    summary = run_job(job, [str(source)], Store(str(tmp_path / "out")), Resources(), partition_documents=1000)
    print(f"\ngenerate on Ray: {20_000 / (time.perf_counter() - start):.0f} documents/s, start included")
    assert (summary.documents, summary.bad, summary.failed) == (20_000, 0, 0)
    generator = KeyphraseGenerator.from_pretrained(tiny_model, tiny_collection)
    documents = ((d.id, d.text) for d in read_documents([source]) if isinstance(d, InputDocument))
    lines = parts(tmp_path / "out").splitlines()
    assert lines == [found.to_json() for found in generator.generate_batch(documents)]
    start = time.perf_counter()
    report = build_collection(
        tmp_path / "ray", [str(source)], CollectionJob(model=str(tiny_model)), Resources(), partition_documents=1500
    )
    print(f"collection build on Ray: {20_000 / (time.perf_counter() - start):.0f} documents/s, start included")
    assert report == build(tmp_path / "local", [source], ModelAnalyser(tiny_encoder))
    files = [sorted(path.read_bytes() for path in (tmp_path / name).glob("*.bin")) for name in ("local", "ray")]
    assert files[0] == files[1]


def test_a_removed_node_changes_nothing(cluster: Any, tiny_model: Path, tmp_path: Path) -> None:
    rows = [{"id": i, "text": f"take your time with neural network {i}"} for i in range(600)]
    source = write_rows(tmp_path / "a.jsonl", rows)
    out = tmp_path / "out"
    # One that is not the driver's own.
    victim = next(node for node in cluster.list_all_nodes() if not node.is_head())

    def trouble() -> None:
        wait_for(lambda: len(marks(out)) >= 4, "some partitions")
        cluster.remove_node(victim, allow_graceful=False)

    thread = threading.Thread(target=trouble)
    thread.start()
    try:
        job = TroubledJob(command="extract", model=str(tiny_model), collection=False)
        summary = run_job(job, [str(source)], Store(str(out)), Resources(), partition_documents=20)
    finally:
        thread.join()
        add_node(cluster)
    assert (summary.documents, summary.bad, summary.failed) == (600, 0, 0)
    generator = KeyphraseGenerator.from_pretrained(tiny_model, False)
    assert parts(out).splitlines() == [generator.extract(str(r["text"]), id=str(r["id"])).to_json() for r in rows]


def test_memory_is_bounded_by_less_than_the_input(cluster: Any, tiny_model: Path, tmp_path: Path) -> None:
    import ray

    # Rows of 100 kB, most of it in a column that comes out again, ten times what the object stores hold.
    rng = np.random.default_rng(0)
    schema = pa.schema([("id", pa.int64()), ("text", pa.string()), ("body", pa.binary())])
    folder = tmp_path / "in"
    folder.mkdir()
    count = 2 * 10 * STORE_BYTES // 100_000
    for first in range(0, count, 1000):
        with parquet.ParquetWriter(folder / f"{first:06d}.parquet", schema, compression="none") as file:
            for start in range(first, min(first + 1000, count), 100):
                rows = [
                    {"id": i, "text": f"neural network {i}", "body": rng.bytes(100_000)}
                    for i in range(start, start + 100)
                ]
                file.write_table(pa.Table.from_pylist(rows, schema))
    size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
    assert size > 10 * 2 * STORE_BYTES / 1e6 * 0.95
    job = KeyphraseJob(command="expand", model=str(tiny_model), collection=False)
    before = memory("self")
    with Watch(cluster) as watch:
        summary = run_job(job, [str(folder)], Store(str(tmp_path / "out")), Resources(), partition_documents=500)
    assert summary.documents >= count
    print(f"\nexpand of {size:.0f} MB: driver +{watch.driver - before:.0f} MB, worker {watch.workers:.0f} MB")
    assert watch.driver - before < 200
    assert watch.workers < 600
    before = memory("self")
    with Watch(cluster) as watch:
        rows_seen = 0
        found = keyphrases(
            ray.data.read_parquet(str(folder)), model=tiny_model, collection=False, workers=1, batch_size=64
        )
        for batch in found.iter_batches(batch_size=64, prefetch_batches=0):
            rows_seen += len(batch["id"])
    assert rows_seen >= count
    print(f"keyphrases() of {size:.0f} MB: driver +{watch.driver - before:.0f} MB, worker {watch.workers:.0f} MB")
    assert watch.driver - before < 400
    assert watch.workers < 800


def test_throughput_beside_threads(cluster: Any, tmp_path: Path) -> None:
    """Two workers against `generate_batch` with two threads, with the bundled model, in turns."""
    generator = KeyphraseGenerator.from_pretrained()
    source = write_corpus(tmp_path / "corpus.jsonl", 480)
    texts = [(d.id, d.text) for d in read_documents([source]) if isinstance(d, InputDocument)]
    # Texts of the length of an abstract.
    joined = [(texts[i][0], "\n".join(text for _, text in texts[i : i + 6])) for i in range(len(texts) - 6)]
    rows = [{"id": id, "text": text} for id, text in joined]
    batch = write_rows(tmp_path / "batch.jsonl", rows)
    times: dict[str, list[float]] = {"threads": [], "ray": []}
    for turn in range(3):
        for name, seconds in timed(generator, batch, joined, tmp_path / f"out{turn}"):
            times[name].append(seconds)
    best = {name: min(values) for name, values in times.items()}
    ratio = best["threads"] / best["ray"]
    rates = {name: round(len(joined) / seconds, 1) for name, seconds in best.items()}
    print(f"\n{json.dumps({'documents': len(joined), 'documents/s': rates, 'ratio': round(ratio, 3)})}")
    assert ratio >= 0.85


def timed(
    generator: KeyphraseGenerator, source: Path, texts: list[tuple[str, str]], out: Path
) -> Iterator[tuple[str, float]]:
    """Seconds of either, without what happens once a run: loading the model, starting workers."""
    list(generator.generate_batch(texts[:8], threads=2))
    start = time.perf_counter()
    one = [found.to_json() for found in generator.generate_batch(texts, threads=2)]
    yield "threads", time.perf_counter() - start
    job = KeyphraseJob(command="generate")
    run_job(job, [str(source)], Store(str(out)), Resources(2), partition_documents=20)
    # From the first mark to the last both workers are at work: what was done between them, by that time.
    stamps = sorted(path.stat().st_mtime_ns / 1e9 for path in (out / "_erukg" / "done").iterdir())
    yield "ray", (stamps[-1] - stamps[2]) / (len(stamps) - 3) * len(stamps)
    assert parts(out).splitlines() == one

"""Jobs on a real cluster of two nodes: the same results as in one process, once each, whatever happens."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner, Result

from erukg import Collection, KeyphraseGenerator, Settings
from erukg.backends import OnnxBackend
from erukg.cli import app
from erukg.collection import verify
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.build import build
from erukg.errors import InputError
from erukg.integrations.ray import keyphrases
from erukg.integrations.ray.driver import run_job
from erukg.integrations.ray.storage import Store
from erukg.integrations.ray.tasks import Resources
from erukg.io import BadDocument, InputDocument, read_documents
from integrations.ray_tools import TroubledJob, kill_worker, marks, parts, said, wait_for, write_rows

Command = Callable[..., Result]


@pytest.fixture
def command(cluster: Any, tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> Command:
    """`command("generate", …)` in this process, which is the cluster's driver."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object) -> Result:
        result = CliRunner().invoke(app, [*map(str, arguments), "--model", str(tiny_model)])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        return result

    return call


def test_generate_writes_what_one_process_writes(
    command: Command, corpus: Path, tiny_collection: Path, tmp_path: Path
) -> None:
    options = ("--collection", tiny_collection, "--top-k", 4, "--alpha", 0.6)
    assert command("generate", corpus, *options, "-o", tmp_path / "one.jsonl").exit_code == 0
    ray = ("--engine", "ray", "--partition", 60)
    result = command("generate", corpus, *options, *ray, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert said(result) == [f"400 documents in 8 partitions are in {tmp_path / 'out'}."]
    assert parts(tmp_path / "out") == (tmp_path / "one.jsonl").read_text(encoding="utf-8")
    # Once more: nothing is done again, and nothing changes.
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()}
    result = command("generate", corpus, *options, *ray, "-o", tmp_path / "out")
    assert said(result)[0] == "8 of 8 partitions were done by an earlier run."
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").iterdir()} == before
    # Other settings, or other input, are another job.
    result = command("generate", corpus, *options, "--top-k", 5, *ray, "-o", tmp_path / "out")
    assert (result.exit_code, said(result)[0][-28:]) == (1, "give what it was begun with.")
    assert "(top_k: 4, now 5)" in said(result)[0]
    result = command("generate", corpus / "0.jsonl", *options, *ray, "-o", tmp_path / "out")
    assert "1.jsonl is missing now" in said(result)[0]


def test_parquet_in_and_out_by_uri(
    command: Command, corpus: Path, tiny_generator: KeyphraseGenerator, tmp_path: Path
) -> None:
    rows = [json.loads(line) for line in (corpus / "1.jsonl").read_text().splitlines()]
    folder = tmp_path / "in"
    folder.mkdir()
    parquet.write_table(pa.Table.from_pylist(rows), folder / "a.parquet", row_group_size=13)
    ray = ("--engine", "ray", "--workers", 1, "--threads", 1, "--partition", 20, "--no-collection")
    out = tmp_path / "out"
    result = command("generate", f"file://{folder}", *ray, "--format", "parquet", "--explain", "-o", f"local://{out}")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in out.iterdir()) == ["_erukg", *(f"part-00000{i}.parquet" for i in range(3))]
    found = parquet.read_table(out).to_pylist()
    assert [row["id"] for row in found] == [row["id"] for row in rows]
    for row, given in zip(found, rows, strict=True):
        one = tiny_generator.generate(f"{given['title']}\n{given['abstract']}", id=given["id"])
        assert [(p["phrase"], p["score"]) for p in row["present"]] == [(k.phrase, k.score) for k in one.present]
        spans = [tuple((s["start"], s["end"]) for s in p["spans"]) for p in row["present"]]
        assert spans == [k.spans for k in one.present]
        for phrase in row["present"]:
            assert math.prod(phrase["explanation"]["factors"].values()) == pytest.approx(phrase["score"])


def test_expand_keeps_rows_and_their_form(command: Command, tmp_path: Path) -> None:
    rows = [{"_id": f"d{i}", "text": f"sparse graph search {i}", "year": 2000 + i} for i in range(10)]
    write_rows(tmp_path / "a.jsonl", [*rows, {"text": "no id"}])
    table = pa.Table.from_pylist(rows).append_column("day", pa.array(range(10), pa.date32()))
    parquet.write_table(table, tmp_path / "b.parquet")
    options = ("--append", "--no-collection")
    paths = (tmp_path / "a.jsonl", tmp_path / "b.parquet")
    result = command(
        "expand", *paths, *options, "--engine", "ray", "--workers", 1, "--partition", 6, "-o", tmp_path / "out"
    )
    assert result.exit_code == 3
    warning, *others = said(result)
    assert "lower precision" in warning
    assert others == [
        f"{tmp_path / 'a.jsonl'}:11: It has neither '_id' nor 'id', so it could not be told from others.",
        f"20 documents in 4 partitions are in {tmp_path / 'out'}.",
        "1 of 21 documents skipped.",
    ]
    assert command("expand", tmp_path / "a.jsonl", *options, "-o", tmp_path / "one.jsonl").exit_code == 3
    assert parts(tmp_path / "out") == (tmp_path / "one.jsonl").read_text()
    tables = [parquet.read_table(path) for path in sorted((tmp_path / "out").glob("*.parquet"))]
    expanded = pa.concat_tables(tables)
    lines = [json.loads(line) for line in (tmp_path / "one.jsonl").read_text().splitlines()]
    assert expanded.drop_columns(["day"]).to_pylist() == lines
    assert expanded.schema.field("day").type == pa.date32()


def test_bad_partitions_are_reported_and_stop_nothing(cluster: Any, tiny_model: Path, tmp_path: Path) -> None:
    good: list[dict[str, Any]] = [{"id": i, "text": "sea ice radar"} for i in range(10)]
    folder = tmp_path / "in"
    folder.mkdir()
    write_rows(folder / "a.jsonl", good)
    (folder / "b.parquet").write_bytes(b"PAR1 not really PAR1")
    parquet.write_table(pa.table({"body": ["x"] * 9}), folder / "c.parquet")
    (folder / "d.jsonl").write_text('{"id": "d", "text": 5}\nno json\n')
    # A file whose end tells where pages are, which are damaged.
    parquet.write_table(pa.table({"text": [f"text {i}" * 50 for i in range(200)]}), folder / "e.parquet")
    data = bytearray((folder / "e.parquet").read_bytes())
    data[20:2000] = bytes(1980)
    (folder / "e.parquet").write_bytes(data)
    troubled = [
        *good[:5],
        {"id": "x", "text": "please raise an error"},
        *good[5:],
    ]
    write_rows(folder / "f.jsonl", troubled)
    bad: list[BadDocument] = []
    job = TroubledJob(command="extract", model=str(tiny_model), collection=False)
    summary = run_job(
        job, [str(folder)], Store(str(tmp_path / "out")), Resources(1), partition_documents=300, on_bad=bad.append
    )
    reports = {item.place.removeprefix(f"{folder}/"): item.message for item in bad}
    assert (summary.documents, summary.bad, summary.failed) == (20, 5, 1), reports
    assert set(reports) == {
        "b.parquet",
        "c.parquet",
        "d.jsonl:1",
        "d.jsonl:2",
        "e.parquet:1-200",
        "f.jsonl:6",
    }
    assert "The same command tries it again." in reports["e.parquet:1-200"]
    assert "It could not be processed (RuntimeError: as asked)." in reports["f.jsonl:6"]
    assert parts(tmp_path / "out").count("\n") == 20


def test_a_killed_worker_changes_nothing(cluster: Any, tiny_model: Path, tmp_path: Path) -> None:
    rows = [{"id": i, "text": f"take your time with neural network {i}"} for i in range(240)]
    source = write_rows(tmp_path / "a.jsonl", rows)
    out = tmp_path / "out"

    def trouble() -> None:
        wait_for(lambda: marks(out), "the first partition")
        kill_worker(cluster)

    thread = threading.Thread(target=trouble)
    thread.start()
    job = TroubledJob(command="extract", model=str(tiny_model), collection=False)
    summary = run_job(job, [str(source)], Store(str(out)), Resources(), partition_documents=20)
    thread.join()
    assert (summary.documents, summary.bad, summary.failed) == (240, 0, 0)
    generator = KeyphraseGenerator.from_pretrained(tiny_model, False)
    expected = [generator.extract(str(row["text"]), id=str(row["id"])).to_json() for row in rows]
    assert parts(out).splitlines() == expected
    assert not list(out.rglob("tmp/*"))


def test_a_killed_driver_goes_on_where_it_was(cluster: Any, tiny_model: Path, corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = [
        "extract",
        str(corpus),
        "--model",
        str(tiny_model),
        "--engine",
        "ray",
        "--partition",
        "10",
        "-o",
        str(out),
    ]
    line = [sys.executable, "-m", "erukg.cli", *arguments]
    environment = {**os.environ, "RAY_ADDRESS": cluster.address}
    process = subprocess.Popen(line, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: len(marks(out)) >= 4 or process.poll() is not None, "some partitions")
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    early = marks(out)
    stamps = {name: (out / f"part-{name}.jsonl").stat().st_mtime_ns for name in early}
    assert 4 <= len(early) < 40
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    done_before = int(said(result)[0].split()[0])
    assert len(early) <= done_before < 40
    assert {name: (out / f"part-{name}.jsonl").stat().st_mtime_ns for name in early} == stamps
    generator = KeyphraseGenerator.from_pretrained(tiny_model, False)
    documents = [item for item in read_documents([corpus]) if isinstance(item, InputDocument)]
    assert parts(out).splitlines() == [generator.extract(d.text, id=d.id).to_json() for d in documents]
    assert len(marks(out)) == 40


def test_a_document_that_ends_its_worker_is_found_out(cluster: Any, tiny_model: Path, tmp_path: Path) -> None:
    rows = [{"id": i, "text": "please end the worker" if i in (3, 6) else f"neural network {i}"} for i in range(16)]
    source = write_rows(tmp_path / "a.jsonl", rows)
    bad: list[BadDocument] = []
    job = TroubledJob(command="extract", model=str(tiny_model), collection=False)
    store = Store(str(tmp_path / "out"))
    summary = run_job(job, [str(source)], store, Resources(), partition_documents=8, on_bad=bad.append)
    assert (summary.documents, summary.bad, summary.failed) == (14, 2, 0)
    assert [item.place for item in bad] == [f"{source}:4", f"{source}:7"]
    assert "Worker processes ended while working on it, twice" in bad[0].message
    assert parts(tmp_path / "out").count("\n") == 14


def test_collections_are_those_of_a_local_build(
    command: Command, tiny_encoder: OnnxBackend, corpus: Path, tmp_path: Path
) -> None:
    source = tmp_path / "in"
    source.mkdir()
    for path in sorted(corpus.iterdir()):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        write_rows(source / path.name, [{**row, "subjects": row["title"].split()} for row in rows])
    twice = (source / "0.jsonl").read_text().splitlines()
    extra = [
        twice[70],
        '{"id": "new", "text": "sea ice"}',
        "no json",
        twice[3],
        '{"id": "empty", "text": " "}',
        '{"id": "wrong", "text": "sea ice", "subjects": 7}',
        twice[70],
    ]
    (source / "9.jsonl").write_text("\n".join(extra) + "\n")
    bad: list[BadDocument] = []
    analyser = ModelAnalyser(tiny_encoder, phrases=6, settings=Settings(position=1))
    report = build(
        tmp_path / "local",
        [source],
        analyser,
        most_terms=9,
        glossary_documents=4,
        tags="subjects",
        on_bad=bad.append,
    )
    kept = ("--phrases", 6, "--position", 1, "--terms", 9, "--glossary-documents", 4, "--tags", "subjects")
    options = ("--engine", "ray", "--partition", 60, *kept)
    result = command("collection", "build", tmp_path / "ray", source, *options)
    assert result.exit_code == 3, result.output
    assert said(result)[-1] == f"{report.bad} of {report.rows} rows skipped."
    reported = sorted(line.partition(": ")[0] for line in said(result)[:-1])
    assert reported == sorted(item.place for item in bad)
    assert not (tmp_path / "ray.work").exists()
    files = [sorted(path.read_bytes() for path in (tmp_path / name).glob("*.bin")) for name in ("local", "ray")]
    assert files[0] == files[1]
    assert verify(tmp_path / "ray") == []
    ours, theirs = (Collection.open(tmp_path / name) for name in ("ray", "local"))
    assert ours.manifest.tags == theirs.manifest.tags == "subjects"
    assert ours.tag_counts() == theirs.tag_counts() != {}
    for document in read_documents([corpus / "2.jsonl"]):
        assert isinstance(document, InputDocument)
        a, b = ours.search(document.text, 10), theirs.search(document.text, 10)
        assert (ours.ids(a.documents), a.scores.tolist()) == (theirs.ids(b.documents), b.scores.tolist())
        assert all(ours.titles(a.documents))
    result = command("collection", "build", tmp_path / "ray", source, *options)
    assert (result.exit_code, "already holds a collection" in said(result)[-1]) == (1, True)
    command("collection", "build", tmp_path / "paper", source, "--engine", "ray", "--partition", 60, "--paper")
    assert Collection.open(tmp_path / "paper").manifest.paper
    assert not ours.manifest.paper


def test_a_pipeline_of_ones_own(cluster: Any, tiny_model: Path, tiny_collection: Path, corpus: Path) -> None:
    import ray

    rows: list[dict[str, Any]] = [json.loads(line) for line in (corpus / "1.jsonl").read_text().splitlines()]
    rows[3]["title"] = rows[3]["abstract"] = None
    dataset = ray.data.from_items([{**row, "year": i} for i, row in enumerate(rows)])
    choices = Settings(alpha=0.7)
    where = {"model": tiny_model, "collection": f"file://{tiny_collection}"}
    found = keyphrases(dataset, **where, settings=choices, top_k=3, workers=1, batch_size=16)  # type: ignore[arg-type]
    generator = KeyphraseGenerator.from_pretrained(tiny_model, tiny_collection, settings=choices)
    got = sorted(found.take_all(), key=lambda row: row["year"])
    for row, given in zip(got, rows, strict=True):
        text = "\n".join(filter(None, [given["title"], given["abstract"]]))
        one = generator.generate(text, 3, id=given["id"])
        assert (row["id"], row["error"]) == (given["id"], None)
        assert [(p["phrase"], p["score"]) for p in row["present"]] == [(k.phrase, k.score) for k in one.present]
        assert [(p["phrase"], p["score"]) for p in row["absent"]] == [(k.phrase, k.score) for k in one.absent]
        assert row["notices"] == [asdict(notice) for notice in one.notices]
    assert [notice["code"] for notice in got[3]["notices"]] == ["too-short"]
    with pytest.raises(InputError, match="none of which is the id"):
        keyphrases(dataset, text="id")


def test_wrong_command_lines(command: Command, corpus: Path, tmp_path: Path) -> None:
    ray = ("--engine", "ray", "--no-collection")
    for arguments, code, message in (
        ((), 2, "writes a folder of files"),
        (("-o", tmp_path / "o", "--format", "csv"), 2, "writes json or parquet"),
        (("-o", tmp_path / "o", "--device", "cuda:1"), 2, "Ray chooses the GPU"),
        (("-o", tmp_path / "o", "--gpus", 0.5), 1, "No node of the cluster has the 1 cores and 0.5 GPUs"),
        (("-o", corpus), 1, "holds the input"),
    ):
        result = command("generate", corpus, *ray, *arguments)
        assert result.exit_code == code, result.output
        assert message in " ".join(result.stderr.split())
    result = command("generate", tmp_path / "none.jsonl", *ray, "-o", tmp_path / "none")
    assert result.exit_code == 1
    assert said(result)[0] == f"{tmp_path / 'none.jsonl'}: There is no such file or folder."

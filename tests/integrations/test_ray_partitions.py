"""Partitions: whatever the file and the size of its partitions, together they are what reading it as a whole gives."""

from __future__ import annotations

import gzip
import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from erukg.core.neighbours import Source
from erukg.core.results import Keyphrase, Keyphrases, Notice
from erukg.core.settings import Settings
from erukg.errors import InputError
from erukg.integrations.ray.collection_job import CollectionJob
from erukg.integrations.ray.partitions import Partition, list_inputs, read_partition, scan
from erukg.integrations.ray.plan import Outcome, Plan, mark_name, read_marks
from erukg.integrations.ray.storage import Store
from erukg.io import BadDocument, InputDocument, Limits, read_documents
from erukg.io.columns import result_schema
from erukg.io.places import FoundFile
from erukg.io.sources import SourceFile
from erukg.io.writers import ParquetWriter

PACK: dict[str, Callable[[bytes], bytes]] = {".jsonl": bytes, ".jsonl.gz": gzip.compress, ".jsonl.xz": lzma.compress}
LINES = st.sampled_from(
    [
        b'{"id": 1, "text": "sea ice"}',
        '{"text": "naïve – 𝒳"}'.encode(),
        b"",
        b"  ",
        b"not json",
        b"\xff\xfe broken",
        b'{"id": "a", "title": "t\\n", "abstract": "a"}',
        b'{"nothing": 0}',
        b'{"text": "' + b"x" * 300 + b'"}',
    ]
)


def one(path: Path) -> SourceFile:
    (file,) = list_inputs([str(path)])
    assert isinstance(file, SourceFile)
    return file


def through_partitions(path: Path, size: int, limits: Limits) -> list[InputDocument | BadDocument]:
    return [item for part in scan(one(path), size) for item in read_partition(part, limits)]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(LINES, max_size=25),
    st.integers(1, 9),
    st.sampled_from(sorted(PACK)),
    st.sampled_from([b"\n", b"\r\n"]),
    st.booleans(),
    st.sampled_from(["", "utf-8-sig", "utf-16"]),
)
def test_lines_are_those_of_the_whole_file(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[bytes],
    size: int,
    ending: str,
    newline: bytes,
    ended: bool,
    encoding: str,
) -> None:
    data = newline.join(rows) + (newline if ended else b"")
    if encoding:
        data = data.decode("utf-8", "replace").encode(encoding)
    path = tmp_path_factory.mktemp("lines") / f"a{ending}"
    path.write_bytes(PACK[ending](data))
    limits = Limits(document_bytes=200)
    assert through_partitions(path, size, limits) == list(read_documents([path], limits=limits))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 60), st.integers(1, 25), st.integers(1, 25))
def test_rows_of_parquet_are_those_of_the_whole_file(
    tmp_path_factory: pytest.TempPathFactory, rows: int, group: int, size: int
) -> None:
    path = tmp_path_factory.mktemp("rows") / "a.parquet"
    texts = [None if i % 7 == 3 else f"text {i}" for i in range(rows)]
    table = pa.table({"_id": pa.array(range(rows)), "text": pa.array(texts, pa.string()), "more": ["x"] * rows})
    parquet.write_table(table, path, row_group_size=group)
    found = through_partitions(path, size, Limits())
    assert found == list(read_documents([path]))
    assert [item.place for item in found] == [f"{path}:{i + 1}" for i in range(rows)]
    parts = scan(one(path), size)
    assert all(0 < part.rows <= size for part in parts)
    whole = [item for part in parts for item in read_partition(part, Limits(), every_column=True)]
    assert all(isinstance(item, BadDocument) or (item.fields or {})["more"] == "x" for item in whole)
    assert [item for part in parts for item in read_partition(part, Limits(), fields=["more", "none"])] == whole
    wanted = [item for part in parts for item in read_partition(part, Limits(), fields=["more"])]
    assert all(isinstance(item, BadDocument) or (item.fields or {})["more"] == "x" for item in wanted)


def test_files_that_cannot_be_read_are_partitions_that_say_why(tmp_path: Path) -> None:
    line = b'{"text": "sea ice"}\n'
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(line * 9 + np.random.default_rng(0).bytes(5000))[:3000])
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and then something else PAR1")
    parquet.write_table(pa.table({"body": ["a"]}), tmp_path / "columns.parquet")
    parquet.write_table(pa.table({"text": ["a"], "present": [["b"]]}), tmp_path / "expanded.parquet")
    (tmp_path / "empty.jsonl").touch()
    problems = {}
    for file in list_inputs([str(tmp_path)]):
        assert isinstance(file, SourceFile)
        for part in scan(file, 4, expand=True):
            if part.problem is not None:
                (bad,) = read_partition(part, Limits())
                assert bad == BadDocument(file.file.name, part.problem)
                problems[Path(file.file.name).name] = part.problem
    assert set(problems) == {"cut.jsonl.gz", "broken.parquet", "columns.parquet", "expanded.parquet"}
    assert "compressed data is damaged" in problems["cut.jsonl.gz"]
    assert "cannot be read as Parquet" in problems["broken.parquet"]
    assert "none of the columns 'title', 'abstract' and 'text' (its columns: 'body')" in problems["columns.parquet"]
    assert "a column 'present' already" in problems["expanded.parquet"]


def test_which_files_are_read(tmp_path: Path) -> None:
    for name in ("b/2.jsonl", "b/10.ndjson.gz", "a.parquet", ".hidden.jsonl", "note.txt", "b.jsonl", "b/.c/d.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    expected = ["a.parquet", "b/10.ndjson.gz", "b/2.jsonl", "b.jsonl"]
    local = list_inputs([str(tmp_path)])
    assert [file.file.name for file in local if isinstance(file, SourceFile)] == [
        str(tmp_path / name) for name in expected
    ]
    for scheme in ("file", "local"):  # the one is pyarrow's, the other fsspec's
        there = list_inputs([f"{scheme}://{tmp_path}"])
        names = [file.file.name for file in there if isinstance(file, SourceFile)]
        assert names == [f"{scheme}://{tmp_path}/{name}" for name in expected]
    bad = list_inputs(
        [str(tmp_path / "note.txt"), str(tmp_path / "none.jsonl"), f"file://{tmp_path}/none", "nowhere://a"]
    )
    assert [isinstance(item, BadDocument) for item in bad] == [True] * 4
    assert isinstance(bad[3], BadDocument)
    assert "cannot be reached" in bad[3].message
    (told,) = list_inputs([str(tmp_path / "note.txt")], "jsonl")
    assert isinstance(told, SourceFile)
    for paths, form, message in (
        (["-"], None, "not standard input"),
        (["a"], "pdf", "JSON Lines and Parquet, not pdf"),
    ):
        with pytest.raises(InputError, match=message):
            list_inputs(paths, form)


@pytest.mark.parametrize("scheme", ["", "file://", "local://"])
def test_stores_publish_whole_files_or_nothing(tmp_path: Path, scheme: str) -> None:
    store = Store(f"{scheme}{tmp_path}/out")
    store.write("a/b", b"first")
    store.write("a/b", b"second")
    assert store.read("a/b") == b"second"
    assert store.read("a/c") is None
    with pytest.raises(TypeError), store.create("a/c") as stream:
        stream.writelines([b"half", None])
    assert store.names("a") == ["b"]
    assert store.names("none") == []
    store.tidy()
    assert [path.name for path in (tmp_path / "out").rglob("*") if path.is_file()] == ["b"]
    store.remove_folder()
    store.remove_folder()
    assert store.names("") == []


def test_plans_are_kept_and_checked(tmp_path: Path) -> None:
    store = Store(str(tmp_path / "out"))
    assert Plan.load(store) is None
    files = (FoundFile("a", "/a", 3, 4, True), FoundFile("b", "/b", 5, 6, True))
    plan = Plan({"top_k": 10, "alpha": 0.8}, files, (Partition(0, "a", "/a", "jsonl", 0, 3, 0, 3),))
    plan.save(store)
    kept = Plan.load(store)
    assert kept == plan
    kept.check(plan.settings, files, store)
    for options, given_files, message in (
        ({"top_k": 5, "alpha": 0.8}, files, r"other settings \(top_k: 10, now 5\)"),
        (plan.settings, files[:1], "b is missing now"),
        (plan.settings, files[::-1], "another order"),
        (plan.settings, (files[0], FoundFile("b", "/b", 5, 7, True)), "b is new or changed"),
    ):
        with pytest.raises(InputError, match=message):
            kept.check(options, given_files, store)
    outcome = Outcome(0, "done", 3, 1, (("a:2", "It is bad."),), ({"name": "part"},))
    store.write(mark_name(0), outcome.to_json().encode())
    assert read_marks(store) == {0: outcome}
    store.write("_erukg/plan", b"{}")
    with pytest.raises(InputError, match="cannot be understood"):
        Plan.load(store)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(InputError, match="files of something else"):
        Plan.load(Store(str(tmp_path / "other")))


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"most_terms": 0}, "terms: 128, now 0"),
        ({"phrases": 9}, "phrases: 10, now 9"),
        ({"glossary_documents": 5}, "glossary_documents: 'by size', now 5"),
        ({"titles": False}, "titles: True, now False"),
        ({"choices": Settings(position=1)}, "position: 2.0, now 1.0"),
    ],
)
def test_a_collection_goes_on_only_with_the_same_options(
    tiny_model: Path, tmp_path: Path, other: dict[str, Any], told: str
) -> None:
    store = Store(str(tmp_path / "work"))
    plan = Plan(CollectionJob(model=str(tiny_model)).settings(), (), ())
    plan.check(CollectionJob(model=str(tiny_model), threads=2).settings(), (), store)
    with pytest.raises(InputError, match=re.escape(f"was begun with other settings ({told})")):
        plan.check(CollectionJob(model=str(tiny_model), **other).settings(), (), store)


def test_parquet_takes_what_utf8_cannot_hold(tmp_path: Path) -> None:
    found = Keyphrases(
        (Keyphrase("a\ud800", 1.0, spans=((0, 2),)),),
        (Keyphrase("b", 0.5, sources=(Source("c", 1.0), Source("d", 0.5, "D\ud800"))),),
        "i",
        notices=(Notice("not-english", "d\ud800"),),
    )
    with (tmp_path / "a.parquet").open("wb") as stream:
        writer = ParquetWriter(stream, result_schema(Keyphrases))
        writer.write(found)
        writer.close()
    (row,) = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    plain: dict[str, Any] = {"confidence": None, "variants": []}
    assert row["present"] == [{"phrase": "a\\ud800", "score": 1.0, **plain, "spans": [{"start": 0, "end": 2}]}]
    sources = [{"id": "c", "share": 1.0, "title": None}, {"id": "d", "share": 0.5, "title": "D\\ud800"}]
    assert row["absent"] == [{"phrase": "b", "score": 0.5, **plain, "sources": sources, "related": False}]
    assert row["notices"] == [{"code": "not-english", "message": "d\\ud800"}]
    assert json.dumps(row)

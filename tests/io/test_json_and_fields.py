"""JSON files, and rows whose fields go by other names."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from erukg.core.inputs import FieldNames
from erukg.io import BadDocument, InputDocument, Limits, count_rows, read_documents
from erukg.io.items import Item
from erukg.io.json_values import read_json

BODY = FieldNames("body", "meta.headline", "key")


def read(data: bytes, document_bytes: int = 1_000_000) -> list[Item]:
    return list(read_documents(["-"], form="json", stdin=BytesIO(data), limits=Limits(document_bytes)))


@pytest.mark.parametrize(
    "form", ['[{"id": 7, "text": "a"}, "b"]', '{"id": 7, "text": "a"}\n"b"', ' [\n{"id":7,"text":"a"}\n,"b"\n] ']
)
def test_arrays_and_values(form: str) -> None:
    expected = [InputDocument("7", "a", "stdin:1"), InputDocument("stdin:2", "b", "stdin:2")]
    assert read(form.encode()) == expected
    assert read(form.encode("utf-16")) == expected


def test_one_bad_value_does_not_spoil_the_others() -> None:
    found = read(b'[3, {"text": "a"}, null, {"body": "b"}]')
    assert [type(item) for item in found] == [BadDocument, InputDocument, BadDocument, BadDocument]
    assert "its fields: 'body'" in getattr(found[3], "message", "")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "It is empty"),
        (b"[]", "It is empty"),
        (b"[", "It is not JSON: Expecting value at character 1."),
        (b'["a" "b"]', "a comma or the end of the array is missing at character 5."),
        (b'["a"] "b"', "more behind the end of the array"),
        (b'["a', "It is not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b'["\xff"]', "It is not UTF-8 text"),
        (b"%PDF-1.4", "It is a PDF, not text"),
        (b'["' + b"a" * 2000 + b'"]', "A value is longer than 0.001 MB"),
        (b'["' + b"a" * 2_000_000, "A value is longer than 0.001 MB"),
    ],
)
def test_bad_json(data: bytes, said: str) -> None:
    last = read(data, document_bytes=1000)[-1]
    assert isinstance(last, BadDocument)
    assert said in last.message


def test_values_over_the_ends_of_what_is_read_at_once() -> None:
    rows = [{"text": "x" * size, "n": 10**size} for size in range(1, 900)]
    data = json.dumps(rows).encode()
    assert [item.text for item in read_json(BytesIO(data), "f", Limits()) if isinstance(item, InputDocument)] == [
        row["text"] for row in rows
    ]
    assert len(read(b"[" + b" " * 200_000 + b'"a"' + b"\n" * 200_000 + b"]")) == 1


def test_settings_in_folders_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[3, {"text": "a"}, 4]')
    (tmp_path / "config.json").write_text('{"name": "b"}')
    (tmp_path / "broken.json").write_text("{")
    skipped: list[str] = []
    found = list(read_documents([tmp_path], skip=lambda path, why: skipped.append(f"{path.name}: {why}")))
    assert [type(item) for item in found] == [BadDocument, InputDocument, BadDocument]
    assert skipped == ["broken.json: JSON without documents", "config.json: JSON without documents"]
    (named,) = read_documents([tmp_path / "config.json"])
    assert isinstance(named, BadDocument)


def test_counted(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('["a", "b", "c"]')
    assert count_rows([tmp_path / "a.json"]) == 3


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "parquet"])
def test_fields_by_other_names(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rows.{ending}"
    flat = FieldNames("Body", "Headline", "Key")
    row = {"Key": "k1", "Headline": "Sea ice", "Body": "Radar images", "text": "not this", "id": "nor this"}
    if ending == "parquet":
        parquet.write_table(pa.Table.from_pylist([row]), path)
    elif ending == "csv":
        path.write_text(",".join(row) + "\n" + ",".join(row.values()) + "\n")
    else:
        path.write_text(json.dumps([row] if ending == "json" else row))
    (item,) = read_documents([path], limits=Limits(names=flat))
    assert item == InputDocument("k1", "Sea ice\nRadar images", f"{path}:{2 if ending == 'csv' else 1}")
    assert isinstance(item, InputDocument)
    assert item.title == "Sea ice"
    (missing,) = read_documents([path], limits=Limits(names=FieldNames("prose")))
    assert isinstance(missing, BadDocument)
    assert "'prose'" in missing.message


def test_fields_within_fields() -> None:
    row = {"meta": {"headline": "Sea ice"}, "body": "Radar images", "key": 5, "_id": 9}
    renamed = BODY.rename(row)
    assert renamed == {"meta": row["meta"], "title": "Sea ice", "text": "Radar images", "id": 5}
    assert FieldNames().rename(row) is row


def test_a_row_without_the_field(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"words": "a"}\n{"body": "b"}\n')
    bad, good = read_documents([tmp_path / "a.jsonl"], limits=Limits(names=FieldNames("body")))
    assert bad == BadDocument(f"{tmp_path}/a.jsonl:1", "It has no field 'body' (its fields: 'words').")
    assert isinstance(good, InputDocument)


def test_a_table_without_the_column(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("words,more\na,b\n")
    (bad,) = read_documents([tmp_path / "a.csv"])
    assert isinstance(bad, BadDocument)
    assert bad.message.endswith("(its columns: 'words', 'more'); --text-field says which one has the text.")
    (bad,) = read_documents([tmp_path / "a.csv"], limits=Limits(names=FieldNames("body")))
    assert bad == BadDocument(
        f"{tmp_path}/a.csv", "Its first line names no column 'body' (its columns: 'words', 'more')."
    )

"""Every form in every place: Parquet, compressed files, folders, URIs; counting and naming the files."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from erukg.errors import InputError
from erukg.io import BadDocument, InputDocument, Limits, count_rows, find_sources, read_documents, source_key
from erukg.io.forms import FORMS, SUFFIXES, Form
from erukg.io.objects import numbered_lines, read_objects

ROWS = [{"id": "a", "title": "Sea ice", "text": "radar"}, {"id": "b", "title": None, "text": "graphs"}]
TEXTS = ["Sea ice\nradar", "graphs"]


class Pipe(BytesIO):
    def seekable(self) -> bool:
        return False


def parquet(rows: list[dict[str, str | None]] = ROWS) -> bytes:  # type: ignore[assignment]
    out = BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out)
    return out.getvalue()


def jsonl() -> bytes:
    return "".join(json.dumps(row) + "\n" for row in ROWS).encode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files = {
        "a.parquet": parquet(),
        "b.jsonl": jsonl(),
        "c.jsonl.gz": gzip.compress(jsonl()),
        "d.ndjson.xz": lzma.compress(jsonl()),
        "e.parquet.gz": gzip.compress(parquet()),
        ".hidden.jsonl": jsonl(),
        "picture.png": b"\x89PNG",
    }
    (tmp_path / "in").mkdir()
    for name, data in files.items():
        (tmp_path / "in" / name).write_bytes(data)
    return tmp_path / "in"


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_every_form_in_every_place(folder: Path, scheme: str) -> None:
    items = list(read_documents([f"{scheme}{folder}"]))
    assert [item.text for item in items if isinstance(item, InputDocument)] == TEXTS * 5
    assert [item.id for item in items if isinstance(item, InputDocument)] == ["a", "b"] * 5
    assert isinstance(items[0], InputDocument)
    assert items[0].place == f"{scheme}{folder}/a.parquet:1"
    for name in ("a.parquet", "c.jsonl.gz"):
        one = list(read_documents([f"{scheme}{folder}/{name}"]))
        assert [item.text for item in one if isinstance(item, InputDocument)] == TEXTS


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_places_that_are_not_there(tmp_path: Path, scheme: str) -> None:
    place = f"{scheme}{tmp_path}/none.jsonl"
    assert list(read_documents([place])) == [BadDocument(place, "There is no such file or folder.")]


def test_a_scheme_that_nobody_knows() -> None:
    (item,) = read_documents(["nonsense://bucket/a.jsonl"])
    assert isinstance(item, BadDocument)
    assert "cannot be reached" in item.message


def test_parquet_on_standard_input(tmp_path: Path) -> None:
    items = list(read_documents(["-"], form="parquet", stdin=Pipe(parquet())))
    assert [item.text for item in items if isinstance(item, InputDocument)] == TEXTS


def spoilt_footer() -> bytes:
    """What the format library says of it has several lines."""
    data = bytearray(parquet())
    data[-60:-20] = b"\xff" * 40
    return bytes(data)


def unknown_type() -> bytes:
    """What pyarrow understands and does not do: integers of less than eight bits."""
    data = bytearray(parquet())
    data[data.index(b"ARROW:schema") + 169] = ord("I")
    return bytes(data)


@pytest.mark.parametrize("data", [b"", b"PAR1", parquet()[:-10], spoilt_footer(), unknown_type(), b"x" * 1000])
def test_damaged_parquet(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.parquet").write_bytes(data)
    (item,) = read_documents([tmp_path / "a.parquet"])
    assert isinstance(item, BadDocument)
    assert "Parquet" in item.message
    assert "\n" not in item.message
    with pytest.raises(InputError, match=r"^[^\n]*(?:Parquet|cannot be opened or read)[^\n]*$"):
        count_rows([tmp_path / "a.parquet"])


def test_parquet_without_text(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet([{"name": "x"}]))
    (item,) = read_documents([tmp_path / "a.parquet"])
    assert isinstance(item, BadDocument)
    assert "its columns: 'name'" in item.message


def test_parquet_has_the_limits_of_the_other_forms(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet([{"text": "x" * 60}, {"text": "short"}]))
    long, short = read_documents([tmp_path / "a.parquet"], limits=Limits(document_bytes=50))
    assert long == BadDocument(f"{tmp_path}/a.parquet:1", "The row is longer than 5e-05 MB; --max-mb raises the limit.")
    assert isinstance(short, InputDocument)


def test_a_new_form_is_a_reader_and_an_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_shout(stream: IO[bytes], name: str, limits: Limits) -> Iterator[InputDocument | BadDocument]:
        yield InputDocument(name, stream.read(limits.document_bytes).decode().upper(), name)

    shout = Form("shout", (".shout",), read_shout, single=True)
    monkeypatch.setitem(FORMS, "shout", shout)
    monkeypatch.setitem(SUFFIXES, ".shout", shout)
    (tmp_path / "a.shout.gz").write_bytes(gzip.compress(b"sea ice"))
    (found,) = read_documents([tmp_path])
    assert isinstance(found, InputDocument)
    assert found.text == "SEA ICE"
    assert list(read_documents(["-"], form="shout", stdin=BytesIO(b"a"))) == [InputDocument("stdin", "A", "stdin")]
    assert count_rows([tmp_path]) == 1


def test_rows_are_counted(folder: Path, tmp_path: Path) -> None:
    assert count_rows([folder]) == 10
    (tmp_path / "x.txt").write_text("one\ntwo")
    assert count_rows([tmp_path / "x.txt", folder / "a.parquet", folder / "picture.png"]) == 3
    with pytest.raises(InputError, match="no such file"):
        count_rows([tmp_path / "none"])


def test_the_key_changes_with_the_files_and_the_settings(folder: Path) -> None:
    key = source_key([folder], {"a": 1})
    assert key == source_key([folder], {"a": 1})
    assert key != source_key([folder], {"a": 2})
    (folder / "b.jsonl").write_text("{}\n")
    assert key != source_key([folder], {"a": 1})
    with pytest.raises(InputError, match="cannot be read"):
        source_key([folder / "none"], {})


def test_found_files_say_what_they_are(folder: Path) -> None:
    found = [
        (source.file.name, source.form) for source in find_sources([folder]) if not isinstance(source, BadDocument)
    ]
    assert [form.name for _, form in found if form] == ["parquet", "jsonl", "jsonl", "jsonl", "parquet"]


def test_objects(folder: Path, tmp_path: Path) -> None:
    assert list(read_objects(folder / "c.jsonl.gz")) == [(1, ROWS[0]), (2, ROWS[1])]
    path = tmp_path / "x.jsonl"
    for data, said in (
        (b'\n{"a": 1}\n[1]\n', "x.jsonl, line 3: It is JSON, but not an object"),
        (b'{"a": 1}\n{', "x.jsonl, line 2: It is not JSON"),
        (b'{"a": 1}\n\xff\n', "x.jsonl, line 2: It is not UTF-8"),
        (b'{"a": "' + b"x" * 100 + b'"}\n', r"x.jsonl, line 1: The line is longer than 5e-05 MB\."),
    ):
        path.write_bytes(data)
        with pytest.raises(InputError, match=said):
            list(read_objects(path, Limits(document_bytes=50)))
    (tmp_path / "y.jsonl.gz").write_bytes(gzip.compress(jsonl())[:30])
    for name in ("y.jsonl.gz", "none.jsonl"):
        with pytest.raises(InputError, match=name):
            list(read_objects(tmp_path / name))
    path.write_bytes(b"a\n\nb")
    assert list(numbered_lines(path)) == [(1, "a\n"), (2, "\n"), (3, "b")]

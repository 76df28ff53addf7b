"""JSON Lines and CSV: fields, broken lines among good ones, limits."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import time
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erukg.io import FORMS, BadDocument, InputDocument, Limits, read_documents


def read(path: Path, limit: int = 1_000_000) -> list[InputDocument | BadDocument]:
    return list(read_documents([path], limits=Limits(document_bytes=limit)))


def test_jsonl_fields(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    lines = [
        {"id": "x", "title": "Sea ice", "abstract": "Radar sees it."},
        {"text": "Only text"},
        {"id": 7, "title": "T", "text": "Body", "year": 2020},
        {"id": None, "title": "", "abstract": "Alone"},
    ]
    path.write_text("\n\n".join(map(json.dumps, lines)))
    assert read(path) == [
        InputDocument("x", "Sea ice\nRadar sees it.", f"{path}:1"),
        InputDocument(f"{path}:3", "Only text", f"{path}:3"),
        InputDocument("7", "T\nBody", f"{path}:5"),
        InputDocument(f"{path}:7", "Alone", f"{path}:7"),
    ]


BROKEN = [
    (b'{"text": "cut', "not JSON"),
    (b"[1, 2]", "not an object"),
    (b"{}", "none of the fields"),
    (b'{"body": "x"}', "'body'"),
    (b'{"text": 5}', "'text' must be a string, not a number"),
    (b'{"text": ["a"]}', "not a list"),
    (b'{"text": "a", "id": [1]}', "'id'"),
    (b'{"text": "na\xefve"}', "at offset "),
    (b"[" * 100_000, "nested too deeply"),
    (b'{"text": ' + b"9" * 6000 + b"}", "not JSON"),
    (b'{"text": "' + b"x" * 200_000 + b'"}', "longer than"),
    (b"\x00\x00\x00", "not JSON"),
]


@pytest.mark.parametrize(("line", "said"), BROKEN)
def test_one_broken_line_among_good_ones(tmp_path: Path, line: bytes, said: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "a"}\n' + line + b'\n{"text": "b"}\n')
    first, bad, last = read(path, limit=150_000)
    assert isinstance(first, InputDocument)
    assert first.text == "a"
    assert isinstance(last, InputDocument)
    assert (last.text, last.place) == ("b", f"{path}:3")
    assert isinstance(bad, BadDocument)
    assert bad.place == f"{path}:2"
    assert said in bad.message


def test_bad_byte_offset_counts_from_the_start_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    data = b'\xef\xbb\xbf{"text": "a"}\n{"text": "na\xefve"}\n'
    path.write_bytes(data)
    good, bad = read(path)
    assert isinstance(good, InputDocument)
    assert isinstance(bad, BadDocument)
    assert f"offset {data.rindex(0xEF)}" in bad.message


def test_a_line_without_end_gives_the_file_up(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "a"}\n' + b"x" * 1_000_000 + b"\n" + b'{"text": "b"}\n'))
    good, bad = read(path, limit=1000)
    assert isinstance(good, InputDocument)
    assert isinstance(bad, BadDocument)
    assert "rest is not read" in bad.message


@pytest.mark.parametrize("suffix", [".jsonl.gz", ".jsonl.xz", ".ndjson"])
def test_compressed_lines(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    data = b'{"text": "a"}\n{"text": "b"}'
    path.write_bytes({"gz": gzip.compress(data), "xz": lzma.compress(data)}.get(suffix[-2:], data))
    assert [item.text for item in read(path) if isinstance(item, InputDocument)] == ["a", "b"]


def test_truncated_compressed_lines_keep_what_came_before(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    whole = gzip.compress(b"".join(json.dumps({"text": f"document {i}"}).encode() + b"\n" for i in range(5000)))
    path.write_bytes(whole[: len(whole) // 2])
    items = read(path)
    assert len(items) > 2
    assert isinstance(items[-1], BadDocument)
    assert all(isinstance(item, InputDocument) for item in items[:-2])


def test_gzip_data_under_a_plain_name_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(gzip.compress(b'{"text": "a"}\n'))
    (bad,) = read(path)
    assert isinstance(bad, BadDocument)
    assert "gzip" in bad.message


def test_utf16_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"text": "naïve"}\n{"text": "b"}\n'.encode("utf-16"))
    assert [item.text for item in read(path) if isinstance(item, InputDocument)] == ["naïve", "b"]
    path.write_bytes('{"text": "naïve"}\n'.encode("utf-16") + b"x")
    assert isinstance(read(path)[-1], BadDocument)


def test_lone_surrogates_pass_through(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "half \\ud800 pair"}\n')
    (item,) = read(path)
    assert isinstance(item, InputDocument)
    assert "\ud800" in item.text


def test_empty_and_blank_files_hold_no_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for data in (b"", b"\n\n  \n", b"\xef\xbb\xbf", b"\n"):
        path.write_bytes(data)
        assert read(path) == []


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"])), max_size=8), st.booleans())
def test_lines_of_any_text_come_back(texts: list[str], mark: bool) -> None:
    data = "".join(json.dumps({"text": t}, ensure_ascii=False) + "\n" for t in texts).encode()
    stream = BytesIO(b"\xef\xbb\xbf" * mark + data)
    items = list(read_documents(["-"], form="jsonl", stdin=stream))
    assert [item.text for item in items if isinstance(item, InputDocument)] == texts


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv(tmp_path: Path, delimiter: str) -> None:
    path = tmp_path / "a.csv"
    with path.open("w", newline="", encoding="utf-8-sig") as file:
        rows = csv.writer(file, delimiter=delimiter)
        rows.writerow(["ID", "Year", "Title", "Abstract"])
        rows.writerow(["a", "1999", "Sea ice", 'Radar, "passive";\nand active'])
        rows.writerow([])
        rows.writerow(["", "2001", "Alone", ""])
        rows.writerow(["c", "2002", "Short"])
        rows.writerow(["d", "2002", "Long", "row", "here"])
        rows.writerow(["e", "", "Big " + "x" * 200_000, ""])
    limit = csv.field_size_limit()
    one, two, three, bad, big = read(path)
    assert one == InputDocument("a", 'Sea ice\nRadar, "passive";\nand active', f"{path}:2")
    assert two == InputDocument(f"{path}:5", "Alone", f"{path}:5")
    assert isinstance(three, InputDocument)
    assert three.text == "Short"
    assert isinstance(bad, BadDocument)
    assert "5 cells" in bad.message
    assert bad.place == f"{path}:7"
    assert isinstance(big, InputDocument)
    assert len(big.text) == 200_004
    assert csv.field_size_limit() == limit


def test_csv_row_that_never_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,text\n1,"open\n' + "more\n" * 1000 + "2,fine\n")
    items = read(path, limit=2000)
    assert isinstance(items[0], BadDocument)
    assert "quotation mark" in items[0].message
    assert items[-1] == InputDocument("2", "fine", f"{path}:1003")


def test_csv_bad_bytes_spoil_one_row(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"id,text\n1,na\xefve\n2,fine\n")
    bad, good = read(path)
    assert isinstance(bad, BadDocument)
    assert bad.place == f"{path}:2"
    assert isinstance(good, InputDocument)


@pytest.mark.parametrize("data", [b"", b"name,year\na,1\n", b"\x00\x01\x02", b"\xff\xfe", b"id,te\rxt\n1,a\n"])
def test_csv_without_the_columns(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(data)
    (bad,) = read(path)
    assert isinstance(bad, BadDocument)
    assert "first line" in bad.message


class Counted(io.BufferedReader):
    """A buffered stream that counts how often it is asked for a line."""

    asked = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        self.asked += 1
        return super().readline(-1 if size is None else size)


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b" \t\n"])
@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_blank_lines_are_passed_over_many_at_a_time(form: str, blank: bytes) -> None:
    rows = [b'{"text": "a b"}\n', b"text\n"][form == "csv"], [b'{"text": "c d"}\n', b'"c\n\n\nd"\n'][form == "csv"]
    stream = Counted(BytesIO(rows[0] + blank * 100_000 + rows[1] + blank * 3 + rows[1]), 8192)
    items = list(FORMS[form].read(stream, "x", Limits()))
    assert all(isinstance(item, InputDocument) for item in items)
    last = 100_002 + (3 if form == "csv" else 0)
    assert [item.place for item in items[-2:]] == ["x:100002", f"x:{last + 4}"]
    assert items[-1].text == ("c\n\n\nd" if form == "csv" else "c d")  # type: ignore[union-attr]
    assert stream.asked < 100


def test_a_small_file_of_very_many_blank_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n" * 5_000_000 + b'{"text": "a b"}\n\xff\n' + b"\n" * 5_000_000))
    start = time.process_time()
    good, bad = read(path)
    assert time.process_time() - start < 3
    assert (good.place, bad.place) == (f"{path}:5000001", f"{path}:5000002")
    assert isinstance(bad, BadDocument)
    assert "at offset 5000016" in bad.message

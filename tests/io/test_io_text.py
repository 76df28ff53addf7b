"""Text and Markdown files: encodings, binary data, limits."""

from __future__ import annotations

import codecs
import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erukg.io import BadDocument, InputDocument, Limits, read_documents
from erukg.io.plain import blank_markdown


def read_one(path: Path, **options: object) -> InputDocument | BadDocument:
    items = list(read_documents([path], **options))  # type: ignore[arg-type]
    assert len(items) == 1
    return items[0]


def refusal(path: Path, **options: object) -> str:
    item = read_one(path, **options)
    assert isinstance(item, BadDocument)
    assert item.place.startswith(str(path))
    assert "\n" not in item.message
    assert item.message.endswith(".")
    return item.message


def test_text_keeps_every_character(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("Sea ice\r\nÅrsvariation – β\n".encode())
    assert read_one(path) == InputDocument(str(path), "Sea ice\r\nÅrsvariation – β\n", str(path))


def test_empty_file_is_an_empty_document(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.touch()
    assert read_one(path) == InputDocument(str(path), "", str(path))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("naïve search".encode(encoding))
    item = read_one(path)
    assert isinstance(item, InputDocument)
    assert item.text == "naïve search"


def test_big_endian_utf16(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(codecs.BOM_UTF16_BE + "ice".encode("utf-16-be"))
    item = read_one(path)
    assert isinstance(item, InputDocument)
    assert item.text == "ice"


def test_other_encodings_are_refused_with_the_offset(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("plain, then naïve".encode("latin-1"))
    message = refusal(path)
    assert "byte 0xEF at offset 14" in message
    assert "UTF-8" in message


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x7fELF\x02\x01\x01" + bytes(200), "a program"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "PNG"),
        (b"PK\x03\x04" + bytes(50), "ZIP"),
        (b"%PDF-1.7 and so on", "PDF"),
        (bytes(1000), "binary"),
        (bytes(range(128)) * 20, "binary"),
        (b"\x00\x01\x80\xff" * 100, "binary"),
    ],
)
def test_binary_data_named_txt(tmp_path: Path, data: bytes, what: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    assert what in refusal(path)


def test_a_few_null_bytes_are_no_reason_to_refuse(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"Peer-to-peer\0 networks search for files in a distributed index.")
    item = read_one(path)
    assert isinstance(item, InputDocument)
    assert "\0" in item.text


def test_too_large(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("x" * 1001)
    assert "larger than 0.001 MB" in refusal(path, limits=Limits(document_bytes=1000))


def test_compressed_bomb_is_read_no_further_than_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b" " * 30_000_000, 9))
    assert path.stat().st_size < 50_000
    assert "larger than 20 MB" in refusal(path)


def test_damaged_gzip(tmp_path: Path) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"sea ice" * 1000)[:-20])
    assert "damaged" in refusal(path)
    path.write_bytes(b"not gzip at all")
    refusal(path)


def test_missing_unknown_and_unreadable(tmp_path: Path) -> None:
    assert refusal(tmp_path / "a.txt") == "There is no such file or folder."
    assert refusal(tmp_path / "a.xyz") == "There is no such file or folder."
    other = tmp_path / "a.xyz"
    other.write_text("sea ice")
    assert "--input-format" in refusal(other)
    item = read_one(other, form="text")
    assert isinstance(item, InputDocument)
    assert read_one(Path("bad\0name.txt"))
    assert read_one(Path("n" * 5000 + ".txt"))


def test_markdown_front_matter_code_and_targets_are_blanked_in_place() -> None:
    text = (
        '---\ntitle: x\n---\n# Sea ice\n\nSee [the radar](https://example.org/a_(b) "t") data.\n'
        "<!-- hidden -->\n```python\nimport ice\n```\nEnd.\n[1]: https://example.org\n"
    )
    out = blank_markdown(text)
    assert len(out) == len(text)
    assert out.split() == ["#", "Sea", "ice", "See", "[the", "radar]", "data.", "End."]
    assert out.index("radar") == text.index("radar")
    assert out.count("\n") == text.count("\n")


def test_markdown_without_front_matter_keeps_its_rules() -> None:
    assert blank_markdown("Sea ice\n---\nRadar\n---\n") == "Sea ice\n---\nRadar\n---\n"


@pytest.mark.parametrize("piece", ["<!--", "```\n", "](", "](a(", "[a]:", "---\n", "](x) "])
def test_markdown_is_linear_in_hostile_text(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    assert len(blank_markdown(text)) == len(text)


@given(st.text())
def test_markdown_only_ever_blanks(text: str) -> None:
    out = blank_markdown(text)
    assert len(out) == len(text)
    assert all(a == b or a == " " for a, b in zip(out, text, strict=True))

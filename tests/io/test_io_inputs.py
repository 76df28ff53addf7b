"""Folders, standard input, PDF files and lists of phrases."""

from __future__ import annotations

import os
import socket
from io import BytesIO
from pathlib import Path

import pypdf
import pytest
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

from erukg.errors import InputError
from erukg.io import BadDocument, InputDocument, Limits, read_documents, read_phrases


def write_pdf(path: Path, pages: list[str], password: str | None = None) -> Path:
    writer = pypdf.PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in pages:
        page = writer.add_blank_page(612, 792)
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode() if text else b"")
        page[NameObject("/Contents")] = writer._add_object(content)
        page[NameObject("/Resources")] = DictionaryObject(
            {NameObject("/Font"): DictionaryObject({NameObject("/F1"): font})}
        )
    if password is not None:
        writer.encrypt(password, algorithm="RC4-128")
    writer.write(path)
    return path


def read_one(path: Path, **limits: float) -> InputDocument | BadDocument:
    (item,) = read_documents([path], limits=Limits(**limits))  # type: ignore[arg-type]
    return item


def test_pdf(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", ["Sea ice from radar", "Second page"])
    item = read_one(path)
    assert isinstance(item, InputDocument)
    assert item.text.split() == ["Sea", "ice", "from", "radar", "Second", "page"]
    assert item.id == str(path)


@pytest.mark.parametrize(
    ("pages", "password", "limits", "said"),
    [
        (["Secret"], "open sesame", {}, "encrypted"),
        (["", ""], None, {}, "no text"),
        (["a", "b", "c"], None, {"pdf_pages": 2}, "3 pages"),
        (["much text here"], None, {"document_bytes": 5}, "text is larger"),
        (["a"], None, {"pdf_bytes": 100}, "larger than"),
        (["a"], None, {"pdf_seconds": 0.001}, "within 0.001 s"),
        (["a"], None, {"pdf_memory": 30_000_000}, "The PDF"),
    ],
)
def test_pdf_refusals(
    tmp_path: Path, pages: list[str], password: str | None, limits: dict[str, float], said: str
) -> None:
    item = read_one(write_pdf(tmp_path / "a.pdf", pages, password), **limits)
    assert isinstance(item, BadDocument)
    assert said in item.message


def test_pdf_with_only_an_owner_password_opens(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", ["Sea ice"])
    writer = pypdf.PdfWriter(clone_from=path)
    writer.encrypt("", "owner", algorithm="RC4-128")
    writer.write(path)
    assert isinstance(read_one(path), InputDocument)


def test_damaged_pdf(tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "a.pdf", ["Sea ice"])
    whole = path.read_bytes()
    for data in (b"", b"hello", b"%PDF-1.4\n", whole[:100], b"%PDF-1.7\n" + os.urandom(3000)):
        path.write_bytes(data)
        item = read_one(path)
        assert isinstance(item, BadDocument), data[:20]
        assert item.message.endswith(".")


def test_folder(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.md").write_text("two")
    (tmp_path / "b" / "up").symlink_to(tmp_path)
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "c.jsonl").write_text('{"text": "three"}\n')
    (tmp_path / ".hidden.txt").write_text("no")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    with socket.socket(socket.AF_UNIX) as server:
        os_path = os.path.relpath(tmp_path / "s.txt")
        server.bind(os_path if len(os_path) < 100 else str(tmp_path / "s.txt"))
        skipped: dict[str, str] = {}
        items = list(read_documents([tmp_path], skip=lambda path, why: skipped.update({path.name: why})))
    assert [item.text for item in items if isinstance(item, InputDocument)] == ["one", "two", "three"]
    assert not [item for item in items if isinstance(item, BadDocument)]
    assert skipped.keys() == {".hidden.txt", "picture.png", "gone.txt", "up", "pipe.txt", "s.txt"}
    assert "already read" in skipped["up"]


def test_empty_folder(tmp_path: Path) -> None:
    assert list(read_documents([tmp_path])) == []


def test_very_deep_folder(tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(300):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "a.txt").write_text("deep")
    assert [item.text for item in read_documents([tmp_path]) if isinstance(item, InputDocument)] == ["deep"]


def test_stdin_is_text_unless_told(tmp_path: Path) -> None:
    assert list(read_documents(["-"], stdin=BytesIO(b"Sea ice"))) == [InputDocument("stdin", "Sea ice", "stdin")]
    lines = BytesIO(b'{"text": "a"}\n')
    assert list(read_documents(["-"], form="jsonl", stdin=lines)) == [InputDocument("stdin:1", "a", "stdin:1")]
    twice = list(read_documents(["-", "-"], stdin=BytesIO(b"")))
    assert isinstance(twice[1], BadDocument)


def test_unknown_form_is_refused() -> None:
    with pytest.raises(InputError, match="known forms: text"):
        list(read_documents(["-"], form="xyzzy"))


def test_reading_is_lazy(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one")
    items = read_documents([tmp_path / "a.txt", tmp_path / "b.txt"])
    assert next(items) == InputDocument(str(tmp_path / "a.txt"), "one", str(tmp_path / "a.txt"))
    (tmp_path / "b.txt").write_text("written later")
    assert isinstance(next(items), InputDocument)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("p.txt", b"\xef\xbb\xbfsea ice\r\n\n  radar image \n"),
        ("p", b"sea ice\nradar image"),
        ("p.csv", b"id;Phrase\n1;sea ice\n2;\n3;radar image\n"),
        ("p.jsonl", b'"sea ice"\n\n{"phrase": "radar image", "id": 4}\n'),
    ],
)
def test_phrase_lists(tmp_path: Path, name: str, data: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert read_phrases(path) == ["sea ice", "radar image"]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("p.txt", b"", "no phrase"),
        ("p.txt", b"a\nna\xefve\n", r"p\.txt, line 2: .*offset 4"),
        ("p.csv", b"id,name\n1,a\n", "column 'phrase'"),
        ("p.jsonl", b'"a"\n{"x": 1}\n', r"p\.jsonl, line 2"),
        ("p.jsonl", b"{\n", r"p\.jsonl, line 1: It is not JSON"),
        ("missing.txt", None, "no such file"),
    ],
)
def test_bad_phrase_lists(tmp_path: Path, name: str, data: bytes | None, said: str) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError, match=said):
        read_phrases(path)

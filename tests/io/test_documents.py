"""HTML, Word, OpenDocument, PowerPoint and EPUB, by the real package: good, broken, hostile and misnamed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from doors import document_samples as samples
from erukg.errors import InputError
from erukg.io import BadDocument, InputDocument, Limits, find_form, read_documents
from erukg.io.extraction import KINDS, kind_of_document, parse_document

# What all of the samples say, and nothing of what stands around it.
TEXT = "\n\n".join((samples.TITLE, *samples.PARAGRAPHS))
ENTITIES = (
    '<!DOCTYPE r [<!ENTITY a "0123456789"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">'
    '<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;&c;&c;">'
    '<!ENTITY e "&d;&d;&d;&d;&d;&d;&d;&d;&d;&d;"><!ENTITY f "&e;&e;&e;&e;&e;&e;&e;&e;&e;&e;">'
    '<!ENTITY g "&f;&f;&f;&f;&f;&f;&f;&f;&f;&f;"><!ENTITY x SYSTEM "file://{secret}">]>'
)


@pytest.mark.parametrize("kind", samples.MAKERS)
def test_what_people_read_is_read(tmp_path: Path, kind: str) -> None:
    data = samples.MAKERS[kind]()
    assert kind_of_document(data) == kind
    path = tmp_path / f"article.{kind}"
    path.write_bytes(data)
    (item,) = read_documents([path])
    assert item == InputDocument(str(path), TEXT, str(path))
    assert isinstance(item, InputDocument)
    assert item.extracted
    assert item.title == {"html": f"{samples.TITLE} | Weekly", "epub": samples.TITLE}.get(kind, "")


def test_the_encoding_that_a_page_declares() -> None:
    page = samples.html("Café culture", encoding="iso-8859-1")
    assert parse_document(page, Limits(), "html").text.endswith("Café culture")


def test_a_book_begins_with_its_title() -> None:
    assert (
        parse_document(samples.epub("Only one chapter."), Limits(), "epub").text
        == f"{samples.TITLE}\n\nOnly one chapter."
    )


@pytest.mark.parametrize(
    ("name", "make", "said"),
    [
        ("a.docx", samples.odt, "It is not a Word document (.docx), whatever its name says, but an OpenDocument text"),
        ("a.html", samples.docx, "It is not an HTML page, whatever its name says, but a Word document"),
        ("a.epub", lambda: b"%PDF-1.4", "but a PDF; give it its proper ending."),
        ("a.pptx", lambda: b"plain words", "It is not a PowerPoint presentation (.pptx), whatever its name says."),
        (
            "a.docx",
            lambda: b"\xd0\xcf\x11\xe0" + bytes(2000),
            "but an older or encrypted Office document; save it anew",
        ),
        ("a.html", lambda: os.urandom(3000) + b"\0", "It is not an HTML page"),
        ("a.odt", lambda: b"", "It is empty."),
        ("a.docx", lambda: samples.docx()[:900], "The file is damaged and cannot be read"),
        ("a.html", lambda: b"<html><script>1</script></html>", "The file holds no text."),
        ("a.docx", lambda: samples.packed({"word/document.xml": b" " * 60_000_000}), "unpacks to more than"),
        ("a.docx", lambda: samples.docx("ice " * 300_000), "The file"),
    ],
)
def test_bad_files_get_a_sentence(tmp_path: Path, name: str, make: Callable[[], bytes], said: str) -> None:
    (tmp_path / name).write_bytes(make())
    (item,) = read_documents([tmp_path / name], limits=Limits(document_bytes=1_000_000))
    assert isinstance(item, BadDocument)
    assert said in item.message
    assert item.message.endswith(".")


def test_entities_are_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the password")
    page = samples.docx("Here: ENTITY", before=ENTITIES.format(secret=secret), written=("ENTITY", "&x; &g;"))
    try:
        text = parse_document(page, Limits(), "docx").text
    except InputError:
        return
    assert "password" not in text
    assert len(text) < 10_000


def test_limits() -> None:
    page = samples.html()
    with pytest.raises(InputError, match=r"larger than 5e-05 MB"):
        parse_document(page, Limits(pdf_bytes=50), "html")
    with pytest.raises(InputError, match=r"could not be parsed within 0.001 s"):
        parse_document(page, Limits(pdf_seconds=0.001), "html")
    with pytest.raises(InputError, match=r"memory"):
        parse_document(samples.docx(), Limits(pdf_memory=30_000_000), "docx")


def test_every_kind_is_a_form() -> None:
    for kind in KINDS:
        form = find_form(f"a.{kind}.gz")
        assert form is not None
        assert (form.name, form.single) == (kind, True)

"""Documents that are not text: PDF, HTML, Word, OpenDocument, PowerPoint and EPUB.

They are parsed in a process of their own, because a damaged or hostile file can take any time and any memory.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from typing import IO

from erukg.errors import InputError, require
from erukg.io.items import InputDocument, Items, Limits
from erukg.io.streams import megabytes

__all__ = ["KINDS", "DocumentKind", "ExtractedText", "kind_of_document", "parse_document", "reader_of"]

_HEAD = 4096
_OFFICE = "application/vnd.openxmlformats-officedocument"
_OPEN = "application/vnd.oasis.opendocument"


@dataclass(frozen=True, slots=True)
class DocumentKind:
    """A kind of document: what people call it, its media type, and the package and extra that read it, if any does."""

    name: str
    called: str
    media_type: str
    package: str | None = "xberg"
    extra: str = "documents"

    def check_installed(self) -> None:
        if self.package is not None:
            require(self.package, self.extra, f"Reading {self.called}")


KINDS = {
    kind.name: kind
    for kind in (
        DocumentKind("pdf", "a PDF", "application/pdf", "pypdf", "pdf"),
        DocumentKind("html", "an HTML page", "text/html", None),
        DocumentKind("docx", "a Word document (.docx)", f"{_OFFICE}.wordprocessingml.document"),
        DocumentKind("odt", "an OpenDocument text (.odt)", f"{_OPEN}.text"),
        DocumentKind("pptx", "a PowerPoint presentation (.pptx)", f"{_OFFICE}.presentationml.presentation"),
        DocumentKind("epub", "an EPUB book", "application/epub+zip"),
    )
}
# The names of parts lie unpacked in a packed file, and so does the type that OpenDocument and EPUB begin with.
_PARTS = {"docx": b"word/document.xml", "pptx": b"ppt/presentation.xml"}
_HTML = (b"<!doctype html", b"<html", b"<head", b"<body", b"<?xml")


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """The text of a document; its title where the file tells one; how many pages it has, 0 where it has none."""

    text: str
    pages: int = 0
    title: str = ""


def kind_of_document(data: bytes) -> str | None:
    """What the bytes of a file are, a key of `KINDS`, whatever its name says; None for anything else."""
    if b"%PDF-" in data[:1024]:
        return "pdf"
    if data.startswith(b"PK\x03\x04"):
        for name in ("odt", "epub"):
            if b"mimetype" + KINDS[name].media_type.encode() in data[:_HEAD]:
                return name
        return next((name for name, part in _PARTS.items() if part in data), None)
    head = data[:_HEAD].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if head.startswith(b"<!--"):
        head = head.partition(b"-->")[2].lstrip()
    return "html" if head.startswith(_HTML) and b"<" in head else None


def reader_of(kind: DocumentKind) -> partial[Items]:
    """What reads files of this kind, each as one document; refused when encrypted, without text or over a limit."""
    return partial(_read, kind=kind)


def _read(stream: IO[bytes], name: str, limits: Limits, *, kind: DocumentKind) -> Items:
    kind.check_installed()
    found = parse_document(stream.read(limits.pdf_bytes + 1), limits, kind.name)
    yield InputDocument(name, found.text, name, {"title": found.title} if found.title else None, extracted=True)


def parse_document(data: bytes, limits: Limits, kind: str) -> ExtractedText:
    """The text of a document of this kind, from a process that is ended when it takes too long; raises InputError."""
    known = KINDS[kind]
    known.check_installed()
    what = "PDF" if kind == "pdf" else "file"
    if len(data) > limits.pdf_bytes:
        raise InputError(f"The {what} is larger than {megabytes(limits.pdf_bytes)}; split it into smaller files.")
    if not data:
        raise InputError("It is empty.")
    found = kind_of_document(data)
    # Any text may be HTML, whatever it begins with; what is known to be something else is not.
    if found != kind and (kind != "html" or found is not None or b"\0" in data[:_HEAD]):
        raise InputError(f"It is not {known.called}, whatever its name says{_instead(data, found)}.")
    # -P keeps modules lying in the current folder from being imported by the child.
    numbers = (limits.pdf_pages, limits.document_bytes, int(limits.pdf_seconds) + 1, limits.pdf_memory)
    command = [sys.executable, "-P", "-m", "erukg.io.extraction_worker", known.media_type, *map(str, numbers)]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=limits.pdf_seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise InputError(
            f"The {what} could not be parsed within {limits.pdf_seconds:g} s; split it, or raise the limit."
        ) from error
    try:
        answer = json.loads(done.stdout)
    except ValueError as error:
        raise InputError(f"The {what} is damaged, or needs more memory than is allowed to parse.") from error
    if "error" in answer:
        raise InputError(str(answer["error"]))
    return ExtractedText(str(answer["text"]), int(answer["pages"]), str(answer.get("title", "")))


def _instead(data: bytes, found: str | None) -> str:
    if found is not None:
        return f", but {KINDS[found].called}; give it its proper ending"
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        return ", but an older or encrypted Office document; save it anew, without a password"
    return ""

"""PDF, parsed in a process of its own, because a damaged or hostile PDF can take any time and any memory."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import IO

from erukg.errors import InputError, require
from erukg.io.items import InputDocument, Items, Limits
from erukg.io.streams import megabytes

__all__ = ["PdfText", "parse_pdf", "read_pdf"]


@dataclass(frozen=True, slots=True)
class PdfText:
    """The text of all pages, and how many there are."""

    text: str
    pages: int


def read_pdf(stream: IO[bytes], name: str, limits: Limits) -> Items:
    """The text of all pages as one document; refused when encrypted, without text, or over a limit."""
    yield InputDocument(name, parse_pdf(stream.read(limits.pdf_bytes + 1), limits).text, name)


def parse_pdf(data: bytes, limits: Limits) -> PdfText:
    """The text of a PDF, from a process that is ended when it takes too long; raises InputError as `read_pdf`."""
    require("pypdf", "pdf", "Reading PDF files")
    if len(data) > limits.pdf_bytes:
        raise InputError(f"The PDF is larger than {megabytes(limits.pdf_bytes)}; split it into smaller files.")
    if b"%PDF-" not in data[:1024]:
        raise InputError("It is empty." if not data else "It is not a PDF, whatever its name says.")
    # -P keeps modules lying in the current folder from being imported by the child.
    numbers = (limits.pdf_pages, limits.document_bytes, int(limits.pdf_seconds) + 1, limits.pdf_memory)
    command = [sys.executable, "-P", "-m", "erukg.io.pdf_worker", *map(str, numbers)]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=limits.pdf_seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise InputError(
            f"The PDF could not be parsed within {limits.pdf_seconds:g} s; split it, or raise the limit."
        ) from error
    try:
        answer = json.loads(done.stdout)
    except ValueError as error:
        raise InputError("The PDF is damaged, or needs more memory than is allowed to parse.") from error
    if "error" in answer:
        raise InputError(str(answer["error"]))
    return PdfText(str(answer["text"]), int(answer["pages"]))

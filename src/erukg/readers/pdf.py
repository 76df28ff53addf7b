"""PDF, parsed in a process of its own, because a damaged or hostile PDF can take any time and any memory."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import IO

from erukg.errors import InputError, require
from erukg.readers.items import InputDocument, Items, Limits
from erukg.readers.streams import megabytes

__all__ = ["read_pdf"]


def read_pdf(stream: IO[bytes], name: str, limits: Limits) -> Items:
    """The text of all pages as one document; refused when encrypted, without text, or over a limit."""
    require("pypdf", "pdf", "Reading PDF files")
    data = stream.read(limits.pdf_bytes + 1)
    if len(data) > limits.pdf_bytes:
        raise InputError(f"The PDF is larger than {megabytes(limits.pdf_bytes)}; split it into smaller files.")
    if b"%PDF-" not in data[:1024]:
        raise InputError("It is empty." if not data else "It is not a PDF, whatever its name says.")
    yield InputDocument(name, _parse(data, limits), name)


def _parse(data: bytes, limits: Limits) -> str:
    # -P keeps modules lying in the current folder from being imported by the child.
    numbers = (limits.pdf_pages, limits.document_bytes, int(limits.pdf_seconds) + 1, limits.pdf_memory)
    command = [sys.executable, "-P", "-m", "erukg.readers.pdf_worker", *map(str, numbers)]
    try:
        done = subprocess.run(command, input=data, capture_output=True, timeout=limits.pdf_seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise InputError(
            f"It could not be parsed within {limits.pdf_seconds:g} s; --max-pdf-seconds raises the limit."
        ) from error
    try:
        answer = json.loads(done.stdout)
    except ValueError as error:
        raise InputError("The PDF is damaged, or needs more memory than is allowed to parse.") from error
    if "error" in answer:
        raise InputError(str(answer["error"]))
    return str(answer["text"])

"""What readers yield, and how much they are willing to swallow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from erukg.core.inputs import BadDocument, InputDocument

__all__ = ["BadDocument", "InputDocument", "Item", "Items", "Limits"]


Item: TypeAlias = InputDocument | BadDocument
Items: TypeAlias = Iterator[Item]


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest input a reader accepts, so that a hostile or mistaken file costs bounded memory and time.

    document_bytes  of one document: a text file, a line of JSON, a row of CSV, all after decompression
    pdf_bytes       of a PDF file
    pdf_pages       of a PDF file
    pdf_seconds     spent on one PDF file
    pdf_memory      bytes of address space for the process that parses it (where the system can limit that)
    """

    document_bytes: int = 20_000_000
    pdf_bytes: int = 200_000_000
    pdf_pages: int = 2_000
    pdf_seconds: float = 60.0
    pdf_memory: int = 3_000_000_000

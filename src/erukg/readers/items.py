"""What readers yield, and how much they are willing to swallow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["BadDocument", "InputDocument", "Item", "Items", "Limits"]


@dataclass(frozen=True, slots=True)
class InputDocument:
    """A document to work on: its id (the path or `file:line` if it has none), text, and its place.

    `fields` are those of the JSON object or table row that it came from.
    """

    id: str
    text: str
    place: str
    fields: Mapping[str, object] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class BadDocument:
    """A document that cannot be read: where, and one sentence about why and what to do."""

    place: str
    message: str


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

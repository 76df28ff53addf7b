"""What readers yield, and how much they are willing to swallow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from erukg.core.arguments import check_fields
from erukg.core.inputs import TEXT_FIELDS, BadDocument, FieldNames, InputDocument
from erukg.errors import InputError

__all__ = ["BadDocument", "FieldNames", "InputDocument", "Item", "Items", "Limits", "check_columns"]


Item: TypeAlias = InputDocument | BadDocument
Items: TypeAlias = Iterator[Item]


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest input a reader accepts, so that a hostile or mistaken file costs bounded memory and time.

    document_bytes  of one document: a text file, a line of JSON, a row of CSV, all after decompression
    pdf_bytes       of a PDF, HTML, Word, OpenDocument, PowerPoint or EPUB file, and so for all that follow
    pdf_pages       of a PDF file
    pdf_seconds     spent on one such file
    pdf_memory      bytes of address space for the process that parses it (where the system can limit that)
    names           what the fields of JSON, CSV and Parquet are called
    """

    document_bytes: int = 20_000_000
    pdf_bytes: int = 200_000_000
    pdf_pages: int = 2_000
    pdf_seconds: float = 60.0
    pdf_memory: int = 3_000_000_000
    names: FieldNames = field(default_factory=FieldNames)

    def __post_init__(self) -> None:
        check_fields(self)


def check_columns(columns: Sequence[str], names: FieldNames, has: str = "It has") -> None:
    """Refuse a table that lacks a column that was named, or has none of those with text."""
    shown = ", ".join(repr(column[:40]) for column in columns[:8]) or "none"
    given = names.given()
    missing = [name for name in given.values() if name not in columns]
    if missing:
        raise InputError(f"{has} no column '{missing[0]}' (its columns: {shown}).")
    if not {*columns, *given} & set(TEXT_FIELDS):
        raise InputError(
            f"{has} none of the columns 'title', 'abstract' and 'text' (its columns: {shown}); "
            "--text-field says which one has the text."
        )

"""The plain form, for any reference of one's own: product queries, posts, anchor texts, review summaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

from erukg.errors import InputError
from erukg.training.references.base import Library, Paper, Reader, Reference, paper_of
from erukg.training.references.rows import Problems, Row, list_of, parse_rows, text_of, tidy

__all__ = ["Plain"]

_LONGEST_TYPE = 40


class Plain(Reader):
    """Rows {"reference", "document", "negatives"?, "type"?}.

    A document is text, or an object with title and abstract (or text) and maybe an id, or {"id"} of a
    document known from a corpus. Each negative makes one triplet; without any, the rest of a batch serves.
    """

    def references(self, library: Library, problems: Problems, random: Random) -> Iterator[Reference]:
        for triplets in parse_rows(self.files, problems, lambda row: list(_triplets(row, library))):
            yield from triplets


def _triplets(row: Row, library: Library) -> Iterator[Reference]:
    if not (text := text_of(row, "reference")):
        raise InputError("'reference' must be text")
    type_ = text_of(row, "type") or "reference"
    if len(type_) > _LONGEST_TYPE:
        raise InputError(f"'type' must be at most {_LONGEST_TYPE} characters")
    if "document" not in row:
        raise InputError("'document' is missing")
    positive = _document(row["document"], library, "'document'")
    negatives = list_of(row, "negatives")
    for negative in negatives:
        yield Reference(type_, text, positive, _document(negative, library, "a negative"))
    if not negatives:
        yield Reference(type_, text, positive)


def _document(value: object, library: Library, what: str) -> Paper | int:
    if isinstance(value, str):
        if not (text := tidy(value)):
            raise InputError(f"{what} is empty")
        return Paper("", "", text)
    if isinstance(value, Mapping):
        if isinstance(value.get("id"), str) and (number := library.find(value["id"])) is not None:
            return number
        return paper_of(value, what)
    raise InputError(f"{what} must be text or an object")

"""Documents as callers hold them: texts, (id, text) pairs, mappings with title, abstract and text."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import Annotated, Any, TypeAlias

from erukg.core.arguments import check_fields, kind_of
from erukg.core.document import Document
from erukg.errors import InputError

__all__ = [
    "TEXT_FIELDS",
    "BadDocument",
    "FieldNames",
    "InputDocument",
    "Item",
    "Text",
    "as_item",
    "check_items",
    "checked_count",
    "document_from",
    "given_id",
    "is_missing",
    "single_item",
]

TEXT_FIELDS = ("title", "abstract", "text")
_ACCEPTED = "a text, an (id, text) pair, a mapping with 'text', 'title' or 'abstract', or a Document"


@dataclass(frozen=True, slots=True)
class InputDocument:
    """A document to work on.

    id      its own, or where it was read (the path, or `file:line`) if it has none
    text    what is read for keyphrases
    place   where it was read, for messages
    fields  those of the JSON object or table row that it came from
    extracted  whether the text was taken out of a PDF, an HTML page or another file that is not text
    """

    id: str
    text: str
    place: str
    fields: Mapping[str, object] | None = field(default=None, repr=False, compare=False)
    extracted: bool = field(default=False, repr=False, compare=False)

    @property
    def title(self) -> str:
        """The field of that name; empty where there is none."""
        title = self.fields.get("title") if self.fields else None
        return title if isinstance(title, str) else ""


@dataclass(frozen=True, slots=True)
class FieldNames:
    """What the fields `text`, `title` and `id` are called in rows of data; None where they are called just that.

    A name with dots, "meta.title", also leads into objects within the row.
    """

    text: str | None = None
    title: str | None = None
    id: str | None = None

    def __post_init__(self) -> None:
        check_fields(self)

    def given(self) -> dict[str, str]:
        """The fields that go by other names, and these names."""
        named = {"text": self.text, "title": self.title, "id": self.id}
        return {own: name for own, name in named.items() if name is not None and name != own}

    def rename(self, row: Mapping[str, object]) -> Mapping[str, object]:
        """The row with its fields called as everywhere else; raises InputError when it has neither text nor title."""
        given = self.given()
        if not given:
            return row
        # `_id` and `id` are one field: a name for it is a name for both.
        replaced = {*given, *given.values(), *(["_id"] if "id" in given else [])}
        found = {own: value for own, name in given.items() if (value := _lookup(row, name)) is not None}
        renamed = {name: value for name, value in row.items() if name not in replaced} | found
        if not any(renamed.get(name) is not None for name in TEXT_FIELDS):
            wanted = " or ".join(f"'{given[own]}'" for own in ("title", "text") if own in given) or "'text'"
            raise InputError(f"It has no field {wanted} (its fields: {_names(row)}).")
        return renamed


def _lookup(row: Mapping[str, object], name: str) -> object:
    if name in row:
        return row[name]
    head, dot, rest = name.partition(".")
    inner = row.get(head) if dot else None
    return _lookup(inner, rest) if isinstance(inner, Mapping) else None


def _names(fields: Mapping[str, object]) -> str:
    return ", ".join(repr(str(key)[:40]) for key in list(fields)[:8]) or "none"


@dataclass(frozen=True, slots=True)
class BadDocument:
    """A document that cannot be read: where, and one sentence about why and what to do."""

    place: str
    message: str


@dataclass(frozen=True, slots=True)
class Item:
    """What a generator reads of a document: the caller's id, if there is one, and the text."""

    id: str | None
    text: str
    parsed: Document | None = None


Text: TypeAlias = Annotated[
    str | Document | Mapping[str, object] | InputDocument | tuple[object, str], "`as_item` says more of what is none"
]
"""A document as callers hold it."""


def as_item(item: object) -> Item:
    """What an item of a stream stands for; raises InputError, which says what to pass, for what is no document."""
    if isinstance(item, str):
        return Item(None, item)
    if isinstance(item, InputDocument):
        return Item(item.id, item.text)
    if isinstance(item, Document):
        return Item(None, item.text, item)
    if isinstance(item, Item):
        return item
    if isinstance(item, Mapping):
        return Item(given_id(item), text_of(item))
    if isinstance(item, tuple) and len(item) == 2:
        id, text = item
        if isinstance(text, str) and (id is None or _can_be_id(id)):
            return Item(None if id is None else str(id), text)
        raise InputError(f"A pair must be an id and a text, not {kind_of(id)} and {kind_of(text)}.")
    raise InputError(f"A document must be {_ACCEPTED}, not {_named(item)}.")


def single_item(text: object, id: str | int | None) -> Item:
    """A document that comes alone, as an item of a stream; an `id` that is given replaces its own."""
    item = as_item(text)
    return item if id is None else replace(item, id=str(id))


def is_missing(value: object) -> bool:
    """Whether a cell of a table is empty: None, NaN, or what a library of tables has for it."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Real) and math.isnan(value)


def _can_be_id(id: object) -> bool:
    return isinstance(id, str | Integral) and not isinstance(id, bool)


def _named(value: Any) -> str:
    """What a value is that is no document, and what to do where that is plain."""
    if hasattr(value, "columns"):
        return "a data frame; give one column of it, or its rows as dictionaries, to generate_batch"
    if isinstance(value, os.PathLike):
        return "a path; give what the file holds, as erukg.io.read_documents reads it"
    if hasattr(value, "read"):
        return "an open file; give what it holds: file.read()"
    if isinstance(value, bytes | bytearray):
        return "bytes; decode them first, as with .decode('utf-8')"
    if is_missing(value):
        return f"{kind_of(value) if value is None else 'NaN'}, which stands for a missing text"
    if isinstance(value, Iterable):
        return f"{kind_of(value)}; generate_batch takes many documents, and ' '.join(words) makes one text of words"
    return kind_of(value)


def check_items(items: Any) -> Iterable[Any]:
    """The items of a stream; refuses what can be iterated over but was not meant to be."""
    what = ""
    if isinstance(items, str | bytes | InputDocument | Document):
        what = "one document"
    elif isinstance(items, Mapping):
        what = "one mapping"
    elif hasattr(items, "columns"):
        what = "a data frame; give one column of it, or its rows as dictionaries"
    elif isinstance(items, os.PathLike):
        what = "a path; erukg.io.read_documents reads files and folders"
    elif hasattr(items, "read"):
        what = "an open file; give its lines, list(file), or its whole text, [file.read()]"
    elif not isinstance(items, Iterable):
        what = "NaN" if items is not None and is_missing(items) else kind_of(items)
    if what:
        raise InputError(f"Many documents are wanted, a list or another iterable of {_ACCEPTED}; this is {what}.")
    return items  # type: ignore[no-any-return]


def document_from(fields: Mapping[str, object], name: str, number: int) -> InputDocument:
    """A document from its fields, read from row `number` of `name`: its id is its own or else `name:number`."""
    place = f"{name}:{number}"
    text = text_of(fields)
    return InputDocument(given_id(fields) or place, text, place, fields)


def text_of(fields: Mapping[str, object]) -> str:
    """Title, abstract and text, those there are, joined by newlines."""
    parts: list[str] = []
    found = False
    for name in TEXT_FIELDS:
        value = fields.get(name)
        if is_missing(value):
            continue
        if not isinstance(value, str):
            raise InputError(f"Field '{name}' must be a string, not {kind_of(value)}.")
        found = True
        if value:
            parts.append(value)
    if not found:
        raise InputError(f"It has none of the fields 'title', 'abstract' and 'text' (its fields: {_names(fields)}).")
    return "\n".join(parts)


def given_id(fields: Mapping[str, object]) -> str | None:
    """The document's own id: the field `id`, or `_id` as BEIR calls it; None when it has neither."""
    for name in ("id", "_id"):
        given = fields.get(name)
        if is_missing(given) or given == "":
            continue
        if not _can_be_id(given):
            raise InputError(f"Field '{name}' must be a string or a whole number, not {kind_of(given)}.")
        return str(given)
    return None


def checked_count(count: Any, name: str = "top_k", most: int | None = None) -> int:
    """The number of results asked for, if it is one."""
    whole = isinstance(count, Integral) and not isinstance(count, bool)
    if not whole or count < 0 or (most is not None and count > most):
        allowed = "of 0 or more" if most is None else f"from 0 to {most}"
        given = repr(count) if isinstance(count, Real | str) else kind_of(count)
        raise InputError(f"{name} must be a whole number {allowed}, not {given}.")
    return int(count)

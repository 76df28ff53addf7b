"""Documents as callers hold them: texts, (id, text) pairs, mappings with title, abstract and text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from erukg.core.arguments import kind_of
from erukg.core.document import Document
from erukg.errors import InputError

__all__ = [
    "TEXT_FIELDS",
    "BadDocument",
    "InputDocument",
    "Item",
    "as_item",
    "check_items",
    "checked_count",
    "document_from",
    "given_id",
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
    """

    id: str
    text: str
    place: str
    fields: Mapping[str, object] | None = field(default=None, repr=False, compare=False)

    @property
    def title(self) -> str:
        """The field of that name; empty where there is none."""
        title = self.fields.get("title") if self.fields else None
        return title if isinstance(title, str) else ""


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
        if isinstance(text, str) and (id is None or (isinstance(id, str | int) and not isinstance(id, bool))):
            return Item(None if id is None else str(id), text)
        raise InputError(f"A pair must be an id and a text, not {kind_of(id)} and {kind_of(text)}.")
    raise InputError(f"A document must be {_ACCEPTED}, not {kind_of(item)}.")


def single_item(text: object, id: str | None) -> Item:
    """A document that comes alone, as an item of a stream."""
    if isinstance(text, str):
        return as_item((id, text))
    if isinstance(text, Document):
        return Item(id, text.text, text)
    raise InputError(f"A document must be a string or a Document, not {type(text).__name__}.")


def check_items(items: Any) -> Iterable[Any]:
    """The items of a stream; refuses what can be iterated over but was not meant to be."""
    what = ""
    if isinstance(items, str | bytes | InputDocument | Document):
        what = "one document"
    elif isinstance(items, Mapping):
        what = "one mapping"
    elif hasattr(items, "columns"):
        what = "a data frame; give one column of it, or its rows as dictionaries"
    elif not isinstance(items, Iterable):
        what = kind_of(items)
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
        if value is None:
            continue
        if not isinstance(value, str):
            raise InputError(f"Field '{name}' must be a string, not {kind_of(value)}.")
        found = True
        if value:
            parts.append(value)
    if not found:
        names = ", ".join(repr(str(key)[:40]) for key in list(fields)[:8]) or "none"
        raise InputError(f"It has none of the fields 'title', 'abstract' and 'text' (its fields: {names}).")
    return "\n".join(parts)


def given_id(fields: Mapping[str, object]) -> str | None:
    """The document's own id: the field `id`, or `_id` as BEIR calls it; None when it has neither."""
    for name in ("id", "_id"):
        given = fields.get(name)
        if given is None or given == "":
            continue
        if isinstance(given, bool) or not isinstance(given, str | int):
            raise InputError(f"Field '{name}' must be a string or a whole number, not {kind_of(given)}.")
        return str(given)
    return None


def checked_count(count: object, name: str = "top_k", most: int | None = None) -> int:
    """The number of results asked for, if it is one."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 0 or (most is not None and count > most):
        allowed = "of 0 or more" if most is None else f"from 0 to {most}"
        raise InputError(f"{name} must be a whole number {allowed}, not {count!r}.")
    return count

"""Tags of documents: subjects that people gave them, each a URI with a label, or a word that is both.

A segment keeps a table of its distinct tags and, for every document, the rows of the table that it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from erukg.collection.arrays import ArrayFile, ArrayFileWriter, PackedLists, damaged, join, offsets_of
from erukg.errors import InputError

__all__ = ["Tag", "TagCounts", "TaggedRows", "check_field", "checked_tags", "field_tags", "merge_tags"]

#: Tags that a document may have, and characters of a URI or a label.
MOST_TAGS, LONGEST = 1000, 2000
_UNKNOWN = "a document has a tag that does not exist"
_FORMS = "a string, or a list of strings or of objects with 'uri' or 'label'"


class Tag(NamedTuple):
    """A subject of a document. One without a URI goes by its label, and one without a label is shown by its URI."""

    uri: str
    label: str


def check_field(field: str | None) -> None:
    """Refuse an empty name of the field that has the tags; None asks for no tags."""
    if field is not None and not field.strip():
        raise InputError("The name of the field with the documents' tags is empty; give a name, for instance 'tags'.")


def field_tags(fields: Mapping[str, object] | None, field: str) -> tuple[Tag, ...]:
    """The tags that a document has in a field; none where there is no such field.

    A string is one tag, whatever is in it. Columns of tables are known by their names in lower case.
    """
    if not fields:
        return ()
    value = fields.get(field, fields.get(field.lower()))
    items = value if isinstance(value, list | tuple) else [value]
    return tuple([_tag(item, field) for item in items if item is not None])


def _tag(item: object, field: str) -> Tag:
    if isinstance(item, str):
        return Tag(item, item)
    if not isinstance(item, Mapping):
        raise InputError(f"Field '{field}' must be {_FORMS}, and it holds {_kind(item)}.")
    uri, label = item.get("uri"), item.get("label")
    for name, value in (("uri", uri), ("label", label)):
        if not isinstance(value, str | None):
            raise InputError(f"In field '{field}' the {name} of a tag must be a string, not {_kind(value)}.")
    if not (uri or label):
        raise InputError(f"Field '{field}' holds a tag without 'uri' and 'label'.")
    return Tag(uri or "", label or "")


def _kind(value: object) -> str:
    return {dict: "an object", list: "a list", bool: "true or false", int: "a number", float: "a number"}.get(
        type(value), type(value).__name__
    )


def checked_tags(tags: Iterable[Tag]) -> tuple[Tag, ...]:
    """The tags as they are kept: each on one line, none empty, one for each URI; an `InputError` for too many."""
    kept: dict[str, Tag] = {}
    for uri, label in tags:
        uri, label = _line(uri), _line(label)
        if uri or label:
            kept.setdefault(uri or label, Tag(uri or label, label or uri))
    if len(kept) > MOST_TAGS:
        raise InputError(f"It has {len(kept)} tags; a document may have {MOST_TAGS}.")
    for tag in kept.values():
        if max(len(tag.uri), len(tag.label)) > LONGEST:
            raise InputError(f"Its tag '{tag.uri[:40]}…' is longer than {LONGEST} characters.")
    return tuple(kept.values())


def _line(text: str) -> str:
    """On one line and without halves of characters."""
    return " ".join(text.split()).encode("utf-8", "replace").decode()


@dataclass(frozen=True, slots=True)
class TaggedRows:
    """The tags of a segment's documents.

    rows    of each document its tags' places in the table, in the document's order
    uris    of the table, whose tags are distinct and sorted by URI and label
    labels  of the table, empty where the label is the URI
    """

    rows: PackedLists
    uris: PackedLists
    labels: PackedLists

    @classmethod
    def of(cls, documents: Sequence[Sequence[Tag]]) -> TaggedRows:
        """The tags of these documents, as `checked_tags` gives them."""
        table = sorted(set(chain.from_iterable(documents)))
        places = {tag: i for i, tag in enumerate(table)}
        counts = np.fromiter(map(len, documents), np.int64, len(documents))
        flat = np.fromiter((places[tag] for tags in documents for tag in tags), np.uint32, int(counts.sum()))
        return cls(PackedLists(flat, offsets_of(counts)), *_packed(table))

    @classmethod
    def read(cls, file: ArrayFile, documents: int) -> TaggedRows:
        """Those of a segment's file; no document has any in a file that holds none."""
        rows = file.optional_lists("tags", "u4", documents)
        size = max(len(file.array("tags.uris.offsets", "u4")) - 1, 0) if len(rows.values) else 0
        return cls(rows, *(file.optional_lists(f"tags.{name}", "u1", size) for name in ("uris", "labels")))

    def write(self, file: ArrayFileWriter) -> None:
        """Add them to a segment's file, unless no document has any."""
        if len(self.rows.values):
            file.add_lists("tags", self.rows)
            file.add_lists("tags.uris", self.uris)
            file.add_optional_lists("tags.labels", self.labels)

    def table(self, places: NDArray[np.integer]) -> list[Tag]:
        """The tags at these places of the table."""
        if places.size and int(places.max()) >= len(self.uris):
            raise damaged(self.rows.path, _UNKNOWN)
        pairs = zip(self.uris.strings(places), self.labels.strings(places), strict=True)
        return [Tag(uri, label or uri) for uri, label in pairs]

    def tags_of(self, documents: NDArray[np.int64]) -> list[tuple[Tag, ...]]:
        """The tags of each of these documents."""
        if not len(self.rows.values):
            return [()] * len(documents)
        held = self.rows.take(documents)
        used, places = np.unique(held.values, return_inverse=True)
        tags = self.table(used)
        flat = [tags[place] for place in places.tolist()]
        return [tuple(flat[a:b]) for a, b in pairwise(held.offsets.tolist())]

    def are_any(self, documents: NDArray[np.int64]) -> bool:
        """Whether any of these documents has a tag."""
        return bool(np.any(self.rows.offsets[documents] != self.rows.offsets[documents + 1]))

    def held(self, documents: NDArray[np.int64]) -> tuple[PackedLists, NDArray[np.int64]]:
        """The rows of each of these documents, which are distinct, and how many of them have each tag of the table."""
        starts, stops = self.rows.bounds(documents)
        if int((stops - starts).sum()) > len(self.rows.values):
            raise damaged(self.rows.path, "its documents' tags overlap")
        held = self.rows.take(documents)
        if held.values.size and int(held.values.max()) >= len(self.uris):
            raise damaged(self.rows.path, _UNKNOWN)
        return held, np.bincount(held.values, minlength=len(self.uris))

    def check(self) -> None:
        """A ValueError that says what is wrong with tags whose lists fill their arrays."""
        tags = self.table(np.arange(len(self.uris)))
        if any(a >= b for a, b in pairwise(tags)):
            raise ValueError("its tags are out of order")
        held, counts = self.held(np.arange(len(self.rows)))
        if not counts.all():
            raise ValueError("no document has one of its tags")
        # Tags of one URI lie together, so that its number is that of its first.
        numbers = np.cumsum([0, *(a.uri != b.uri for a, b in pairwise(tags))])
        owners = np.repeat(np.arange(len(held)), np.diff(held.offsets))
        if len(np.unique(owners * len(numbers) + numbers[held.values])) != len(held.values):
            raise ValueError("a document has a tag twice")


def _packed(table: Sequence[Tag]) -> tuple[PackedLists, PackedLists]:
    labels = [tag.label if tag.label != tag.uri else "" for tag in table]
    return PackedLists.of_strings([tag.uri for tag in table]), PackedLists.of_strings(labels)


def merge_tags(parts: Sequence[tuple[TaggedRows, NDArray[np.int64]]]) -> TaggedRows:
    """The tags of the chosen documents of several segments, in this order, as those of one segment."""
    taken = [tagged.held(documents) for tagged, documents in parts]
    used = [np.flatnonzero(counts) for _, counts in taken]
    tables = [tagged.table(places) for (tagged, _), places in zip(parts, used, strict=True)]
    table = sorted(set(chain.from_iterable(tables)))
    place_of = {tag: i for i, tag in enumerate(table)}
    flat: list[NDArray[np.uint32]] = []
    for (held, counts), places, tags in zip(taken, used, tables, strict=True):
        new = np.zeros(len(counts), np.uint32)
        new[places] = [place_of[tag] for tag in tags]
        flat.append(new[held.values])
    lengths = join([np.diff(held.offsets) for held, _ in taken], np.int64)
    return TaggedRows(PackedLists(join(flat, np.uint32), offsets_of(lengths)), *_packed(table))


@dataclass(frozen=True, slots=True)
class TagCounts:
    """How the documents of several segments are tagged.

    documents  how many have a tag at all
    counts     how many have each, by URI, in the order of URIs
    labels     the label of each, by URI: the one that most documents have beside it, then the first by letter
    """

    documents: int
    counts: dict[str, int]
    labels: dict[str, str]

    @classmethod
    def of(cls, parts: Iterable[tuple[TaggedRows, NDArray[np.int64]]]) -> TagCounts:
        """Counted over the chosen documents of each segment."""
        total, found = 0, Counter[Tag]()
        for tagged, documents in parts:
            held, counts = tagged.held(documents)
            total += int(np.count_nonzero(np.diff(held.offsets)))
            places = np.flatnonzero(counts)
            found.update(dict(zip(tagged.table(places), counts[places].tolist(), strict=True)))
        by_uri, labels = dict[str, int](), dict[str, str]()
        # A label that says more than the URI comes first, however few documents have it.
        ranked = sorted(found, key=lambda tag: (tag.uri, tag.label == tag.uri, -found[tag], tag.label))
        for tag in ranked:
            by_uri[tag.uri] = by_uri.get(tag.uri, 0) + found[tag]
            labels.setdefault(tag.uri, tag.label)
        return cls(total, by_uri, labels)

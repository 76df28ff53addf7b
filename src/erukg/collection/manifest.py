"""The manifest: one small file that says what the collection is right now.

Everything else in the folder is immutable. A commit writes new files first and then replaces the manifest by
an atomic rename, so a reader finds either the old commit or the new one, whole.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from erukg.collection.arrays import FileEntry, damaged, open_regular
from erukg.collection.likeness import Likeness, Usual
from erukg.errors import CollectionError
from erukg.io.publish import publish_bytes, sync_folder

__all__ = [
    "BEGINNING",
    "FILE_NAME",
    "FORMAT_VERSION",
    "MANIFEST",
    "Journal",
    "Manifest",
    "SegmentEntry",
    "read_manifest",
    "write_manifest",
]

MANIFEST = "manifest.json"
#: What is written: 2 says what is usual of texts like the collection's documents, and what it was built from; 3 that it
#: was made as the paper's; 4 which field its documents' tags come from.
FORMAT_VERSION = 4
_FORMAT = "erukg-collection"
_LARGEST = 1 << 24
#: Of segments and of commits.
FILE_NAME = re.compile(r"(?:segment|commit)-[0-9]{8}\.bin")
#: Every manifest begins so.
BEGINNING = b'{\n "analysis": "'
_LARGEST_NUMBER = 1 << 53

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """A segment: its file, how many documents it holds, how many of them are not removed, and these' length
    in terms.
    """

    file: FileEntry
    documents: int
    live: int
    length: int


@dataclass(frozen=True, slots=True)
class Journal:
    """How far an unfinished build or addition has come: `rows` of the input are dealt with, `bad` of them
    were skipped.
    """

    kind: str
    source: str
    rows: int
    bad: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """One commit.

    fingerprint    of the model whose term weights are stored
    analysis       how texts became terms
    vocab_size     of the model
    weight_limit   the term weight that the largest 8-bit code stands for
    k1, b          of BM25
    glossary_documents  how many documents a phrase must describe to be in the glossary, 0 for as many as suit its size
    derived        False while a build is under way: its glossary is made when it ends
    frozen         rare phrases were left out to save space, so nothing may be added or removed
    next_file      number of the next file to write
    commit         the file with everything that depends on all segments together
    likeness       what is usual of texts like its documents; None for small collections and those of version 1
    source         `source_key` of what it was built from; None once it has changed, or where that was not noted
    paper          its phrases, glossary and term weights were chosen as the paper chooses them
    tags           the field that its documents' tags come from, empty where they came otherwise; None: it keeps none
    """

    number: int
    fingerprint: str
    analysis: str
    vocab_size: int
    weight_limit: float
    k1: float
    b: float
    glossary_documents: int
    derived: bool
    frozen: bool
    next_file: int
    commit: FileEntry
    segments: tuple[SegmentEntry, ...] = ()
    journal: Journal | None = None
    likeness: Likeness | None = None
    source: str | None = None
    paper: bool = False
    tags: str | None = None

    @property
    def version(self) -> int:
        """The earliest format that can say all of this."""
        if self.tags is not None:
            return FORMAT_VERSION
        if self.paper:
            return 3
        return 1 if self.likeness is None and self.source is None else 2

    @property
    def documents(self) -> int:
        """How many documents the collection holds, removed ones not counted."""
        return sum(segment.live for segment in self.segments)

    @property
    def length(self) -> int:
        """Their length in terms, all together."""
        return sum(segment.length for segment in self.segments)

    @property
    def files(self) -> tuple[FileEntry, ...]:
        return (self.commit, *(segment.file for segment in self.segments))


def _serialise(manifest: Manifest) -> bytes:
    data = {"format": _FORMAT, "version": manifest.version, **asdict(manifest)}
    for optional in ("likeness", "source", "paper", "tags"):
        if data[optional] is None or data[optional] is False:
            del data[optional]
    data["checksum"] = hashlib.sha256(_canonical(data)).hexdigest()
    return _canonical(data)


def _canonical(data: dict[str, Any]) -> bytes:
    return (json.dumps(data, sort_keys=True, indent=1, ensure_ascii=True, allow_nan=False) + "\n").encode()


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Make `manifest` the current commit, once the files that it names are in the folder for good."""
    sync_folder(folder)
    publish_bytes(folder / MANIFEST, _serialise(manifest))


def read_manifest(folder: Path) -> Manifest:
    """The current commit, or a `CollectionError` that says why there is none to be used."""
    path = folder / MANIFEST
    try:
        with open_regular(path) as file:
            raw = file.read(_LARGEST + 1)
    except FileNotFoundError as error:
        what = "holds no collection (it has no manifest.json)" if folder.is_dir() else "does not exist"
        raise CollectionError(f"{folder} {what}; make one with: erukg collection build {folder} SOURCE.") from error
    except OSError as error:
        raise CollectionError(f"{path} cannot be read: {error.strerror}.") from error
    if len(raw) > _LARGEST:
        raise damaged(path, "it is too long for a manifest")
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise damaged(path, "it is not JSON") from error
    if not isinstance(data, dict) or data.get("format") != _FORMAT:
        raise damaged(path, "it is not the manifest of a collection")
    if data.get("version") not in range(1, FORMAT_VERSION + 1):
        raise CollectionError(
            f"{folder} has collection format {str(data.get('version'))[:20]!r}, this program reads "
            f"1 to {FORMAT_VERSION}; update erukg or build the collection again."
        )
    given = data.pop("checksum", None)
    try:
        if given != hashlib.sha256(_canonical(data)).hexdigest():
            raise damaged(path, "its checksum does not fit")
        manifest = _parse(data)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise damaged(path, f"it cannot be used: {error!r}") from error
    if raw != _serialise(manifest):
        raise damaged(path, "it is not written as manifests are")
    return manifest


def _parse(data: dict[str, Any]) -> Manifest:
    journal = data["journal"]
    return Manifest(
        number=_value(data, "number", int),
        fingerprint=_value(data, "fingerprint", str),
        analysis=_value(data, "analysis", str),
        vocab_size=_value(data, "vocab_size", int, 0, 1 << 16),
        weight_limit=_value(data, "weight_limit", float, 1e-6, 1e6),
        k1=_value(data, "k1", float, 1e-6, 1e3),
        b=_value(data, "b", float, 0, 1),
        glossary_documents=_value(data, "glossary_documents", int),
        derived=_value(data, "derived", bool),
        frozen=_value(data, "frozen", bool),
        next_file=_value(data, "next_file", int),
        commit=_file(data["commit"]),
        segments=tuple(map(_segment, _value(data, "segments", list))),
        journal=None if journal is None else _journal(journal),
        likeness=_likeness(data["likeness"]) if "likeness" in data else None,
        source=_value(data, "source", str) if "source" in data else None,
        paper=_value(data, "paper", bool) if "paper" in data else False,
        tags=_value(data, "tags", str) if "tags" in data else None,
    )


def _journal(data: Any) -> Journal:
    kind, source = _value(data, "kind", str), _value(data, "source", str)
    return Journal(kind, source, _value(data, "rows", int), _value(data, "bad", int))


def _likeness(data: Any) -> Likeness:
    names = ("longest", "middle", "least", "short_middle", "short_least")
    longest, middle, least, short_middle, short_least = (_value(data, name, float, -_LARGEST_NUMBER) for name in names)
    if least >= middle or short_least >= short_middle:
        raise ValueError("the least alike is no less alike than the middle")
    rarity, nearness = (
        Usual(_numbers(data[name], "level"), _numbers(data[name], "spread")) for name in ("rarity", "nearness")
    )
    documents = _value(data, "documents", int)
    return Likeness(documents, longest, rarity, nearness, middle, least, short_middle, short_least)


def _numbers(data: Any, name: str) -> tuple[float, ...]:
    values = _value(data, name, list)
    return tuple(_value({name: value}, name, float, -_LARGEST_NUMBER) for value in values)


def _segment(data: Any) -> SegmentEntry:
    documents = _value(data, "documents", int, 0, 1 << 28)
    live, length = _value(data, "live", int, 0, documents), _value(data, "length", int)
    return SegmentEntry(_file(data["file"]), documents, live, length)


def _file(data: Any) -> FileEntry:
    name = _value(data, "name", str)
    if not FILE_NAME.fullmatch(name):
        raise ValueError(f"file name {name[:40]!r}")
    return FileEntry(name, _value(data, "bytes", int), _value(data, "crc32", int, 0, (1 << 32) - 1))


def _value(data: Any, name: str, kind: type[T], least: float = 0, most: float = _LARGEST_NUMBER) -> T:
    """The value of this type; numbers must lie between `least` and `most`."""
    value = data[name]
    if type(value) is not kind or (isinstance(value, int | float) and not least <= value <= most):
        raise ValueError(f"{name} is {value!r}")
    return value

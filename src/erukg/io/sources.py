"""The one way in: every document behind a list of paths, folders and URIs, whatever their forms."""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from erukg.core.arguments import checked
from erukg.errors import InputError, MissingExtraError
from erukg.io.folders import Skip
from erukg.io.forms import FORMS, SUFFIXES, Form, find_form, named_form
from erukg.io.items import BadDocument, Items, Limits
from erukg.io.places import FoundFile, check_stores, find_files, is_uri
from erukg.io.streams import DAMAGED, open_bytes, sentence

__all__ = [
    "STDIN",
    "SourceFile",
    "check_extras",
    "count_rows",
    "find_sources",
    "read_documents",
    "read_file",
    "source_key",
]

STDIN = "-"
# A name with a space in it, or one word that is not a path, may be meant as a text.
_TEXT_GIVEN = re.compile(r"\s|\A[^./\\:]+\Z")
_SHOWN = 60
_UNREADABLE = (InputError, MissingExtraError, OSError, ValueError, *DAMAGED)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of documents; its form is None when neither its name nor the caller tells it."""

    file: FoundFile
    form: Form | None


@checked
def find_sources(
    paths: Iterable[str | Path], form: str | None = None, skip: Skip | None = None, output: Path | None = None
) -> Iterator[SourceFile | BadDocument]:
    """The files behind the paths, folders and URIs, in order; what cannot be reached is a `BadDocument`.

    `form` (a key of `FORMS`) says what the files named themselves are, whatever their endings. Files found in folders
    go by their ending; those of no known form are passed over, and so is the `output` of an earlier run; `skip` is
    called with each and the reason.
    """
    told = named_form(form) if form is not None else None
    skip = skip or (lambda path, reason: None)
    for path in paths:
        try:
            for file in find_files(path, skip):
                known = (told if file.named else None) or find_form(file.name)
                if known is None and not file.named:
                    skip(Path(file.name), "of a form not read")
                elif output is not None and not file.named and Path(file.name).resolve() == output.resolve():
                    skip(Path(file.name), "the output itself")
                else:
                    yield SourceFile(file, known)
        except _UNREADABLE as error:
            yield _not_found(str(path), error)


def _not_found(place: str, error: Exception) -> BadDocument:
    """A path that cannot be reached; of what looks like a text it is said how to give one."""
    if not isinstance(error, OSError) or not _TEXT_GIVEN.search(place) or find_form(place) is not None:
        return BadDocument(place, sentence(error))
    shown = place if len(place) <= _SHOWN else f"{place[:_SHOWN]}…"
    return BadDocument(
        shown, 'There is no such file or folder; a text itself is given as --text "…", or through a pipe.'
    )


@checked
def read_documents(
    paths: Iterable[str | Path],
    *,
    form: str | None = None,
    limits: Limits | None = None,
    stdin: IO[bytes] | None = None,
    skip: Skip | None = None,
    output: Path | None = None,
    fields: Sequence[str] = (),
) -> Items:
    """Every document in the given files, folders, URIs and "-" (standard input), one at a time and in order.

    `form`, `skip` and `output` are as in `find_sources`; standard input is plain text unless `form` says otherwise.
    `fields` are read beside id and text from tables of which not every column is read.
    """
    limits = limits or Limits()
    told = named_form(form) if form is not None else None
    stdin_read = False
    for path in paths:
        if str(path) != STDIN:
            for source in find_sources([path], form, skip, output):
                if isinstance(source, BadDocument):
                    yield source
                else:
                    items = read_file(source, limits, fields)
                    settings = source.form is FORMS["json"] and not source.file.named
                    yield from _if_documents(items, source.file.name, skip) if settings else items
        elif stdin_read:
            yield BadDocument(STDIN, "Standard input is named twice, and can be read only once.")
        else:
            stdin_read = True
            known = told or FORMS["text"]
            yield from _guarded(known.documents(stdin or sys.stdin.buffer, "stdin", limits, fields), "stdin")


def _if_documents(items: Items, name: str, skip: Skip | None) -> Items:
    """The documents of a JSON file found in a folder; without any, it is somebody's settings, and passed over."""
    bad: list[BadDocument] = []
    for item in items:
        if isinstance(item, BadDocument):
            bad.append(item)
            continue
        yield from bad
        yield item
        yield from items
        return
    if skip is not None:
        skip(Path(name), "JSON without documents")


def read_file(source: SourceFile, limits: Limits, fields: Sequence[str] = ()) -> Items:
    """Every document of a file; whatever is wrong with the file as a whole is a last `BadDocument`."""
    name = source.file.name
    if source.form is None:
        endings = ", ".join(SUFFIXES)
        message = f"Its ending is none of {endings}; say what it is with --input-format, for instance 'text'."
        yield BadDocument(name, message)
    else:
        yield from _guarded(_read(source.file.uri, source.form, name, limits, fields), name)


def _read(place: str, form: Form, name: str, limits: Limits, fields: Sequence[str]) -> Items:
    with open_bytes(place) as stream:
        yield from form.documents(stream, name, limits, fields)


def _guarded(items: Items, place: str) -> Items:
    try:
        yield from items
    except _UNREADABLE as error:
        yield BadDocument(place, sentence(error))


@checked
def check_extras(paths: Iterable[str | Path], form: str | None = None) -> None:
    """Raise a `MissingExtraError` for the first of these paths that only an extra reads, before anything is read.

    What lies in folders is looked at when it is read.
    """
    told = named_form(form) if form is not None else None
    for path in paths:
        if is_uri(path):
            check_stores()
        known = told or (find_form(path) if str(path) != STDIN else None)
        if known is not None:
            known.check()


@checked
def source_key(paths: Iterable[str | Path], settings: object) -> str:
    """A name for these files, as they are now, read with these settings: the same name means the same rows."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for source in _reachable(paths):
        digest.update(json.dumps([source.file.uri, source.file.bytes, source.file.stamp]).encode())
    return digest.hexdigest()


@checked
def count_rows(paths: Iterable[str | Path]) -> int:
    """About how many rows the files have, counted by line ends: for showing the time left."""
    total = 0
    for file, form in ((source.file, source.form) for source in _reachable(paths)):
        if form is None or form.single:
            total += form is not None
            continue
        try:
            with open_bytes(file.uri) as stream:
                total += form.count(stream)
        except (InputError, OSError, *DAMAGED) as error:
            raise InputError(f"{file.name} cannot be read: {sentence(error)}") from error
    return total


def _reachable(paths: Iterable[str | Path]) -> Iterator[SourceFile]:
    for source in find_sources(paths):
        if isinstance(source, BadDocument):
            raise InputError(f"{source.place} cannot be read: {source.message}")
        yield source

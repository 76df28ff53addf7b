"""The one door to all readers: which form a path has, and every document behind a list of paths."""

from __future__ import annotations

import lzma
import sys
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from erukg.errors import InputError, MissingExtraError
from erukg.io.folders import Skip, walk
from erukg.io.items import BadDocument, Items, Limits
from erukg.io.jsonl import read_jsonl
from erukg.io.pdf import read_pdf
from erukg.io.plain import read_markdown, read_text
from erukg.io.streams import COMPRESSED, open_bytes
from erukg.io.tables import read_table

__all__ = ["FORMS", "NOT_THERE", "STDIN", "Form", "find_form", "guarded", "read_documents", "sentence"]

STDIN = "-"


@dataclass(frozen=True, slots=True)
class Form:
    """A form of input: its name, the endings it goes by, its reader, and whether a file is one document."""

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[IO[bytes], str, Limits], Items]
    single: bool


FORMS = {
    form.name: form
    for form in (
        Form("text", (".txt", ".text"), read_text, True),
        Form("markdown", (".md", ".markdown"), read_markdown, True),
        Form("jsonl", (".jsonl", ".ndjson"), read_jsonl, False),
        Form("csv", (".csv", ".tsv"), read_table, False),
        Form("pdf", (".pdf",), read_pdf, True),
    )
}
NOT_THERE = "There is no such file or folder."
_BY_SUFFIX = {suffix: form for form in FORMS.values() for suffix in form.suffixes}


def find_form(path: Path) -> Form | None:
    """The form a file's name tells, looking through .gz and .xz; None for an unknown ending."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return _BY_SUFFIX.get(suffixes[-1]) if suffixes else None


def read_documents(
    paths: Iterable[str | Path],
    *,
    form: str | None = None,
    limits: Limits | None = None,
    stdin: IO[bytes] | None = None,
    skip: Skip | None = None,
) -> Items:
    """Every document in the given files, folders and "-" (standard input), one at a time and in order.

    `form` (a key of `FORMS`) says what standard input and the files named themselves are, whatever their
    endings; without it standard input is plain text. Files found in folders always go by their ending; those
    of no known form are passed over, and `skip` is called with each and the reason.
    """
    limits = limits or Limits()
    if form is not None and form not in FORMS:
        raise InputError(f"There is no input form '{form}'; known forms: {', '.join(FORMS)}.")
    told = FORMS[form] if form is not None else None
    skip = skip or (lambda path, reason: None)
    stdin_read = False
    for given in paths:
        if str(given) == STDIN:
            if stdin_read:
                yield BadDocument(STDIN, "Standard input is named twice, and can be read only once.")
                continue
            stdin_read = True
            stream = stdin or sys.stdin.buffer
            yield from guarded((told or FORMS["text"]).read(stream, "stdin", limits), "stdin")
            continue
        path = Path(given)
        try:
            folder = path.is_dir()
        except (OSError, ValueError):  # a name too long or with a null byte: opening it says so properly
            folder = False
        if folder:
            for found in walk(path, skip):
                known = find_form(found)
                if known is None:
                    skip(found, "of a form not read")
                else:
                    yield from guarded(_read_file(found, known, limits), str(found))
            continue
        known = told or find_form(path)
        if known is None:
            yield BadDocument(str(path), _unknown(path))
        else:
            yield from guarded(_read_file(path, known, limits), str(path))


def _read_file(path: Path, form: Form, limits: Limits) -> Items:
    with open_bytes(path) as stream:
        yield from form.read(stream, str(path), limits)


def guarded(items: Items, place: str) -> Items:
    """The items, with whatever stops their reader turned into a last `BadDocument`."""
    try:
        yield from items
    except (InputError, MissingExtraError, EOFError, zlib.error, lzma.LZMAError, OSError, ValueError) as error:
        yield BadDocument(place, sentence(error))


def sentence(error: Exception) -> str:
    """What a user is told when a reader is stopped by this error."""
    if isinstance(error, InputError | MissingExtraError):
        return str(error)
    if isinstance(error, EOFError | zlib.error | lzma.LZMAError):
        return f"Its compressed data is damaged ({str(error).rstrip('.')})."
    if isinstance(error, FileNotFoundError):
        return NOT_THERE
    reason = getattr(error, "strerror", None) or str(error)
    return f"It cannot be opened or read: {reason}."


def _unknown(path: Path) -> str:
    try:
        exists = path.exists()
    except (OSError, ValueError):
        exists = False
    if not exists:
        return NOT_THERE
    endings = ", ".join(_BY_SUFFIX)
    return f"Its ending is none of {endings}; say what it is with --input-format, for instance 'text'."

"""Rows of JSON Lines that others wrote: one at a time, with bad ones named and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from erukg.errors import InputError, TrainingError
from erukg.io.objects import parse_object
from erukg.io.streams import DAMAGED, Line, lines, open_bytes

__all__ = ["LONGEST_LINE", "Problems", "Row", "list_of", "object_of", "parse_rows", "read_lines", "text_of", "tidy"]

# A full paper of unarXive takes up to a few megabytes; longer lines are not papers.
LONGEST_LINE = 64 * 2**20
_SHOWN = 5

Row = Mapping[str, Any]
T = TypeVar("T")


class Problems:
    """Collects rows that cannot be used and refuses a file in which there are too many of them.

    A bad row (not JSON, a field missing or of the wrong type) counts against `tolerance`, the share of the
    rows of one file that may be bad; 1 is for a second pass over a file. A skipped row (well formed, but of no use,
    such as a citation of an unknown document) is only counted, by reason.
    """

    def __init__(self, tolerance: float = 0.01) -> None:
        self.tolerance = tolerance
        self.rows = 0
        self.bad = 0
        self.examples: list[str] = []
        self.skipped: Counter[str] = Counter()
        self.file_rows = self.file_bad = 0

    def add(self, path: Path, line: int, reason: str) -> None:
        """Note a bad row; the first few are kept for show."""
        self.bad += 1
        self.file_bad += 1
        if len(self.examples) < _SHOWN:
            self.examples.append(f"{path}:{line}: {reason}")
        # Ten bad rows are no reason to give up before the end of the file shows what share they are.
        if self.file_bad >= 1000:
            self._check(path)

    def finish(self, path: Path) -> None:
        """At the end of a file: refuse it if too many of its rows were bad."""
        self._check(path)
        self.file_rows = self.file_bad = 0

    def _check(self, path: Path) -> None:
        bad, rows = self.file_bad, self.file_rows
        if self.tolerance < 1 and ((bad and bad == rows) or bad > max(10, self.tolerance * rows)):
            first = next((e for e in self.examples if e.startswith(f"{path}:")), str(path))
            raise TrainingError(
                f"{path} has {bad} bad rows among {rows}, more than the {self.tolerance:.1%} allowed "
                f"(first: {first}); correct the file or give it as the form it has."
            )


def read_lines(path: Path, problems: Problems) -> Iterator[Line]:
    """The lines of a file, plain, .gz or .xz, that are not blank; those that cannot be read are bad rows."""
    number = 0
    try:
        with open_bytes(path) as stream:
            for line in lines(stream, LONGEST_LINE, advice=""):
                number = line.number
                if line.problem is None and not line.text.strip():
                    continue
                problems.rows += 1
                problems.file_rows += 1
                if line.problem is None:
                    yield line
                else:
                    problems.add(path, number, line.problem)
    except DAMAGED as error:
        raise TrainingError(f"{path} is damaged after line {number} ({error}); fetch the file again.") from error
    except (OSError, InputError) as error:
        where = f" after line {number}" if number else ""
        raise TrainingError(f"{path} cannot be read{where} ({error}); check the path and the file.") from error


def parse_rows(files: Iterable[Path], problems: Problems, parse: Callable[[Row], T]) -> Iterator[T]:
    """What `parse` makes of the JSON objects of files; a row for which it raises an `InputError` is a bad one."""
    for path in files:
        for line in read_lines(path, problems):
            try:
                parsed = parse(parse_object(line.text))
            except InputError as error:
                problems.add(path, line.number, str(error))
                continue
            yield parsed
        problems.finish(path)


def text_of(row: Row, *names: str) -> str:
    """The first of the named fields that holds text, tidied; "" when there is none."""
    for name in names:
        value = row.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise InputError(f"'{name}' must be text")
        if tidied := tidy(value):
            return tidied
    return ""


def object_of(value: object, what: str) -> Row:
    """The value as a JSON object; raises an `InputError` that names it by `what`."""
    if not isinstance(value, Mapping):
        raise InputError(f"{what} must be an object")
    return value


def list_of(row: Row, name: str) -> list[Any]:
    """The list in a field; empty when there is none."""
    value = row.get(name) or []
    if not isinstance(value, list):
        raise InputError(f"'{name}' must be a list")
    return value


def tidy(text: str) -> str:
    """Text without white space around it and without the lone surrogates that JSON may spell."""
    if not text.isascii():
        text = text.encode("utf-8", "ignore").decode("utf-8")
    return text.strip()

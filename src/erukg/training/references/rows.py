"""Reading JSON Lines that others wrote: plain, gzip or xz, one row at a time, bad rows named and counted."""

from __future__ import annotations

import gzip
import json
import lzma
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from erukg.errors import TrainingError

__all__ = [
    "LONGEST_LINE",
    "Problems",
    "Row",
    "RowError",
    "open_text",
    "read_lines",
    "read_rows",
    "text_of",
    "tidy",
]

# A full paper of unarXive takes up to a few megabytes; longer lines are not papers.
LONGEST_LINE = 64 * 2**20

Row = Mapping[str, Any]


class RowError(ValueError):
    """A row that cannot be used; the message says why."""


class Problems:
    """Collects rows that cannot be used and refuses a file in which there are too many of them.

    A bad row (not JSON, a field missing or of the wrong type) counts against `tolerance`, the share of the
    rows of one file that may be bad. A skipped row (well formed, but of no use, such as a citation of an
    unknown document) is only counted.
    """

    def __init__(self, tolerance: float = 0.01, shown: int = 5) -> None:
        self.tolerance = tolerance
        self.shown = shown
        self.rows = 0
        self.bad = 0
        self.examples: list[str] = []
        self.skipped: Counter[str] = Counter()
        self._bad_of_file: Counter[str] = Counter()
        self._rows_of_file: Counter[str] = Counter()

    @classmethod
    def quiet(cls) -> Problems:
        """For a second pass over a file whose bad rows are counted in another one."""
        return cls(tolerance=1.0)

    def add(self, path: Path, line: int, reason: str) -> None:
        """Note a bad row; the first few are kept for show."""
        self.bad += 1
        self._bad_of_file[str(path)] += 1
        if len(self.examples) < self.shown:
            self.examples.append(f"{path}:{line}: {reason}")
        # Ten bad rows are no reason to give up before the end of the file shows what share they are.
        if self._bad_of_file[str(path)] >= 1000:
            self._check(path)

    def skip(self, reason: str) -> None:
        """Note a well-formed row that is of no use."""
        self.skipped[reason] += 1

    def row(self, path: Path) -> None:
        """Note that one more row was read."""
        self.rows += 1
        self._rows_of_file[str(path)] += 1

    def finish(self, path: Path) -> None:
        """At the end of a file: refuse it if too many of its rows were bad."""
        self._check(path)
        self._bad_of_file.pop(str(path), None)
        self._rows_of_file.pop(str(path), None)

    def _check(self, path: Path) -> None:
        bad, rows = self._bad_of_file[str(path)], self._rows_of_file[str(path)]
        if self.tolerance < 1 and ((bad and bad == rows) or bad > max(10, self.tolerance * rows)):
            first = next((e for e in self.examples if e.startswith(f"{path}:")), str(path))
            raise TrainingError(
                f"{path} has {bad} bad rows among {rows}, more than the {self.tolerance:.1%} allowed "
                f"(first: {first}); correct the file or give it as the form it has."
            )


def open_text(path: Path) -> BinaryIO:
    """Open a .jsonl, .jsonl.gz or .jsonl.xz file (any text, in fact) for reading bytes."""
    try:
        if path.suffix == ".xz":
            return cast(BinaryIO, lzma.open(path, "rb"))
        if path.suffix == ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        return path.open("rb")
    except OSError as error:
        raise TrainingError(f"{path} cannot be read ({error.strerror or error}); check the path.") from error


def read_lines(path: Path, problems: Problems) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers from 1, without blank ones; no line is too long for memory."""
    number = 0
    with open_text(path) as file:
        try:
            while line := file.readline(LONGEST_LINE):
                number += 1
                if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                    while line and not line.endswith(b"\n"):
                        line = file.readline(LONGEST_LINE)
                    problems.row(path)
                    problems.add(path, number, f"the line is longer than {LONGEST_LINE >> 20} MiB")
                elif line := line.strip():
                    problems.row(path)
                    yield number, line
        except (lzma.LZMAError, zlib.error, EOFError, gzip.BadGzipFile) as error:
            raise TrainingError(f"{path} is damaged after line {number} ({error}); fetch the file again.") from error
        except OSError as error:
            raise TrainingError(f"{path} cannot be read after line {number} ({error}); check the file.") from error


def read_rows(path: Path, problems: Problems) -> Iterator[tuple[int, Row]]:
    """The JSON objects of a file with their line numbers; anything else is a bad row."""
    for number, line in read_lines(path, problems):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            problems.add(path, number, f"not JSON ({error})")
            continue
        if isinstance(row, dict):
            yield number, row
        else:
            problems.add(path, number, "not a JSON object")
    problems.finish(path)


def text_of(row: Row, *names: str) -> str:
    """The first of the named fields that holds text, tidied; "" when there is none."""
    for name in names:
        value = row.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise RowError(f"'{name}' must be text")
        if tidied := tidy(value):
            return tidied
    return ""


def tidy(text: str) -> str:
    """Text without white space around it and without the lone surrogates that JSON may spell."""
    if not text.isascii():
        text = text.encode("utf-8", "ignore").decode("utf-8")
    return text.strip()

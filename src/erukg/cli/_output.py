"""Where results go: standard output, or a file that appears only when it is complete and can be resumed."""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import os
import shutil
import sys
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TextIO

from erukg.cli import _render
from erukg.cli._common import say
from erukg.cli._options import Format
from erukg.core.inputs import given_id
from erukg.errors import InputError
from erukg.io.streams import COMPRESSED, open_bytes

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Output", "choose_format"]

# The longest line of a half-written output that is read back; a result is far shorter.
_LONGEST_LINE = 100_000_000
_FILE_WIDTH = 120


def choose_format(given: Format | None, path: Path | None) -> Format:
    """The format asked for; else as the output's name says; else a table on a terminal, JSON in a pipe."""
    if given is not None:
        return given
    if path is not None:
        name = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
        return Format.csv if name.suffix.lower() == ".csv" else Format.json
    return Format.table if sys.stdout.isatty() else Format.json


class Output:
    """Writes each result at once; with a path, into `<path>.part`, which becomes `path` at the end.

    A path that ends in .gz or .xz is packed then: a packed file cut short could not be gone on with.
    `done` counts the ids that a resumed output already holds.
    """

    def __init__(self, format: Format, path: Path | None, *, resume: bool = False, explain: bool = False) -> None:
        self.format, self.path, self.explain = format, path, explain
        self.done: Counter[str] = Counter()
        self._keep = True
        self._worth_resuming = False
        self.console: Console | None = None
        """Set while a progress bar owns the terminal, so that tables are printed above it."""
        self._part: Path | None = None
        if path is None:
            self._file: TextIO = sys.stdout
            # A result may hold half a surrogate pair, and its escape is what a JSON reader turns back.
            if hasattr(self._file, "reconfigure"):
                self._file.reconfigure(encoding="utf-8", errors="backslashreplace")
        else:
            self._file = self._open(path, resume)
        self._write = self._writer()

    def _open(self, path: Path, resume: bool) -> TextIO:
        if path.is_dir():
            raise InputError(f"The output {path} is a folder; give the name of a file.")
        if path.exists() and not path.is_file():  # a pipe or a device: nothing to rename
            return _open_text(path, "w")
        self._part = path.with_name(path.name + ".part")
        if resume:
            if not self._part.exists() and path.exists():
                _unpack(path, self._part)
            if self._part.exists():
                self.done = _ids_written(self._part)
                self._worth_resuming = bool(self.done)
        return _open_text(self._part, "a" if resume else "w")

    def _writer(self) -> Callable[[_render.Result], None]:
        if self.format is Format.json:
            return lambda result: self._line(_render.json_line(result))
        if self.format is Format.csv:
            rows = csv.writer(self._file, lineterminator="\n")
            rows.writerow(_render.csv_header(self.explain))
            return lambda result: rows.writerows(_render.csv_rows(result, self.explain))
        from rich.console import Console

        width = None if self._file.isatty() else _FILE_WIDTH
        own = Console(file=self._file, width=width, highlight=False)
        return lambda result: (self.console or own).print(_render.table(result, self.explain))

    def _line(self, line: str) -> None:
        self._file.write(line + "\n")

    def write(self, result: _render.Result) -> None:
        self._write(result)
        self._file.flush()
        self._worth_resuming = self.format is Format.json

    def discard(self) -> None:
        """Leave whatever the file held before: there was nothing to write."""
        self._keep = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.path is None:
            return
        if kind is None:
            self._file.flush()
            if self._part is not None:
                os.fsync(self._file.fileno())
        self._file.close()
        if self._part is None:
            return
        if kind is None and self._keep:
            _publish(self._part, self.path)
        elif self._worth_resuming:
            say(f"What is done so far is in {self._part}; the same command with --resume goes on from there.")
        else:
            self._part.unlink()


def _open_text(path: Path, mode: Literal["a", "w"]) -> TextIO:
    return path.open(mode, encoding="utf-8", errors="backslashreplace", newline="")


def _unpack(path: Path, part: Path) -> None:
    try:
        with open_bytes(path) as source, part.open("wb") as copy:
            shutil.copyfileobj(source, copy)
    except (EOFError, lzma.LZMAError, zlib.error, gzip.BadGzipFile) as error:
        part.unlink()
        raise InputError(f"{path} is not packed as its name says, so it cannot be resumed; remove it.") from error


def _publish(part: Path, path: Path) -> None:
    """Put the finished part in its place, packed when the place's name says so."""
    suffix = path.suffix.lower()
    if suffix not in COMPRESSED:
        part.replace(path)
        return
    packed = part.with_name(part.name + suffix)
    pack = gzip.open if suffix == ".gz" else lzma.open
    try:
        with packed.open("wb") as file:
            with part.open("rb") as source, pack(file, "wb") as target:
                shutil.copyfileobj(source, target)
            os.fsync(file.fileno())
        packed.replace(path)
    finally:
        packed.unlink(missing_ok=True)
    part.unlink()


def _ids_written(part: Path) -> Counter[str]:
    """The ids in a half-written output; a last line that was cut short is cut off."""
    done: Counter[str] = Counter()
    good = 0
    with part.open("r+b") as file:
        for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), b""), 1):
            if not line.endswith(b"\n"):
                break
            try:
                id = given_id(json.loads(line))
                if id is None:
                    raise InputError("It has no id.")
                done[id] += 1
            except (ValueError, AttributeError) as error:  # an InputError is a ValueError
                raise InputError(
                    f"Line {number} of {part} is not a result written by erukg, so it cannot be resumed; "
                    "remove the file or name another output."
                ) from error
            good += len(line)
        file.truncate(good)
    return done

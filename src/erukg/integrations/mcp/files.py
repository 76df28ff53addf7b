"""What an agent may have the server read: files in folders that were allowed, within limits."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from erukg.errors import InputError
from erukg.io import BadDocument, InputDocument, Limits, find_sources
from erukg.io.forms import SUFFIXES
from erukg.io.items import Item
from erukg.io.sources import SourceFile, read_file
from erukg.io.streams import megabytes

__all__ = ["AllowedFolders", "Batch", "ToolLimits"]

_MOST_LEFT_OUT = 20


def _limit(default: float, low: float, high: float, help: str) -> Any:
    settings = {"min": low, "max": high, "panel": "Limits"}
    return field(default=default, metadata={"help": help, "short": (), "settings": settings})


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLimits:
    """How much one call of a tool may ask for: options of `erukg mcp`."""

    max_mb: float = _limit(1.0, 0.001, 100, "Largest document, in megabytes or million characters.")
    max_file_mb: float = _limit(50.0, 0.001, 10_000, "Largest file to read, in megabytes.")
    max_documents: int = _limit(50, 1, 10_000, "Most documents in an answer.")
    max_theme_documents: int = _limit(1_000, 1, 100_000, "Most documents to look for themes in.")
    max_seconds: float = _limit(60.0, 0.1, 3_600, "Longest time for a call.")

    @property
    def characters(self) -> int:
        return int(self.max_mb * 1e6)


class AllowedFolders:
    """The folders that may be read, and the one way to what is in them."""

    def __init__(self, folders: Sequence[Path], limits: ToolLimits) -> None:
        for folder in folders:
            if not folder.is_dir():
                raise InputError(f"{folder} is no folder, so it cannot be allowed.")
        self.folders = [folder.resolve() for folder in folders]
        self._most = int(limits.max_file_mb * 1e6)
        self._limits = Limits(document_bytes=limits.characters, pdf_bytes=self._most, pdf_seconds=limits.max_seconds)

    def read(self, place: str) -> Iterator[Item]:
        """The documents of a file or folder; a path that is not absolute is looked for in each allowed folder."""
        for source in find_sources([self._find(place)]):
            yield from [source] if isinstance(source, BadDocument) else self._read(source)

    def _find(self, place: str) -> Path:
        if not self.folders:
            raise InputError("No folder may be read; give the text itself, or start erukg mcp with --allow FOLDER.")
        name, allowed = repr(place[:200]), ", ".join(map(str, self.folders))
        try:
            paths = [path for folder in self.folders if self._holds(path := (folder / place).resolve())]
            found = [path for path in paths if path.exists()]
        except (OSError, ValueError, RuntimeError) as error:  # loops of links, names that no file can have
            raise InputError(f"{name} is not the name of a file that can be reached.") from error
        if not paths:
            raise InputError(f"{name} is not in a folder that may be read ({allowed}).")
        if not found:
            raise InputError(f"There is no {name} in the folders that may be read ({allowed}).")
        if not found[0].is_file() and not found[0].is_dir():  # a pipe would never end
            raise InputError(f"{name} is neither a file nor a folder.")
        return found[0]

    def _holds(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self.folders)

    def _read(self, source: SourceFile) -> Iterator[Item]:
        file, place = source.file, Path(source.file.uri).resolve()
        if not self._holds(place):  # a link in a folder may lead out of it
            yield BadDocument(file.name, "It is a link to a place that may not be read.")
        elif file.bytes > self._most:
            yield BadDocument(file.name, f"It is larger than {megabytes(self._most)}.")
        elif source.form is None:
            yield BadDocument(file.name, f"Its ending is none of {', '.join(SUFFIXES)}.")
        else:
            yield from read_file(replace(source, file=replace(file, uri=str(place))), self._limits)


class Batch:
    """Documents to work on, as many as the limits allow; `left_out` says which are not among them, and why."""

    def __init__(self, items: Iterator[Item], most: int, limits: ToolLimits) -> None:
        self._items, self._most, self._characters = items, most, limits.characters
        self._end = time.monotonic() + limits.max_seconds
        self._bad: list[str] = []
        self._rest = ""
        self.taken = 0

    def __iter__(self) -> Iterator[InputDocument]:
        for item in self._items:
            if isinstance(item, BadDocument):
                self._bad.append(f"{item.place}: {item.message}")
            elif len(item.text) > self._characters:
                self._bad.append(f"{item.place}: It is longer than {self._characters} characters; split it.")
            elif self.taken == self._most or time.monotonic() > self._end:
                why = "which are as many as a call may read" if self.taken == self._most else "when the time was over"
                self._rest = f"All after the first {self.taken} documents, {why}."
                return
            else:
                self.taken += 1
                yield replace(item, id=_sendable(item.id), text=_sendable(item.text))
        if not self.taken:
            raise InputError(self.left_out[0] if self.left_out else "There is no document in it.")

    @property
    def left_out(self) -> list[str]:
        more = len(self._bad) - _MOST_LEFT_OUT
        rest = [self._rest, f"{more} more documents could not be read." if more > 0 else ""]
        return [_sendable(reason) for reason in (*self._bad[:_MOST_LEFT_OUT], *rest) if reason]

    def only(self) -> InputDocument:
        """The one document there is; raises InputError where there are more."""
        documents = list(self)
        if self._rest or len(documents) > 1:
            raise InputError("It holds more than one document; give a file of one.")
        return documents[0]


def _sendable(text: str) -> str:
    """The text without halves of surrogate pairs, which file names and damaged files have and JSON cannot."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

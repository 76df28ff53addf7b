"""Lines and JSON objects of a file, whatever their fields; what cannot be read is refused with file and line."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path

from erukg.errors import InputError
from erukg.io.items import Limits
from erukg.io.jsonl import parse_line
from erukg.io.streams import lines as split_lines
from erukg.io.streams import open_bytes

__all__ = ["numbered_lines", "read_objects"]


def read_objects(path: Path, limits: Limits | None = None) -> Iterator[tuple[int, dict[str, object]]]:
    """The JSON object of every line that is not blank, with the number of the line."""
    for number, text in numbered_lines(path, limits):
        if text.strip():
            try:
                row = parse_line(text)
            except InputError as error:
                raise InputError(f"{path}, line {number}: {error}") from error
            if not isinstance(row, dict):
                raise InputError(f"{path}, line {number}: It is JSON, but not an object in braces.")
            yield number, row


def numbered_lines(path: Path, limits: Limits | None = None) -> Iterator[tuple[int, str]]:
    """Every line of a file, plain, .gz or .xz, with its number from 1."""
    try:
        with open_bytes(path) as stream:
            for line in split_lines(stream, (limits or Limits()).document_bytes):
                if line.problem is not None:
                    raise InputError(f"line {line.number}: {line.problem}")
                yield line.number, line.text
    except InputError as error:
        raise InputError(f"{path}, {error}") from error
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{path} cannot be read ({error}).") from error

"""JSON Lines of any kind: lines and objects with their numbers, and errors that name the place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from erukg.errors import InputError
from erukg.io.items import Limits
from erukg.io.streams import DAMAGED, Line, lines, open_bytes, sentence

__all__ = ["parse_json", "parse_object", "read_lines", "read_objects"]


def read_objects(path: Path, limits: Limits | None = None) -> Iterator[tuple[int, dict[str, object]]]:
    """The JSON objects of a file, one per line, with their line numbers; blank lines are passed over.

    The first line that holds no object is refused with an `InputError`; to go on behind it, use `read_lines` and
    `parse_object`.
    """
    for line in read_lines(path, limits):
        try:
            yield line.number, parse_object(line.text)
        except InputError as error:
            raise InputError(f"{path}:{line.number}: {error}") from error


def read_lines(path: Path, limits: Limits | None = None) -> Iterator[Line]:
    """The lines of a file, plain, .gz or .xz, that are not blank; raises an `InputError` that names file and line."""
    try:
        with open_bytes(path) as stream:
            for line in lines(stream, (limits or Limits()).document_bytes, advice=""):
                if line.problem is not None:
                    raise InputError(f"{path}:{line.number}: {line.problem}")
                if line.text.strip():
                    yield line
    except (OSError, *DAMAGED) as error:
        raise InputError(f"{path}: {sentence(error)}") from error


def parse_object(text: str) -> dict[str, object]:
    """The JSON object on a line, or an `InputError` that says why there is none."""
    value = parse_json(text)
    if not isinstance(value, dict):
        raise InputError("It is JSON, but not an object.")
    return value


def parse_json(text: str) -> object:
    """The JSON value on a line, or an `InputError` that says what is wrong with it."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"It is not JSON: {error.msg} at column {error.colno}.") from error
    except RecursionError as error:
        raise InputError("It is JSON nested too deeply to be read.") from error
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"It is not JSON that can be read: {error}.") from error

"""JSON Lines of any kind: lines and objects with their numbers, and errors that name the place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from erukg.errors import InputError
from erukg.io.items import Limits
from erukg.io.streams import DAMAGED, lines, open_bytes, sentence

__all__ = ["numbered_lines", "parse_json", "parse_object", "read_objects"]


def read_objects(path: Path, limits: Limits | None = None) -> Iterator[tuple[int, dict[str, object]]]:
    """The JSON object on every line that is not blank, with the number of the line; raises as `numbered_lines`."""
    for number, text in numbered_lines(path, limits):
        if text.strip():
            try:
                yield number, parse_object(text)
            except InputError as error:
                raise InputError(f"{path}, line {number}: {error}") from error


def numbered_lines(path: Path, limits: Limits | None = None) -> Iterator[tuple[int, str]]:
    """Every line of a file, plain, .gz or .xz, with its number; raises an `InputError` that names file and line."""
    try:
        with open_bytes(path) as stream:
            for line in lines(stream, (limits or Limits()).document_bytes, advice=""):
                if line.problem is not None:
                    raise InputError(f"{path}, line {line.number}: {line.problem}")
                yield line.number, line.text
    except (OSError, *DAMAGED) as error:
        raise InputError(f"{path} cannot be read: {sentence(error)}") from error


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

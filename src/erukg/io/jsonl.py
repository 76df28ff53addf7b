"""JSON Lines: one object a line, fields id, title, abstract, text."""

from __future__ import annotations

import json
from typing import IO

from erukg.core.inputs import document_from
from erukg.errors import InputError
from erukg.io.items import BadDocument, Items, Limits
from erukg.io.streams import lines

__all__ = ["parse_line", "read_jsonl"]


def read_jsonl(stream: IO[bytes], name: str, limits: Limits, number: int = 0, offset: int = 0) -> Items:
    """A document a line; blank lines are passed over, a broken one is reported and the next one read.

    `number` lines and `offset` bytes of the file lie before the stream.
    """
    for line in lines(stream, limits.document_bytes, number, offset):
        if line.problem is not None:
            yield BadDocument(f"{name}:{line.number}", line.problem)
        elif line.text.strip():
            try:
                data = parse_line(line.text)
                if not isinstance(data, dict):
                    raise InputError("It is JSON, but not an object with the fields id, title, abstract, text.")
                item = document_from(data, name, line.number)
            except InputError as error:
                yield BadDocument(f"{name}:{line.number}", str(error))
            else:
                yield item


def parse_line(text: str) -> object:
    """The JSON value on a line, or an `InputError` that says what is wrong with it."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"It is not JSON: {error.msg} at column {error.colno}.") from error
    except RecursionError as error:
        raise InputError("It is JSON nested too deeply to be read.") from error
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"It is not JSON that can be read: {error}.") from error

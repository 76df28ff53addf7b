"""JSON Lines: one document per line, an object with the fields id, title, abstract, text."""

from __future__ import annotations

from typing import IO

from erukg.core.inputs import document_from
from erukg.errors import InputError
from erukg.io.items import BadDocument, Items, Limits
from erukg.io.objects import parse_json
from erukg.io.streams import lines

__all__ = ["read_jsonl"]


def read_jsonl(stream: IO[bytes], name: str, limits: Limits, number: int = 0, offset: int = 0) -> Items:
    """One document per line; blank lines are passed over, a broken one is reported and the next one read.

    `number` lines and `offset` bytes of the file lie before the stream.
    """
    for line in lines(stream, limits.document_bytes, number, offset, skip_blank=lambda: True):
        place = f"{name}:{line.number}"
        if line.problem is not None:
            yield BadDocument(place, line.problem)
        elif line.text.strip():
            try:
                data = parse_json(line.text)
                if not isinstance(data, dict):
                    raise InputError("It is JSON, but not an object with the fields id, title, abstract, text.")
                yield document_from(limits.names.rename(data), name, line.number)
            except InputError as error:
                yield BadDocument(place, str(error))

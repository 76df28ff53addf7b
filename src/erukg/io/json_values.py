"""JSON files: an array of documents, or one, read value by value, so that a large array takes no more memory than its
largest document."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import IO

from erukg.core.inputs import InputDocument, document_from
from erukg.errors import InputError
from erukg.io.items import BadDocument, Items, Limits
from erukg.io.streams import encoding_of, megabytes

__all__ = ["count_json", "read_json"]

_DECODER = json.JSONDecoder()
_SPACE = " \t\r\n"
_CHUNK = 1 << 16
# Where a value cannot end before the data does: a number, or a word such as `true`, might go on.
_OPEN_ENDED = "0123456789+-.eEtrufalsn"


class _Values:
    """The values of a JSON array, or those that follow one another in a file, each within a limit."""

    def __init__(self, stream: IO[bytes], limit: int) -> None:
        self._stream, self._limit = stream, limit
        self._text, self._at = "", 0
        self._decode: codecs.IncrementalDecoder | None = None
        self._ended = False
        self._passed = 0  # characters of the file before `_text`

    def _more(self) -> bool:
        """Take in the next part of the file; false at its end."""
        if self._ended:
            return False
        size = max(_CHUNK, len(self._text) - self._at)
        data = self._stream.read(size)
        if self._decode is None:
            self._decode = codecs.getincrementaldecoder(encoding_of(data))()
        self._ended = not data
        try:
            fresh = self._decode.decode(data, final=self._ended)
        except UnicodeDecodeError as error:
            raise InputError("It is not UTF-8 text; convert it, for instance with iconv.") from error
        self._passed += self._at
        self._text, self._at = self._text[self._at :] + fresh, 0
        return True

    def next_character(self) -> str:
        """The next character that is not white space, which stays unread; empty at the end of the file."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if not self._more():
                return ""

    def skip(self) -> None:
        self._at += 1

    def value(self) -> object:
        """The next value; raises InputError with the place of what is wrong."""
        self.next_character()
        while True:
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if len(self._text) - self._at <= self._limit and self._more():
                    continue
                if len(self._text) - self._at > self._limit:
                    raise InputError(
                        f"A value is longer than {megabytes(self._limit)}; --max-mb raises the limit."
                    ) from error
                raise InputError(f"It is not JSON: {error.msg} at character {self._passed + error.pos}.") from error
            except RecursionError as error:
                raise InputError("It is JSON nested too deeply to be read.") from error
            except ValueError as error:  # a number of thousands of digits
                raise InputError(f"It is not JSON that can be read: {error}.") from error
            if end == len(self._text) and self._text[end - 1] in _OPEN_ENDED and self._more():
                continue
            if end - self._at > self._limit:
                raise InputError(f"A value is longer than {megabytes(self._limit)}; --max-mb raises the limit.")
            self._at = end
            return found

    def __iter__(self) -> Iterator[object]:
        if self.next_character() != "[":
            while self.next_character():
                yield self.value()
            return
        self.skip()
        while self.next_character() != "]":
            yield self.value()
            following = self.next_character()
            if following == ",":
                self.skip()
            elif following != "]":
                where = f"at character {self._passed + self._at}"
                raise InputError(f"It is not JSON: a comma or the end of the array is missing {where}.")
        self.skip()
        if self.next_character():
            raise InputError("There is more behind the end of the array; one array, or values one after the other.")


def read_json(stream: IO[bytes], name: str, limits: Limits) -> Items:
    """One document per value of the array, an object or a string that is the text; or the one that the file is."""
    number = 0
    for number, value in enumerate(_Values(stream, limits.document_bytes), 1):
        place = f"{name}:{number}"
        try:
            if isinstance(value, str):
                yield InputDocument(place, value, place)
            elif isinstance(value, dict):
                yield document_from(limits.names.rename(value), name, number)
            else:
                raise InputError("It is neither an object with the fields id, title, abstract, text nor a string.")
        except InputError as error:
            yield BadDocument(place, str(error))
    if not number:
        raise InputError("It is empty; an array of documents is wanted, or one document.")


def count_json(stream: IO[bytes]) -> int:
    """How many values the file holds."""
    return sum(1 for _ in _Values(stream, Limits().document_bytes))

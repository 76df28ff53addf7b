"""Bytes to text: compression, encodings and lines, each with a bound and an error that says where."""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from erukg.errors import InputError, MissingExtraError
from erukg.io.places import is_uri, open_place

__all__ = [
    "COMPRESSED",
    "DAMAGED",
    "Line",
    "count_lines",
    "decode",
    "encoding_of",
    "lines",
    "megabytes",
    "open_bytes",
    "read_all",
    "sentence",
    "window",
]

COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
"""How to open files with these endings, for reading and for writing."""
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
"""The errors that damaged compressed data makes a reader raise."""

# Longest mark first: UTF-32's little-endian mark starts with UTF-16's.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SIGNATURES = (
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive (or an Office document)"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x1f\x8b", "gzip data"),
    (b"\xfd7zXZ", "xz data"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90", "a program"),
    (b"\xd0\xcf\x11\xe0", "an old Office document"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
# A stray null byte is a blemish that the generator copes with; one character in twenty is not text.
_MOST_CONTROL = 0.05
# How many limits' worth of an overlong line are skipped in search of its end before the file is given up.
_LONGEST_SKIP = 64
# Lines without anything to read; a few kilobytes of compressed data may be a hundred million of them.
_BLANK_LINES = re.compile(rb"(?:[ \t\r\x0b\x0c]*+\n)++")
_CHUNK = 1 << 20


def megabytes(count: int) -> str:
    return f"{count / 1e6:g} MB"


def sentence(error: Exception) -> str:
    """What a user is told when a reader is stopped by this error."""
    if isinstance(error, InputError | MissingExtraError):
        return str(error)
    if isinstance(error, DAMAGED):
        return f"Its compressed data is damaged ({str(error).rstrip('.')})."
    if isinstance(error, FileNotFoundError):
        return "There is no such file or folder."
    reason = " ".join(str(getattr(error, "strerror", None) or error).split())  # libraries' may have several lines
    return f"It cannot be opened or read: {reason}."


def open_bytes(place: str | Path) -> IO[bytes]:
    """The bytes of the file at a path or URI, decompressed when its name ends in .gz or .xz."""
    unpack = COMPRESSED.get(Path(place).suffix.lower())
    # pyarrow's files have no lines; and a store is asked for much at a time.
    source = io.BufferedReader(cast("Any", open_place(place)), _CHUNK) if is_uri(place) else Path(place)
    if unpack is not None:
        return cast("IO[bytes]", unpack(source, "rb"))
    return source.open("rb") if isinstance(source, Path) else source


def read_all(stream: IO[bytes], limit: int) -> bytes:
    """Everything in the stream, refused when it is more than `limit` bytes."""
    data = stream.read(limit + 1)
    if len(data) > limit:
        raise InputError(f"It is larger than {megabytes(limit)}; split it, or raise the limit with --max-mb.")
    return data


def decode(data: bytes) -> str:
    """Text of UTF-8 bytes, or of UTF-16 or UTF-32 bytes with a byte order mark; anything else is refused.

    Line ends are left as they are, so that positions in the text are positions in the file's characters.
    """
    encoding = encoding_of(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(_not_text(error, data[:4096], 0)) from error
    sample = text[:65536]
    if len(_CONTROL.findall(sample)) > _MOST_CONTROL * len(sample):
        raise InputError("It is binary data, not text; give the file its proper ending, or convert it to text.")
    return text


def encoding_of(head: bytes) -> str:
    """The encoding of a text that begins with these bytes; refuses what is known not to be text."""
    for signature, what in _SIGNATURES:
        if head.startswith(signature):
            raise InputError(f"It is {what}, not text; give the file its proper ending, or convert it to text.")
    return next((name for mark, name in _BYTE_ORDER_MARKS if head.startswith(mark)), "utf-8")


def _not_text(error: UnicodeDecodeError, sample: bytes, offset: int) -> str:
    if sample.count(b"\0") > _MOST_CONTROL * len(sample):
        return "It is binary data, not text; give the file its proper ending, or convert it to text."
    name = error.encoding.upper().replace("-SIG", "")
    found = f"byte 0x{error.object[error.start]:02X} at offset {offset + error.start}"
    return f"It is not {name} text ({found}); convert it to UTF-8, for instance with iconv."


@dataclass(frozen=True, slots=True)
class Line:
    """One line with its number from 1; `problem` says why when it cannot be read (then `text` is empty)."""

    number: int
    text: str
    problem: str | None = None


def count_lines(stream: IO[bytes]) -> int:
    """How many line ends the stream holds."""
    return sum(chunk.count(b"\n") for chunk in iter(lambda: stream.read(_CHUNK), b""))


def lines(
    stream: IO[bytes],
    limit: int,
    number: int = 0,
    offset: int = 0,
    advice: str = "; --max-mb raises the limit",
    skip_blank: Callable[[], bool] = lambda: False,
) -> Iterator[Line]:
    """The stream's lines with their line ends, decoded one by one: a bad line does not spoil the others.

    A stream that begins inside a file has `number` lines and `offset` bytes before it there. Where `skip_blank` says
    so, blank lines are counted and passed over, many at a time.
    """
    # Marks and signatures count at the beginning of a file only.
    head = b"" if offset else stream.read(4)
    if any(head.startswith(mark) and name != "utf-8-sig" for mark, name in _BYTE_ORDER_MARKS):
        yield from _wide_lines(head, stream, limit, advice, skip_blank)
        return
    for signature, what in _SIGNATURES:
        if head.startswith(signature[:4]):
            raise InputError(f"It is {what}, not lines of text; give the file its proper ending.")
    rest = head.removeprefix(codecs.BOM_UTF8)
    offset += len(head) - len(rest)
    while True:
        number += 1
        # A line may already end among the first bytes, which were read to look for a mark.
        raw, end, rest = rest.partition(b"\n")
        raw += end or stream.readline(max(0, limit + 1 - len(raw)))
        if not raw:
            return
        start, offset = offset, offset + len(raw)
        if raw.isspace() and skip_blank():
            passed, size = (0, 0) if rest else _pass_blank(stream)
            number, offset = number + passed, offset + size
            continue
        if len(raw) > limit and not raw.endswith(b"\n"):
            offset += _skip_line(stream, limit)
            yield Line(number, "", f"The line is longer than {megabytes(limit)}{advice}.")
            continue
        try:
            yield Line(number, raw.decode("utf-8"))
        except UnicodeDecodeError as error:
            yield Line(number, "", _not_text(error, raw[:4096], start))


def _pass_blank(stream: IO[bytes]) -> tuple[int, int]:
    """Pass over the blank lines that a buffered stream has next: how many, and their bytes."""
    passed = size = 0
    peek = getattr(stream, "peek", None)
    while peek is not None and (ahead := peek(1)) and (found := _BLANK_LINES.match(ahead)):
        passed += ahead.count(b"\n", 0, found.end())
        size += len(stream.read(found.end()))
        if found.end() < len(ahead):
            break
    return passed, size


def _skip_line(stream: IO[bytes], limit: int) -> int:
    skipped = 0
    while chunk := stream.readline(limit):
        skipped += len(chunk)
        if chunk.endswith(b"\n"):
            break
        if skipped > _LONGEST_SKIP * limit:
            raise InputError(f"One line goes on for more than {megabytes(skipped)}, so the rest is not read.")
    return skipped


class _Window(io.RawIOBase):
    def __init__(self, stream: IO[bytes], length: int, head: bytes) -> None:
        self._stream, self._left, self._head = stream, length, head

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        most = len(view) if self._left < 0 else min(len(view), self._left)
        data = self._head[:most] or (self._stream.read(most) if most else b"")
        self._head = self._head[len(data) :]
        self._left -= len(data) if self._left > 0 else 0
        view[: len(data)] = data
        return len(data)


def window(stream: IO[bytes], length: int = -1, head: bytes = b"") -> io.BufferedReader:
    """`head`, which was read before, and the stream from where it stands; `length` bytes in all, or all there are."""
    return io.BufferedReader(_Window(stream, length, head), _CHUNK)


def _wide_lines(
    head: bytes, stream: IO[bytes], limit: int, advice: str, skip_blank: Callable[[], bool]
) -> Iterator[Line]:
    encoding = next(name for mark, name in _BYTE_ORDER_MARKS if head.startswith(mark))
    text = io.TextIOWrapper(window(stream, head=head), encoding, newline="\n")
    number = 0
    try:
        while line := text.readline(limit + 1):
            number += 1
            if len(line) > limit:
                raise InputError(f"Line {number} is longer than {megabytes(limit)}{advice}.")
            if not (line.isspace() and skip_blank()):
                yield Line(number, line)
    except UnicodeDecodeError as error:
        raise InputError(f"It is not {encoding.upper()} text after line {number}; convert it to UTF-8.") from error
    finally:
        text.detach().detach()

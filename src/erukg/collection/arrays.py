"""Files of flat arrays: written once as a stream, then only ever memory-mapped.

A file is a 64-byte head, the arrays (each starting at a multiple of 64 bytes), a JSON directory of them, and
a 24-byte tail with the directory's length and checksum. The manifest knows every file's size and checksum.
Nothing in a file is believed before it is checked, and nothing is ever unpickled.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.errors import CollectionError

__all__ = ["ArrayFileWriter", "Arrays", "FileEntry", "checksum", "damaged", "open_arrays"]

_HEAD = b"erukg arrays 1\n".ljust(64, b"\0")
_TAIL = struct.Struct("<QII8s")
_TAIL_MARK = b"erukgend"
_ALIGN = 64
_LARGEST_DIRECTORY = 1 << 22
_DTYPES = {"u1": np.uint8, "u2": np.uint16, "u4": np.uint32, "u8": np.uint64, "i4": np.int32}
_CHUNK = 1 << 22

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of a collection as the manifest lists it."""

    name: str
    bytes: int
    crc32: int


def damaged(path: Path, reason: str) -> CollectionError:
    """The error for a file that is not what was written."""
    return CollectionError(f"{path} is damaged ({reason}); restore the collection from a copy or build it again.")


def checksum(path: Path) -> int:
    """The CRC-32 of a whole file."""
    crc = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
    return crc


class ArrayFileWriter:
    """Writes one file, array after array; `close` makes it durable, an error in the block deletes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("xb")
        self._directory: dict[str, tuple[str, int, int]] = {}
        self._crc = 0
        self._size = 0
        self._entry: FileEntry | None = None
        self._write(_HEAD)

    def _write(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._crc = zlib.crc32(data, self._crc)
        self._size += len(data)

    def add(self, name: str, array: NDArray[Any]) -> None:
        """Append an array under `name`."""
        self.stream(name, array.dtype, (array,))

    def stream(self, name: str, dtype: Any, chunks: Iterable[NDArray[Any]]) -> None:
        """Append an array given piece by piece."""
        little = np.dtype(dtype).newbyteorder("<")
        code = little.str[1:]
        if code not in _DTYPES or name in self._directory:
            raise ValueError(f"cannot write array {name!r} of type {dtype}")
        self._write(bytes(-self._size % _ALIGN))
        start, count = self._size, 0
        for chunk in chunks:
            flat = np.ascontiguousarray(chunk, little)
            if flat.size:
                self._write(flat.view(np.uint8).data)
                count += flat.size
        self._directory[name] = (code, count, start)

    def close(self) -> FileEntry:
        """Finish the file and wait until it is on the disk."""
        if self._entry is None:
            directory = json.dumps(self._directory, separators=(",", ":")).encode()
            self._write(directory)
            self._write(_TAIL.pack(self._size, len(directory), zlib.crc32(directory), _TAIL_MARK))
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._entry = FileEntry(self.path.name, self._size, self._crc)
        return self._entry

    def __enter__(self) -> ArrayFileWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        try:
            self._file.close()
        except OSError:  # a full disk: the buffer cannot be written, and the file goes anyway
            pass
        finally:
            self.path.unlink(missing_ok=True)


def open_arrays(folder: Path, entry: FileEntry, expected: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Map a file and return its arrays, read-only, after checking its size, directory and the `expected`
    types.

    The data itself is not read. FileNotFoundError is left to the caller, who knows whether a newer commit
    exists.
    """
    path = folder / entry.name
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size != entry.bytes:
            raise damaged(path, f"it has {size} bytes instead of {entry.bytes}")
        if size < len(_HEAD) + _TAIL.size:
            raise damaged(path, "it is too short")
        buffer = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    if buffer[: len(_HEAD)] != _HEAD:
        raise damaged(path, "it does not begin like a file of a collection")
    end, length, crc, mark = _TAIL.unpack(buffer[size - _TAIL.size :])
    if mark != _TAIL_MARK or length > _LARGEST_DIRECTORY or end != size - _TAIL.size or length > end:
        raise damaged(path, "its end is not the end of a file of a collection")
    directory = buffer[end - length : end]
    if zlib.crc32(directory) != crc:
        raise damaged(path, "its directory has another checksum")
    try:
        listed = dict(json.loads(directory))
        return {name: _view(buffer, end - length, listed[name], code) for name, code in expected.items()}
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise damaged(path, f"its directory cannot be used: {error!r}") from error


def _view(buffer: mmap.mmap, limit: int, listed: Any, code: str) -> NDArray[Any]:
    given, count, start = listed
    if given != code:
        raise ValueError(f"type {given} instead of {code}")
    width = int(code[1:])
    if not (type(count) is type(start) is int and count >= 0 and start >= 0 and start % _ALIGN == 0):
        raise ValueError("an array's place is not a number")
    if start + count * width > limit:
        raise ValueError("an array goes beyond the end")
    array = np.frombuffer(buffer, _DTYPES[code], count, start) if count else np.empty(0, _DTYPES[code])
    # Compiled code is made anew for writable arrays, so the empty ones are read-only too.
    array.setflags(write=False)
    return array

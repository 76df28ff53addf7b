"""Files of flat arrays and of lists of unequal length: written once as a stream, then only ever memory-mapped.

A file is a 64-byte head, the arrays (each starting at a multiple of 64 bytes), a JSON directory of them, and
a 24-byte tail with the directory's length and checksum. The manifest knows every file's size and checksum.
Nothing in a file is believed before it is checked, and nothing is ever unpickled.
"""

from __future__ import annotations

import errno
import json
import mmap
import os
import stat
import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.core.hashing import hash_strings
from erukg.errors import CollectionError

__all__ = [
    "HEAD",
    "ArrayFile",
    "ArrayFileWriter",
    "FileEntry",
    "Opener",
    "PackedLists",
    "check_file",
    "check_whole",
    "checksum",
    "damaged",
    "fault",
    "join",
    "offsets_of",
    "open_regular",
]

#: Every file of arrays begins so.
HEAD = b"erukg arrays 1\n".ljust(64, b"\0")
_TAIL = struct.Struct("<QII8s")
_TAIL_MARK = b"erukgend"
_ALIGN = 64
_LARGEST_DIRECTORY = 1 << 22
_DTYPES = {"u1": np.uint8, "u2": np.uint16, "u4": np.uint32, "u8": np.uint64, "i4": np.int32}
_CHUNK = 1 << 22
_LIMIT = 1 << 32
_IN_MEMORY = Path("<memory>")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file of a collection as the manifest lists it."""

    name: str
    bytes: int
    crc32: int


Opener: TypeAlias = Callable[[Path], IO[bytes]]
"""Opens a file for reading."""


def damaged(path: Path, reason: str) -> CollectionError:
    """The error for a file that is not what was written."""
    return CollectionError(f"{path} is damaged ({reason}); restore the collection from a copy or build it again.")


def open_regular(path: Path, *, follow: bool = True) -> IO[bytes]:
    """A file opened for reading; an OSError for folders, devices and pipes, which would block, and for links unless
    `follow`.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    handle = os.open(path, flags if follow else flags | getattr(os, "O_NOFOLLOW", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "It is not a regular file", str(path))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def check_whole(path: Path, array: NDArray[Any]) -> None:
    """Refuse a mapped array whose file has been cut short since: reading beyond its end would end the process."""
    mapped = array.base.obj if isinstance(array.base, memoryview) else array.base
    if isinstance(mapped, mmap.mmap) and mapped.size() < len(mapped):
        raise damaged(path, f"it was cut to {mapped.size()} bytes while it was open")


def checksum(path: Path) -> int:
    """The CRC-32 of a whole file."""
    with open_regular(path) as file:
        return _checksum(file)


def _checksum(file: IO[bytes]) -> int:
    crc = 0
    while chunk := file.read(_CHUNK):
        crc = zlib.crc32(chunk, crc)
    return crc


def fault(file: IO[bytes], entry: FileEntry) -> str | None:
    """What of an open file, read to its end, is other than the manifest says; None if it is as it was written."""
    size = os.fstat(file.fileno()).st_size
    if size != entry.bytes:
        return f"has {size} bytes instead of {entry.bytes}"
    return None if _checksum(file) == entry.crc32 else "has another checksum than when it was written"


def check_file(path: Path, entry: FileEntry) -> None:
    """Refuse a file that is not byte for byte what was written."""
    try:
        with open_regular(path) as file:
            found = fault(file, entry)
    except OSError as error:
        raise CollectionError(f"{path} cannot be read: {error.strerror}.") from error
    if found is not None:
        raise damaged(path, f"it {found}")


@dataclass(frozen=True, slots=True)
class PackedLists:
    """Lists of unequal length laid end to end: list i is values[offsets[i]:offsets[i + 1]].

    `path` is the file that they come from; what is wrong with them is said of it.
    """

    values: NDArray[Any]
    offsets: NDArray[np.uint32]
    path: Path = _IN_MEMORY

    @classmethod
    def of_strings(cls, items: Sequence[str]) -> PackedLists:
        """The strings in UTF-8."""
        encoded = [item.encode("utf-8", "surrogatepass") for item in items]
        lengths = np.fromiter((len(e) for e in encoded), np.int64, len(encoded))
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets_of(lengths))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def bounds(self, rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Start and stop of the chosen lists, checked against the array they lie in."""
        starts, stops = self.offsets[rows].astype(np.int64), self.offsets[rows + 1].astype(np.int64)
        if (starts > stops).any() or stops.max(initial=0) > len(self.values):
            raise damaged(self.path, "a list goes beyond its array")
        return starts, stops

    def take(self, rows: NDArray[Any]) -> PackedLists:
        """The chosen lists, in the order given."""
        starts, stops = self.bounds(rows)
        lengths = stops - starts
        offsets = offsets_of(lengths)
        index = np.arange(offsets[-1], dtype=np.int64) + np.repeat(starts - offsets[:-1], lengths)
        return PackedLists(self.values[index], offsets)

    def strings(self, rows: NDArray[Any]) -> list[str]:
        """The chosen lists as strings."""
        starts, stops = self.bounds(rows)
        view = self.values.data
        pairs = zip(starts.tolist(), stops.tolist(), strict=True)
        try:
            return [str(view[a:b], "utf-8", "surrogatepass") for a, b in pairs]
        except UnicodeDecodeError as error:
            raise damaged(self.path, f"a string cannot be read: {error.reason}") from error

    def hashes(self) -> NDArray[np.uint64]:
        """The hash of each string: the same as `erukg.core.hashing.hash_phrases` gives."""
        try:
            return hash_strings(self.values, self.offsets)
        except ValueError as error:
            raise damaged(self.path, str(error)) from error


def offsets_of(lengths: NDArray[Any]) -> NDArray[np.uint32]:
    """Offsets of lists with these lengths."""
    out = np.zeros(len(lengths) + 1, np.uint64)
    np.cumsum(lengths, out=out[1:])
    if out[-1] >= _LIMIT:
        raise CollectionError("One part of the collection would grow beyond 4 GiB; merge into smaller parts.")
    return out.astype(np.uint32)


def join(arrays: Iterable[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """The arrays, of which there may be none, end to end."""
    return np.concatenate([np.empty(0, dtype), *arrays])


class ArrayFileWriter:
    """Writes one file, array after array; `close` makes it durable, an error in the block deletes it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("xb")
        self._directory: dict[str, tuple[str, int, int]] = {}
        self._crc = 0
        self._size = 0
        self._entry: FileEntry | None = None
        self._write(HEAD)
        # Killed at any moment, what is left is known by its head.
        self._file.flush()

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

    def add_lists(self, name: str, lists: PackedLists) -> None:
        """Append lists under `name`."""
        self.add(name, lists.values)
        self.add(f"{name}.offsets", lists.offsets)

    def add_optional_lists(self, name: str, lists: PackedLists) -> None:
        """Append lists under `name`, unless all of them are empty."""
        if len(lists.values):
            self.add_lists(name, lists)

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


class ArrayFile:
    """The arrays of a mapped file, read-only; each is checked when it is asked for, and its data is not read.

    FileNotFoundError is left to the caller, who knows whether a newer commit exists.
    """

    def __init__(self, folder: Path, entry: FileEntry, opener: Opener = open_regular) -> None:
        self.path = path = folder / entry.name
        with opener(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size != entry.bytes:
                raise damaged(path, f"it has {size} bytes instead of {entry.bytes}")
            if size < len(HEAD) + _TAIL.size:
                raise damaged(path, "it is too short")
            self._buffer = buffer = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        if buffer[: len(HEAD)] != HEAD:
            raise damaged(path, "it does not begin like a file of a collection")
        end, length, crc, mark = _TAIL.unpack(buffer[size - _TAIL.size :])
        if mark != _TAIL_MARK or length > _LARGEST_DIRECTORY or end != size - _TAIL.size or length > end:
            raise damaged(path, "its end is not the end of a file of a collection")
        directory = buffer[end - length : end]
        if zlib.crc32(directory) != crc:
            raise damaged(path, "its directory has another checksum")
        self._limit = end - length
        try:
            self._directory = dict(json.loads(directory))
        except (TypeError, ValueError, RecursionError) as error:
            raise damaged(path, f"its directory cannot be used: {error!r}") from error

    def array(self, name: str, code: str, length: int | None = None) -> NDArray[Any]:
        """The array of this name and type, which must have `length` entries if that is given."""
        try:
            array = self._view(self._directory[name], code)
        except (KeyError, TypeError, ValueError) as error:
            raise damaged(self.path, f"its directory cannot be used: {error!r}") from error
        if length is not None and len(array) != length:
            raise damaged(self.path, f"array '{name}' has {len(array)} entries instead of {length}")
        return array

    def optional(self, name: str, code: str, length: int) -> NDArray[Any]:
        """The array of this name and type, all of it 0 in a file that has none."""
        return self.array(name, code, length) if name in self._directory else np.zeros(length, _DTYPES[code])

    def lists(self, name: str, code: str, count: int) -> PackedLists:
        """The `count` lists of this name."""
        return PackedLists(self.array(name, code), self.array(f"{name}.offsets", "u4", count + 1), self.path)

    def optional_lists(self, name: str, code: str, count: int) -> PackedLists:
        """The `count` lists of this name, all of them empty in a file that has none."""
        if name in self._directory:
            return self.lists(name, code, count)
        return PackedLists(np.empty(0, _DTYPES[code]), np.zeros(count + 1, np.uint32), self.path)

    def _view(self, listed: Any, code: str) -> NDArray[Any]:
        given, count, start = listed
        if given != code:
            raise ValueError(f"type {given} instead of {code}")
        if not (type(count) is type(start) is int and count >= 0 and start >= 0 and start % _ALIGN == 0):
            raise ValueError("an array's place is not a number")
        if start + count * int(code[1:]) > self._limit:
            raise ValueError("an array goes beyond the end")
        array = np.frombuffer(self._buffer, _DTYPES[code], count, start) if count else np.empty(0, _DTYPES[code])
        # Compiled code is made anew for writable arrays, so the empty ones are read-only too.
        array.setflags(write=False)
        return array

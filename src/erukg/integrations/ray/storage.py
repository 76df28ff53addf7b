"""Folders on local disks, shared ones and object stores, through one small interface."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from erukg.errors import InputError, require

__all__ = ["Store", "absolute", "is_uri", "resolve"]

_PURPOSE = "Reading and writing Parquet and object stores"
# A part in the making: readers pass over names that begin with an underscore.
_TEMPORARY = "_erukg/tmp"


def is_uri(path: str) -> bool:
    return "://" in path


def absolute(path: str) -> str:
    """The path as every node understands it."""
    return path.rstrip("/") if is_uri(path) else os.path.abspath(path)  # noqa: PTH100 (no links resolved)


def resolve(path: str) -> tuple[Any, str]:
    """pyarrow's file system for a path or URI, and the path in it; fsspec's where pyarrow has none of its own."""
    fs = require("pyarrow.fs", "ray", _PURPOSE)
    if not is_uri(path):
        return fs.LocalFileSystem(), absolute(path)
    try:
        system, inside = fs.FileSystem.from_uri(path)
        return system, str(inside)
    except (ValueError, NotImplementedError):  # pyarrow's error for a scheme it does not know is a ValueError
        pass
    fsspec = require("fsspec", "ray", _PURPOSE)
    try:
        found, inside = fsspec.core.url_to_fs(path)
    except (ImportError, ValueError) as error:
        raise InputError(f"{path} cannot be reached: {str(error).rstrip('.')}.") from error
    return fs.PyFileSystem(fs.FSSpecHandler(found)), str(inside)


class Store:
    """A folder, given as a path or URI; travels to workers as its name.

    `create` and `write` make a file appear whole or not at all: it is written under a temporary name, which no reader
    looks at, and renamed. Where renaming is copying, as in object stores, the copy appears whole.
    """

    def __init__(self, root: str) -> None:
        self.root = absolute(root)

    def __reduce__(self) -> tuple[type[Store], tuple[str]]:
        return Store, (self.root,)

    @cached_property
    def _place(self) -> tuple[Any, str]:
        return resolve(self.root)

    def _path(self, name: str) -> str:
        return f"{self._place[1]}/{name}"

    def describe(self, name: str) -> str:
        return f"{self.root}/{name}"

    @contextlib.contextmanager
    def create(self, name: str) -> Iterator[Any]:
        """A stream of bytes that becomes the file `name` when the block ends well; it replaces one there is."""
        system = self._place[0]
        temporary = self._path(f"{_TEMPORARY}/{uuid.uuid4().hex}-{name.rpartition('/')[2]}")
        self._make_parent(temporary)
        try:
            with system.open_output_stream(temporary) as stream:
                yield stream
            self._sync(temporary)
            self._make_parent(self._path(name))
            system.move(temporary, self._path(name))
            self._sync(self._path(name).rpartition("/")[0])
        except BaseException:
            with contextlib.suppress(OSError):
                system.delete_file(temporary)
            raise

    def _make_parent(self, path: str) -> None:
        self._place[0].create_dir(path.rpartition("/")[0], recursive=True)

    def _sync(self, path: str) -> None:
        """On a local disk: wait until it is there, so that no mark outlives what it vouches for."""
        if self._place[0].type_name != "local":
            return
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def write(self, name: str, data: bytes) -> None:
        with self.create(name) as stream:
            stream.write(data)

    def open(self, name: str) -> Any:
        return self._place[0].open_input_stream(self._path(name), compression=None)

    def read(self, name: str) -> bytes | None:
        """The whole of a small file, None when there is none."""
        try:
            with self.open(name) as stream:
                data: bytes = stream.read()
                return data
        except FileNotFoundError:
            return None

    def names(self, folder: str) -> list[str]:
        """The files directly in `folder`, sorted; none when it does not exist."""
        fs = require("pyarrow.fs", "ray", _PURPOSE)
        path = self._path(folder) if folder else self._place[1]
        found = self._place[0].get_file_info(fs.FileSelector(path, allow_not_found=True))
        return sorted(info.base_name for info in found if info.type == fs.FileType.File)

    def remove_folder(self, folder: str = "") -> None:
        """Remove `folder`, or the whole store, with all that is in it."""
        with contextlib.suppress(FileNotFoundError):
            self._place[0].delete_dir(self._path(folder) if folder else self._place[1])

    def tidy(self) -> None:
        """Remove what workers that were killed left half written."""
        self.remove_folder(_TEMPORARY)

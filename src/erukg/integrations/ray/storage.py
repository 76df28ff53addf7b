"""The output folder of a job: on a local disk, on a shared one, or in an object store."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from erukg.errors import require
from erukg.io.places import absolute, resolve
from erukg.io.publish import publish_file

__all__ = ["Discarding", "Store"]

# Files in the making: readers pass over names that begin with an underscore.
_TEMPORARY = "_erukg/tmp"


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
        return f"{self._place[1]}/{name}".rstrip("/")

    @contextlib.contextmanager
    def create(self, name: str) -> Iterator[Any]:
        """A stream of bytes that becomes the file `name` when the block ends well; it replaces one there is."""
        system, path = self._place[0], self._path(name)
        folder, _, base = path.rpartition("/")
        temporary = self._path(f"{_TEMPORARY}/{uuid.uuid4().hex}-{base}")
        for parent in (self._path(_TEMPORARY), folder):
            system.create_dir(parent, recursive=True)
        try:
            with system.open_output_stream(temporary) as stream:
                yield stream
            if system.type_name == "local":  # flushed to the disk, so that no mark outlives what it vouches for
                publish_file(Path(temporary), Path(path))
            else:
                system.move(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                system.delete_file(temporary)
            raise

    def write(self, name: str, data: bytes) -> None:
        with self.create(name) as stream:
            stream.write(data)

    def open(self, name: str) -> Any:
        return self._place[0].open_input_stream(self._path(name), compression=None)

    def read(self, name: str) -> bytes | None:
        """The whole of a small file, None when there is none."""
        with contextlib.suppress(FileNotFoundError), self.open(name) as stream:
            return bytes(stream.read())
        return None

    def names(self, folder: str) -> list[str]:
        """The files directly in `folder`, sorted; none when it does not exist."""
        fs = require("pyarrow.fs", "ray", "Writing to object stores")
        found = self._place[0].get_file_info(fs.FileSelector(self._path(folder), allow_not_found=True))
        return sorted(info.base_name for info in found if info.is_file)

    def remove_folder(self, folder: str = "") -> None:
        """Remove `folder`, or the whole store, with all that is in it."""
        with contextlib.suppress(FileNotFoundError):
            self._place[0].delete_dir(self._path(folder))

    def tidy(self) -> None:
        """Remove what workers that were killed left half written."""
        self.remove_folder(_TEMPORARY)


class Discarding(Store):
    """A store for trying something out: what is written to it is gone, so a process that is killed leaves nothing."""

    def __init__(self) -> None:
        super().__init__(os.devnull)

    @contextlib.contextmanager
    def create(self, name: str) -> Iterator[Any]:
        yield require("pyarrow", "ray", "Working on a cluster").MockOutputStream()

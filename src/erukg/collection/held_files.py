"""The files of a commit, kept open while they are checked: a writer that deletes them takes nothing away."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Self

from erukg.collection.arrays import FileEntry, fault, open_regular
from erukg.collection.commit import Commit, open_commit
from erukg.collection.manifest import Manifest, read_manifest
from erukg.collection.opening import TRIES
from erukg.collection.segment import Segment
from erukg.errors import CollectionError

__all__ = ["HeldFiles"]


class HeldFiles:
    """The current commit of a folder and its files, opened; use it as a context manager.

    A file that is missing or cannot be opened is a fault, unless a newer commit has taken the place of the one that
    names it: then that is held.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._files: dict[Path, IO[bytes]] = {}
        self._missing: dict[Path, str] = {}
        self.manifest = read_manifest(folder)
        for _ in range(TRIES):
            self._open(self.manifest)
            newer = read_manifest(folder) if self._missing else self.manifest
            if newer.number == self.manifest.number:
                return
            self.manifest = newer
        self._stack.close()
        raise CollectionError(f"{folder} is rewritten faster than it can be opened; try again when the writer is done.")

    def _open(self, manifest: Manifest) -> None:
        self._stack.close()
        self._files, self._missing = {}, {}
        for entry in manifest.files:
            path = self._folder / entry.name
            try:
                self._files[path] = self._stack.enter_context(open_regular(path))
            except FileNotFoundError:
                self._missing[path] = "is missing"
            except OSError as error:
                self._missing[path] = f"cannot be read: {error.strerror}"

    def faults(self, on_file: Callable[[str], None] | None = None) -> Iterator[tuple[Path, str]]:
        """Every file that is not what was written, with what is wrong with it."""
        for entry in self.manifest.files:
            if on_file is not None:
                on_file(entry.name)
            path = self._folder / entry.name
            found = self._missing.get(path) or self._fault(path, entry)
            if found is not None:
                yield path, found

    def _fault(self, path: Path, entry: FileEntry) -> str | None:
        try:
            return fault(self._files[path], entry)
        except OSError as error:
            return f"cannot be read: {error.strerror}"

    def parts(self) -> tuple[tuple[Segment, ...], Commit]:
        """The files mapped, once `faults` has found none; they are no longer held after this."""
        segments = tuple(Segment.open(self._folder, entry, self._files.__getitem__) for entry in self.manifest.segments)
        return segments, open_commit(self._folder, self.manifest, segments, self._files.__getitem__)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

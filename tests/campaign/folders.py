"""What folders hold: strangers' files that nobody may touch, and every array of a collection, to be compared."""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from erukg.collection import verify
from erukg.collection.arrays import ArrayFile
from erukg.collection.manifest import MANIFEST, Manifest, read_manifest
from erukg.errors import CollectionError

__all__ = ["Strangers", "fresh", "noticed", "state_of", "the_same"]

#: Files of others that lie where erukg works: some have its endings, one even its kind of name.
_NAMES = ("notes.txt", "pytorch_model.bin", "segment-99999999.bin", "commit.bin", "manifest.json.bak", ".hidden.part")
_LINK = "link.bin"


class Strangers:
    """Somebody else's files in the folders named: put there, and looked at later."""

    names = frozenset((*_NAMES, _LINK))

    def __init__(self, *folders: Path) -> None:
        self._paths: list[Path] = []
        for folder in folders:
            for name in _NAMES:
                path = folder / name
                path.write_bytes(f"{name} belongs to somebody else\n".encode() * 3)
                self._paths.append(path)
            link = folder / _LINK
            link.symlink_to("notes.txt")
            self._paths.append(link)
        self._before = self._look()

    def check(self) -> None:
        """An AssertionError where one of them is gone or other than it was."""
        for path, before, now in zip(self._paths, self._before, self._look(), strict=True):
            assert now == before, f"{path.name} of somebody else was {'removed' if now is None else 'changed'}"

    def _look(self) -> list[tuple[Any, ...] | None]:
        return [_facts(path) for path in self._paths]


def _facts(path: Path) -> tuple[Any, ...] | None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
    return found.st_ino, found.st_mode, found.st_mtime_ns, content


def fresh(folder: Path, source: Path | None = None) -> Path:
    """The folder with nothing in it, or with a copy of `source`."""
    shutil.rmtree(folder, ignore_errors=True)
    if source is None:
        folder.mkdir(parents=True)
    else:
        shutil.copytree(source, folder)
    return folder


def state_of(folder: Path) -> str | None:
    """A hash over every array of a collection and all that its manifest says but for numbers and names of files; None
    where there is no manifest."""
    if not (folder / MANIFEST).exists():
        return None
    manifest = read_manifest(folder)
    digest = hashlib.sha256(repr(_said(manifest)).encode())
    for entry in manifest.files:
        file = ArrayFile(folder, entry)
        for name, (code, count, _) in sorted(file._directory.items()):
            digest.update(f"{name} {code} {count}\n".encode())
            digest.update(file.array(name, code).tobytes())
    return digest.hexdigest()


def _said(manifest: Manifest) -> dict[str, Any]:
    said = asdict(manifest)
    for name in ("number", "next_file", "commit", "source"):
        del said[name]
    said["segments"] = [(each.documents, each.live, each.length) for each in manifest.segments]
    if said["journal"] is not None:
        del said["journal"]["source"]
    return said


def the_same(folder: Path, twin: Path) -> bool:
    """Whether the files of both folders are the same, byte for byte."""
    names = sorted(path.name for path in folder.iterdir())
    return names == sorted(path.name for path in twin.iterdir()) and all(
        (folder / name).read_bytes() == (twin / name).read_bytes() for name in names
    )


def noticed(folder: Path) -> bool:
    """Whether `verify` finds something wrong with a collection."""
    try:
        return bool(verify(folder))
    except CollectionError:
        return True

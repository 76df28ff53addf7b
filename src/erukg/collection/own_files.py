"""Which files of a folder a collection's writer made: it removes these and no others."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from erukg.collection.arrays import HEAD, open_regular
from erukg.collection.lock import LOCK, names_holder
from erukg.collection.manifest import BEGINNING, FILE_NAME, MANIFEST
from erukg.errors import CollectionError

__all__ = ["check_free", "clear_away"]

# Where a manifest is written before it takes its place (`erukg.io.publish.published`).
_DRAFT = re.compile(rf"\.{re.escape(MANIFEST)}\.[0-9]+\.part")


def clear_away(folder: Path, needed: Collection[str] = ()) -> None:
    """Remove what writers have left in the folder, but for the files `needed`."""
    for path in folder.iterdir():
        if path.name not in needed and _is_left_over(path):
            with suppress(OSError):  # on a disk that fails it stays for the next writer
                path.unlink(missing_ok=True)


def check_free(folder: Path) -> None:
    """Refuse a folder for a new collection that holds anything but what a killed writer may have left."""
    if (folder / MANIFEST).exists():
        raise CollectionError(f"{folder} already holds a collection; choose another folder, or add to it.")
    strange = sorted(path.name for path in folder.iterdir() if not (_is_left_over(path) or _is_lock(path)))
    if strange:
        named = ", ".join(strange[:3]) + (", …" if len(strange) > 3 else "")
        raise CollectionError(
            f"{folder} holds files that are no part of a collection ({named}); choose an empty folder or a name "
            "that does not exist yet."
        )


def _is_left_over(path: Path) -> bool:
    """Whether it is a file of arrays or the draft of a manifest, whole, cut short or empty, by name and by content."""
    if FILE_NAME.fullmatch(path.name):
        return _begins(path, HEAD)
    return _DRAFT.fullmatch(path.name) is not None and _begins(path, BEGINNING)


def _is_lock(path: Path) -> bool:
    return path.name == LOCK and (found := _start(path, 300)) is not None and names_holder(found)


def _begins(path: Path, start: bytes) -> bool:
    found = _start(path, len(start))
    return found is not None and start.startswith(found)


def _start(path: Path, size: int) -> bytes | None:
    """The first bytes of a file; None for what is no plain file or cannot be read."""
    try:
        with open_regular(path, follow=False) as file:
            return file.read(size)
    except OSError:
        return None

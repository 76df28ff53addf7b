"""All files under a folder, in a fixed order, whatever its links look like."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["Skip", "walk"]

Skip = Callable[[Path, str], None]
"""Called with each file or folder that is passed over, and why."""


def walk(folder: Path, skip: Skip) -> Iterator[Path]:
    """Regular files below `folder`, sorted by name level by level; hidden ones are passed over.

    Links are followed, but no folder is visited twice, so a loop of links ends.
    """
    seen: set[tuple[int, int]] = set()
    stack = [folder]
    while stack:
        path = stack.pop()
        try:
            info = path.stat()
            if stat.S_ISREG(info.st_mode):
                yield path
                continue
            if not stat.S_ISDIR(info.st_mode):
                skip(path, "not a regular file")
                continue
            if (info.st_dev, info.st_ino) in seen:
                skip(path, "a link to a folder already read")
                continue
            seen.add((info.st_dev, info.st_ino))
            children = sorted(path.iterdir(), reverse=True)
        except OSError as error:
            skip(path, (error.strerror or "unreadable").lower())
            continue
        for child in children:
            if child.name.startswith("."):
                skip(child, "hidden")
            else:
                stack.append(child)

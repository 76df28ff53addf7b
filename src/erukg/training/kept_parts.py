"""Long preparation, kept part by part in a folder: a run that was stopped goes on from the parts that it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from erukg.errors import TrainingError
from erukg.io.publish import published

__all__ = ["kept_parts"]

ItemT = TypeVar("ItemT")


def kept_parts(
    items: Sequence[ItemT],
    work: Path,
    size: int,
    make: Callable[[Sequence[ItemT]], NDArray[Any]],
    columns: int,
    on_progress: Callable[[int], None] | None = None,
) -> Iterator[NDArray[Any]]:
    """The table of `columns` that `make` gives for each `size` items, from the folder `work` where it is there."""
    for first in range(0, len(items), size):
        path = work / f"part-{first:07d}.npy"
        if not path.exists():
            table = make(items[first : first + size])
            with published(path) as file:
                np.save(file, table, allow_pickle=False)
        yield _read(path, columns)
        if on_progress is not None:
            on_progress(min(first + size, len(items)))


def _read(path: Path, columns: int) -> NDArray[Any]:
    try:
        table: NDArray[Any] = np.load(path, allow_pickle=False)
        if table.ndim != 2 or table.shape[1] != columns:
            raise ValueError("it has another shape")
    except (OSError, ValueError, EOFError) as error:
        raise TrainingError(f"{path} cannot be read ({error}); remove it and run the command again.") from error
    return table

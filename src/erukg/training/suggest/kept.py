"""Lessons on the disk, so that a run that was stopped, even by kill -9, goes on where it was: give the command again.

They lie beside the ranking to be made, in parts named after all that decides them, and go when it is finished.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from erukg.io.publish import published
from erukg.training.suggest.samples import Lesson, TaggedText

__all__ = ["kept_folder", "kept_lessons"]

_PART = 500
_FORMAT = "lessons-2"
_LISTS = ("concepts", "named", "terms", "seen")


def kept_folder(out: Path) -> Path:
    """Where the lessons for a ranking lie while it is made."""
    return out.with_name(f".{out.name}.lessons")


def kept_lessons(
    folder: Path, made_from: Sequence[str], texts: Sequence[TaggedText], read: Callable[[int, int], Iterator[Lesson]]
) -> Iterator[Lesson]:
    """The lessons of all texts: those that the folder has of the same texts and `made_from`, and the rest by `read`,
    which is given the first text and the one behind the last.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for first in range(0, len(texts), _PART):
        some = texts[first : first + _PART]
        digest = hashlib.sha256(repr((_FORMAT, *made_from, first, some)).encode())
        path = folder / f"{digest.hexdigest()[:32]}.npz"
        lessons = _load(path, len(some))
        if lessons is not None:
            yield from lessons
            continue
        lessons = []
        for lesson in read(first, first + len(some)):
            lessons.append(lesson)
            yield lesson
        _save(path, lessons)


def _save(path: Path, lessons: list[Lesson]) -> None:
    arrays: dict[str, Any] = {}
    for name in _LISTS:
        lists = [getattr(lesson, name) for lesson in lessons]
        known = [each if each is not None else np.empty(0, np.int64) for each in lists]
        arrays[name] = np.concatenate([np.empty(0, known[0].dtype), *known])
        arrays[f"{name}.lengths"] = np.array([-1 if each is None else len(each) for each in lists], np.int64)
    features = [lesson.features for lesson in lessons if lesson.features is not None]
    arrays["features"] = np.concatenate(features) if features else np.empty((0, 0), np.float32)
    with published(path) as file:
        np.savez(file, **arrays)


def _load(path: Path, count: int) -> list[Lesson] | None:
    """The lessons of a part; None where it is not there or not whole."""
    try:
        with np.load(path, allow_pickle=False) as held:
            lists = []
            for name in _LISTS:
                lengths = held[f"{name}.lengths"]
                bounds = np.concatenate(([0], np.cumsum(np.maximum(lengths, 0))))
                flat = held[name]
                if len(lengths) != count or bounds[-1] != len(flat):
                    return None
                lists.append([None if n < 0 else flat[a : a + n] for a, n in zip(bounds[:-1], lengths, strict=True)])
            features, at, out = held["features"], 0, []
            for concepts, named, terms, seen in zip(*lists, strict=True):
                own = None if seen is None else features[at : at + len(seen)]
                at += 0 if seen is None else len(seen)
                out.append(Lesson(concepts, named, terms, seen, own))
            return out if at == len(features) else None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None

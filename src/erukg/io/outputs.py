"""Where results go: standard output, or a file that appears only when it is complete and can be resumed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Generic, Self, TypeVar

from erukg.core.inputs import given_id
from erukg.errors import InputError
from erukg.io.locking import open_plain, try_lock
from erukg.io.objects import parse_object
from erukg.io.publish import publish_file, publish_text, published
from erukg.io.streams import COMPRESSED, DAMAGED, open_bytes
from erukg.io.writers import Row, Writer

__all__ = ["Output", "Records"]

# The longest line of a half-written output that is read back; a result is far shorter.
_LONGEST_LINE = 100_000_000
WriterT = TypeVar("WriterT", bound=Writer)


def _id_of(lines: Sequence[str]) -> object:
    return given_id(parse_object(lines[0]))


@dataclass(frozen=True, slots=True)
class Records:
    """How a half-written output is read back: how many lines each record has, and where its id is in them."""

    lines: int = 1
    id: Callable[[Sequence[str]], object] = _id_of


class Output(Generic[WriterT]):
    """Writes each result at once; with a path, into `<path>.part`, which becomes `path` at the end.

    A path that ends in .gz or .xz is compressed then: a compressed file cut short could not be gone on with.

    resume    go on with what an interrupted run (or a finished one) has left
    records   what it has left are lines like these; JSON Lines unless one says otherwise
    keep      called with the part that is left for a later `resume` when the work is interrupted; without it, the part
              is removed
    asked     what decides the results, by name: noted in `<path>.part.json` as long as there is a part, which is only
              resumed when the same is asked
    done      counts the ids that a resumed output already holds
    """

    def __init__(
        self,
        path: Path | None,
        writer: Callable[[IO[bytes]], WriterT],
        *,
        resume: bool = False,
        records: Records | None = None,
        keep: Callable[[Path], None] | None = None,
        asked: Mapping[str, Any] | None = None,
    ) -> None:
        self.path, self._records, self._keep = path, records or Records(), keep
        self._asked = json.loads(json.dumps(asked, default=str))
        self.done: Counter[str] = Counter()
        self._discarded = self._written = False
        self._part: Path | None = None
        self._lock: int | None = None
        self._stream = sys.stdout.buffer if path is None else self._open(path, resume)
        self.writer = writer(self._stream)

    def _open(self, path: Path, resume: bool) -> IO[bytes]:
        if path.is_dir():
            raise InputError(f"The output {path} is a folder; give the name of a file.")
        if path.exists() and not path.is_file():  # a pipe or a device: nothing to rename
            return path.open("wb")
        part = path.with_name(path.name + ".part")
        handle = _open_locked(part)
        try:
            self._begin(path, part, resume)
        except BaseException:
            os.close(handle)
            raise
        self._part = part
        # The lock lasts until the last duplicate of the handle is closed: longer than the stream.
        self._lock = os.dup(handle) if os.name == "posix" else None
        os.lseek(handle, 0, os.SEEK_END)
        return os.fdopen(handle, "wb")

    def _begin(self, path: Path, part: Path, resume: bool) -> None:
        """Make of the part, which is locked, what the work goes on with: nothing, or what is done already."""
        note = _note(part)
        interrupted = part.stat().st_size > 0
        if resume:
            if interrupted:
                self._compare(part, note)
            elif path.exists():
                _decompress(path, part)
            try:
                self.done = _ids_written(part, self._records)
            except InputError:
                if not interrupted:  # it is a copy
                    part.unlink()
                raise
        elif interrupted and (self._keep is not None or note.exists()):
            raise InputError(
                f"{part} holds what an interrupted run has done; go on from there with --resume, or remove that file "
                "to begin anew."
            )
        else:
            os.truncate(part, 0)
        if self._keep is not None and self._asked is not None:
            publish_text(note, json.dumps(self._asked, indent=1) + "\n")
        else:
            note.unlink(missing_ok=True)

    def _compare(self, part: Path, note: Path) -> None:
        """Refuse to mix results: the part must have been begun with what is asked now, if that is known."""
        if self._asked is None or not note.is_file():
            return
        try:
            begun = parse_object(note.read_text("utf-8"))
        except ValueError as error:
            raise InputError(f"{note} does not say how {part} was begun; remove both to begin anew.") from error
        changed = [name for name in {**begun, **self._asked} if begun.get(name) != self._asked.get(name)]
        if changed:
            shown = ", ".join(
                f"{name} {_short(begun.get(name))}, now {_short(self._asked.get(name))}" for name in changed[:3]
            )
            raise InputError(
                f"{part} was begun with other settings ({shown}); resume it with those, or remove that file to begin "
                "anew."
            )

    def write(self, row: Row) -> None:
        self.writer.write(row)
        self._stream.flush()
        self._written = True

    def discard(self) -> None:
        """Leave whatever the file held before: there was nothing to write."""
        self._discarded = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        complete = False
        try:
            if kind is None and not self._discarded:
                self.writer.close()
                self._stream.flush()
                complete = True
        finally:
            if self.path is not None:
                self._finish(self.path, complete)

    def _finish(self, path: Path, complete: bool) -> None:
        if not complete:
            with contextlib.suppress(OSError, ValueError):  # it only has to let go of the stream
                self.writer.close()
        self._stream.close()
        if self._part is None:
            return
        try:
            if complete:
                _publish(self._part, path)
            elif self._keep is not None and (self._written or self.done):
                self._keep(self._part)
                return
            else:
                self._part.unlink()
            _note(self._part).unlink(missing_ok=True)
        finally:
            if self._lock is not None:
                os.close(self._lock)


def _note(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 24 else text[:16] + "…"


def _open_locked(part: Path) -> int:
    """A handle to the part, which no other run has; what is in it stays."""
    while True:
        handle = open_plain(part)
        try:
            mine = try_lock(handle)
        except (ImportError, OSError):  # there are no locks here; two runs at once are then the user's to avoid
            return handle
        if mine and part.exists() and os.path.samestat(os.fstat(handle), part.stat()):
            return handle
        os.close(handle)
        if not mine:
            raise InputError(f"{part} is being written by another run; wait for its end, or name another output.")
        # The other run has published the part, or removed it, between our opening and locking it.


def _decompress(path: Path, part: Path) -> None:
    try:
        with open_bytes(path) as source, part.open("wb") as copy:
            shutil.copyfileobj(source, copy)
    except DAMAGED as error:
        part.unlink()
        raise InputError(f"{path} is not compressed as its name says, so it cannot be resumed; remove it.") from error


def _publish(part: Path, path: Path) -> None:
    """Put the finished part in its place, compressed when the place's name says so."""
    compress = COMPRESSED.get(path.suffix.lower())
    if compress is None:
        publish_file(part, path)
        return
    with published(path) as file, part.open("rb") as source, compress(file, "wb") as target:
        shutil.copyfileobj(source, target)
    part.unlink()


def _ids_written(part: Path, records: Records) -> Counter[str]:
    """The ids in a half-written output; a last record that was cut short is cut off."""
    done: Counter[str] = Counter()
    good = number = 0
    with part.open("r+b") as file:
        while True:
            lines = [file.readline(_LONGEST_LINE) for _ in range(records.lines)]
            if not all(line.endswith(b"\n") for line in lines):
                break
            number += records.lines
            try:
                id = records.id([line.decode("utf-8") for line in lines])
                if not isinstance(id, str):
                    raise InputError("It has no id.")
            except (ValueError, LookupError, TypeError) as error:  # an InputError is one too
                raise InputError(
                    f"Line {number} of {part} is not what erukg writes in this format, so it cannot be resumed; "
                    "remove the file or name another output."
                ) from error
            done[id] += 1
            good += sum(map(len, lines))
        file.truncate(good)
    return done

"""Jobs on disk: a folder for each, with its documents, its results and how far it has come.

Whatever happens to the process, a job is whole or not there, and what is done stays done. All workers share the
folder; the one that holds a job's lock works on it. Only files that are listed here are ever deleted.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import io
import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from erukg.errors import InputError
from erukg.io.locking import open_plain, try_lock
from erukg.io.objects import parse_object
from erukg.io.outputs import Output, Records
from erukg.io.publish import publish_folder, publish_text
from erukg.io.writers import LineWriter
from erukg.serving.answers import Job
from erukg.serving.limits import ServiceLimits
from erukg.serving.problems import Problem

__all__ = ["JobFolder", "JobStore", "Order", "Upload"]

_ID = re.compile(r"[0-9a-f]{32}")
_PART = re.compile(r"\.[0-9a-f]{32}\.part")
_ORDER, _STATE, _DOCUMENTS, _RESULTS, _LOCK = "job.json", "state.json", "documents.jsonl", "results.jsonl", "lock"
_CANCELLED = "cancelled"
_OWN = (_ORDER, _STATE, _DOCUMENTS, _RESULTS, f"{_RESULTS}.part", f"{_RESULTS}.part.json", _LOCK, _CANCELLED)
# What a crash may leave of a file that was about to be published.
_LEFT = re.compile(r"\.(?:state\.json|results\.jsonl\.part\.json|job\.json)\.\d+\.part")
_MOST_BEGINNINGS = 3
_ENDED = ("done", "failed")


@dataclass(frozen=True, slots=True)
class Order:
    """What is wanted of a job: how many documents there are, and what decides their results."""

    created: str
    documents: int
    top_k: int
    explain: bool
    settings: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _State:
    status: str = "waiting"
    finished: int = 0
    errors: int = 0
    begun: int = 0
    begun_at: int = -1
    ended: str | None = None
    error: str | None = None


class JobStore:
    """The folder of all jobs; `--jobs-folder`."""

    def __init__(self, path: Path, limits: ServiceLimits) -> None:
        self.path, self._limits = path, limits
        probe = path / f".locks.{os.getpid()}"
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = open_plain(probe)
            try:
                with contextlib.suppress(ImportError):  # a system without locks has no second worker either
                    try_lock(handle)
            finally:
                os.close(handle)
                probe.unlink()
        except OSError as error:
            raise InputError(f"The folder of jobs {path} cannot be used: {error.strerror}; name another.") from error

    def jobs(self) -> list[JobFolder]:
        """All jobs that are not cancelled, the oldest first."""
        found = [job for path in self.path.iterdir() if (job := _job_at(path)) is not None]
        return sorted(found, key=lambda job: (job.order.created, job.id))

    def named(self, id: str) -> JobFolder:
        if not _ID.fullmatch(id) or (job := _job_at(self.path / id)) is None:
            raise Problem(404, "There is no job of this id; GET /v1/jobs lists all.")
        return job

    def check_room(self) -> None:
        """Raise a Problem (429) when there are as many jobs as may be kept."""
        kept = sum(1 for path in self.path.iterdir() if _ID.fullmatch(path.name) or _PART.fullmatch(path.name))
        if kept >= self._limits.jobs:
            sentence = f"There are {self._limits.jobs} jobs already; delete one that is done, or try again later."
            raise Problem(429, sentence, {"Retry-After": "60"}, "jobs_full")

    @contextlib.contextmanager
    def upload(self) -> Iterator[Upload]:
        """A job in the making; it is there when `publish` was called, and nothing of it is left otherwise."""
        self.check_room()
        part = self.path / f".{secrets.token_hex(16)}.part"
        part.mkdir(mode=0o700)
        try:
            with (part / _DOCUMENTS).open("xb") as file:
                yield Upload(part, file, self._limits)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise Problem(
                507, "There is no room on the disk for this job; try again when others are deleted."
            ) from None
        finally:
            _delete(part)

    def sweep(self) -> None:
        """Delete what was cancelled or has been over for long enough, and what a crash has left."""
        now, hours = time.time(), self._limits.job_hours
        for path in self.path.iterdir():
            with contextlib.suppress(OSError, ValueError, TypeError):
                if path.is_symlink() or not path.is_dir():
                    continue
                if _PART.fullmatch(path.name):
                    # Nobody takes that long to send documents.
                    if now - max(path.stat().st_mtime, *(f.stat().st_mtime for f in path.iterdir()), 0) > 3600:
                        _delete(path)
                elif _ID.fullmatch(path.name):
                    job = JobFolder(path)
                    if (path / _CANCELLED).exists() or job.age(now) > hours * 3600:
                        job.delete()


class Upload:
    """The documents of a job as they arrive, counted and bounded."""

    def __init__(self, part: Path, file: IO[bytes], limits: ServiceLimits) -> None:
        self._part, self._file, self._limits = part, file, limits
        self._rest = b""
        self.documents = 0

    @property
    def held(self) -> int:
        """The bytes of a line that has not ended."""
        return len(self._rest)

    def write(self, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._count(*lines)
        self._check(len(self._rest))
        self._file.write(data)

    def _count(self, *lines: bytes) -> None:
        for line in lines:
            self._check(len(line))
        self.documents += sum(1 for line in lines if line and not line.isspace())
        if self.documents > self._limits.job_documents:
            raise Problem(
                413, f"There are more than {self._limits.job_documents} documents; make several jobs of them."
            )

    def _check(self, length: int) -> None:
        if length > self._limits.body_bytes:
            raise Problem(
                413, f"A line is longer than {self._limits.body_bytes / 1e6:g} MB; is it one document per line?"
            )

    def publish(self, top_k: int, explain: bool, settings: dict[str, Any]) -> JobFolder:
        """Make it a job, which is on the disk then."""
        self._count(self._rest)
        if not self.documents:
            raise Problem(422, "There are no documents in the body; send one object per line.")
        self._file.close()
        order = Order(_now(), self.documents, top_k, explain, settings)
        publish_text(self._part / _ORDER, json.dumps(dataclasses.asdict(order)))
        path = self._part.with_name(self._part.name[1:].removesuffix(".part"))
        publish_folder(self._part, path)
        return JobFolder(path)


class JobFolder:
    """One job: what was ordered and what has become of it."""

    def __init__(self, path: Path) -> None:
        self.path, self.id = path, path.name
        self.order = Order(**parse_object((path / _ORDER).read_text("utf-8")))  # type: ignore[arg-type]
        self.state = self._read_state()
        self._lock: int | None = None

    def _read_state(self) -> _State:
        with contextlib.suppress(FileNotFoundError):
            return _State(**parse_object((self.path / _STATE).read_text("utf-8")))  # type: ignore[arg-type]
        return _State()

    @property
    def over(self) -> bool:
        return self.state.status in _ENDED

    @property
    def cancelled(self) -> bool:
        return (self.path / _CANCELLED).exists()

    @property
    def documents(self) -> Path:
        return self.path / _DOCUMENTS

    def answer(self) -> Job:
        state, order = self.state, self.order
        return Job(
            id=self.id,
            status=state.status,  # type: ignore[arg-type]
            documents=order.documents,
            finished=state.finished,
            errors=state.errors,
            created=order.created,
            ended=state.ended,
            error=state.error,
        )

    def results(self) -> tuple[IO[bytes], int]:
        """The results so far, and how many bytes of them are whole lines."""
        for name in (_RESULTS, f"{_RESULTS}.part", _RESULTS):  # it may be published in between
            with contextlib.suppress(FileNotFoundError):
                file = (self.path / name).open("rb")
                return file, _whole_lines(file)
        return io.BytesIO(), 0

    def age(self, now: float) -> float:
        """Seconds since it was over."""
        return now - datetime.fromisoformat(self.state.ended).timestamp() if self.state.ended else 0.0

    def claim(self) -> bool:
        """Take the job's lock, for as long as this process lives or until `release`, and see how it stands."""
        handle = open_plain(self.path / _LOCK)
        try:
            mine = try_lock(handle)
        except ImportError:
            mine = True
        if not mine:
            os.close(handle)
            return False
        self._lock = handle
        self.state = self._read_state()
        return True

    def release(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def hopeless(self) -> bool:
        """Whether it was begun again and again and came no further: it is what makes the service fail."""
        return self.state.begun >= _MOST_BEGINNINGS and self.state.finished == self.state.begun_at

    def begin(self, asked: dict[str, Any]) -> Output[LineWriter]:
        """The results, to go on with where an earlier attempt has ended; `asked` is what decides them."""
        # Any line counts: they are in the order of the documents.
        records = Records(id=lambda lines: "line")
        try:
            output = Output(self.path / _RESULTS, LineWriter, resume=True, records=records, keep=_kept, asked=asked)
        except InputError:
            sentence = "It was begun by a service with another model, collection or version; submit it again."
            raise InputError(sentence) from None
        finished = output.done.total()
        begun = self.state.begun + 1 if finished == self.state.begun_at else 1
        errors = _count_errors(self.path / f"{_RESULTS}.part")
        self.note(status="running", finished=finished, errors=errors, begun=begun, begun_at=finished)
        return output

    def note(self, **changes: Any) -> None:
        """Write down how far it has come."""
        self.state = dataclasses.replace(self.state, **changes)
        publish_text(self.path / _STATE, json.dumps(dataclasses.asdict(self.state)))

    def end(self, status: str, error: str | None = None) -> None:
        self.note(status=status, error=error, ended=_now())

    def cancel(self) -> None:
        """Delete it; where another process works on it, that process does so soon."""
        (self.path / _CANCELLED).touch()
        self.delete()

    def delete(self) -> None:
        if self._lock is not None or self.claim():
            _delete(self.path)
            self.release()


def _job_at(path: Path) -> JobFolder | None:
    if _ID.fullmatch(path.name) and not path.is_symlink() and not (path / _CANCELLED).exists():
        with contextlib.suppress(OSError, ValueError, TypeError):  # there is none, or it is damaged
            return JobFolder(path)
    return None


def _delete(folder: Path) -> None:
    """Delete a job's files, and its folder unless there is something else in it. Links are not followed."""
    if not folder.exists():
        return
    for path in folder.iterdir():
        if path.name in _OWN or _LEFT.fullmatch(path.name):
            with contextlib.suppress(OSError):
                path.unlink()
    with contextlib.suppress(OSError):
        folder.rmdir()


def _kept(part: Path) -> None:
    """Results that are not complete stay for the next attempt."""


def _count_errors(results: Path) -> int:
    with results.open("rb") as file:
        return sum(1 for line in file if b'"error"' in line and "error" in parse_object(line.decode()))


def _whole_lines(file: IO[bytes]) -> int:
    """The bytes up to the last line end."""
    at = file.seek(0, os.SEEK_END)
    while at > 0:
        start = max(0, at - (1 << 16))
        file.seek(start)
        if (found := file.read(at - start).rfind(b"\n")) >= 0:
            at = start + found + 1
            break
        at = start
    file.seek(0)
    return at


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")

"""What a job is: its settings and partitions, kept in the output folder so that the same command can resume it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from erukg.errors import ErukgError, InputError
from erukg.integrations.ray.partitions import InputFile, Partition
from erukg.integrations.ray.storage import Store

__all__ = ["Outcome", "Plan", "mark_name", "read_marks"]

_PLAN = "_erukg/plan"
_MARKS = "_erukg/done"
_FORMAT = {"format": "erukg-job", "version": 1}
_READERS = 16
DONE, FAILED, CRASHED = "done", "failed", "crashed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a partition.

    status    "done"; "failed", for reasons around it, such as a disk; "crashed", perhaps because of a document
    documents how many results it has; `bad` how many documents could not be used
    problems  place and reason of those (the first ones, when sent to the driver), or why it was not done
    files     what it wrote, as the job describes it
    """

    number: int
    status: str
    documents: int = 0
    bad: int = 0
    problems: tuple[tuple[str, str], ...] = ()
    files: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of_error(cls, partition: Partition, status: str, error: Exception) -> Outcome:
        known = isinstance(error, ErukgError)
        message = str(error) if known else f"It could not be processed ({type(error).__name__}: {error})."
        return cls(partition.number, status, problems=((partition.place, message),))

    def messages(self, partition: Partition) -> Iterator[tuple[str, str]]:
        """What the user is told, and of which place."""
        if self.status != DONE:
            why = self.problems[0][1] if self.problems else "Its worker processes ended again and again."
            yield partition.place, f"{why} The same command tries it again."
            return
        yield from self.problems
        if more := self.bad - len(self.problems):
            yield partition.place, f"{more} more documents could not be used."

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | bytes) -> Outcome:
        data = json.loads(text)
        problems = tuple((place, message) for place, message in data["problems"])
        return cls(**{**data, "problems": problems, "files": tuple(data["files"])})


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings that decide the output, the files of the input, and their partitions."""

    settings: Mapping[str, Any]
    files: tuple[InputFile, ...]
    partitions: tuple[Partition, ...]

    def save(self, store: Store) -> None:
        store.write(_PLAN, json.dumps({**_FORMAT, **asdict(self)}).encode())

    @classmethod
    def load(cls, store: Store) -> Plan | None:
        """The plan of the job in this folder; None in a folder without one, which must then be empty."""
        data = store.read(_PLAN)
        if data is None:
            if strange := [name for name in store.names("") if not name.startswith(".")]:
                raise InputError(
                    f"The output folder {store.root} holds files of something else, such as {strange[0]}; "
                    "name an empty or new one."
                )
            return None
        try:
            plan = json.loads(data)
            if not _FORMAT.items() <= plan.items():
                raise ValueError("it is of another version")
            files = tuple(InputFile(**file) for file in plan["files"])
            return cls(plan["settings"], files, tuple(Partition(**partition) for partition in plan["partitions"]))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{store.root}/{_PLAN} cannot be understood ({error}); remove the folder, or name another one."
            ) from error

    def check(self, settings: Mapping[str, Any], files: Sequence[InputFile], store: Store) -> None:
        """Refuse to resume with other settings or other input than the folder's output was made from."""
        asked = json.loads(json.dumps(settings))
        changes = [
            f"settings ({name}: {self.settings.get(name)!r}, now {asked.get(name)!r})"
            for name in sorted({*self.settings, *asked})
            if self.settings.get(name) != asked.get(name)
        ]
        changes += [f"input: {file.name} is new or changed" for file in files if file not in self.files]
        changes += [f"input: {file.name} is missing now" for file in self.files if file not in files]
        if not changes and tuple(files) != self.files:
            changes = ["input: it comes in another order"]
        if changes:
            other = "name another output folder, or give what it was begun with"
            raise InputError(f"{store.root} was begun with other {changes[0]}; {other}.")


def mark_name(number: int) -> str:
    return f"{_MARKS}/{number:06d}"


def read_marks(store: Store) -> dict[int, Outcome]:
    """The outcomes of all finished partitions, by number."""
    with ThreadPoolExecutor(_READERS, "erukg-marks") as pool:
        found = pool.map(store.read, [f"{_MARKS}/{name}" for name in store.names(_MARKS)])
        outcomes = [Outcome.from_json(data) for data in found if data]
    return {outcome.number: outcome for outcome in outcomes}

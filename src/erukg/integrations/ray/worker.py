"""A worker: an actor that loads the task once and then works on one partition after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from erukg.errors import ErukgError, InputError, ModelError
from erukg.integrations.ray.partitions import Partition, read_partition
from erukg.integrations.ray.plan import BROKEN, DONE, FAILED, Outcome, mark_name
from erukg.integrations.ray.storage import Store
from erukg.integrations.ray.tasks import Task, Work
from erukg.io import BadDocument, InputDocument

__all__ = ["Assignment", "Worker", "note_name"]

# How many problems of a partition are sent to the driver; all of them are in its mark.
_SENT = 20
_ENDED = "Worker processes ended while working on it, twice, so it was left out."


def note_name(number: int) -> str:
    return f"_erukg/at/{number:06d}"


@dataclass(frozen=True, slots=True)
class Assignment:
    """A partition, and what is known from earlier tries: whether to go document by document and leave notes, and the
    places of documents that ended worker processes."""

    partition: Partition
    careful: bool = False
    poisoned: tuple[str, ...] = ()

    def to_json(self) -> str:
        return json.dumps([self.partition.to_dict(), self.careful, self.poisoned])

    @classmethod
    def from_json(cls, text: str) -> Assignment:
        partition, careful, poisoned = json.loads(text)
        return cls(Partition(**partition), bool(careful), tuple(poisoned))


class Worker:
    """What runs as an actor; the model is loaded with the first partition."""

    def __init__(self, task: Task, store: Store) -> None:
        self._task, self._store = task, store
        self._work: Work | None = None

    def ready(self) -> None:
        """Answered when the actor has started."""

    def work(self, text: str) -> str:
        """The outcome of an assignment, both as JSON."""
        assignment = Assignment.from_json(text)
        number = assignment.partition.number
        mark = self._store.read(mark_name(number))
        if mark is not None:
            # An earlier try came this far, but its answer was lost.
            return Outcome.from_json(mark).to_json(_SENT)
        try:
            self._work = self._work or self._task.load()
        except (ErukgError, ImportError) as error:
            return Outcome(number, BROKEN, problems=((assignment.partition.place, str(error)),)).to_json()
        try:
            outcome = self._try(assignment, self._work)
        except (InputError, ModelError) as error:
            outcome = replace(_failure(assignment, error), problems=((assignment.partition.place, str(error)),))
        except Exception as error:
            # It is reported with its place, and the driver decides whether to try again.
            return _failure(assignment, error).to_json()
        else:
            self._store.write(mark_name(number), outcome.to_json().encode())
        return outcome.to_json(_SENT)

    def _try(self, assignment: Assignment, work: Work) -> Outcome:
        partition, store = assignment.partition, self._store
        problems: list[tuple[str, str]] = []

        def refuse(place: str, message: str) -> None:
            problems.append((place, message))

        def documents() -> Iterator[InputDocument]:
            for item in read_partition(partition, self._task.limits, every_column=self._task.expands):
                if isinstance(item, BadDocument):
                    refuse(item.place, item.message)
                elif item.place in assignment.poisoned:
                    refuse(item.place, _ENDED)
                else:
                    yield item

        def note(place: str) -> None:
            store.write(note_name(partition.number), place.encode("utf-8", "backslashreplace"))

        count, files = work.run(partition, documents(), store, refuse, note if assignment.careful else None)
        return Outcome(partition.number, DONE, count, len(problems), tuple(problems), files)


def _failure(assignment: Assignment, error: Exception) -> Outcome:
    message = f"It could not be worked on ({type(error).__name__}: {error})."
    return Outcome(assignment.partition.number, FAILED, problems=((assignment.partition.place, message),))

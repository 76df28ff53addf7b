"""What is killed and what disks fail under: changes of collections, outputs, vocabularies.

Each is run once undisturbed. After a blow its folder must be in one of the states that the undisturbed run went
through, and run again it must come to the same end, array for array.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from campaign.children import in_child
from campaign.folders import fresh, state_of
from campaign.points import Points
from campaign.samples import GONE, PART, Samples
from collection.samples import WordAnalyser
from erukg.cli import app
from erukg.collection import Writer, slim, verify
from erukg.collection.build import add, build
from erukg.collection.manifest import read_manifest
from erukg.errors import ErukgError, ErukgWarning
from erukg.subjects.storage import verify_folder
from erukg.subjects.vocabulary import Vocabulary

__all__ = ["CollectionChange", "Operation", "Undisturbed", "VocabularyBuild", "Written", "collection_changes", "quiet"]

_CHANGES = ("open", "write", "rename", "unlink", "truncate", "mkdir")


class Operation(ABC):
    """Something that changes files in a folder, which is there and may be empty."""

    #: Files of others may lie in the folder; beside it they do anyway.
    strangers_inside = True
    #: It may be run again when it is done already.
    repeatable = True
    #: It leaves threads behind, which no child would have: always done in a child.
    leaves_threads = False
    seconds = 60.0

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def prepare(self, folder: Path) -> None:
        """Make what is there before."""

    @abstractmethod
    def work(self, folder: Path) -> None:
        """Do it, or what is left to do; an `ErukgError` says why it cannot be done."""

    @abstractmethod
    def state(self, folder: Path) -> str | None:
        """What is there for readers, in a form that can be compared; None for nothing.

        Whatever is wrong with it is an AssertionError.
        """

    def leftovers(self, folder: Path) -> set[str]:
        """Names of files that are left lying about once it is done."""
        return set()


class Undisturbed:
    """A run of an operation without blows: its states, how long it takes, and which calls change files."""

    def __init__(self, operation: Operation, folder: Path) -> None:
        self.operation = operation
        if not operation.leaves_threads:
            # Here and not in a child: whatever is imported and compiled by it, the children have then.
            _time(operation, fresh(folder))
        watched = in_child(lambda: _watch(operation, fresh(folder)), operation.seconds)
        self.states: list[str | None] = watched[0]
        self.points: list[str] = watched[1]
        self.seconds = float(in_child(lambda: _time(operation, fresh(folder)), operation.seconds))
        assert self.points, f"{operation.name} changes nothing"


def _time(operation: Operation, folder: Path) -> float:
    operation.prepare(folder)
    with quiet():
        begin = time.perf_counter()
        operation.work(folder)
        return time.perf_counter() - begin


def _watch(operation: Operation, folder: Path) -> tuple[list[str | None], list[str]]:
    operation.prepare(folder)
    states = [operation.state(folder)]
    points = Points(folder).install()
    passed = points.passed

    def looked(kind: str, call: Callable[[], Any], half: Callable[[], Any] | None = None) -> Any:
        out = passed(kind, call, half)
        if kind in _CHANGES:
            state = operation.state(folder)
            if state != states[-1]:
                states.append(state)
        return out

    points.passed = looked  # type: ignore[method-assign]
    with quiet():
        operation.work(folder)
    assert operation.state(folder) == states[-1]
    return states, points.seen


@contextmanager
def quiet() -> Iterator[None]:
    """Without warnings of builds that were interrupted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ErukgWarning)
        yield


class CollectionChange(Operation):
    """A change of the collection in the folder `c`."""

    def __init__(
        self, name: str, work: Callable[[Path], object], start: Path | None = None, *, repeatable: bool = True
    ) -> None:
        super().__init__(name)
        self._work, self._start = work, start
        self.repeatable, self.strangers_inside = repeatable, start is not None

    def prepare(self, folder: Path) -> None:
        if self._start is not None:
            fresh(folder / "c", self._start)

    def work(self, folder: Path) -> None:
        self._work(folder / "c")

    def state(self, folder: Path) -> str | None:
        with quiet():
            state = state_of(folder / "c")
            if state is not None:
                assert verify(folder / "c") == []
        return state

    def leftovers(self, folder: Path) -> set[str]:
        needed = {entry.name for entry in read_manifest(folder / "c").files}
        return {path.name for path in (folder / "c").iterdir()} - needed - {"manifest.json", "lock"}


def collection_changes(samples: Samples) -> list[CollectionChange]:
    """Every change that a collection can undergo."""

    def built(folder: Path) -> None:
        build(folder, [samples.old], WordAnalyser(), part_documents=PART, tags="subjects", reuse=True)

    def added(folder: Path) -> None:
        add(folder, [samples.new], WordAnalyser(), part_documents=PART, tags="subjects")

    def replaced(folder: Path) -> None:
        add(folder, [samples.renewed], WordAnalyser(), replace=True, part_documents=PART, tags="subjects")

    def removed(folder: Path) -> None:
        with Writer.open(folder) as writer:
            writer.remove(GONE)

    def merged(folder: Path) -> None:
        with Writer.open(folder) as writer:
            writer.merge()

    return [
        CollectionChange("build", built),
        CollectionChange("add", added, samples.base),
        CollectionChange("replace", replaced, samples.base, repeatable=False),
        CollectionChange("remove", removed, samples.base),
        CollectionChange("merge", merged, samples.base),
        CollectionChange("slim", lambda folder: slim(samples.base, folder), repeatable=False),
    ]


class Written(Operation):
    """A command with `--output`, interrupted and gone on with by `--resume`."""

    def __init__(self, samples: Samples, command: str, *arguments: str, ending: str = "jsonl") -> None:
        super().__init__(f"{command} .{ending}" if ending != "jsonl" else command)
        self._ending, self._whole = ending, b""
        model = [str(samples.corpus), "--model", str(samples.model), "--threads", "1"]
        self._line = [command, *model, *arguments]

    @property
    def _resumes(self) -> bool:
        return self._ending.startswith("jsonl")

    def prepare(self, folder: Path) -> None:
        pass

    def work(self, folder: Path) -> None:
        more = ["--resume"] if self._resumes else []
        done = CliRunner().invoke(app, [*self._line, "--output", str(self._output(folder)), *more])
        if done.exit_code:
            unexpected = not isinstance(done.exception, SystemExit | None)
            assert not unexpected and done.exit_code == 1, f"{done.exit_code}: {done.stderr}\n{done.exception!r}"
            said = done.stderr.strip().splitlines()
            assert said and said[-1].startswith("erukg: ") and said[-1].endswith((".", "?")), done.stderr
            raise ErukgError(said[-1])

    def _output(self, folder: Path) -> Path:
        return folder / f"out.{self._ending}"

    def state(self, folder: Path) -> str | None:
        """Whole or not there. What is done of it is lines of the whole; the last may be cut short."""
        output = self._output(folder)
        part = output.with_name(output.name + ".part")
        if self._whole and part.exists() and self._resumes:
            assert self._whole.startswith(part.read_bytes()), f"{part.name} holds what is not in the whole"
        if not output.exists():
            return None
        import gzip

        data = gzip.decompress(output.read_bytes()) if self._ending.endswith(".gz") else output.read_bytes()
        if self._resumes:
            self._whole = self._whole or data
        return hashlib.sha256(data).hexdigest()

    def leftovers(self, folder: Path) -> set[str]:
        # Drafts that a killed process leaves have its number in their name, and only it can tell them for its own.
        found = {path.name for path in folder.iterdir() if not path.name.startswith(".out.")}
        return found - {self._output(folder).name}


class VocabularyBuild(Operation):
    """A vocabulary takes the place of another one."""

    def __init__(self, samples: Samples) -> None:
        super().__init__("vocabulary")
        self._samples = samples

    def prepare(self, folder: Path) -> None:
        Vocabulary.of(["to read", "field notes"]).save(folder / "v")

    def work(self, folder: Path) -> None:
        Vocabulary.read(self._samples.vocabulary_source, translations=["de"]).save(folder / "v")

    def state(self, folder: Path) -> str | None:
        verify_folder(folder / "v")
        found = Vocabulary.open(folder / "v")
        assert found.fingerprint == found._arrays.fingerprint()
        return json.dumps([found.fingerprint, found.name])

    def leftovers(self, folder: Path) -> set[str]:
        files = {path.name for path in (folder / "v").iterdir() if path.suffix != ".part"}
        return {name for name in files if not name.startswith("arrays-")} - {"vocabulary.json"}

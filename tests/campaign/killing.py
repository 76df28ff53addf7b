"""Kills at random moments and at every call that changes files."""

from __future__ import annotations

import random
import time
from collections import Counter
from functools import lru_cache
from pathlib import Path

from campaign.children import Ending, fork, in_child
from campaign.folders import Strangers
from campaign.kinds import Kind, Outcome
from campaign.operations import Operation, Undisturbed, VocabularyBuild, Written, collection_changes, quiet
from campaign.points import HALF, WAYS, Points
from campaign.samples import Samples

__all__ = ["Kill", "PointByPoint", "quick_operations"]


def quick_operations(samples: Samples) -> list[Operation]:
    """Those of which an undisturbed run takes some tens of milliseconds."""
    settings = ("--no-collection",)
    return [
        *collection_changes(samples),
        Written(samples, "generate", "--collection", str(samples.collection)),
        Written(samples, "generate", *settings, ending="jsonl.gz"),
        Written(samples, "generate", *settings, ending="csv"),
        Written(samples, "extract"),
        Written(samples, "rank", *settings, "--phrase", "sparse graph", "--phrase", "sea ice"),
        Written(samples, "expand", *settings),
        Written(samples, "encode"),
        VocabularyBuild(samples),
    ]


class Struck:
    """An operation at work, with strangers' files around it, that is struck until it is left in peace."""

    def __init__(self, run: Undisturbed, scratch: Path) -> None:
        self.run, self.operation, self.scratch = run, run.operation, scratch
        self.folder = scratch / "work"
        self.folder.mkdir()
        self.operation.prepare(self.folder)
        inside = [path for path in self.folder.iterdir() if path.is_dir()] if self.operation.strangers_inside else []
        self.strangers = Strangers(scratch, self.folder, *inside)

    def killed(self, moment: float, points: Points | None = None) -> Ending:
        """Start it and kill it after so many seconds, or let it kill itself at a point."""

        def work() -> None:
            if points is not None:
                points.install()
            with quiet():
                self.operation.work(self.folder)

        child = fork(work)
        if points is None:
            time.sleep(moment)
            ending = child.kill()
        else:
            found = child.wait(self.operation.seconds)
            assert found is not None, f"{self.operation.name}: no end"
            ending = found
        what = f"{self.operation.name}: exit code {ending.code} {ending.error}"
        assert ending.killed or (ending.code == 0 and not ending.error), what
        return ending

    def check(self) -> str:
        """What readers find is a state of the undisturbed run, and nobody else's file was touched."""
        self.strangers.check()
        state = self.operation.state(self.folder)
        assert state in self.run.states, f"{self.operation.name}: a state that an undisturbed run never has"
        return "new" if state == self.run.states[-1] else "old" if state == self.run.states[0] else "between"

    def _peacefully(self) -> None:
        def work() -> None:
            with quiet():
                self.operation.work(self.folder)

        if self.operation.leaves_threads:
            in_child(work, self.operation.seconds)
        else:
            work()

    def complete(self) -> None:
        """Run it again: it comes to the same end as undisturbed, and leaves nothing lying about."""
        unfinished = self.operation.state(self.folder) != self.run.states[-1]
        if unfinished or self.operation.repeatable:
            self._peacefully()
        if unfinished:  # what is done already may be taken as it is, and cleared up by the next change
            left = self.operation.leftovers(self.folder) - Strangers.names
            assert not left, f"{self.operation.name}: {sorted(left)} left over"
        assert self.operation.state(self.folder) == self.run.states[-1], f"{self.operation.name}: another end"
        self.strangers.check()


class _Striking(Kind):
    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)
        self.runs = undisturbed(samples)


@lru_cache(maxsize=1)
def undisturbed(samples: Samples) -> list[Undisturbed]:
    """The quick operations, each run without blows."""
    return [Undisturbed(each, samples.folder / "undisturbed") for each in quick_operations(samples)]


class Kill(_Striking):
    """Killed at a random moment, one to three times in a row: an earlier state stays, and the next run completes."""

    share = 4.0

    def blow(self, rng: random.Random, number: int, scratch: Path) -> Outcome:
        run = rng.choice(self.runs)
        struck, counts, found = Struck(run, scratch), Counter[str](), ""
        for _ in range(rng.choice((1, 1, 2, 3))):
            if found == "new" and not run.operation.repeatable:
                break
            if rng.random() < 0.7:
                ending = struck.killed(rng.uniform(0.0, 1.2 * run.seconds))
            else:
                ending = struck.killed(0, Points(struck.folder, rng.randrange(len(run.points)), rng.choice(WAYS)))
            found = struck.check()
            counts[f"{run.operation.name}: {found}" if ending.killed else f"{run.operation.name}: too late"] += 1
        struck.complete()
        return Outcome(counts)


class PointByPoint(_Striking):
    """Every call of every operation that changes files: killed before it, half-way through and after it."""

    share = 5.0

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)
        self.places = [
            (run, at, way)
            for run in self.runs
            for at, kind in enumerate(run.points)
            for way in WAYS
            if way != HALF or kind == "write"
        ]

    def blow(self, rng: random.Random, number: int, scratch: Path) -> Outcome:
        run, at, way = self.places[number % len(self.places)]
        struck = Struck(run, scratch)
        ending = struck.killed(0, Points(struck.folder, at, way))
        assert ending.killed, f"{run.operation.name} has no point {at}"
        found = struck.check()
        struck.complete()
        name = run.operation.name
        points = {name: {"of": len(run.points), "struck": at}}
        return Outcome(Counter([f"{name}: {found}"]), points=points)

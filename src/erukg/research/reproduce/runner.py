"""Running the plan: what is done already is kept, what lacks something is said, and pages are made of the rest."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from erukg.errors import ErukgError, InputError
from erukg.research.evaluation.keyphrases import Progress
from erukg.research.evaluation.reporting import write_json
from erukg.research.evaluation.results import write_results
from erukg.research.evaluation.results.front_page import write_front_page
from erukg.research.reproduce.parts import Parts
from erukg.research.reproduce.plan import PARTS, STEPS, Step
from erukg.research.reproduce.tasks import TASKS, Work

__all__ = ["KEPT", "MADE", "NOT_RUN", "STORED", "Outcome", "Results", "run_steps"]

MADE, STORED, KEPT, NOT_RUN = "made", "stored", "kept", "not run"
Run = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a step.

    status   made now; stored: found finished; kept: an earlier run is left, as it cannot be made again; not run
    reason   why it was not run, or not made again
    lacking  by row of the step what it lacked to be among the rest
    """

    step: Step
    status: str
    reason: str = ""
    lacking: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def complete(self) -> bool:
        return self.status in (MADE, STORED) and not self.lacking


@dataclass(frozen=True, slots=True)
class Results:
    """A folder of results: runs/STEP.json (quick: runs/quick-STEP.json), README.md, plots and the store behind them."""

    folder: Path
    store: Path
    quick: bool = False

    def run(self, step: Step) -> Path:
        """Where the step's run is stored."""
        return self.folder / "runs" / f"{'quick-' if self.quick else ''}{step.name}.json"

    def check(self) -> None:
        """Quick runs and whole ones never share a folder, as the pages are made of all runs in it."""
        other = replace(self, quick=not self.quick)
        found = [path.name for step in STEPS if (path := other.run(step)).is_file()]
        if found:
            kind, wanted = ("quick", "whole") if other.quick else ("whole", "quick")
            raise InputError(
                f"{self.folder} holds {kind} runs, such as {found[0]}; give another folder for {wanted} ones."
            )

    def runs_on_page(self) -> list[Path]:
        runs = [self.run(step) for step in STEPS if step.on_page]
        return [path for path in runs if path.is_file()]

    def write_pages(self, readme: Path | None = None) -> list[Path]:
        """The page and its plots from the runs that are there, and the figures of a front page if one is given."""
        runs = self.runs_on_page()
        if not runs:
            raise InputError(f"There are no runs in {self.folder / 'runs'} to make pages of.")
        written = write_results(runs, self.folder)
        if readme is not None:
            write_front_page(runs, self.folder, readme)
            written.append(readme)
        return written


def run_steps(
    steps: Iterable[Step],
    parts: Parts,
    results: Results,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
    tell: Callable[[Outcome], None] | None = None,
) -> list[Outcome]:
    """Run the steps that are not finished, one after another; `tell` hears of each.

    A step is finished when its run was made from the same inputs: sets, models, collection and code. Stopped at any
    point, the same call goes on: the predictions that were made are in the store.
    """
    results.check()
    outcomes = []
    for step in steps:
        outcome = _run_step(step, parts, results, threads, progress or (lambda *_: None))
        outcomes.append(outcome)
        if tell is not None:
            tell(outcome)
    return outcomes


def _run_step(step: Step, parts: Parts, results: Results, threads: int | None, progress: Progress) -> Outcome:
    path = results.run(step)
    left = KEPT if path.is_file() else NOT_RUN
    if missing := parts.missing(step.needs):
        return Outcome(step, left, f"needs {_named(missing)}")
    rows, lost = parts.rows(step)
    if step.rows and not rows:
        every = [part for row in lost.values() for part in row]
        return Outcome(step, left, f"needs one of: {_named(dict.fromkeys(every))}")
    lacking = {re.sub(r"\{.+?\}", "…", row): f"needs {_named(names)}" for row, names in lost.items()}
    lacking |= {name: f"needs {_named([name])}" for name in parts.missing(step.uses)}
    began = time.monotonic()
    try:
        inputs = parts.fingerprint(step, results.quick)
        if _mark(_read(path) or {}).get("inputs") == inputs:
            return Outcome(step, STORED, lacking=lacking)
        work = Work(step, parts, rows, results.store, results.quick, threads, progress)
        found = _shortened(TASKS[step.task](work), parts.shortened)
        mark = {"step": step.name, "quick": results.quick, "inputs": inputs}
        write_json({"reproduce": mark, **found}, path)
    except (ErukgError, OSError) as error:
        return Outcome(step, left, str(error), lacking)
    return Outcome(step, MADE, lacking=lacking, seconds=time.monotonic() - began)


def _named(names: Iterable[str]) -> str:
    return "; ".join(f"{PARTS[name].what} ({PARTS[name].where})" for name in names)


def _read(path: Path) -> Run | None:
    """A stored run; None where there is none, or none that can be read."""
    try:
        report = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return report if isinstance(report, dict) else None


def _mark(report: Run) -> Run:
    mark = report.get("reproduce")
    return mark if isinstance(mark, dict) else {}


def _shortened(value: Any, names: Mapping[str, str]) -> Any:
    """The same data with paths of this machine called by their short names, in keys and texts alike."""
    if isinstance(value, str):
        for path, name in names.items():
            value = value.replace(path, name)
        return value
    if isinstance(value, Mapping):
        return {_shortened(key, names): _shortened(each, names) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_shortened(each, names) for each in value]
    return value

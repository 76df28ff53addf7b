"""Stored runs: the JSON that the evaluation commands and the benchmark write."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from erukg.errors import InputError

__all__ = ["Group", "Run", "Runs", "load_runs", "speeds"]

_MAX_BYTES = 1 << 30
_TASKS = ("keyphrases", "retrieval", "ablations")


@dataclass(frozen=True, slots=True)
class Run:
    """One file: its name, the SHA-256 of its content, and what it holds."""

    name: str
    sha256: str
    report: Mapping[str, Any]


@dataclass(slots=True)
class Group:
    """Systems (or retrieval methods) that were run on the same sets, whichever files they come from."""

    sets: Sequence[Mapping[str, Any]]
    systems: list[Mapping[str, Any]] = field(default_factory=list)
    comparisons: list[Mapping[str, Any]] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return [str(one["name"]) for one in self.sets]

    @property
    def run(self) -> list[Mapping[str, Any]]:
        """Those that have figures."""
        return [system for system in self.systems if not system.get("not_run")]


@dataclass(frozen=True, slots=True)
class Runs:
    """All runs given, sorted by what they measure."""

    files: Sequence[Run]
    keyphrases: Sequence[Group]
    retrieval: Sequence[Group]
    ablations: Sequence[Run]
    benchmarks: Sequence[Run]


def load_runs(paths: Sequence[Path]) -> Runs:
    """Read the files; one that no command of this package wrote is refused by name."""
    files = [_read(path) for path in dict.fromkeys(paths)]
    by_task: dict[str, list[Run]] = {task: [] for task in (*_TASKS, "benchmark")}
    for run in files:
        by_task[_task(run)].append(run)
    return Runs(
        files,
        _groups(by_task["keyphrases"], "systems"),
        _groups(by_task["retrieval"], "methods"),
        by_task["ablations"],
        by_task["benchmark"],
    )


def speeds(benchmarks: Sequence[Run], systems: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Documents a second of those of the systems that the first benchmark with any of them timed.

    Figures of several benchmarks are not mixed: only those of one run can be compared.
    """
    for benchmark in benchmarks:
        report = benchmark.report
        timed = report.get("against", {}).get("systems") or report.get("single", {}).get("one core") or {}
        rates = {name: float(row["documents_per_second"]) for name, row in timed.items()}
        found = {str(s["name"]): rates[key] for s in systems if (key := _timed_as(s)) in rates}
        if found:
            return found
    return {}


def _timed_as(system: Mapping[str, Any]) -> str:
    """What the benchmark calls a system of the evaluation."""
    name = str(system["name"])
    if name == "erukg-extract":
        return "extract"
    if name.partition(":")[0] == "erukg-generate":
        changed = name.partition(":")[2]
        # Other settings than N may cost other time, and were not timed.
        if not changed or (changed.startswith("neighbours=") and "," not in changed):
            return f"generate N={system['description']['settings']['neighbours']}"
    return name


def _read(path: Path) -> Run:
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{path} is over {_MAX_BYTES >> 30} GiB large, so it is not a stored run.")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); give a run that was written with -o.") from error
    try:
        report = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); give a run that was written with -o.") from error
    if not isinstance(report, dict):
        raise InputError(f"{path} is not a stored run; give one that an evaluation wrote with -o.")
    return Run(path.name, hashlib.sha256(content).hexdigest(), report)


def _task(run: Run) -> str:
    form, version = run.report.get("format"), run.report.get("version")
    task = "benchmark" if form == "erukg-benchmark" else run.report.get("task")
    if form not in ("erukg-evaluation", "erukg-benchmark") or task not in (*_TASKS, "benchmark"):
        raise InputError(f"{run.name} is not a stored run; give one that an evaluation or benchmark wrote with -o.")
    if version != 1:
        raise InputError(f"{run.name} is of version {version}, and only version 1 can be read; run it again.")
    return str(task)


def _groups(runs: Sequence[Run], part: str) -> list[Group]:
    groups: dict[str, Group] = {}
    for run in runs:
        sets = run.report["sets"]
        key = json.dumps([[s["name"], s["sha256"], s["documents"], s.get("queries")] for s in sets])
        group = groups.setdefault(key, Group(sets))
        for system in run.report[part]:
            same = [known for known in group.systems if known["name"] == system["name"]]
            if system in same or (same and system.get("not_run")):
                continue
            if same and same[0].get("not_run"):
                group.systems[group.systems.index(same[0])] = system
            elif same:  # the same name for something else: told apart by the file
                group.systems.append({**system, "name": f"{system['name']} ({run.name})"})
            else:
                group.systems.append(system)
        group.comparisons += run.report.get("comparisons", [])
    return list(groups.values())

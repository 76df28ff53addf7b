"""The counters of a campaign: kept in a JSON file, gone on with, and joined with those of other machines.

    {"runs": [{"seed", "machine", "workers", "seconds", "next"}],
     "kinds": {kind: {"blows", "inputs", "seconds", "outcomes", "failures"}},
     "points": {operation: {"of", "struck"}}}

`next` has the number of each kind's next blow. `points` says how often the operation changes files, and which of
these calls were struck, as ranges. A failure that has passed since, when its blow was repeated, says so in `again`.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaign.kinds import Outcome
from erukg.io.publish import publish_text

__all__ = ["Counters", "machine"]

_MOST_FAILURES = 200


def machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


@dataclass(slots=True)
class Counters:
    runs: list[dict[str, Any]] = field(default_factory=list)
    kinds: dict[str, dict[str, Any]] = field(default_factory=dict)
    points: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Counters:
        if not path.exists():
            return cls()
        try:
            data = json.loads(path.read_text("utf-8"))
            return cls(data["runs"], data["kinds"], data["points"])
        except (ValueError, TypeError, KeyError) as error:
            sys.exit(f"{path} does not hold the counters of a campaign ({error!r}); name another file.")

    def write(self, path: Path) -> None:
        publish_text(path, _laid_out({"runs": self.runs, "kinds": self.kinds, "points": self.points}))

    def run(self, seed: int, workers: int) -> dict[str, Any]:
        """The run with this seed: gone on with, or begun."""
        for run in self.runs:
            if run["seed"] == seed:
                if run["machine"] != machine():
                    sys.exit(f"Seed {seed} was struck on another machine ({run['machine']}); choose another.")
                return run
        run = {"seed": seed, "machine": machine(), "workers": workers, "seconds": 0.0, "next": {}}
        self.runs.append(run)
        return run

    def add(self, kind: str, outcome: Outcome, seed: int, number: int, seconds: float) -> None:
        found = self._kind(kind)
        found["blows"] += 1
        found["inputs"] += outcome.counts.total()
        found["seconds"] = round(found["seconds"] + seconds, 3)
        for word, count in outcome.counts.items():
            found["outcomes"][word] = found["outcomes"].get(word, 0) + count
        for failure in outcome.failures[: max(0, _MOST_FAILURES - len(found["failures"]))]:
            found["failures"].append({"seed": seed, "number": number, "error": failure[:1500]})
        for operation, struck in outcome.points.items():
            self._strike(operation, struck["of"], [struck["struck"]])

    def join(self, other: Counters) -> None:
        """Take in the counters of another campaign, which must have had other seeds."""
        if shared := {run["seed"] for run in self.runs} & {run["seed"] for run in other.runs}:
            sys.exit(f"Both campaigns have runs with seed {min(shared)}, whose blows would count twice.")
        self.runs += other.runs
        for name, theirs in other.kinds.items():
            mine = self._kind(name)
            for word in ("blows", "inputs", "seconds"):
                mine[word] = round(mine[word] + theirs[word], 3)
            for word, count in theirs["outcomes"].items():
                mine["outcomes"][word] = mine["outcomes"].get(word, 0) + count
            mine["failures"] += theirs["failures"]
        for operation, struck in other.points.items():
            self._strike(operation.partition(" (")[0], struck["of"], _numbers(struck["struck"]))

    def failures(self, kind: str) -> list[dict[str, Any]]:
        """Those that were not seen to pass again since: what was wrong has been mended then."""
        return [each for each in self.kinds[kind]["failures"] if each.get("again") != "passed"]

    @property
    def failed(self) -> bool:
        return any(self.failures(kind) for kind in self.kinds)

    def _kind(self, name: str) -> dict[str, Any]:
        empty = {"blows": 0, "inputs": 0, "seconds": 0.0, "outcomes": {}, "failures": []}
        return self.kinds.setdefault(name, empty)

    def _strike(self, operation: str, of: int, struck: Iterable[int]) -> None:
        mine = self.points.setdefault(operation, {"of": of, "struck": ""})
        if mine["of"] != of:  # another version of Python, or of erukg
            mine = self.points.setdefault(f"{operation} ({of} calls)", {"of": of, "struck": ""})
        mine["struck"] = _ranges({*_numbers(mine["struck"]), *struck})


def _numbers(ranges: str) -> list[int]:
    pairs = [part.partition("-") for part in ranges.split(",") if part]
    return [i for first, _, last in pairs for i in range(int(first), int(last or first) + 1)]


def _ranges(numbers: set[int]) -> str:
    out: list[list[int]] = []
    for number in sorted(numbers):
        if out and number == out[-1][1] + 1:
            out[-1][1] = number
        else:
            out.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in out)


def _laid_out(data: dict[str, Any]) -> str:
    for found in data["kinds"].values():
        found["outcomes"] = dict(sorted(found["outcomes"].items()))
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"

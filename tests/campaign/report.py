"""The page about a campaign, made from its counters."""

from __future__ import annotations

from typing import Any

from campaign.counters import Counters

__all__ = ["EXPLAINED", "page", "table"]

#: What each kind does, and what holds after every one of its blows.
EXPLAINED = {
    "kill": "a process killed at a random moment, up to three times in a row",
    "points": "a process killed at every call that changes files: before it, half-way through a write, after it",
    "long": "training, a part of a Ray job and the service killed",
    "damage": "files of collections, models and vocabularies changed, cut, lengthened, swapped",
    "fuzz": "texts, types, files of every form, requests, tools of agents, command lines",
    "disk": "a disk that is full, over quota, read-only, broken (EIO), or writes only some of the bytes",
    "writers": "several writers and readers of one collection or output at once",
    "service": "standard error closed or full, SIGSTOP, SIGTERM at every step of starting, descriptors used up",
    "growth": "texts doubled and doubled again",
    "same": "one text alone, in batches, in threads, in processes, from a merged collection",
}


def table(counters: Counters) -> str:
    """Blows by kind, as a Markdown table: how many failed, and how many of these have not passed since."""
    lines = ["| kind | what | blows | failed | open |", "|---|---|--:|--:|--:|"]
    for name in [*EXPLAINED, *sorted(set(counters.kinds) - set(EXPLAINED))]:
        if name in counters.kinds:
            found = counters.kinds[name]
            what = EXPLAINED.get(name, "")
            failed = found["outcomes"].get("failed", 0)
            lines.append(f"| `{name}` | {what} | {found['inputs']:,} | {failed} | {len(counters.failures(name))} |")
    return "\n".join(lines)


def page(counters: Counters) -> str:
    """Everything that the counters say, as Markdown."""
    parts = ["# Campaign", table(counters), "## Runs", _runs(counters.runs)]
    parts += ["## Points", "Calls that change files, and which of them a process was killed at.", _points(counters)]
    parts += ["## Outcomes"]
    for name, found in counters.kinds.items():
        rate = found["inputs"] / found["seconds"] if found["seconds"] else 0.0
        head = f"### {name}\n\n{found['inputs']:,} in {found['blows']:,} batches, {rate:,.1f} a second and worker."
        rows = [f"| {word} | {count:,} |" for word, count in sorted(found["outcomes"].items())]
        parts.append("\n".join([head, "", "| outcome | |", "|---|--:|", *rows]))
        parts += [_failure(name, failure) for failure in found["failures"]]
    return "\n\n".join(parts) + "\n"


def _runs(runs: list[dict[str, Any]]) -> str:
    rows = [f"| {run['seed']} | {run['machine']} | {run['workers']} | {run['seconds']:,.0f} |" for run in runs]
    return "\n".join(["| seed | machine | workers | seconds |", "|--:|---|--:|--:|", *rows])


def _points(counters: Counters) -> str:
    rows = [f"| {name} | {found['of']} | {found['struck']} |" for name, found in sorted(counters.points.items())]
    return "\n".join(["| operation | calls | killed at |", "|---|--:|---|", *rows])


def _failure(name: str, failure: dict[str, Any]) -> str:
    again = f"--kinds {name} --seed {failure['seed']} --first {failure['number']} --blows 1"
    since = f" (again: {failure['again']})" if "again" in failure else ""
    return f"Failure of `{again}`{since}:\n\n```\n{failure['error']}\n```"

"""Stored runs: the JSON that the evaluation commands and the benchmark write, and what their systems are called.

Names on a page are without the paths of the machine that they ran on.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from erukg.core.settings import Settings
from erukg.errors import InputError
from erukg.research.evaluation.retrieval.methods import METHODS

__all__ = ["Group", "Run", "Runs", "Speed", "is_ours", "key", "label", "load_runs", "reason", "speeds"]

_MAX_BYTES = 1 << 30
_TASKS = ("keyphrases", "retrieval", "ablations", "case", "readers", "calibration", "subjects")
_REFERENCE = "erukg-extract"  # of speeds
_NAMES = {
    "erukg-generate": "erukg generate",
    "erukg-extract": "erukg extract",
    "textrank": "TextRank",
    "multipartiterank": "MultipartiteRank",
    "positionrank": "PositionRank",
    "tfidf": "TF-IDF",
    "yake": "YAKE",
    "keybert": "KeyBERT",
    "embedrank": "EmbedRank",
    "promptrank": "PromptRank",
    "copyrnn": "CopyRNN",
    "tpg": "TPG",
    "autokeygen": "AutoKeyGen",
    "uokg": "UOKG",
    "promptkp": "PromptKP",
    "llm": "language model",
    "bm25": "BM25",
    "rm3": "RM3 (10 terms)",
    "rm3-30": "RM3 (30 terms)",
    "neighbours-rm3": "neighbours + RM3",
    "doct5query": "docT5query",
}


@dataclass(frozen=True, slots=True)
class Run:
    """One file: its name, the SHA-256 of its content, and what it holds."""

    name: str
    sha256: str
    report: Mapping[str, Any]

    @property
    def quick(self) -> bool:
        """Whether it was made on the first few documents, to see that everything works."""
        return bool((self.report.get("reproduce") or {}).get("quick"))


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
    cases: Sequence[Run]
    readers: Sequence[Run]
    calibrations: Sequence[Run]
    subjects: Sequence[Run]

    @property
    def quick(self) -> bool:
        return any(run.quick for run in self.files)


def load_runs(paths: Sequence[Path]) -> Runs:
    """Read the files; one that no command of this package wrote is refused by name."""
    files = [_read(path) for path in dict.fromkeys(paths)]
    quick, whole = ([run.name for run in files if run.quick == wanted] for wanted in (True, False))
    if quick and whole:
        raise InputError(f"{quick[0]} is a quick run and {whole[0]} is a whole one; give runs of one kind.")
    by_task: dict[str, list[Run]] = {task: [] for task in (*_TASKS, "benchmark")}
    for run in files:
        by_task[_task(run)].append(run)
    return Runs(
        files,
        _groups(by_task["keyphrases"], "systems"),
        _groups(by_task["retrieval"], "methods"),
        by_task["ablations"],
        by_task["benchmark"],
        by_task["case"],
        by_task["readers"],
        by_task["calibration"],
        by_task["subjects"],
    )


class Speed(NamedTuple):
    """How fast a system was timed, times erukg's extraction in the same run, and on which of the systems given."""

    timed: str
    ratio: float
    system: Mapping[str, Any] | None


def speeds(benchmarks: Sequence[Run], systems: Sequence[Mapping[str, Any]]) -> list[Speed]:
    """All that was timed beside erukg's extraction, each by its first benchmark.

    Only figures of one run can be compared, so each is divided by extraction's in its own run. One that was made with
    another model than the systems is left out.
    """
    out: dict[str, Speed] = {}
    by_key = {key(str(system["name"])): system for system in systems}
    for benchmark in benchmarks:
        report = benchmark.report
        timed = report.get("against", {}).get("systems") or report.get("single", {}).get("one core") or {}
        rates = {_evaluated_as(name): (name, float(row["documents_per_second"])) for name, row in timed.items()}
        reference = rates.get(_REFERENCE)
        ours = by_key.get(_REFERENCE, {}).get("description", {}).get("model", {}).get("weights")
        fingerprint = report.get("settings", {}).get("model_fingerprint")
        if reference is None or reference[1] <= 0 or (ours and fingerprint and ours != fingerprint):
            continue
        for name, (shown, rate) in rates.items():
            if rate > 0:
                out.setdefault(name, Speed(shown, rate / reference[1], by_key.get(name)))
    return list(out.values())


def _evaluated_as(name: str) -> str:
    """What the evaluation calls a system that the benchmark timed."""
    own = name.removeprefix("erukg, ")
    if own == "extract":
        return _REFERENCE
    if own.startswith("generate N="):
        n = int(own.removeprefix("generate N="))
        return "erukg-generate" if n == Settings().neighbours else f"erukg-generate:neighbours={n}"
    return key(name)


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
        parts = ("name", "sha256", "documents", "queries")
        group = groups.setdefault(json.dumps([[s.get(part) for part in parts] for s in sets]), Group(sets))
        for system in ({**given, "label": label(given)} for given in run.report[part]):
            same = [known for known in group.systems if _is_same(known, system)]
            if same and (system.get("not_run") or any(one.get("scores") == system["scores"] for one in same)):
                continue
            if same and same[0].get("not_run"):
                group.systems[group.systems.index(same[0])] = system
            elif same:  # the same name for something else: told apart by the file
                told = {what: f"{system[what]} ({run.name})" for what in ("name", "label")}
                group.systems.append({**system, **told})
            else:
                group.systems.append(system)
        group.comparisons += run.report.get("comparisons", [])
    return list(groups.values())


def _is_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two rows are of one system. One that was not run lacks the weights in its name, but not its label."""
    lacking = one.get("not_run") or other.get("not_run")
    return one["name"] == other["name"] or bool(lacking and one["label"] == other["label"])


def label(system: Mapping[str, Any]) -> str:
    """The name to show of a system, or of a retrieval method."""
    name = str(system["name"])
    kind, _, expander = name.partition(" ")
    if expander and kind in METHODS:  # one of several systems that were searched with
        return f"{kind}, {label({'name': expander})}"
    base, _, rest = name.partition(":")
    if base == "file":  # predictions that were made elsewhere; the files are called by who made them
        return _last(rest).partition("{set}")[0].strip("-_. ") or rest
    shown = [_argument(part) for part in rest.split(",") if part]
    if base == "tfidf" and shown and "corpus" in (described := system.get("description") or {}):
        shown[0] = f"{described['corpus']['documents']:,} documents"
    first = _NAMES.get(base, base)
    if shown == [base]:  # weights in a folder of the system's own name
        shown = []
    if not shown:
        return first
    return f"{first}, {', '.join(shown)}" if base.startswith("erukg") else f"{first} ({', '.join(shown)})"


def _argument(part: str) -> str:
    name, equals, value = part.partition("=")
    if not equals:
        return "paper's settings" if part == "paper" else _last(part)
    if name == "tagger":
        return "tags by spaCy" if value.startswith("spacy") else f"tags by {value}"
    if name == "model":
        return _last(value)
    return f"{name}={_last(value)}"


def _last(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]


def key(name: str) -> str:
    """The same for one system wherever its files lie."""
    base, _, rest = name.partition(":")
    parts = (part.partition("=") for part in rest.split(",") if part)
    return ":".join(
        [base, *(f"{head}{equals}{_last(value)}" if equals else _last(head) for head, equals, value in parts)]
    )


def is_ours(system: Mapping[str, Any]) -> bool:
    """Whether it is a system of this package."""
    return "erukg" in str(system["name"])


def reason(system: Mapping[str, Any]) -> str:
    """Why a system has no figures, in short: what to give it is for the one who runs it."""
    return f"not run: {str(system['not_run']).partition(' (give')[0]}"

"""Keyphrase results as JSON, equal to the last digit when run again, and as tables of that JSON."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from erukg.research.evaluation.all_gold import ALL_GOLD
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.ground_truth import PROTOCOLS, ground_truth
from erukg.research.evaluation.keyphrases import Comparison, SystemResult
from erukg.research.evaluation.metrics import DEPTH, Scores, average
from erukg.research.evaluation.prmu import CATEGORIES, category_counts
from erukg.research.evaluation.reporting import comparison_table, make_table, percent, report_head
from erukg.research.evaluation.semantic import SEMANTIC_KINDS, SEMANTIC_METRICS

__all__ = ["Shown", "print_report", "set_json", "system_json", "to_json"]

# The figures a kind is judged by come first.
_COLUMNS = {
    "present": ("F@5", "F@10", "P@5", "R@5", "P@10", "R@10"),
    "absent": ("R@5", "R@10", "F@5", "F@10", "P@5", "P@10"),
}
_CATEGORY_COLUMNS = ("R@5", "R@10", "R@M")


def to_json(
    datasets: Sequence[Dataset],
    results: Sequence[SystemResult],
    comparisons: Sequence[Comparison] = (),
    semantic: Mapping[str, Any] | None = None,
    top_k: int = DEPTH,
) -> dict[str, Any]:
    """All figures as fractions, and what they were made from.

    `semantic` describes the vectors of semantic matching; `top_k` phrases of each kind were looked at.
    """
    return {
        **report_head("keyphrases"),
        **({} if semantic is None else {"semantic": dict(semantic)}),
        "top_k": top_k,
        "sets": [{**set_json(dataset), "prmu": category_counts(dataset)} for dataset in datasets],
        "systems": [system_json(result) for result in results],
        "comparisons": [dataclasses.asdict(c) for c in comparisons],
    }


def set_json(dataset: Dataset) -> dict[str, Any]:
    """A set's name, hash and sizes."""
    gold = {}
    for protocol in PROTOCOLS:
        truth = ground_truth(dataset, protocol)
        gold[protocol] = {"present": sum(g.n_present for g in truth), "absent": sum(g.n_absent for g in truth)}
    return {"name": dataset.name, "sha256": dataset.sha256, "documents": len(dataset), "gold": gold}


def system_json(result: SystemResult) -> dict[str, Any]:
    """A system, what it was made of, and its scores."""
    out: dict[str, Any] = {
        "name": result.name,
        "not_run": result.not_run,
        "description": result.description,
        "predictions": result.predictions,
        "scores": {protocol: _by_set(scores) for protocol, scores in result.scores.items()},
    }
    if result.semantic:
        out["semantic"] = {protocol: _by_set(scores) for protocol, scores in result.semantic.items()}
    if result.prmu:
        out["prmu"] = _by_set(result.prmu)
    if result.all_gold:
        out["all_gold"] = {convention: _by_set(scores) for convention, scores in result.all_gold.items()}
    return out


def _by_set(scores: Sequence[Scores]) -> dict[str, Any]:
    sets = {
        s.dataset: {k: {"documents": part.documents, **_plain(part.means())} for k, part in s.kinds.items()}
        for s in scores
    }
    return {"sets": sets, "average": {kind: _plain(average(scores, kind)) for kind in scores[0].kinds}}


def _plain(values: Mapping[str, float]) -> dict[str, float | None]:
    return {metric: None if math.isnan(value) else value for metric, value in values.items()}


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """Which tables are printed: the measures instead of the usual ones, and what is printed only when asked for."""

    measures: Sequence[str] = ()
    prmu: bool = False
    all_gold: bool = False


def print_report(
    console: Console, report: Mapping[str, Any], comparisons: Sequence[Comparison] = (), shown: Shown | None = None
) -> None:
    """Tables in percent: the sets, then for each protocol and kind every system by set and on average."""
    shown = shown or Shown()
    systems = report["systems"]
    console.print(_sets_table(report["sets"]))
    if shown.prmu:
        console.print(_category_table(report["sets"]))
    for protocol in PROTOCOLS:
        for kind, metrics in _COLUMNS.items():
            title = f"{kind} phrases, protocol '{protocol}' (%)"
            found = [_part(system, "scores", protocol) for system in systems]
            console.print(_scores_table(title, systems, found, [kind], shown.measures or metrics))
    if shown.prmu:
        title = "recall by category of gold (%)"
        found = [_part(system, "prmu") for system in systems]
        console.print(_scores_table(title, systems, found, CATEGORIES, _CATEGORY_COLUMNS))
    for convention, measures in ALL_GOLD.items() if shown.all_gold else ():
        title = f"one list against all gold, convention '{convention}' (%)"
        found = [_part(system, "all_gold", convention) for system in systems]
        console.print(_scores_table(title, systems, found, ["all"], [name for name in measures if "F" in name]))
    semantic = [system for system in systems if "semantic" in system]
    for protocol in PROTOCOLS if semantic else ():
        title = f"semantic matching, protocol '{protocol}' (%)"
        found = [_part(system, "semantic", protocol) for system in semantic]
        console.print(_scores_table(title, semantic, found, SEMANTIC_KINDS, SEMANTIC_METRICS))
    if comparisons:
        columns = {"protocol": "protocol", "set": "dataset", "phrases": "kind", "figure": "metric"}
        console.print(comparison_table(comparisons, columns))


def _sets_table(sets: Sequence[Mapping[str, Any]]) -> Table:
    table = make_table("test sets", "set", "documents", "gold", *(f"absent, {p}" for p in PROTOCOLS))
    for s in sets:
        totals = {protocol: gold["present"] + gold["absent"] for protocol, gold in s["gold"].items()}
        shares = (percent(s["gold"][p]["absent"] / totals[p] if totals[p] else None) + " %" for p in PROTOCOLS)
        table.add_row(s["name"], f"{s['documents']}", f"{totals['stemmed']}", *shares)
    return table


def _category_table(sets: Sequence[Mapping[str, Any]]) -> Table:
    title = "gold phrases by category: present, reordered, mixed, unseen"
    table = make_table(title, "set", *CATEGORIES, *(f"{name} %" for name in CATEGORIES))
    for s in sets:
        counts = [s["prmu"][name] for name in CATEGORIES]
        total = sum(counts)
        table.add_row(s["name"], *map(str, counts), *(percent(n / total if total else None) for n in counts))
    return table


def _part(system: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """A part of a system's figures; nothing where it was not run."""
    part = system
    for name in names if system["not_run"] is None else ():
        part = part[name]
    return part


def _scores_table(
    title: str,
    systems: Sequence[Mapping[str, Any]],
    found: Sequence[Mapping[str, Any]],
    kinds: Sequence[str],
    metrics: Sequence[str],
) -> Table:
    """Each system with the part of its figures in `found`."""
    kind_column = ["phrases"] if len(kinds) > 1 else []
    table = make_table(title, "system", "set", *kind_column, "documents", *metrics)
    for system, scores in zip(systems, found, strict=True):
        name = system["name"]
        if system["not_run"] is not None:
            table.add_row(name, f"not run: {system['not_run']}", *["–"] * (1 + len(metrics)), end_section=True)
            continue
        for kind in kinds:
            rows = {dataset: by_kind[kind] for dataset, by_kind in scores["sets"].items()}
            for dataset, cell in [*rows.items(), *([("average", scores["average"][kind])] if len(rows) > 1 else [])]:
                names = (name, dataset, *([kind] if kind_column else []), f"{cell.get('documents', '')}")
                style = None if "documents" in cell else "bold"
                table.add_row(*names, *(percent(cell[metric]) for metric in metrics), style=style)
                name = ""
        table.add_section()
    return table

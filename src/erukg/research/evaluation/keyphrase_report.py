"""Keyphrase results as JSON, equal to the last digit when run again, and as tables of that JSON."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.ground_truth import PROTOCOLS, ground_truth
from erukg.research.evaluation.keyphrases import Comparison, SystemResult
from erukg.research.evaluation.metrics import Scores, average
from erukg.research.evaluation.reporting import comparison_table, make_table, percent, report_head
from erukg.research.evaluation.semantic import SEMANTIC_KINDS, SEMANTIC_METRICS

__all__ = ["print_report", "set_json", "system_json", "to_json"]

# The figures a kind is judged by come first.
_COLUMNS = {
    "present": ("F@5", "F@10", "P@5", "R@5", "P@10", "R@10"),
    "absent": ("R@5", "R@10", "F@5", "F@10", "P@5", "P@10"),
}


def to_json(
    datasets: Sequence[Dataset],
    results: Sequence[SystemResult],
    comparisons: Sequence[Comparison] = (),
    semantic: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """All figures as fractions, and what they were made from; `semantic` describes the vectors of semantic matching."""
    return {
        **report_head("keyphrases"),
        **({} if semantic is None else {"semantic": dict(semantic)}),
        "sets": [set_json(dataset) for dataset in datasets],
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
    return out


def _by_set(scores: Sequence[Scores]) -> dict[str, Any]:
    sets = {
        s.dataset: {k: {"documents": part.documents, **_plain(part.means())} for k, part in s.kinds.items()}
        for s in scores
    }
    return {"sets": sets, "average": {kind: _plain(average(scores, kind)) for kind in scores[0].kinds}}


def _plain(values: Mapping[str, float]) -> dict[str, float | None]:
    return {metric: None if math.isnan(value) else value for metric, value in values.items()}


def print_report(console: Console, report: Mapping[str, Any], comparisons: Sequence[Comparison] = ()) -> None:
    """Tables in percent: the sets, then for each protocol and kind every system by set and on average."""
    table = make_table("test sets", "set", "documents", "gold", *(f"absent, {p}" for p in PROTOCOLS))
    for s in report["sets"]:
        totals = {protocol: gold["present"] + gold["absent"] for protocol, gold in s["gold"].items()}
        shares = (percent(s["gold"][p]["absent"] / totals[p] if totals[p] else None) + " %" for p in PROTOCOLS)
        table.add_row(s["name"], f"{s['documents']}", f"{totals['stemmed']}", *shares)
    console.print(table)
    for protocol in PROTOCOLS:
        for kind, metrics in _COLUMNS.items():
            title = f"{kind} phrases, protocol '{protocol}' (%)"
            console.print(_scores_table(title, report["systems"], "scores", protocol, [kind], metrics))
    semantic = [system for system in report["systems"] if "semantic" in system]
    for protocol in PROTOCOLS if semantic else ():
        title = f"semantic matching, protocol '{protocol}' (%)"
        console.print(_scores_table(title, semantic, "semantic", protocol, SEMANTIC_KINDS, SEMANTIC_METRICS))
    if comparisons:
        shown = {"protocol": "protocol", "set": "dataset", "phrases": "kind", "figure": "metric"}
        console.print(comparison_table(comparisons, shown))


def _scores_table(
    title: str,
    systems: Sequence[Mapping[str, Any]],
    part: str,
    protocol: str,
    kinds: Sequence[str],
    metrics: Sequence[str],
) -> Table:
    kind_column = ["phrases"] if len(kinds) > 1 else []
    table = make_table(title, "system", "set", *kind_column, "documents", *metrics)
    for system in systems:
        name = system["name"]
        if system["not_run"] is not None:
            table.add_row(name, f"not run: {system['not_run']}", *["–"] * (1 + len(metrics)), end_section=True)
            continue
        scores = system[part][protocol]
        for kind in kinds:
            rows = {dataset: by_kind[kind] for dataset, by_kind in scores["sets"].items()}
            for dataset, cell in [*rows.items(), *([("average", scores["average"][kind])] if len(rows) > 1 else [])]:
                names = (name, dataset, *([kind] if kind_column else []), f"{cell.get('documents', '')}")
                style = None if "documents" in cell else "bold"
                table.add_row(*names, *(percent(cell[metric]) for metric in metrics), style=style)
                name = ""
        table.add_section()
    return table

"""Keyphrase results for people (tables) and for programs (JSON), equal to the last digit when run again."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.ground_truth import PROTOCOLS, Protocol, absent_share, ground_truth
from erukg.research.evaluation.keyphrases import Comparison, SystemResult
from erukg.research.evaluation.metrics import KindScores, average
from erukg.research.evaluation.reporting import comparison_table, make_table, percent, report_head
from erukg.research.evaluation.semantic import SEMANTIC_KINDS, SEMANTIC_METRICS, semantic_average

__all__ = ["print_report", "set_json", "system_json", "to_json"]

# The figures a kind is judged by come first.
_COLUMNS = {
    "present": ("F@5", "F@10", "P@5", "R@5", "P@10", "R@10"),
    "absent": ("R@5", "R@10", "F@5", "F@10", "P@5", "P@10"),
}


def print_report(
    console: Console,
    datasets: Sequence[Dataset],
    results: Sequence[SystemResult],
    comparisons: Sequence[Comparison] = (),
) -> None:
    """Tables in percent: the sets, then for each protocol and kind every system by set and on average."""
    console.print(_sets_table(datasets))
    for protocol in PROTOCOLS:
        for kind, columns in _COLUMNS.items():
            console.print(_scores_table(results, protocol, kind, columns))
    if any(result.semantic for result in results):
        for protocol in PROTOCOLS:
            console.print(_semantic_table(results, protocol))
    if comparisons:
        shown = {"protocol": "protocol", "set": "dataset", "phrases": "kind", "figure": "metric"}
        console.print(comparison_table(comparisons, shown))


def _sets_table(datasets: Sequence[Dataset]) -> Table:
    table = make_table("test sets", "set", "documents", "gold", *(f"absent, {p}" for p in PROTOCOLS))
    for dataset in datasets:
        total = sum(g.n_present + g.n_absent for g in ground_truth(dataset, "stemmed"))
        shares = (percent(absent_share(dataset, p)) + " %" for p in PROTOCOLS)
        table.add_row(dataset.name, f"{len(dataset)}", f"{total}", *shares)
    return table


def _scores_table(results: Sequence[SystemResult], protocol: Protocol, kind: str, columns: Sequence[str]) -> Table:
    table = make_table(f"{kind} phrases, protocol '{protocol}' (%)", "system", "set", "documents", *columns)
    for result in results:
        if result.not_run is not None:
            table.add_row(result.name, f"not run: {result.not_run}", *["–"] * (1 + len(columns)), end_section=True)
            continue
        scores = result.scores[protocol]
        for number, s in enumerate(scores):
            part = s.kind(kind)
            name = result.name if number == 0 else ""
            table.add_row(name, s.dataset, f"{part.documents}", *(percent(part[c]) for c in columns))
        if len(scores) > 1:
            mean = average(scores, kind)
            table.add_row("", "average", "", *(percent(mean[c]) for c in columns), style="bold")
        table.add_section()
    return table


def _semantic_table(results: Sequence[SystemResult], protocol: Protocol) -> Table:
    title = f"semantic matching, protocol '{protocol}' (%)"
    table = make_table(title, "system", "set", "phrases", "documents", *SEMANTIC_METRICS)
    for result in (r for r in results if r.semantic):
        scores = result.semantic[protocol]
        name = result.name
        for kind in SEMANTIC_KINDS:
            for s in scores:
                part = s.kinds[kind]
                cells = (percent(part[metric]) for metric in SEMANTIC_METRICS)
                table.add_row(name, s.dataset, kind, f"{part.documents}", *cells)
                name = ""
            if len(scores) > 1:
                mean = semantic_average(scores, kind)
                table.add_row("", "average", kind, "", *(percent(mean[m]) for m in SEMANTIC_METRICS), style="bold")
        table.add_section()
    return table


def to_json(
    datasets: Sequence[Dataset],
    results: Sequence[SystemResult],
    comparisons: Sequence[Comparison] = (),
    semantic: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Everything in the tables, as fractions, with what it was made from: settings, versions, hashes.

    `semantic` describes the vectors of semantic matching, where there was any.
    """
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
    """One system's figures and what they were made from."""
    out: dict[str, Any] = {
        "name": result.name,
        "not_run": result.not_run,
        "description": result.description,
        "predictions": result.predictions,
        "scores": {
            protocol: _by_set(scores, {kind: average(scores, kind) for kind in _COLUMNS}, lambda s, kind: s.kind(kind))
            for protocol, scores in result.scores.items()
        },
    }
    if result.semantic:
        out["semantic"] = {
            protocol: _by_set(
                scores, {kind: semantic_average(scores, kind) for kind in SEMANTIC_KINDS}, lambda s, kind: s.kinds[kind]
            )
            for protocol, scores in result.semantic.items()
        }
    return out


def _by_set(
    scores: Sequence[Any], averages: Mapping[str, Mapping[str, float]], part: Callable[[Any, str], KindScores]
) -> dict[str, Any]:
    return {
        "sets": {
            s.dataset: {
                kind: {"documents": part(s, kind).documents, **_plain(part(s, kind).means())} for kind in averages
            }
            for s in scores
        },
        "average": {kind: _plain(mean) for kind, mean in averages.items()},
    }


def _plain(values: Mapping[str, float]) -> dict[str, float | None]:
    return {metric: None if math.isnan(value) else value for metric, value in values.items()}

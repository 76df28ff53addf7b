"""Retrieval results for people (tables) and for programs (JSON)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from erukg.research.evaluation.reporting import comparison_table, make_table, report_head
from erukg.research.evaluation.retrieval.experiment import Comparison, MethodResult, SetSummary
from erukg.research.evaluation.retrieval.measures import DEPTH, MEASURES, average

__all__ = ["print_report", "to_json"]

_PACKAGES = ("numpy", "PyStemmer", "ir_measures", "pytrec_eval-terrier", "onnxruntime", "tokenizers")


def print_report(
    console: Console,
    sets: Sequence[SetSummary],
    results: Sequence[MethodResult],
    comparisons: Sequence[Comparison] = (),
) -> None:
    """Tables in percent: the sets and what is odd about them, then for each measure every method by set."""
    table = make_table("test sets", "set", "documents", "queries", "relevant")
    for s in sets:
        table.add_row(s.name, f"{s.documents:,}", f"{s.queries:,}", f"{s.relevant:,}")
    console.print(table)
    for s in sets:
        for note in s.notes:
            console.print(Text(f"{s.name}: {note}"), soft_wrap=True)
    for measure in MEASURES:
        table = make_table(f"{measure} (%)", "method", *(s.name for s in sets), "average")
        for result in results:
            if result.not_run:
                table.add_row(result.name, *("–" for _ in sets), f"not run: {result.not_run}")
                continue
            cells = [f"{100 * s[measure]:.1f}" for s in result.scores]
            table.add_row(result.name, *cells, f"{100 * average(result.scores)[measure]:.1f}")
        console.print(table)
    if comparisons:
        console.print(comparison_table(comparisons, {"set": "dataset", "measure": "measure"}))


def to_json(
    sets: Sequence[SetSummary], results: Sequence[MethodResult], comparisons: Sequence[Comparison] = ()
) -> dict[str, Any]:
    """Everything in the tables, as fractions, and every query's figures, with what they were made from."""
    return {
        **report_head("retrieval", _PACKAGES),
        "depth": DEPTH,
        "sets": [{**dataclasses.asdict(s), "notes": list(s.notes)} for s in sets],
        "methods": [_method_json(result) for result in results],
        "comparisons": [dataclasses.asdict(c) for c in comparisons],
    }


def _method_json(result: MethodResult) -> dict[str, Any]:
    if result.not_run:
        return {"name": result.name, "not_run": result.not_run}
    return {
        "name": result.name,
        "description": result.description,
        "expanded": result.expanded,
        "runs": result.runs,
        "scores": {
            "sets": {s.dataset: {"queries": len(s.queries), **s.means()} for s in result.scores},
            "average": average(result.scores),
        },
        "by_query": {
            s.dataset: {
                id: dict(zip(MEASURES, values, strict=True))
                for id, *values in zip(s.queries, *(s.by_query[m].tolist() for m in MEASURES), strict=True)
            }
            for s in result.scores
        },
    }

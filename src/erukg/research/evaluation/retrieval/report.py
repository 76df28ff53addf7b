"""Retrieval results for people (tables) and for programs (JSON)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from erukg.research.evaluation.report import package_versions
from erukg.research.evaluation.retrieval.measures import DEPTH, MEASURES, average
from erukg.research.evaluation.retrieval.running import Comparison, MethodResult, SetSummary

__all__ = ["print_report", "to_json"]

_PACKAGES = ("numpy", "PyStemmer", "ir_measures", "pytrec_eval-terrier", "onnxruntime", "tokenizers")


def print_report(
    console: Console,
    sets: Sequence[SetSummary],
    results: Sequence[MethodResult],
    comparisons: Sequence[Comparison] = (),
) -> None:
    """Tables in percent: the sets and what is odd about them, then for each measure every method by set."""
    table = _table("test sets", "set", "documents", "queries", "relevant")
    for s in sets:
        table.add_row(s.name, f"{s.documents:,}", f"{s.queries:,}", f"{s.relevant:,}")
    console.print(table)
    for s in sets:
        for note in s.notes:
            console.print(Text(f"{s.name}: {note}"), soft_wrap=True)
    for measure in MEASURES:
        table = _table(f"{measure} (%)", "method", *(s.name for s in sets), "average")
        for result in results:
            if result.not_run:
                table.add_row(result.name, *("–" for _ in sets), f"not run: {result.not_run}")
                continue
            cells = [f"{100 * s[measure]:.1f}" for s in result.scores]
            table.add_row(result.name, *cells, f"{100 * average(result.scores)[measure]:.1f}")
        console.print(table)
    if comparisons:
        console.print(_comparison_table(comparisons))


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", overflow="fold")
    return table


def _comparison_table(comparisons: Sequence[Comparison]) -> Table:
    first = comparisons[0]
    test = f"{first.result.samples:,} paired resamples, seed {first.result.seed}"
    title = f"{first.first} minus {first.second}, points with 95 % interval ({test})"
    table = _table(title, "set", "measure", "difference", "interval", "p")
    for c in comparisons:
        r = c.result
        interval = f"{100 * r.low:+.2f} … {100 * r.high:+.2f}"
        style = "bold" if c.dataset == "average" else None
        table.add_row(c.dataset, c.measure, f"{100 * r.difference:+.2f}", interval, f"{r.p:.4f}", style=style)
    return table


def to_json(
    sets: Sequence[SetSummary], results: Sequence[MethodResult], comparisons: Sequence[Comparison] = ()
) -> dict[str, Any]:
    """Everything in the tables, as fractions, and every query's figures, with what they were made from."""
    return {
        "format": "erukg-evaluation",
        "version": 1,
        "task": "retrieval",
        "depth": DEPTH,
        "versions": package_versions(_PACKAGES),
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

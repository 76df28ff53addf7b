"""Retrieval results for people (tables) and for programs (JSON)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from erukg.research.evaluation.reporting import comparison_table, make_table, report_head
from erukg.research.evaluation.retrieval.experiment import Comparison, MethodResult, SetSummary
from erukg.research.evaluation.retrieval.measures import DEPTH, MEASURES, average
from erukg.research.evaluation.retrieval.methods import REFERENCES

__all__ = ["print_report", "to_json"]

_PACKAGES = ("numpy", "PyStemmer", "ir_measures", "pytrec_eval-terrier", "onnxruntime", "tokenizers")


def print_report(
    console: Console,
    sets: Sequence[SetSummary],
    results: Sequence[MethodResult],
    comparisons: Sequence[Comparison] = (),
    asked: tuple[str, str] | None = None,
) -> None:
    """Tables in percent: the sets and what is odd about them, for each measure every method by set, differences.

    Differences to the references are those on average; those of the two methods `asked` for are also by set.
    """
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
    for reference in REFERENCES:
        against = [c for c in comparisons if c.second == reference]
        if against:
            console.print(_differences(reference, against))
    if asked:
        chosen = [c for c in comparisons if (c.first, c.second) == asked]
        console.print(comparison_table(chosen, {"set": "dataset", "measure": "measure"}))


def _differences(reference: str, comparisons: Sequence[Comparison]) -> Table:
    """Every method minus the reference: on average, or on the only set."""
    shown = [c for c in comparisons if c.dataset == "average"] or comparisons
    test = f"{shown[0].result.samples:,} paired resamples, seed {shown[0].result.seed}"
    title = f"minus {reference}, {shown[0].dataset}, points with 95 % interval ({test})"
    table = make_table(title, "method", *MEASURES)
    for name in dict.fromkeys(c.first for c in shown):
        by_measure = {c.measure: c.result for c in shown if c.first == name}
        cells = [
            f"{100 * r.difference:+.1f} ({100 * r.low:+.1f} … {100 * r.high:+.1f})"
            for r in (by_measure[measure] for measure in MEASURES)
        ]
        table.add_row(Text(name), *cells)
    return table


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

"""Figures of suggested concepts for people (tables) and for programs (JSON)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console

from erukg.research.evaluation.bootstrap import paired_bootstrap
from erukg.research.evaluation.reporting import make_table, percent, report_head
from erukg.research.evaluation.subjects.measures import BANDS, MEASURES, SubjectScores
from erukg.research.evaluation.subjects.records import TaggedSet
from erukg.research.evaluation.subjects.run import Comparison, RowResult

__all__ = ["TITLES", "print_subjects", "to_json"]

TITLES = {"all": "all concepts", "without": "without the concepts left out"}


def to_json(
    documents: TaggedSet,
    archive: Mapping[str, Any],
    without: Collection[str],
    results: Sequence[RowResult],
    comparisons: Sequence[Comparison],
    samples: int,
    seed: int,
) -> dict[str, Any]:
    """Everything in the tables as fractions, and what it was made from."""
    sets = [{"name": documents.name, "sha256": documents.sha256, "documents": len(documents)}]
    return {
        **report_head("subjects"),
        "sets": sets,
        "archive": dict(archive),
        "without": sorted(without),
        "rows": [
            {
                "name": result.name,
                "description": dict(result.description),
                "scores": {scope: _scores(scores, samples, seed) for scope, scores in result.scores.items()},
            }
            for result in results
        ],
        "comparisons": [{**asdict(c), "result": asdict(c.result)} for c in comparisons],
    }


def _scores(scores: SubjectScores, samples: int, seed: int) -> dict[str, Any]:
    return {
        "documents": scores.documents,
        "measures": {measure: scores[measure] for measure in MEASURES},
        "intervals": {measure: _interval(scores, measure, samples, seed) for measure in MEASURES},
        "bands": {name: {**asdict(band), "recall": band.recall} for name, band in scores.bands.items()},
    }


def _interval(scores: SubjectScores, measure: str, samples: int, seed: int) -> list[float]:
    """The 95 % interval of a mean: that of its difference from nothing."""
    values = scores.by_document[measure]
    found = paired_bootstrap([values], [0 * values], samples, seed)
    return [found.low, found.high]


def print_subjects(console: Console, report: Mapping[str, Any]) -> None:
    """By scope a table of the measures with their intervals, recall by frequency, and the differences between rows."""
    for scope, title in TITLES.items():
        rows = [row for row in report["rows"] if scope in row["scores"]]
        if not rows:
            continue
        documents = rows[0]["scores"][scope]["documents"]
        table = make_table(f"{title}, {documents} documents (%, 95 % interval)", "system", *MEASURES)
        for row in rows:
            scores = row["scores"][scope]
            table.add_row(row["name"], *(_with_interval(scores, measure) for measure in MEASURES))
        console.print(table)
        counts = rows[0]["scores"][scope]["bands"]
        names = [f"{band.name} ({counts[band.name]['gold']})" for band in BANDS]
        table = make_table(f"{title}: recall@10 by how many tagged documents have the concept (%)", "system", *names)
        for row in rows:
            bands = row["scores"][scope]["bands"]
            table.add_row(row["name"], *(percent(bands[band.name]["recall"]) for band in BANDS))
        console.print(table)
    if report["comparisons"]:
        table = make_table(
            "differences, points with 95 % interval", "system", "set", "measure", "points", "interval", "p"
        )
        for c in report["comparisons"]:
            r = c["result"]
            figures = (
                f"{100 * r['difference']:+.2f}",
                f"{100 * r['low']:+.2f} … {100 * r['high']:+.2f}",
                f"{r['p']:.4f}",
            )
            table.add_row(f"{c['first']} minus {c['second']}", TITLES[c["scope"]], c["measure"], *figures)
        console.print(table)


def _with_interval(scores: Mapping[str, Any], measure: str) -> str:
    low, high = scores["intervals"][measure]
    return f"{percent(scores['measures'][measure])} ({percent(low)}–{percent(high)})"

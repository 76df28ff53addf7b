"""Figures of the readers' set for people (tables by kind) and for programs (JSON)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from erukg.research.evaluation.readers import FIGURES, ReadersResult, ReadersSet
from erukg.research.evaluation.reporting import make_table, percent, report_head

__all__ = ["TOTAL", "print_readers", "shown", "to_json"]

TOTAL = "all English texts"


def print_readers(console: Console, readers: ReadersSet, results: Sequence[ReadersResult]) -> None:
    """One table per system, in percent: a row per kind of text, all English texts, and their 95 % interval."""
    for result in results:
        console.print(_table(readers, result))
    for name, (meaning, more) in FIGURES.items():
        console.print(Text(f"{name}: {meaning} ({'more' if more else 'less'} is better)"))


def _table(readers: ReadersSet, result: ReadersResult) -> Table:
    table = make_table(f"{result.name} (%, the count as it is)", "set", "texts", *FIGURES)
    if result.not_run is not None:
        table.add_row(Text(f"not run: {result.not_run}"), *["–"] * (1 + len(FIGURES)))
        return table
    for kind, texts in readers.kinds.items():
        table.add_row(kind, f"{texts}", *_cells(result.kinds[kind]))
    table.add_section()
    english = sum(text.language == "en" for text in readers.texts)
    table.add_row(TOTAL, f"{english}", *_cells(result.total), style="bold")
    for label, end in (("95 %, from", 0), ("95 %, to", 1)):
        table.add_row(label, "", *_cells({name: interval[end] for name, interval in result.intervals.items()}))
    return table


def _cells(figures: Mapping[str, float]) -> list[str]:
    return [shown(name, figures.get(name)) for name in FIGURES]


def shown(name: str, value: float | None) -> str:
    """A figure as people read it: a share in percent, a count as it is, a dash for none."""
    if name.endswith("_count") and value is not None:
        return f"{value:.1f}"
    return percent(value)


def to_json(readers: ReadersSet, results: Sequence[ReadersResult]) -> dict[str, Any]:
    """Everything in the tables as fractions, what each system found, and what it was made from."""
    english = sum(text.language == "en" for text in readers.texts)
    return {
        **report_head("readers"),
        "sets": [{"name": "readers", "sha256": dict(readers.files), "documents": len(readers.texts)}],
        "kinds": dict(readers.kinds),
        "english": english,
        "systems": [_system(result) for result in results],
    }


def _system(result: ReadersResult) -> dict[str, Any]:
    if result.not_run is not None:
        return {"name": result.name, "not_run": result.not_run}
    return {
        "name": result.name,
        "not_run": None,
        "description": result.description,
        "scores": {
            "kinds": {kind: dict(figures) for kind, figures in result.kinds.items()},
            "total": dict(result.total),
            "intervals": {name: list(interval) for name, interval in result.intervals.items()},
        },
        "found": {id: dataclasses.asdict(found) for id, found in result.found.items()},
    }

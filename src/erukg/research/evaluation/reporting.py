"""What reports of all evaluations have in common: tables for the terminal, and the JSON file they are stored in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from erukg.io.publish import publish_text
from erukg.research.evaluation.provenance import versions

__all__ = ["comparison_table", "make_table", "percent", "report_head", "write_json"]

_NAMES = ("system", "method", "variant", "set", "protocol", "phrases", "figure", "measure")
_PACKAGES = ("numpy", "onnxruntime", "tokenizers", "nltk")


def report_head(task: str, packages: Iterable[str] = _PACKAGES) -> dict[str, Any]:
    """The fields that every stored run begins with."""
    return {"format": "erukg-evaluation", "version": 1, "task": task, "versions": versions(packages)}


def write_json(report: Mapping[str, Any], path: Path) -> None:
    """Write the report whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    publish_text(path, json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def make_table(title: str, *columns: str) -> Table:
    """An empty table; columns of names are to the left and may wrap, those of figures to the right."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        is_name = column in _NAMES
        table.add_column(column, justify="left" if is_name else "right", overflow="fold", no_wrap=not is_name)
    return table


def comparison_table(comparisons: Sequence[Any], columns: Mapping[str, str]) -> Table:
    """Differences with their intervals; `columns` has by title the attribute of a comparison that it shows."""
    first = comparisons[0]
    test = f"{first.result.samples:,} paired resamples, seed {first.result.seed}"
    title = f"{first.first} minus {first.second}, points with 95 % interval ({test})"
    table = make_table(title, *columns, "difference", "interval", "p")
    for c in comparisons:
        names = [Text(getattr(c, attribute)) for attribute in columns.values()]
        r = c.result
        figures = (f"{100 * r.difference:+.2f}", f"{100 * r.low:+.2f} … {100 * r.high:+.2f}", f"{r.p:.4f}")
        table.add_row(*names, *figures, style="bold" if c.dataset == "average" else None)
    return table


def percent(value: float | None) -> str:
    """A fraction in percent with one decimal; a dash where there is none."""
    return "–" if value is None else f"{100 * value:.1f}"

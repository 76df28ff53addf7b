"""Results for people (tables) and for programs (JSON), equal to the last digit when run again."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from erukg._version import __version__
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.ground_truth import PROTOCOLS, Protocol, absent_share, ground_truth
from erukg.research.evaluation.keyphrases import Comparison, SystemResult
from erukg.research.evaluation.metrics import average
from erukg.research.evaluation.semantic import SEMANTIC_KINDS, SEMANTIC_METRICS, semantic_average

__all__ = [
    "PACKAGES",
    "package_versions",
    "percent",
    "print_report",
    "set_json",
    "system_json",
    "to_json",
    "write_json",
]

PACKAGES = ("numpy", "onnxruntime", "tokenizers", "nltk")
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
            table = _table(f"{kind} phrases, protocol '{protocol}' (%)", "system", "set", "documents", *columns)
            for result in results:
                if result.not_run is not None:
                    table.add_row(result.name, f"not run: {result.not_run}", *["–"] * (1 + len(columns)))
                    table.add_section()
                    continue
                scores = result.scores[protocol]
                for number, s in enumerate(scores):
                    part = s.kind(kind)
                    name = result.name if number == 0 else ""
                    table.add_row(name, s.dataset, f"{part.documents}", *(percent(part[c]) for c in columns))
                mean = average(scores, kind)
                if len(scores) > 1:
                    table.add_row("", "average", "", *(percent(mean[c]) for c in columns), style="bold")
                table.add_section()
            console.print(table)
    if any(result.semantic for result in results):
        for protocol in PROTOCOLS:
            console.print(_semantic_table(results, protocol))
    if comparisons:
        console.print(_comparison_table(comparisons))


def _sets_table(datasets: Sequence[Dataset]) -> Table:
    table = _table("test sets", "set", "documents", "gold", *(f"absent, {p}" for p in PROTOCOLS))
    for dataset in datasets:
        total = sum(g.n_present + g.n_absent for g in ground_truth(dataset, "stemmed"))
        shares = (percent(absent_share(dataset, p)) + " %" for p in PROTOCOLS)
        table.add_row(dataset.name, f"{len(dataset)}", f"{total}", *shares)
    return table


def _semantic_table(results: Sequence[SystemResult], protocol: Protocol) -> Table:
    title = f"semantic matching, protocol '{protocol}' (%)"
    table = _table(title, "system", "set", "phrases", "documents", *SEMANTIC_METRICS)
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


def _comparison_table(comparisons: Sequence[Comparison]) -> Table:
    first = comparisons[0]
    test = f"{first.result.samples:,} paired resamples, seed {first.result.seed}"
    title = f"{first.first} minus {first.second}, points with 95 % interval ({test})"
    table = _table(title, "protocol", "set", "phrases", "figure", "difference", "interval", "p")
    for c in comparisons:
        r = c.result
        table.add_row(
            c.protocol,
            c.dataset,
            c.kind,
            c.metric,
            f"{100 * r.difference:+.2f}",
            f"{100 * r.low:+.2f} … {100 * r.high:+.2f}",
            f"{r.p:.4f}",
            style="bold" if c.dataset == "average" else None,
        )
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        is_name = column in ("system", "set", "protocol", "phrases", "figure")
        table.add_column(column, justify="left" if is_name else "right", overflow="fold", no_wrap=not is_name)
    return table


def percent(value: float) -> str:
    """A fraction in percent with one decimal; a dash where there is none."""
    return "–" if math.isnan(value) else f"{100 * value:.1f}"


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
        "format": "erukg-evaluation",
        "version": 1,
        "task": "keyphrases",
        "versions": package_versions(PACKAGES),
        **({} if semantic is None else {"semantic": dict(semantic)}),
        "sets": [set_json(dataset) for dataset in datasets],
        "systems": [system_json(result) for result in results],
        "comparisons": [{**dataclasses.asdict(c), "result": dataclasses.asdict(c.result)} for c in comparisons],
    }


def package_versions(packages: Sequence[str]) -> dict[str, str | None]:
    """The versions of erukg, Python and these packages; None for one that is not installed."""
    out: dict[str, str | None] = {"erukg": __version__, "python": platform.python_version()}
    for package in packages:
        try:
            out[package] = version(package)
        except PackageNotFoundError:
            out[package] = None
    return out


def set_json(dataset: Dataset) -> dict[str, Any]:
    """A set's name, hash and sizes."""
    gold = {}
    for protocol in PROTOCOLS:
        truth = ground_truth(dataset, protocol)
        gold[protocol] = {
            "present": sum(g.n_present for g in truth),
            "absent": sum(g.n_absent for g in truth),
        }
    return {"name": dataset.name, "sha256": dataset.sha256, "documents": len(dataset), "gold": gold}


def system_json(result: SystemResult) -> dict[str, Any]:
    """One system's figures and what they were made from."""
    out: dict[str, Any] = {
        "name": result.name,
        "not_run": result.not_run,
        "description": result.description,
        "predictions": result.predictions,
        "scores": {
            protocol: {
                "sets": {
                    s.dataset: {
                        kind: {"documents": s.kind(kind).documents, **_plain(s.kind(kind).means())} for kind in _COLUMNS
                    }
                    for s in scores
                },
                "average": {kind: _plain(average(scores, kind)) for kind in _COLUMNS},
            }
            for protocol, scores in result.scores.items()
        },
    }
    if result.semantic:
        out["semantic"] = {
            protocol: {
                "sets": {
                    s.dataset: {
                        kind: {"documents": part.documents, **_plain(part.means())} for kind, part in s.kinds.items()
                    }
                    for s in scores
                },
                "average": {kind: _plain(semantic_average(scores, kind)) for kind in SEMANTIC_KINDS},
            }
            for protocol, scores in result.semantic.items()
        }
    return out


def _plain(values: Mapping[str, float]) -> dict[str, float | None]:
    return {metric: None if math.isnan(value) else value for metric, value in values.items()}


def write_json(report: Mapping[str, Any], path: Path) -> None:
    """Write the report whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        partial.write_text(json.dumps(report, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)

"""Ablations for people (one table per study) and for programs (JSON)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from erukg.research.evaluation.ablations import STUDIES, Study
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.ground_truth import PROTOCOLS, Protocol
from erukg.research.evaluation.keyphrase_report import set_json, system_json
from erukg.research.evaluation.keyphrases import COMPARED, SystemResult
from erukg.research.evaluation.metrics import average
from erukg.research.evaluation.reporting import make_table, percent, report_head

__all__ = ["print_ablations", "to_json"]

_FIGURES = tuple((kind, metric) for kind, metrics in COMPARED.items() for metric in metrics)


def print_ablations(
    console: Console, datasets: Sequence[Dataset], studies: Sequence[Study], results: Sequence[Sequence[SystemResult]]
) -> None:
    """By study and protocol a table in percent: present F@5 and F@10, absent R@5 and R@10, on average and by set."""
    for study, found in zip(studies, results, strict=True):
        for protocol in PROTOCOLS:
            console.print(_table(study, found, protocol, datasets))


def _table(study: Study, results: Sequence[SystemResult], protocol: Protocol, datasets: Sequence[Dataset]) -> Table:
    title = f"{study.name}: {STUDIES[study.name]}, protocol '{protocol}' (%)"
    table = make_table(title, "variant")
    figures = " ".join(f"{metric:>4}" for _, metric in _FIGURES)
    for name in ("average", *(dataset.name for dataset in datasets)):
        table.add_column(f"{name}\n{figures}", justify="right", no_wrap=True)
    notes = []
    for variant, result in zip(study.variants, results, strict=True):
        if result.not_run is not None:
            table.add_row(Text(variant.label), "not run", *["–"] * len(datasets))
            notes.append(f"{variant.label}: not run: {result.not_run}")
        else:
            table.add_row(Text(variant.label), *_cells(result, protocol))
    if notes:
        table.caption = Text("\n".join(notes))
        table.caption_justify = "left"
    return table


def _cells(result: SystemResult, protocol: Protocol) -> list[str]:
    scores = result.scores[protocol]
    means = {kind: average(scores, kind) for kind in COMPARED}
    rows = [[means[kind][metric] for kind, metric in _FIGURES]]
    rows += [[s.kind(kind)[metric] for kind, metric in _FIGURES] for s in scores]
    return [" ".join(f"{percent(value):>4}" for value in row) for row in rows]


def to_json(
    datasets: Sequence[Dataset], studies: Sequence[Study], results: Sequence[Sequence[SystemResult]], paper: bool
) -> dict[str, Any]:
    """Everything in the tables, as fractions, with what it was made from: settings, versions, hashes.

    `paper`: the settings that were varied are the paper's.
    """
    return {
        **report_head("ablations"),
        "paper": paper,
        "sets": [set_json(dataset) for dataset in datasets],
        "studies": [
            {
                "name": study.name,
                "title": STUDIES[study.name],
                "variants": [
                    {"label": variant.label, "value": variant.value, **system_json(result)}
                    for variant, result in zip(study.variants, found, strict=True)
                ],
            }
            for study, found in zip(studies, results, strict=True)
        ],
    }

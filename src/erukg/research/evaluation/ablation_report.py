"""Ablations as JSON, equal to the last digit when run again, and as tables of that JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from erukg.research.evaluation.ablation_runs import ADDED_PHRASES, EXPANSION, Figure, Found, StudyResults
from erukg.research.evaluation.ablations import STUDIES, Studies
from erukg.research.evaluation.bootstrap import Difference
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.ground_truth import PROTOCOLS
from erukg.research.evaluation.keyphrase_report import set_json, system_json
from erukg.research.evaluation.keyphrases import COMPARED
from erukg.research.evaluation.reporting import make_table, percent, report_head

__all__ = ["described", "interval", "print_ablations", "to_json"]

_FIGURES = tuple((kind, metric) for kind, metrics in COMPARED.items() for metric in metrics)


def to_json(
    datasets: Sequence[Dataset], given: Studies, results: StudyResults, limit: int | None = None
) -> dict[str, Any]:
    """All figures as fractions, and what they were made from.

    `paper`: the settings that were varied are the paper's; `collection`: the one of all variants that name no other.
    """
    studies = zip(given.studies, results.found, strict=True)
    return {
        **report_head("ablations"),
        "paper": given.paper,
        "collection": given.collection,
        "limit": limit,
        "bootstrap": {"samples": results.samples, "seed": results.seed},
        "sets": [set_json(dataset) for dataset in datasets],
        **_search_head(results),
        "studies": [
            {"name": study.name, "title": STUDIES[study.name], "variants": [_variant(each) for each in found]}
            for study, found in studies
        ],
    }


def _search_head(results: StudyResults) -> dict[str, Any]:
    if results.plain is None:
        return {}
    sets = [dataclasses.asdict(one) for one in results.searched]
    how = {"expansion": EXPANSION, "phrases": ADDED_PHRASES, "sets": sets, "bm25": _search_scores(results.plain.scores)}
    return {"retrieval": how}


def _variant(found: Found) -> dict[str, Any]:
    variant = found.variant
    out: dict[str, Any] = {"label": variant.label, "value": variant.value, "collection": variant.collection}
    out |= {"against": variant.against, **system_json(found.result)}
    out["differences"] = [_difference(*each) for each in found.differences.items()]
    if found.search is not None:
        out["retrieval"] = _search_scores(found.search.scores)
    return out


def _difference(figure: Figure, result: Difference) -> dict[str, Any]:
    named = {name: value for name, value in dataclasses.asdict(figure).items() if value is not None}
    return {**named, "difference": result.difference, "low": result.low, "high": result.high, "p": result.p}


def _search_scores(scores: Sequence[Any]) -> dict[str, Any]:
    from erukg.research.evaluation.retrieval.measures import average

    return {"sets": {one.dataset: one.means() for one in scores}, "average": average(scores)}


def print_ablations(console: Console, report: Mapping[str, Any]) -> None:
    """By study and protocol tables in percent: present F@5 and F@10, absent R@5 and R@10, on average and by set.

    Below each, how far every variant is from the one it is compared with, and what its phrases do for search.
    """
    if report["collection"] is not None:
        console.print(Text(described(report["collection"], report["paper"])), soft_wrap=True)
    for study in report["studies"]:
        for protocol in PROTOCOLS:
            console.print(_scores(study, protocol, [s["name"] for s in report["sets"]]))
            rows = [(v, dict(_of_phrases(v, protocol))) for v in study["variants"]]
            title = f"{study['name']}: differences on average, protocol '{protocol}', points with 95 % interval"
            if any(found for _, found in rows):
                console.print(_differences(title, rows, [f"{kind} {metric}" for kind, metric in _FIGURES]))
        if any("retrieval" in variant for variant in study["variants"]):
            console.print(_searches(study, report["retrieval"]))


def described(collection: Mapping[str, Any], paper: bool) -> str:
    """A collection in words; with the `paper`'s settings it is said when it is not made as the paper's."""
    size = f", {collection['documents']:,} documents" if "documents" in collection else ""
    how = ", made as the paper's" if collection.get("paper") else ", not made as the paper's" if paper else ""
    manifest = f" ({collection['manifest'][:12]})" if "manifest" in collection else ""
    return f"Collection: {collection['name']}{size}{how}{manifest}."


def interval(difference: Mapping[str, Any]) -> str:
    """A difference in points with its interval."""
    points, low, high = (f"{100 * difference[name]:+.1f}" for name in ("difference", "low", "high"))
    return f"{points} ({low} … {high})"


def _scores(study: Mapping[str, Any], protocol: str, names: Sequence[str]) -> Table:
    table = make_table(f"{study['name']}: {study['title']}, protocol '{protocol}' (%)", "variant")
    figures = " ".join(f"{metric:>4}" for _, metric in _FIGURES)
    for name in ("average", *names):
        table.add_column(f"{name}\n{figures}", justify="right", no_wrap=True)
    notes = []
    for variant in study["variants"]:
        label = variant["label"]
        if variant["not_run"] is not None:
            table.add_row(Text(label), "not run", *["–"] * len(names))
            notes.append(f"{label}: not run: {variant['not_run']}")
            continue
        scores = variant["scores"][protocol]
        cells = [scores["average"], *scores["sets"].values()]
        table.add_row(Text(label), *(" ".join(f"{percent(cell[k][m]):>4}" for k, m in _FIGURES) for cell in cells))
    if notes:
        table.caption = Text("\n".join(notes))
        table.caption_justify = "left"
    return table


def _of_phrases(variant: Mapping[str, Any], protocol: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for each in variant["differences"]:
        if each.get("protocol") == protocol:
            yield f"{each['kind']} {each['metric']}", each


def _differences(
    title: str, rows: Iterable[tuple[Mapping[str, Any], Mapping[str, Mapping[str, Any]]]], columns: Sequence[str]
) -> Table:
    table = make_table(title, "variant", *columns)
    for variant, found in rows:
        if found:
            label = f"{variant['label']}, minus {variant['against']}"
            cells = (interval(found[column]) if column in found else "–" for column in columns)
            table.add_row(Text(label), *cells)
    return table


def _searches(study: Mapping[str, Any], how: Mapping[str, Any]) -> Table:
    measures = list(how["bm25"]["average"])
    sets = ", ".join(one["name"] for one in how["sets"])
    title = (
        f"{study['name']}: search with {how['phrases']} phrases of each kind behind the query, average of {sets} (%)"
    )
    table = make_table(title, "variant", *measures)
    table.add_row("no phrases", *(percent(how["bm25"]["average"][measure]) for measure in measures))
    for variant in study["variants"]:
        if "retrieval" not in variant:
            continue
        beside = {each["metric"]: f"  {interval(each)}" for each in variant["differences"] if "kind" not in each}
        scores = variant["retrieval"]["average"]
        table.add_row(Text(variant["label"]), *(f"{percent(scores[m])}{beside.get(m, '')}" for m in measures))
    return table

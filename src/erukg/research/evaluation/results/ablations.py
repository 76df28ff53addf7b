"""The part of the page on what each part of the method is worth."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from erukg.research.evaluation.ablation_report import described, interval
from erukg.research.evaluation.ablations import STUDIES
from erukg.research.evaluation.ground_truth import PROTOCOLS
from erukg.research.evaluation.keyphrases import COMPARED
from erukg.research.evaluation.reporting import percent
from erukg.research.evaluation.results import charts, markdown, published
from erukg.research.evaluation.results.charts import Plots
from erukg.research.evaluation.results.runs import Run, Runs

__all__ = ["ablation_part"]

_PROTOCOL = PROTOCOLS[0]  # of the plots
# Studies whose variants lie on an axis: title, what the axis is called, whether it is logarithmic.
_CURVES = {
    "alpha-beta": ("α = β: how much the document itself counts", "α = β", False),
    "neighbours": ("N: how many neighbours are consulted", "N", False),
    "collection": ("D: how many documents the collection has", "documents in the collection", True),
}
_KINDS = {"present": "Phrases in the text", "absent": "Phrases not in the text"}
_SEARCH = ("R@1000", "R@100", "nDCG@10")  # the paper's first


def ablation_part(runs: Runs, plots: Plots) -> Iterator[str]:
    for number, ((paper, *_), studies) in enumerate(_grouped(runs).items(), 1):
        report = studies[0][0].report
        sets = report["sets"]
        names = [s["name"] for s in sets]
        sizes = ", ".join(f"{s['name']} ({s['documents']:,} documents)" for s in sets)
        first = f" (the first {report['limit']} documents of each)" if report.get("limit") else ""
        whose = "the paper's settings" if paper else "the settings as they are"
        yield f"## Ablations with {whose}\n"
        yield f"On {sizes}{first}. Cells: present F@5 / F@10 · absent R@5 / R@10 (%).\n"
        if (collection := _collection_of(report)) is not None:
            yield f"{described(collection, paper)}\n"
        for run, study in studies:
            yield f"### {study['name']}: {study['title']}\n"
            yield from _curves(study, names, number, plots)
            for protocol in PROTOCOLS:
                if any(not variant.get("not_run") for variant in study["variants"]) or protocol == _PROTOCOL:
                    yield f"Protocol `{protocol}`\n\n{markdown.ablation_table(study, protocol, names)}"
            yield from _differences(study)
            if "retrieval" in run.report:
                yield from _searches(study, run.report["retrieval"])
            yield _made_of(study, run)


_Studies: TypeAlias = list[tuple[Run, Mapping[str, Any]]]


def _grouped(runs: Runs) -> dict[tuple[bool, str, str], _Studies]:
    """Studies by whether the paper's settings were varied, on which sets and over which collection, from any files."""
    out: dict[tuple[bool, str, str], _Studies] = {}
    for run in runs.ablations:
        sets = json.dumps([[s["name"], s["sha256"], s["documents"]] for s in run.report["sets"]])
        collection = (_collection_of(run.report) or {}).get("manifest", "")
        group = out.setdefault((bool(run.report.get("paper")), sets, collection), [])
        group += [(run, study) for study in run.report["studies"]]
    for group in out.values():
        order = list(STUDIES)
        group.sort(key=lambda item: order.index(item[1]["name"]) if item[1]["name"] in order else len(order))
    return dict(sorted(out.items(), key=lambda item: item[0][0]))


def _collection_of(report: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The collection of a run's studies; one that does not name it has that of the first variant with one."""
    if "collection" in report:
        named: Mapping[str, Any] | None = report["collection"]
        return named
    variants = (variant for study in report["studies"] for variant in study["variants"])
    found = ((variant.get("description") or {}).get("collection") for variant in variants)
    first = next(filter(None, found), None)
    return None if first is None else {"name": "not named", **first}


def _differences(study: Mapping[str, Any]) -> Iterator[str]:
    """Every variant minus the one it is compared with, on average; in bold where the interval is on one side of 0."""
    figures = [(kind, metric) for kind, metrics in COMPARED.items() for metric in metrics]
    rows = []
    for variant in study["variants"]:
        found = {
            (each["kind"], each["metric"]): each
            for each in variant.get("differences", ())
            if each.get("protocol") == _PROTOCOL
        }
        if found:
            cells = (_shown(found[figure]) if figure in found else "–" for figure in figures)
            rows.append([f"{variant['label']} minus {variant['against']}", *cells])
    if rows:
        header = ["difference on average", *(f"{kind} {metric}" for kind, metric in figures)]
        yield f"Points with 95 % interval, protocol `{_PROTOCOL}`\n\n{markdown.table(header, rows)}"


def _shown(difference: Mapping[str, Any]) -> str:
    sure = difference["low"] > 0 or difference["high"] < 0
    return f"**{interval(difference)}**" if sure else interval(difference)


def _searches(study: Mapping[str, Any], how: Mapping[str, Any]) -> Iterator[str]:
    """What each variant's phrases do for search, with the difference from the one that it is compared with."""
    searched = [variant for variant in study["variants"] if "retrieval" in variant]
    if not searched:
        return
    plain = how["bm25"]["average"]
    rows = [["BM25 without phrases", *(percent(plain[measure]) for measure in _SEARCH)]]
    for variant in searched:
        beside = {each["metric"]: each for each in variant["differences"] if "kind" not in each}
        scores = variant["retrieval"]["average"]
        cells = (f"{percent(scores[m])} {_shown(beside[m])}" if m in beside else percent(scores[m]) for m in _SEARCH)
        rows.append([variant["label"], *cells])
    sets = ", ".join(one["name"] for one in how["sets"])
    yield (
        f"Search, {how['phrases']} present and {how['phrases']} absent phrases behind the query, average of {sets} "
        f"(%)\n\n{markdown.table(['variant', *_SEARCH], rows)}"
    )


def _made_of(study: Mapping[str, Any], run: Run) -> str:
    """The model and collections of a study in a line."""
    models: dict[str, None] = {}
    collections: dict[str, None] = {}
    for variant in study["variants"]:
        described = variant.get("description") or {}
        if model := described.get("model"):
            models[f"{model.get('name', 'model')} {model.get('precision', '')} {model['weights'][:12]}"] = None
        if (collection := described.get("collection")) and "manifest" in collection:
            collections[f"{collection['documents']:,} documents ({collection['manifest'][:12]})"] = None
    parts = [f"models: {', '.join(models)}"] if models else []
    parts += [f"collections: {', '.join(collections)}"] if collections else []
    return f"<sub>{run.name}; {'; '.join(parts)}</sub>\n" if parts else ""


def _curves(study: Mapping[str, Any], names: Sequence[str], number: int, plots: Plots) -> Iterator[str]:
    if study["name"] not in _CURVES:
        return
    title, axis, log = _CURVES[study["name"]]
    done = [v for v in study["variants"] if not v.get("not_run") and v["value"] is not None]
    # Zero has no place on a logarithmic axis: it is a line across the plot instead.
    placed = [v for v in done if v["value"] > 0 or not log]
    if len(placed) < 2:
        return

    apart = [v for v in done if v not in placed]
    whole = published.average_of(names)
    what = "the five test sets" if whole else ", ".join(names)
    ticks = sorted({float(v["value"]) for v in placed})
    subtitle = f"Percent, average over {what}, protocol '{_PROTOCOL}'"
    theirs = published.NEIGHBOURS if study["name"] == "neighbours" and whole else {}
    panels = _panels(placed, apart, lambda scores: scores["average"], theirs)
    panels += _search_panel(placed)
    yield plots.add(study["name"], number, title, charts.curves(title, subtitle, axis, panels, ticks, log=log))
    same = [name for name in names if published.known_set(name) == published.ALPHA_BETA_SET]
    if study["name"] == "alpha-beta" and same and len(names) > 1:
        panels = _panels(placed, apart, lambda scores: scores["sets"][same[0]], published.ALPHA_BETA)
        title = f"{title}, beside the paper"
        subtitle = f"Percent on {same[0]}, protocol '{_PROTOCOL}'; dashed: ERU-KG-base in the paper, on all of KP20k"
        plot = charts.curves(title, subtitle, axis, panels, ticks, log=log)
        yield plots.add(f"{study['name']}-{same[0]}", number, title, plot)


def _panels(
    placed: Sequence[Mapping[str, Any]],
    apart: Sequence[Mapping[str, Any]],
    part: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    in_paper: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]],
) -> list[charts.Panel]:
    """By kind the curves of the metrics in `part` of the scores, and levels for the variants that have no place."""

    def percent(variant: Mapping[str, Any], kind: str, metric: str) -> float | None:
        value = part(variant["scores"][_PROTOCOL])[kind][metric]
        return None if value is None else 100 * value

    out = []
    for kind, metrics in COMPARED.items():
        curves, levels = [], []
        for metric in metrics:
            values = [(float(v["value"]), percent(v, kind, metric)) for v in placed]
            if points := [(x, y) for x, y in values if y is not None]:
                curves.append(charts.Curve(metric, points))
            levels += [(f"{metric}, no D", y) for v in apart if (y := percent(v, kind, metric))]
        if curves:
            theirs = [charts.Curve(f"{m}, paper", points, True) for m, points in in_paper.get(kind, {}).items()]
            out.append(charts.Panel(_KINDS[kind], [*curves, *theirs], levels))
    return out


def _search_panel(placed: Sequence[Mapping[str, Any]]) -> list[charts.Panel]:
    """The curves of search, where variants were searched with."""
    searched = [variant for variant in placed if "retrieval" in variant]
    if len(searched) < 2:
        return []
    curves = [
        charts.Curve(m, [(float(v["value"]), 100 * v["retrieval"]["average"][m]) for v in searched])
        for m in _SEARCH[:2]
    ]
    return [charts.Panel("Search with them", curves)]

"""The part of the page on what each part of the method is worth."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from erukg.research.evaluation.ablations import STUDIES
from erukg.research.evaluation.ground_truth import PROTOCOLS
from erukg.research.evaluation.keyphrases import COMPARED
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


def ablation_part(runs: Runs, plots: Plots) -> Iterator[str]:
    for number, ((paper, _), studies) in enumerate(_grouped(runs).items(), 1):
        sets = studies[0][0].report["sets"]
        names = [s["name"] for s in sets]
        sizes = ", ".join(f"{s['name']} ({s['documents']:,} documents)" for s in sets)
        whose = "the paper's settings" if paper else "the settings as they are"
        yield f"## Ablations with {whose}\n"
        yield f"On {sizes}. Cells: present F@5 / F@10 · absent R@5 / R@10 (%).\n"
        for run, study in studies:
            yield f"### {study['name']}: {study['title']}\n"
            yield from _curves(study, names, number, plots)
            for protocol in PROTOCOLS:
                if any(not variant.get("not_run") for variant in study["variants"]) or protocol == _PROTOCOL:
                    yield f"Protocol `{protocol}`\n\n{markdown.ablation_table(study, protocol, names)}"
            yield _made_of(study, run)


_Studies: TypeAlias = list[tuple[Run, Mapping[str, Any]]]


def _grouped(runs: Runs) -> dict[tuple[bool, str], _Studies]:
    """Studies by whether the paper's settings were varied and on which sets, whichever files they come from."""
    out: dict[tuple[bool, str], _Studies] = {}
    for run in runs.ablations:
        sets = json.dumps([[s["name"], s["sha256"], s["documents"]] for s in run.report["sets"]])
        group = out.setdefault((bool(run.report.get("paper")), sets), [])
        group += [(run, study) for study in run.report["studies"]]
    for group in out.values():
        order = list(STUDIES)
        group.sort(key=lambda item: order.index(item[1]["name"]) if item[1]["name"] in order else len(order))
    return dict(sorted(out.items(), key=lambda item: item[0][0]))


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

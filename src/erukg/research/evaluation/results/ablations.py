"""The part of the page on what each part of the method is worth."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from erukg.research.evaluation.ablations import STUDIES
from erukg.research.evaluation.ground_truth import PROTOCOLS
from erukg.research.evaluation.keyphrases import COMPARED
from erukg.research.evaluation.results import charts, markdown, published
from erukg.research.evaluation.results.plots import Plots
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

    def average(variant: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
        return variant["scores"][_PROTOCOL]["average"][kind]  # type: ignore[no-any-return]

    apart = [v for v in done if v not in placed]
    whole = published.average_of(names)
    theirs = _neighbours_in_paper() if study["name"] == "neighbours" and whole else {}
    panels = _panels(placed, apart, average, theirs)
    what = "the five test sets" if whole else ", ".join(names)
    ticks = sorted({float(v["value"]) for v in placed})
    subtitle = f"Percent, average over {what}, protocol '{_PROTOCOL}'"
    yield plots.add(study["name"], number, title, charts.curves(title, subtitle, axis, panels, ticks, log=log))
    same = [name for name in names if published.known_set(name) == published.ALPHA_BETA_SET]
    if study["name"] == "alpha-beta" and same and len(names) > 1:

        def on_set(variant: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
            return variant["scores"][_PROTOCOL]["sets"][same[0]][kind]  # type: ignore[no-any-return]

        panels = _panels(placed, apart, on_set, _alpha_beta_in_paper())
        title = f"{title}, beside the paper"
        subtitle = f"Percent on {same[0]}, protocol '{_PROTOCOL}'; dashed: ERU-KG-base in the paper, on all of KP20k"
        plot = charts.curves(title, subtitle, axis, panels, ticks, log=log)
        yield plots.add(f"{study['name']}-{same[0]}", number, title, plot)


def _panels(
    placed: Sequence[Mapping[str, Any]],
    apart: Sequence[Mapping[str, Any]],
    cell: Callable[[Mapping[str, Any], str], Mapping[str, Any]],
    theirs: Mapping[str, Sequence[charts.Curve]],
) -> list[charts.Panel]:
    out = []
    for kind, metrics in COMPARED.items():
        found, levels = [], []
        for metric in metrics:
            values = [(float(v["value"]), cell(v, kind)[metric]) for v in placed]
            points = [(x, 100 * y) for x, y in values if y is not None]
            if points:
                found.append(charts.Curve(metric, points))
            levels += [
                charts.Level(f"{metric}, no D", 100 * y)
                for v in apart
                if (y := cell(v, kind)[metric]) is not None and y > 0
            ]
        if found:
            out.append(charts.Panel(_KINDS[kind], [*found, *theirs.get(kind, ())], levels))
    return out


def _alpha_beta_in_paper() -> dict[str, list[charts.Curve]]:
    out = {}
    for kind, metrics in COMPARED.items():
        rows = [[(x, row[kind][i]) for x, row in published.ALPHA_BETA.items()] for i in range(len(metrics))]
        out[kind] = [charts.Curve(f"{m}, paper", row, True) for m, row in zip(metrics, rows, strict=True)]
    return out


def _neighbours_in_paper() -> dict[str, list[charts.Curve]]:
    return {
        kind: [charts.Curve(f"{metrics[1]}, paper", [(n, row[kind]) for n, row in published.NEIGHBOURS.items()], True)]
        for kind, metrics in COMPARED.items()
    }

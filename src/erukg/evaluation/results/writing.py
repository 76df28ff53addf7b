"""Writing the folder: README.md with all tables, and the plots it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from erukg.errors import InputError
from erukg.evaluation.ground_truth import PROTOCOLS
from erukg.evaluation.keyphrases import COMPARED
from erukg.evaluation.results import svg, tables
from erukg.evaluation.results.runs import Group, Run, Runs, load_runs, speeds

__all__ = ["write_results"]

# Studies whose variants lie on an axis, with what the axis is called and whether it is logarithmic.
_CURVES = {
    "alpha-beta": ("α = β", False),
    "neighbours": ("N, neighbours consulted", False),
    "collection": ("documents in the collection", True),
}
_PROTOCOL = PROTOCOLS[0]  # of the plots
_OURS = "erukg-extract"


def write_results(paths: Sequence[Path], folder: Path) -> list[Path]:
    """Tables and plots of the stored runs; returns the files written, README.md first.

    The same runs give the same bytes. Nothing else in the folder is touched.
    """
    try:
        page = _Page(load_runs(paths))
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        names = ", ".join(path.name for path in paths)
        raise InputError(f"One of {names} is not a whole run ({error!r}); make it again.") from error
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name, content in {"README.md": page.text, **page.plots}.items():
        (folder / name).write_text(content, encoding="utf-8", newline="\n")
        written.append(folder / name)
    return written


class _Page:
    """All of it in memory, so that a bad run leaves no half-made folder."""

    def __init__(self, runs: Runs) -> None:
        self.plots: dict[str, str] = {}
        parts = [
            "# Results\n",
            *self._keyphrases(runs),
            *self._retrieval(runs),
            *self._ablations(runs),
            *_sources(runs),
        ]
        self.text = "\n".join(filter(None, parts))

    def _keyphrases(self, runs: Runs) -> Iterator[str]:
        for number, group in enumerate(runs.keyphrases, 1):
            yield f"## Keyphrases{_on(group, number, runs.keyphrases)}\n"
            yield "In brackets how many documents have gold phrases of the kind.\n"
            if group.run:
                yield from self._bars(group, "present", "F@10", number)
                yield from self._bars(group, "absent", "R@10", number)
                yield from self._speed(group, runs.benchmarks, number)
            yield tables.not_run(group.systems)
            for title, table in tables.keyphrase_tables(group):
                yield f"### {title}\n\n{table}"
            yield from _more(group)

    def _bars(self, group: Group, kind: str, metric: str, number: int) -> Iterator[str]:
        series = {}
        for system in group.run:
            scores = system["scores"][_PROTOCOL]
            cells = [*(scores["sets"][name][kind] for name in group.names), scores["average"][kind]]
            series[system["name"]] = [_times_100(cell[metric]) for cell in cells]
        if any(value for row in series.values() for value in row):
            title = f"{metric} of {kind} phrases, protocol '{_PROTOCOL}'"
            plot = svg.bars(title, "%", [*group.names, "average"], series)
            yield self._plot(f"keyphrases-{kind}-{metric}", number, title, plot)

    def _speed(self, group: Group, benchmarks: Sequence[Run], number: int) -> Iterator[str]:
        rates = speeds(benchmarks, group.run)
        quality = {s["name"]: s["scores"][_PROTOCOL]["average"]["present"]["F@10"] for s in group.run}
        timed = {name: rate for name, rate in rates.items() if rate > 0 and quality[name] is not None}
        if timed:
            reference = _OURS if _OURS in timed else max(timed, key=lambda name: timed[name])
            points = {name: (rate / timed[reference], 100 * quality[name]) for name, rate in timed.items()}
            title = f"Quality against speed: average F@10 of present phrases, protocol '{_PROTOCOL}'"
            plot = svg.scatter(title, "%", f"documents a second, {reference} = 1", points)
            yield self._plot("quality-speed", number, title, plot)
            rows = [[name, f"{x:.3g}", f"{y:.1f}"] for name, (x, y) in points.items()]
            yield tables.table(["system", f"speed, {reference} = 1", "average F@10 (%)"], rows)

    def _retrieval(self, runs: Runs) -> Iterator[str]:
        for number, group in enumerate(runs.retrieval, 1):
            yield f"## Retrieval{_on(group, number, runs.retrieval)}\n"
            yield "In brackets the number of queries.\n"
            for measure in ("R@100", "nDCG@10") if group.run else ():
                series = {}
                for method in group.run:
                    scores = method["scores"]
                    cells = [*(scores["sets"][name] for name in group.names), scores["average"]]
                    series[method["name"]] = [_times_100(cell[measure]) for cell in cells]
                plot = svg.bars(measure, "%", [*group.names, "average"], series)
                yield self._plot(f"retrieval-{measure}", number, measure, plot)
            yield tables.not_run(group.systems)
            for title, table in tables.retrieval_tables(group):
                yield f"### {title}\n\n{table}"
            if group.comparisons:
                yield f"### Differences\n\n{tables.comparison_table(group.comparisons)}"

    def _ablations(self, runs: Runs) -> Iterator[str]:
        for number, run in enumerate(runs.ablations, 1):
            names = [s["name"] for s in run.report["sets"]]
            yield f"## Ablations{f' ({run.name})' if len(runs.ablations) > 1 else ''}\n"
            yield "Cells: present F@5 / F@10 · absent R@5 / R@10 (%).\n"
            for study in run.report["studies"]:
                yield f"### {study['name']}: {study['title']}\n"
                yield from self._curve(study, number)
                for protocol in PROTOCOLS:
                    if any(not variant.get("not_run") for variant in study["variants"]) or protocol == _PROTOCOL:
                        yield f"Protocol `{protocol}`\n\n{tables.ablation_table(study, protocol, names)}"

    def _curve(self, study: Mapping[str, Any], number: int) -> Iterator[str]:
        axis, log = _CURVES.get(study["name"], ("", False))
        placed = [v for v in study["variants"] if not v.get("not_run") and v["value"] is not None]
        # Zero has no place on a logarithmic axis; the table has it.
        placed = [v for v in placed if v["value"] > 0 or not log]
        if not axis or len(placed) < 2:
            return
        rows = []
        for kind, metrics in COMPARED.items():
            for metric in metrics:
                values = [(float(v["value"]), v["scores"][_PROTOCOL]["average"][kind][metric]) for v in placed]
                points = [(x, 100 * y) for x, y in values if y is not None]
                if points:
                    rows.append(svg.Line(f"{kind} {metric}", points, dashed=kind == "absent"))
        if rows:
            title = f"{study['title']}: averages, protocol '{_PROTOCOL}'"
            yield self._plot(study["name"], number, title, svg.lines(title, "%", axis, rows, log=log))

    def _plot(self, name: str, number: int, title: str, content: str) -> str:
        stem = re.sub(r"[^\w-]+", "", name)
        file = f"{stem}.svg" if number == 1 else f"{stem}-{number}.svg"
        self.plots[file] = content
        return f"![{title}]({file})\n"


def _on(group: Group, number: int, groups: Sequence[Group]) -> str:
    return f" on {', '.join(group.names)} ({number} of {len(groups)})" if len(groups) > 1 else ""


def _more(group: Group) -> Iterator[str]:
    if group.comparisons:
        yield f"### Differences (paired bootstrap)\n\n{tables.comparison_table(group.comparisons)}"
    if group.run:
        yield f"### What was run\n\n{tables.provenance(group.run)}"


def _sources(runs: Runs) -> Iterator[str]:
    names = " ".join(run.name for run in runs.files)
    yield f"## Made from\n\n    erukg evaluate report {names} -o results\n"
    rows = []
    for run in runs.files:
        made_with = [f"{name} {version}" for name, version in run.report.get("versions", {}).items() if version]
        if machine := run.report.get("environment", {}):
            made_with.append(f"{machine.get('processor')}, {machine.get('cores')} cores")
        rows.append([run.name, run.report.get("task", "benchmark"), run.sha256[:12], ", ".join(made_with) or "–"])
    yield tables.table(["run", "task", "sha256", "made with"], rows)


def _times_100(value: float | None) -> float | None:
    return None if value is None else 100 * value

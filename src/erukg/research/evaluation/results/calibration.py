"""Confidence on the page: what it says against what people chose."""

from __future__ import annotations

from collections.abc import Iterator

from erukg.research.evaluation.reporting import percent
from erukg.research.evaluation.results import charts, markdown
from erukg.research.evaluation.results.charts import Curve, Panel, Plots
from erukg.research.evaluation.results.runs import Runs

__all__ = ["calibration_part"]


def calibration_part(runs: Runs, plots: Plots) -> Iterator[str]:
    for number, run in enumerate(runs.calibrations, 1):
        report = run.report
        yield "## Confidence\n"
        names = ", ".join(str(one["name"]) for one in report["sets"])
        yield (
            f"The ten best phrases of each kind on {names}, in ten equal parts by confidence: their mean confidence "
            "against the share that people chose. Both in percent.\n"
        )
        for kind, found in report["kinds"].items():
            points = [(100 * confidence, 100 * chosen) for confidence, chosen, _ in found["bins"]]
            title = f"Confidence of {kind} phrases"
            most = max(x for x, _ in points)
            step = next(step for step in (0.5, 1, 2, 5, 10, 20) if most / step <= 8)
            ticks = [step * i for i in range(int(most / step) + 2)]
            panel = Panel(
                "chosen by people, %", [Curve("phrases", points), Curve("exact", _diagonal(ticks), paper=True)]
            )
            plot = charts.curves(
                title, "Mean of each tenth; the broken line is where both are equal", "confidence, %", [panel], ticks
            )
            yield plots.add(f"calibration-{kind}", number, title, plot)
            rows = [[band, *map(percent, figures)] for band, figures in found["bands"].items()]
            yield markdown.table([f"{kind}: band", "of all", "chosen", "is, contains or lies in a chosen one"], rows)


def _diagonal(ticks: list[float]) -> list[tuple[float, float]]:
    return [(ticks[0], ticks[0]), (ticks[-1], ticks[-1])]

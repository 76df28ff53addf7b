"""The plots of a report, drawn by matplotlib: bars in a table, curves in panels, and named points.

The same figures give the same bytes: ids are salted, no date or version is written, and words stay words, laid out by
the font that matplotlib brings along.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from erukg.errors import require

__all__ = ["Curve", "Panel", "Plots", "Point", "Row", "bar_table", "curves", "scatter"]

_WIDTH = 880  # points, as everything below
_HEADER = 62  # room for title and subtitle
_INK, _MUTED, _GRID, _OTHER = "#1f2328", "#59636e", "#dfe3e8", "#8b949e"
# They differ in lightness as well as hue, for readers who cannot tell hues apart.
_SERIES = ("#0a5cc2", "#c2570c", "#117a52", "#8250df")
_STYLE = {
    "svg.hashsalt": "erukg",
    "svg.fonttype": "none",
    "figure.dpi": 72,
    "savefig.facecolor": "white",
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "text.color": _INK,
    "axes.labelcolor": _MUTED,
    "xtick.color": _MUTED,
    "ytick.color": _MUTED,
    "axes.edgecolor": _GRID,
    "grid.color": _GRID,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "text.parse_math": False,
}


@dataclass(frozen=True, slots=True)
class Row:
    """A system of a bar table: `kind` is ours, other or paper (figures from the paper, drawn hollow)."""

    name: str
    values: Sequence[float | None]
    kind: str = "other"


@dataclass(frozen=True, slots=True)
class Curve:
    """A named row of points (x, y); `paper` sets the paper's own figures apart."""

    name: str
    points: Sequence[tuple[float, float]]
    paper: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves with an axis of their own, in percent; `levels` are values without a place on the x axis, by name."""

    title: str
    curves: Sequence[Curve]
    levels: Sequence[tuple[str, float]] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """A system by its speed (x) and quality (y)."""

    name: str
    x: float
    y: float
    ours: bool = False


def _draw(title: str, subtitle: str, height: float, draw: Callable[[Any], None]) -> str:
    """The SVG of a figure with a title that `draw` has drawn on."""
    with require("matplotlib", "eval", "Plots of results").rc_context(_STYLE):
        make = require("matplotlib.figure", "eval", "Plots of results").Figure
        figure = make(figsize=(_WIDTH / 72, height / 72), layout="constrained")
        figure.get_layout_engine().set(rect=(0.01, 0.01, 0.98, 1 - _HEADER / height), wspace=0.04)
        left = 14 / _WIDTH
        figure.text(left, 1 - 24 / height, title, size=14, weight="bold", in_layout=False)
        figure.text(left, 1 - 44 / height, subtitle, color=_MUTED, in_layout=False)
        draw(figure)
        _settle(figure)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    # A page may lack the font: one as wide, or any without serifs, takes its place.
    svg = stream.getvalue().replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def _settle(figure: Any) -> None:
    """End the layout. Its solver's last digits differ from run to run, so that places are rounded."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        axes.set_position([round(value, 4) for value in axes.get_position().bounds])


def bar_table(title: str, subtitle: str, columns: Sequence[str], rows: Sequence[Row]) -> str:
    """One row per system, one column per set, a bar with its value in each cell; all bars on one scale from 0.

    The best value of a column, the paper's aside, is bold.
    """
    first = next((i for i, row in enumerate(rows) if row.kind == "paper"), len(rows))
    places = [i + (0.5 if 0 < first <= i else 0) for i in range(len(rows))]  # a gap before the paper's rows
    highest = max((v for row in rows for v in row.values if v is not None), default=0.0) or 1.0

    def draw(figure: Any) -> None:
        panels = figure.subplots(1, len(columns), sharey=True, squeeze=False)[0]
        for column, (axes, name) in enumerate(zip(panels, columns, strict=True)):
            axes.set_title(name, loc="left", size=11, weight="bold" if column == 0 else "normal")
            axes.set(xlim=(0, 1.3 * highest), ylim=(max(places, default=0) + 0.6, -0.6), xticks=[])
            axes.spines[:].set_visible(False)
            axes.tick_params(length=0)
            best = max((row.values[column] or 0.0 for row in rows if row.kind != "paper"), default=0.0)
            for y, row in zip(places, rows, strict=True):
                _bar(axes, y, row.values[column], row.kind, best)
        panels[0].set_yticks(places, [_shortened(row.name) for row in rows])
        for label, row in zip(panels[0].get_yticklabels(), rows, strict=True):
            label.set(color=_INK, weight="bold" if row.kind == "ours" else "normal")
            label.set_style("italic" if row.kind == "paper" else "normal")

    return _draw(title, subtitle, _HEADER + 40 + 23 * (len(rows) + 1), draw)


def _bar(axes: Any, y: float, value: float | None, kind: str, best: float) -> None:
    if value is None:
        axes.annotate("–", (0, y), va="center", color=_MUTED)
        return
    colour = _SERIES[0] if kind == "ours" else _OTHER
    axes.barh(y, value, 0.58, color="none" if kind == "paper" else colour, edgecolor=colour, linewidth=1)
    is_best = kind != "paper" and value > 0 and f"{value:.1f}" == f"{best:.1f}"
    colour = _INK if kind == "ours" or is_best else _MUTED
    style = {"va": "center", "size": 10, "color": colour, "weight": "bold" if is_best else "normal"}
    axes.annotate(f"{value:.1f}", (value, y), (5, 0), textcoords="offset points", **style)


def _shortened(name: str) -> str:
    return name if len(name) <= 44 else f"{name[:43]}…"


def curves(
    title: str, subtitle: str, x_unit: str, panels: Sequence[Panel], ticks: Sequence[float], *, log: bool = False
) -> str:
    """Panels side by side, each with its own axis from which to read percent, and the names of its curves below."""

    def draw(figure: Any) -> None:
        for axes, panel in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            _draw_panel(axes, panel)
            axes.set(xlabel=x_unit, xscale="log" if log else "linear")
            axes.minorticks_off()
            # Numbers of documents are long, and close to each other.
            axes.set_xticks(ticks, [_number(tick) for tick in ticks], rotation=30 if log else 0)

    return _draw(title, subtitle, 420, draw)


def _draw_panel(axes: Any, panel: Panel) -> None:
    axes.set_title(panel.title, loc="left", size=12, weight="bold")
    axes.grid(axis="y")
    colours = dict(zip((c.name for c in panel.curves if not c.paper), _SERIES * 2, strict=False))
    for curve in panel.curves:
        colour = colours.get(_measure(curve.name), _OTHER)
        marker = {"marker": "o", "markersize": 5, "markerfacecolor": "white" if curve.paper else colour}
        line = {"linestyle": "--" if curve.paper else "-", "linewidth": 1.2 if curve.paper else 2}
        axes.plot(*zip(*sorted(curve.points), strict=True), color=colour, label=curve.name, **line, **marker)
    for name, value in panel.levels:
        axes.axhline(value, color=colours.get(_measure(name), _OTHER), linestyle=":", linewidth=1.2, label=name)
    values = [y for curve in panel.curves for _, y in curve.points] + [value for _, value in panel.levels]
    if min(values) < 0.4 * max(values) or max(values) <= 0:
        axes.set_ylim(0, 1.08 * max(*values, 1e-9))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=4, frameon=False)


def _measure(name: str) -> str:
    """What a curve shows: "F@5, paper" has the colour of "F@5"."""
    return name.partition(",")[0]


def scatter(title: str, subtitle: str, y_unit: str, x_unit: str, points: Sequence[Point]) -> str:
    """Named points; x on a logarithmic axis."""
    ordered = sorted(points, key=lambda p: (not p.ours, -p.y))
    ticks = _log_ticks(min(p.x for p in points), max(p.x for p in points))
    low, high = min(p.y for p in points), max(p.y for p in points)
    margin = 0.12 * max(high - low, 2.0)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.grid(axis="y")
        axes.set(xlabel=x_unit, ylabel=y_unit, xscale="log", xlim=(ticks[0] / 1.25, ticks[-1] * 1.25))
        axes.set_ylim(max(0.0, low - margin) - 1e-9, high + margin)
        axes.minorticks_off()
        axes.set_xticks(ticks, [f"{_number(tick)} ×" for tick in ticks])
        for point in ordered:
            colour = _SERIES[0] if point.ours else _OTHER
            axes.plot(point.x, point.y, "o", markersize=11 if point.ours else 9, color=colour)
        _settle(figure)  # only then do places in the plot stand still
        _write_names(axes, ordered)

    return _draw(title, subtitle, 460, draw)


def _write_names(axes: Any, points: Sequence[Point]) -> None:
    """Write each name by its point, where it covers neither a point nor another name, with a line if it is far."""
    box = require("matplotlib.transforms", "eval", "Plots of results").Bbox
    centres = axes.transData.transform([(p.x, p.y) for p in points])
    taken = [box.from_bounds(x - 7, y - 7, 14, 14) for x, y in centres]
    frame = axes.get_window_extent()
    for point, (x, _) in zip(points, centres, strict=True):
        style = {"color": _INK, "weight": "bold"} if point.ours else {"color": _MUTED}
        # Where there is no room at all it stands on the side where more of it can be read.
        last = (9.0, 0.0, "left") if x < frame.x0 + frame.width / 2 else (-9.0, 0.0, "right")
        for offset in (*_name_places(), last):
            place = {"xytext": offset[:2], "textcoords": "offset points", "ha": offset[2], "va": "center"}
            name = axes.annotate(_shortened(point.name), (point.x, point.y), **place, **style)
            found = name.get_window_extent()
            is_inside = found.x0 >= frame.x0 and found.x1 <= _WIDTH and frame.y0 <= found.y0 and found.y1 <= frame.y1
            if offset is last or (is_inside and not found.count_overlaps(taken)):
                break
            name.remove()
        taken.append(found)
        if abs(offset[1]) > 13:
            line = {"arrowstyle": "-", "color": _OTHER, "linewidth": 0.7, "shrinkA": 7, "shrinkB": 4}
            axes.annotate("", (point.x, point.y), offset[:2], textcoords="offset points", arrowprops=line)


def _name_places() -> list[tuple[float, float, str]]:
    """Where a name can stand by its point, the nearest places first: offsets, and which side of the name is there."""
    out: list[tuple[float, float, str]] = [(9, 0, "left"), (-9, 0, "right")]
    for dy in (13, -13, 26, -26, 39, -39, 52, -52, 65, -65, 78, -78):
        beside = [(9.0, dy, "left"), (-9.0, dy, "right")]
        out += beside if abs(dy) < 20 else [(0.0, dy, "center"), *beside, (40.0, dy, "left"), (-40.0, dy, "right")]
    return out


def _log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten around the range, two at least."""
    exponents = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    steps = [m * 10.0**e for e in exponents for m in (1, 2, 5)]
    first = max(i for i, step in enumerate(steps) if step <= low * 1.001)
    last = min(i for i, step in enumerate(steps) if step >= high * 0.999)
    return steps[first : max(last, first + 1) + 1]


def _number(value: float) -> str:
    return f"{value:,.6g}" if value < 1 else f"{value:,.10g}"


def _across(text: str) -> str:
    """The text in large letters over the whole of a plot."""
    style = f"font: bold 44px 'DejaVu Sans', Verdana, sans-serif; fill: {_SERIES[1]}; opacity: 0.3; text-anchor: middle"
    return f'<text x="50%" y="55%" style="{style}">{text}</text>\n'


class Plots:
    """By file name the SVG of each plot; `mark` is written across all of them."""

    def __init__(self, mark: str = "") -> None:
        self.files: dict[str, str] = {}
        self._mark = mark

    def add(self, name: str, number: int, title: str, content: str) -> str:
        """Keep a plot, and return what shows it on the page; `number` tells those of several groups apart."""
        stem = re.sub(r"[^\w-]+", "", name)
        file = f"{stem}.svg" if number == 1 else f"{stem}-{number}.svg"
        if self._mark:
            file, title = f"quick-{file}", f"{self._mark}. {title}"
            content = content.replace("</svg>", f"{_across(self._mark)}</svg>")
        self.files[file] = content
        return f"![{title}]({file})\n"

"""The plots of a report: bars in a table, curves in panels, and named points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from erukg.research.evaluation.results.svg import Canvas, nice_range, nice_steps, spread, text_width

__all__ = ["Curve", "Level", "Panel", "Point", "Row", "bar_table", "curves", "scatter"]

_WIDTH = 880.0
_MARGIN = 20.0
_SERIES = ("c0", "c1", "c2", "c3")
_FILLS = {"ours": "c0", "other": "other", "paper": "other"}


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
class Level:
    """A value that has no place on the x axis, as a line across the panel."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves with an axis of their own, in percent."""

    title: str
    curves: Sequence[Curve]
    levels: Sequence[Level] = ()


@dataclass(frozen=True, slots=True)
class Point:
    """A system by its speed (x) and quality (y)."""

    name: str
    x: float
    y: float
    ours: bool = False


def bar_table(title: str, subtitle: str, columns: Sequence[str], rows: Sequence[Row]) -> str:
    """A row a system, a column a set, a bar with its value in each cell; all bars on one scale from 0.

    The best value of a column, the paper's aside, is bold.
    """
    height, bar, top = 23.0, 13.0, 92.0
    label = min(max((text_width(row.name, 12, True) for row in rows), default=0.0), 280.0)
    left = _MARGIN + label + 14
    step = (_WIDTH - _MARGIN - left) / max(1, len(columns))
    longest = step - 44  # room for the value behind the longest bar
    highest = max((v for row in rows for v in row.values if v is not None), default=0.0) or 1.0
    gaps = [row.kind == "paper" and rows[i - 1].kind != "paper" and i > 0 for i, row in enumerate(rows)]
    canvas = Canvas(title, _WIDTH, top + height * len(rows) + 12 * sum(gaps) + 12, subtitle)
    best = [
        max((row.values[c] or 0.0 for row in rows if row.kind != "paper"), default=0.0) for c in range(len(columns))
    ]
    for c, column in enumerate(columns):
        canvas.text(left + step * c, top - 12, column, size=12, bold=c == 0)
    y = top
    for row, gap in zip(rows, gaps, strict=True):
        if gap:
            canvas.line(_MARGIN, y + 5, _WIDTH - _MARGIN, y + 5)
            y += 12
        middle = y + height / 2
        ours = row.kind == "ours"
        canvas.text(left - 14, middle + 4, row.name, anchor="end", bold=ours, italic=row.kind == "paper")
        for c, value in enumerate(row.values):
            x = left + step * c
            if value is None:
                canvas.text(x, middle + 4, "–", fill="muted")
                continue
            length = max(longest * value / highest, 1.0)
            canvas.bar(x, middle - bar / 2, length, bar, fill=_FILLS[row.kind], hollow=row.kind == "paper")
            top_one = row.kind != "paper" and value > 0 and f"{value:.1f}" == f"{best[c]:.1f}"
            fill = "ink" if ours or top_one else "muted"
            canvas.text(x + length + 5, middle + 4, f"{value:.1f}", size=11, fill=fill, bold=top_one)
        y += height
    return canvas.finish()


def curves(
    title: str, subtitle: str, x_unit: str, panels: Sequence[Panel], ticks: Sequence[float], *, log: bool = False
) -> str:
    """Panels side by side, each with its own axis from which to read percent; names stand at the curves' ends."""
    canvas = Canvas(title, _WIDTH, 380, subtitle)
    step = (_WIDTH - 2 * _MARGIN) / max(1, len(panels))
    for number, panel in enumerate(panels):
        _draw_panel(canvas, panel, _MARGIN + step * number, step, x_unit, ticks, log)
    return canvas.finish()


def _draw_panel(
    canvas: Canvas, panel: Panel, left: float, width: float, x_unit: str, ticks: Sequence[float], log: bool
) -> None:
    names = [curve.name for curve in panel.curves] + [level.name for level in panel.levels]
    room = max((text_width(name, 12) for name in names), default=0.0) + 18
    x0, x1, y0, y1 = left + 40, left + width - min(room, width / 2), 322.0, 92.0
    canvas.text(left, 74, panel.title, size=13, bold=True)
    values = [y for curve in panel.curves for _, y in curve.points] + [level.value for level in panel.levels]
    y = _y_axis(canvas, nice_range(values), x0 - 8, x1, y0, y1)
    place: Callable[[float], float] = math.log10 if log else float
    low, high = place(min(ticks)), place(max(ticks))

    def x(value: float) -> float:
        return x0 + (x1 - x0) * (0.5 if high == low else (place(value) - low) / (high - low))

    _x_ticks(canvas, [(x(tick), _number(tick)) for tick in ticks], y0)
    canvas.text((x0 + x1) / 2, y0 + 40, x_unit, anchor="middle", fill="muted")
    ends: list[tuple[float, str, str]] = []
    for level in panel.levels:
        canvas.line(x0 - 8, y(level.value), x1 + 4, y(level.value), dash="2 4", stroke="s-muted")
        ends.append((y(level.value), level.name, "muted"))
    own = 0
    for curve in panel.curves:
        colour = "other" if curve.paper else _SERIES[own % len(_SERIES)]
        own += not curve.paper
        points = [(x(a), y(b)) for a, b in sorted(curve.points)]
        canvas.curve(points, stroke=colour, dash="5 4" if curve.paper else "")
        for a, b in points:
            canvas.dot(a, b, 3.2, fill=colour, hollow=curve.paper)
        ends.append((points[-1][1], curve.name, "muted" if curve.paper else colour))
    heights = spread([end for end, _, _ in ends], 15, y1, y0)
    for (_, name, fill), middle in zip(ends, heights, strict=True):
        canvas.text(x1 + 10, middle + 4, name, fill=fill, bold=fill != "muted")


def scatter(title: str, subtitle: str, y_unit: str, x_unit: str, points: Sequence[Point]) -> str:
    """Named points; x on a logarithmic axis."""
    canvas = Canvas(title, _WIDTH, 440, subtitle)
    x0, x1, y0, y1 = 64.0, _WIDTH - 40, 372.0, 96.0
    ys = [point.y for point in points]
    margin = 0.1 * max(max(ys) - min(ys), 2.0)
    y = _y_axis(canvas, (max(0.0, min(ys) - margin), max(ys) + margin), x0 - 8, x1, y0, y1)
    canvas.text(x0 - 44, y1 - 16, y_unit, fill="muted")
    ticks = _log_ticks(min(p.x for p in points), max(p.x for p in points))
    low, high = math.log10(ticks[0]), math.log10(ticks[-1])

    def x(value: float) -> float:
        return x0 + 14 + (x1 - x0 - 28) * (math.log10(value) - low) / (high - low)

    _x_ticks(canvas, [(x(tick), f"{_number(tick)} ×") for tick in ticks], y0)
    canvas.text((x0 + x1) / 2, y0 + 42, x_unit, anchor="middle", fill="muted")
    placed = [(x(p.x), y(p.y), p) for p in sorted(points, key=lambda p: (not p.ours, -p.y))]
    taken = [(a - 7, b - 7, a + 7, b + 7) for a, b, _ in placed]
    for a, b, point in placed:
        canvas.dot(a, b, 6 if point.ours else 5, fill="c0" if point.ours else "other")
    for a, b, point in placed:
        width = text_width(point.name, 12, point.ours)
        box, anchor = _free_box(a, b, width, taken, (x0 - 8, y1 - 6, _WIDTH - 6, y0 - 2))
        taken.append(box)
        if box[1] > b + 12 or box[3] < b - 12:
            end = min(max(a, box[0] + 4), box[2] - 4)
            canvas.line(a, b, end, box[1] + 3 if box[1] > b else box[3] - 2, stroke="s-muted")
        place = {"start": box[0] + 2, "end": box[2] - 2, "middle": (box[0] + box[2]) / 2}[anchor]
        fill = "ink" if point.ours else "muted"
        canvas.text(place, box[3] - 4, point.name, anchor=anchor, fill=fill, bold=point.ours)
    return canvas.finish()


_Box = tuple[float, float, float, float]


def _free_box(x: float, y: float, width: float, taken: Sequence[_Box], bounds: _Box) -> tuple[_Box, str]:
    """Where a name can stand by a point without covering anything (left, top, right, bottom), and its anchor."""
    fallback: tuple[_Box, str] | None = None
    for shift in (0, 13, -13, 24, -24, 37, -37, 50, -50, 63, -63):
        beside = [(x + 8, "start"), (x - 12 - width, "end")]
        over = [(x - width / 2 - 2, "middle"), (x - 6, "start"), (x + 2 - width, "end")]
        for left, anchor in [*over, *beside] if abs(shift) > 20 else beside:
            box = (left, y + shift - 9, left + width + 4, y + shift + 8)
            if box[0] < bounds[0] or box[2] > bounds[2] or box[1] < bounds[1] or box[3] > bounds[3]:
                continue
            fallback = fallback or (box, anchor)
            if all(box[2] <= b[0] or b[2] <= box[0] or box[3] <= b[1] or b[3] <= box[1] for b in taken):
                return box, anchor
    left = max(bounds[0], min(x + 8, bounds[2] - width))
    return fallback or ((left, y - 9, left + width + 4, y + 8), "start")


def _y_axis(
    canvas: Canvas, shown: tuple[float, float], left: float, right: float, y0: float, y1: float
) -> Callable[[float], float]:
    step, first, last = nice_steps(*shown)
    low, high = step * first, step * last

    def y(value: float) -> float:
        return y0 - (y0 - y1) * (value - low) / (high - low)

    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    for tick in range(first, last + 1):
        place = y(step * tick)
        canvas.line(left, place, right, place)
        canvas.text(left - 6, place + 4, f"{step * tick:.{digits}f}", anchor="end", size=11, fill="muted")
    return y


def _x_ticks(canvas: Canvas, ticks: Sequence[tuple[float, str]], floor: float) -> None:
    written = -1e9
    for x, label in ticks:
        half = text_width(label, 11) / 2
        if x - half > written + 6:  # else the numbers would run into each other
            canvas.text(x, floor + 20, label, anchor="middle", size=11, fill="muted")
            written = x + half


def _log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times powers of ten around the range, two at least."""
    exponents = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    steps = [m * 10.0**e for e in exponents for m in (1, 2, 5)]
    first = max(i for i, step in enumerate(steps) if step <= low * 1.001)
    last = min(i for i, step in enumerate(steps) if step >= high * 0.999)
    return steps[first : max(last, first + 1) + 1]


def _number(value: float) -> str:
    return f"{value:,.6g}" if value < 1 else f"{value:,.10g}"

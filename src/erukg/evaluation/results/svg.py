"""Plots as plain SVG, written by hand: a few shapes and words, the same bytes for the same figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

__all__ = ["Line", "bars", "lines", "scatter"]

_WIDTH, _HEIGHT = 800, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 24, 48, 52
_FONT = "font-family='system-ui, sans-serif'"
# Okabe and Ito's colours, which colour-blind readers can tell apart.
_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8c6d1f", "#555555")
_LETTER = 6.3  # mean width of a letter at 11 px


@dataclass(frozen=True, slots=True)
class Line:
    """A named row of points (x, y); `dashed` sets a second kind of figure apart."""

    name: str
    points: Sequence[tuple[float, float]]
    dashed: bool = False


def bars(title: str, unit: str, groups: Sequence[str], series: Mapping[str, Sequence[float | None]]) -> str:
    """For each group a bar of every series; a value that is None has none."""
    plot = _Plot(title, list(series))
    plot.y_axis(unit, 0, max((v for row in series.values() for v in row if v is not None), default=1))
    step = (_WIDTH - _LEFT - _RIGHT) / len(groups)
    width = step * 0.84 / max(1, len(series))
    for g, group in enumerate(groups):
        start = _LEFT + step * (g + 0.08)
        for s, values in enumerate(series.values()):
            value = values[g]
            if value is None:
                continue
            x, y = start + s * width, plot.y(value)
            plot.add(
                f"<rect x='{x:.1f}' y='{y:.1f}' width='{width * 0.94:.1f}' height='{plot.floor - y:.1f}' "
                f"fill='{plot.colour(s)}'/>"
            )
            if width >= 22:
                plot.text(x + width * 0.47, y - 4, f"{value:.1f}", "middle", 10)
        plot.text(_LEFT + step * (g + 0.5), plot.floor + 18, group, "middle")
    return plot.finish()


def lines(title: str, unit: str, x_unit: str, rows: Sequence[Line], *, log: bool = False) -> str:
    """Curves through points; with `log` over powers of the x values, which must be above 0."""
    plot = _Plot(title, [row.name for row in rows], [row.dashed for row in rows])
    plot.y_axis(unit, 0, max(y for row in rows for _, y in row.points))
    xs = sorted({x for row in rows for x, _ in row.points})
    plot.x_axis(x_unit, xs, xs, log=log)
    for number, row in enumerate(rows):
        places = [(plot.x(x), plot.y(y)) for x, y in sorted(row.points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dash = " stroke-dasharray='6 4'" if row.dashed else ""
        plot.add(f"<polyline points='{path}' fill='none' stroke='{plot.colour(number)}' stroke-width='2'{dash}/>")
        for x, y in places:
            plot.add(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.5' fill='{plot.colour(number)}'/>")
    return plot.finish()


def scatter(title: str, unit: str, x_unit: str, points: Mapping[str, tuple[float, float]]) -> str:
    """Named points; x on a logarithmic axis."""
    plot = _Plot(title, [])
    ys = [y for _, y in points.values()]
    plot.y_axis(unit, max(0.0, min(ys) - 1), max(ys) + 1)  # where points lie, not how long bars are, is what is read
    xs = [x for x, _ in points.values()]
    powers = range(math.floor(math.log10(min(xs))), math.ceil(math.log10(max(xs))) + 1)
    plot.x_axis(x_unit, [10.0**p for p in powers], [10.0 ** powers[0], 10.0 ** powers[-1]], log=True)
    places = [(plot.x(x), plot.y(y)) for x, y in points.values()]
    # Boxes that no name may cover: first the points themselves, then the names already written.
    taken = [(x - 5, x + 5, y) for x, y in places]
    for number, (name, (x, y)) in enumerate(zip(points, places, strict=True)):
        plot.add(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='5' fill='{plot.colour(number)}'/>")
        left, middle = _free_place(x, y, len(name) * _LETTER, taken, plot.floor)
        taken.append((left, left + len(name) * _LETTER, middle))
        plot.text(left, middle + 4, name, "start")
    return plot.finish()


def _free_place(
    x: float, y: float, length: float, taken: Sequence[tuple[float, float, float]], floor: float
) -> tuple[float, float]:
    """Where a name of this length can stand by a point: its left end and the height of its middle."""
    sides = [left for left in (x + 9, x - 9 - length) if left >= 0 and left + length <= _WIDTH] or [0.0]
    for shift in (0, -13, 13, -26, 26, -39, 39):
        for left in sides:
            middle = y + shift
            free = all(
                abs(middle - other) >= 12 or left + length <= start or end <= left for start, end, other in taken
            )
            if free and _TOP <= middle <= floor:
                return left, middle
    return sides[0], y


class _Plot:
    def __init__(self, title: str, legend: Sequence[str], dashed: Sequence[bool] = ()) -> None:
        self._parts: list[str] = []
        self._title = title
        self.floor = _HEIGHT - _BOTTOM
        self._height = _HEIGHT
        self._y = (0.0, 1.0)
        self._x = (0.0, 1.0, False)
        self.text(_LEFT, 24, title, "start", 14, bold=True)
        self._legend(legend, dashed)

    @staticmethod
    def colour(number: int) -> str:
        return _COLOURS[number % len(_COLOURS)]

    def add(self, part: str) -> None:
        self._parts.append(part)

    def text(self, x: float, y: float, words: str, anchor: str, size: int = 11, bold: bool = False) -> None:
        weight = " font-weight='600'" if bold else ""
        self.add(
            f"<text x='{x:.1f}' y='{y:.1f}' font-size='{size}' text-anchor='{anchor}'{weight}>{escape(words)}</text>"
        )

    def y(self, value: float) -> float:
        low, high = self._y
        return self.floor - (self.floor - _TOP) * (value - low) / (high - low)

    def x(self, value: float) -> float:
        low, high, log = self._x
        place = math.log10(value) if log else value
        share = 0.5 if high == low else (place - low) / (high - low)
        return _LEFT + 20 + (_WIDTH - _LEFT - _RIGHT - 40) * share

    def y_axis(self, unit: str, low: float, high: float) -> None:
        step = _nice(max(high - low, 1e-9) / 5)
        first = math.floor(low / step + 1e-9)
        last = max(first + 1, math.ceil(high / step - 1e-9))
        self._y = (step * first, step * last)
        digits = max(0, -math.floor(math.log10(step) + 1e-9))
        for tick in range(first, last + 1):
            y = self.y(step * tick)
            self.add(f"<line x1='{_LEFT}' y1='{y:.1f}' x2='{_WIDTH - _RIGHT}' y2='{y:.1f}' stroke='#dddddd'/>")
            self.text(_LEFT - 6, y + 4, f"{step * tick:.{digits}f}", "end")
        self.text(_LEFT, _TOP - 8, unit, "start")

    def x_axis(self, unit: str, ticks: Sequence[float], ends: Sequence[float], *, log: bool) -> None:
        low, high = ((math.log10(v) if log else v) for v in (min(ends), max(ends)))
        self._x = (low, high, log)
        written = -float(_WIDTH)
        for tick in ticks:
            x = self.x(tick)
            self.add(f"<line x1='{x:.1f}' y1='{self.floor}' x2='{x:.1f}' y2='{self.floor + 4}' stroke='#888888'/>")
            if x - written >= 48:  # else the numbers would run into each other
                self.text(x, self.floor + 18, f"{tick:,.6g}" if tick < 1 else f"{tick:,.10g}", "middle")
                written = x
        self.text((_LEFT + _WIDTH - _RIGHT) / 2, self.floor + 36, unit, "middle")

    def _legend(self, names: Sequence[str], dashed: Sequence[bool]) -> None:
        x, y = float(_LEFT), _HEIGHT + 4.0
        for number, name in enumerate(names):
            length = 24 + len(name) * _LETTER + 16
            if x > _LEFT and x + length > _WIDTH - 4:
                x, y = float(_LEFT), y + 18
            dash = " stroke-dasharray='5 3'" if number < len(dashed) and dashed[number] else ""
            self.add(
                f"<line x1='{x:.1f}' y1='{y - 4:.1f}' x2='{x + 18:.1f}' y2='{y - 4:.1f}' "
                f"stroke='{self.colour(number)}' stroke-width='{3 if dashed else 9}'{dash}/>"
            )
            self.text(x + 24, y, name, "start")
            x += length
        if names:
            self._height = round(y + 14)

    def finish(self) -> str:
        head = (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {self._height}' width='{_WIDTH}' "
            f"height='{self._height}' role='img' aria-label={quoteattr(self._title)} {_FONT} fill='#222222'>"
        )
        back = f"<rect width='{_WIDTH}' height='{self._height}' fill='#ffffff'/>"
        return "\n".join([head, back, *self._parts, "</svg>", ""])


def _nice(step: float) -> float:
    """The next step of 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= step * (1 - 1e-9))

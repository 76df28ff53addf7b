"""Drawing on plain SVG, by hand: a few shapes and words, the same bytes for the same figures.

Colours are classes with a second set for dark pages, so one file serves both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

__all__ = ["Canvas", "nice_range", "nice_steps", "spread", "text_width"]

# Light and dark of each class. Series colours keep a contrast of 3:1 and more on both grounds, and differ in lightness
# as well as hue, for readers who cannot tell hues apart.
_GROUND = ("#ffffff", "#0d1117")
_FILLS = {
    "ink": ("#1f2328", "#e6edf3"),
    "muted": ("#59636e", "#9198a1"),
    "c0": ("#0a5cc2", "#4c9aff"),
    "c1": ("#c2570c", "#f0954a"),
    "c2": ("#117a52", "#46c08a"),
    "c3": ("#8250df", "#b392f0"),
    "other": ("#8b949e", "#6e7681"),
}
_GRID = ("#dfe3e8", "#30363d")
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
_NARROW, _WIDE = "iIjlftr.,:;'|!()[]-/ ", "mwMW@%—"


def text_width(text: str, size: float = 12, bold: bool = False) -> float:
    """About how wide a text is, rather too much than too little: fonts differ from page to page."""
    ems = sum(0.34 if c in _NARROW else 0.88 if c in _WIDE else 0.68 if c.isupper() else 0.575 for c in text)
    return ems * size * (1.2 if bold else 1.0)


def nice_steps(low: float, high: float, count: int = 5) -> tuple[float, int, int]:
    """A step of 1, 2 or 5 times a power of ten, and the multiples of it around the range: step, first, last."""
    rough = max(high - low, 1e-9) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1.0, 2.0, 5.0, 10.0) if m * power >= rough * (1 - 1e-9))
    first = math.floor(low / step + 1e-9)
    return step, first, max(first + 1, math.ceil(high / step - 1e-9))


def nice_range(values: Iterable[float]) -> tuple[float, float]:
    """The range an axis of points shows: from 0 unless all of them lie far from it."""
    known = list(values)
    low, high = min(known), max(known)
    if low < 0.4 * high or high <= 0:
        return 0.0, max(high, 1e-9)
    margin = 0.12 * max(high - low, 0.1 * high)
    return low - margin, high + margin


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """The places moved as little as it takes that they are `gap` apart, in their order, within bounds if they fit."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    out = list(places)
    for before, i in zip([None, *order], order, strict=False):
        out[i] = max(out[i], low if before is None else out[before] + gap)
    limit = high
    for i in reversed(order):
        out[i] = min(out[i], limit)
        limit = out[i] - gap
    return out


class Canvas:
    """Shapes and words in a frame with a title."""

    def __init__(self, title: str, width: float, height: float, subtitle: str = "") -> None:
        self._title, self.width, self.height = title, width, height
        self._parts: list[str] = []
        self.text(20, 28, title, size=15, bold=True)
        if subtitle:
            self.text(20, 46, subtitle, size=12, fill="muted")

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        anchor: str = "start",
        size: float = 12,
        fill: str = "ink",
        bold: bool = False,
        italic: bool = False,
    ) -> None:
        style = (" font-weight='600'" if bold else "") + (" font-style='italic'" if italic else "")
        self._parts.append(
            f"<text class='{fill}' x='{x:.1f}' y='{y:.1f}' font-size='{size:g}' text-anchor='{anchor}'{style}>"
            f"{escape(words)}</text>"
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, *, dash: str = "", stroke: str = "grid") -> None:
        dashed = f" stroke-dasharray='{dash}'" if dash else ""
        self._parts.append(f"<line class='{stroke}' x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}'{dashed}/>")

    def bar(self, x: float, y: float, width: float, height: float, *, fill: str, hollow: bool = False) -> None:
        if hollow:
            self._parts.append(
                f"<rect class='s-{fill}' x='{x + 0.6:.1f}' y='{y + 0.6:.1f}' width='{max(width - 1.2, 0):.1f}' "
                f"height='{height - 1.2:.1f}' rx='1.5' fill='none' stroke-width='1.2'/>"
            )
        else:
            self._parts.append(
                f"<rect class='{fill}' x='{x:.1f}' y='{y:.1f}' width='{width:.1f}' height='{height:.1f}' rx='1.5'/>"
            )

    def curve(self, points: Sequence[tuple[float, float]], *, stroke: str, dash: str = "") -> None:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashed = f" stroke-dasharray='{dash}'" if dash else ""
        self._parts.append(
            f"<polyline class='s-{stroke}' points='{path}' fill='none' stroke-width='2' stroke-linejoin='round'"
            f"{dashed}/>"
        )

    def dot(self, x: float, y: float, radius: float, *, fill: str, hollow: bool = False) -> None:
        kind = f"ground s-{fill}" if hollow else fill
        width = " stroke-width='1.6'" if hollow else ""
        self._parts.append(f"<circle class='{kind}' cx='{x:.1f}' cy='{y:.1f}' r='{radius:g}'{width}/>")

    def finish(self) -> str:
        size = f"width='{self.width:g}' height='{self.height:g}'"
        head = (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {self.width:g} {self.height:g}' {size} role='img' "
            f'aria-label={quoteattr(self._title)} font-family="{_FONT}">'
        )
        ground = f"<rect class='ground' {size}/>"
        return "\n".join([head, _STYLE, ground, *self._parts, "</svg>", ""])


def _styles(which: int) -> str:
    rules = [f".ground{{fill:{_GROUND[which]}}}", f".grid{{stroke:{_GRID[which]}}}"]
    for name, colours in _FILLS.items():
        rules += [f".{name}{{fill:{colours[which]}}}", f".s-{name}{{stroke:{colours[which]}}}"]
    return "".join(rules)


_STYLE = f"<style>{_styles(0)}@media (prefers-color-scheme: dark){{{_styles(1)}}}</style>"

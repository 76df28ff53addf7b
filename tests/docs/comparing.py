"""Is what the docs show what is printed? Numbers may differ a little between processors; "…" stands for anything."""

from __future__ import annotations

import json
import math
import re
from typing import Any

__all__ = ["difference"]

_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?")
#: Fields whose values belong to one moment.
_OF_THE_MOMENT = {"took_ms", "created", "ended", "request_id"}


def difference(shown: str, printed: str) -> str | None:
    """A sentence on the first difference, or None."""
    try:
        return _values(json.loads(shown), json.loads(printed), "$", "…" in shown)
    except ValueError:
        return _texts(shown, printed)


def _values(shown: Any, printed: Any, where: str, sketch: bool) -> str | None:
    if isinstance(shown, dict) and isinstance(printed, dict):
        if shown.keys() != printed.keys():
            return f"{where} has other fields: {sorted(shown.keys() ^ printed.keys())}"
        pairs = [(key, value, printed[key]) for key, value in shown.items() if key not in _OF_THE_MOMENT]
        return next((wrong for key, a, b in pairs if (wrong := _values(a, b, f"{where}.{key}", sketch))), None)
    if isinstance(shown, list) and isinstance(printed, list):
        if len(shown) != len(printed):
            return f"{where} has {len(printed)} values"
        both = enumerate(zip(shown, printed, strict=True))
        return next((wrong for i, (a, b) in both if (wrong := _values(a, b, f"{where}[{i}]", sketch))), None)
    if sketch and type(shown) is type(printed):
        return None
    if isinstance(shown, float) and isinstance(printed, float):
        return None if math.isclose(shown, printed, rel_tol=0.02) else f"{where} is {printed}"
    return None if shown == printed else f"{where} is {printed!r}"


def _texts(shown: str, printed: str) -> str | None:
    """Words must be the same; numbers with a point, and percentages, may be off by two in a hundred or one digit."""
    pattern, numbers = "", []
    for part in re.split(r"(\s+|…)", shown.strip()):
        if part == "…":
            pattern += ".*?"
        elif not part.strip():
            pattern += r"\s+" if part else ""
        else:
            at = 0
            for found in _NUMBER.finditer(part):
                pattern += re.escape(part[at : found.start()]) + r"(-?\d[\d,]*(?:\.\d+)?)"
                numbers.append((found[0], part[found.end() : found.end() + 1] == "%"))
                at = found.end()
            pattern += re.escape(part[at:])
    match = re.fullmatch(pattern, printed.strip(), re.DOTALL)
    if match is None:
        return "the words differ"
    for (number, percent), other in zip(numbers, match.groups(), strict=True):
        a, b = (float(one.replace(",", "")) for one in (number, other))
        digits = len(number.partition(".")[2])
        slack = max(0.02 * abs(a), 1.01 * 10**-digits) if digits or percent else 0
        if abs(a - b) > slack:
            return f"{number} is {other}"
    return None

"""A report: the service's page and the keyphrases of some documents in one HTML file that needs no service."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from erukg.core.confidence import ABSENT, PRESENT
from erukg.core.factors import FACTORS
from erukg.core.results import Keyphrases
from erukg.serving.bundle import inline_page

__all__ = ["Report", "escaped", "factor_info", "report_row"]

_END = "</body>"
_DIGITS = 5
_YEAR = re.compile(r"\s*([12]\d{3})(?!\d)")
# What would end the element that the data stands in, or start a comment there.
_ESCAPED = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


@dataclass(frozen=True, slots=True)
class Report:
    """What a report says about itself. It is written as a stream: `begin()`, rows joined by commas, `end()`."""

    version: str
    model: str
    collection: int | None
    alpha: float
    beta: float
    made: str

    def begin(self) -> str:
        page, _, _ = inline_page().rpartition(_END)
        about = {
            "version": self.version,
            "model": self.model,
            "collection": None if self.collection is None else {"documents": self.collection},
            "settings": {"alpha": self.alpha, "beta": self.beta},
            "factors": factor_info(),
            "bands": band_info(),
            "made": self.made,
        }
        return f'{page}<script type="application/json" id="erukg-report">{escaped(about)[:-1]},"documents":[\n'

    def end(self, note: str = "") -> str:
        """The rest, with a note for the reader, for instance that documents were left out."""
        _, end, rest = inline_page().rpartition(_END)
        return f'\n],"note":{escaped(note)}}}</script>\n{end}{rest}'


def factor_info() -> dict[str, dict[str, str]]:
    """The label and help of every factor of a score, as the page shows them."""
    return {factor.name: {"label": factor.label, "help": factor.help} for factor in FACTORS}


def band_info() -> dict[str, dict[str, float]]:
    """The lowest confidence of each band, by kind of phrase; `related` is that of strong for related phrases."""
    return {
        kind: {name: getattr(calibration, name) for name in ("strong", "related", "fair")}
        for kind, calibration in (("present", PRESENT), ("absent", ABSENT))
    }


def report_row(text: str, found: Keyphrases, fields: Mapping[str, object] | None = None) -> dict[str, Any]:
    """A document in a report: its text, title, year and keyphrases, numbers to five digits."""
    fields = fields or {}
    title = fields.get("title")
    return {
        "id": found.id,
        "title": title if isinstance(title, str) else "",
        "year": _year(fields),
        "text": text,
        "result": _rounded(found.to_dict()),
    }


def escaped(data: object) -> str:
    """JSON that can stand inside an HTML script element."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ESCAPED)


def _year(fields: Mapping[str, object]) -> int | None:
    for name in ("year", "date", "published"):
        if found := _YEAR.match(str(fields.get(name) or "")):
            return int(found[1])
    return None


def _rounded(data: Any) -> Any:
    if isinstance(data, float):
        return float(f"{data:.{_DIGITS}g}")
    if isinstance(data, dict):
        return {key: _rounded(value) for key, value in data.items()}
    return [_rounded(value) for value in data] if isinstance(data, list) else data

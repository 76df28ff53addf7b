"""Results as JSON Lines, CSV rows and terminal tables."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from erukg.cli._common import printable
from erukg.core.results import Explanation, Keyphrase, Keyphrases

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

__all__ = ["CSV_HEADER", "ExpandedRow", "RankedPhrases", "Result", "csv_rows", "json_line", "table"]

CSV_HEADER = ("id", "kind", "rank", "phrase", "score", "spans", "sources")
CSV_EXPLAINED = ("position", "phraseness", "informativeness", "single_word", "novelty", "terms")


@dataclass(frozen=True, slots=True)
class RankedPhrases:
    """The caller's own phrases, scored against one document, best first."""

    id: str
    phrases: tuple[Keyphrase, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"id": self.id, "phrases": [k.to_dict() for k in self.phrases]}


@dataclass(frozen=True, slots=True)
class ExpandedRow:
    """A line of a corpus or query file with its keyphrases; there is only JSON for it."""

    id: str
    row: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return self.row


Result: TypeAlias = Keyphrases | RankedPhrases | ExpandedRow


def json_line(result: Result) -> str:
    """One line of JSON, without its end."""
    return json.dumps(result.to_dict(), ensure_ascii=False, allow_nan=False)


def csv_header(explain: bool) -> tuple[str, ...]:
    return CSV_HEADER + CSV_EXPLAINED if explain else CSV_HEADER


def csv_rows(result: Result, explain: bool) -> list[tuple[object, ...]]:
    """A row a phrase; spans as `start-end`, sources as `id=share`, several of them separated by spaces."""
    rows: list[tuple[object, ...]] = []
    for kind, phrases in _kinds(result):
        for rank, k in enumerate(phrases, 1):
            spans = " ".join(f"{a}-{b}" for a, b in k.spans)
            sources = " ".join(f"{s.id}={s.share:.6g}" for s in k.sources)
            name = kind or ("present" if k.spans else "absent")
            row: tuple[object, ...] = (result.id, name, rank, k.phrase, repr(k.score), spans, sources)
            if explain:
                row += _explained_cells(k.explanation)
            rows.append(row)
    return rows


def _explained_cells(e: Explanation | None) -> tuple[object, ...]:
    if e is None:
        return ("",) * len(CSV_EXPLAINED)
    terms = " ".join(f"{t.term}={t.weight:.6g}" for t in e.terms)
    return (*(e.factors.get(name, 1.0) for name in CSV_EXPLAINED[:-1]), terms)


def _kinds(result: Result) -> list[tuple[str, tuple[Keyphrase, ...]]]:
    if isinstance(result, RankedPhrases):
        return [("", result.phrases)]
    if isinstance(result, ExpandedRow):
        return []
    return [("present", result.present), ("absent", result.absent)]


def table(result: Result, explain: bool) -> RenderableType:
    """What a person wants to see: present beside absent, best first; one below the other when explained."""
    from rich.console import Group
    from rich.text import Text

    title = Text(printable(result.id or ""), style="bold")
    if not any(phrases for _, phrases in _kinds(result)):
        return Group(title, Text("  no phrases", style="dim"), "")
    if explain:
        tables = [_explained(kind or "phrase", phrases) for kind, phrases in _kinds(result) if phrases]
        return Group(title, *tables, "")
    return Group(title, _side_by_side(result), "")


def _side_by_side(result: Result) -> Table:
    from rich.table import Table
    from rich.text import Text

    out = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    kinds = [(kind, phrases) for kind, phrases in _kinds(result) if phrases]
    for kind, _ in kinds:
        out.add_column(kind or "phrase", overflow="fold", min_width=12)
        out.add_column("score", justify="right", no_wrap=True)
    if isinstance(result, RankedPhrases):
        out.add_column("in the text", style="dim")
    for i in range(max(len(phrases) for _, phrases in kinds)):
        cells: list[Text] = []
        for _, phrases in kinds:
            if i < len(phrases):
                cells += [Text(printable(phrases[i].phrase)), Text(f"{phrases[i].score:.4g}", style="dim")]
            else:
                cells += [Text(), Text()]
        if isinstance(result, RankedPhrases):
            cells.append(Text("yes" if result.phrases[i].spans else "no"))
        out.add_row(*cells)
    return out


def _explained(kind: str, phrases: tuple[Keyphrase, ...]) -> Table:
    from rich.table import Table
    from rich.text import Text

    out = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    names = list(dict.fromkeys(name for k in phrases if k.explanation for name in k.explanation.factors))
    out.add_column(kind, overflow="fold", min_width=12)
    out.add_column("score = " + " × ".join(names) if names else "score")
    out.add_column("terms: document, neighbours → weight", overflow="fold")
    for k in phrases:
        product, terms = f"{k.score:.4g}", ""
        if k.explanation is not None:
            product += " = " + " × ".join(f"{k.explanation.factors.get(name, 1.0):.4g}" for name in names)
            terms = "; ".join(
                f"{t.term} {t.document:.3g}, {t.neighbours:.3g} → {t.weight:.3g}" for t in k.explanation.terms
            )
        out.add_row(Text(printable(k.phrase)), Text(product), Text(printable(terms)))
    return out

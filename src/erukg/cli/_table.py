"""Results as tables on a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from textwrap import fill, shorten
from typing import IO, TYPE_CHECKING, Any, cast

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from erukg.cli._common import printable
from erukg.core.factors import FACTORS
from erukg.core.results import Keyphrase, RankedPhrases
from erukg.io.columns import Result, every_factor, kinds
from erukg.io.writers import Utf8

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["console", "draw", "draw_suggestions"]

_FILE_WIDTH = 120
_SOURCES_SHOWN = 2
_TITLE_WIDTH = 48
_PRODUCT_WIDTH = 48  # beyond it a product goes on in the next line, so that terms and sources have room


def console(stream: IO[bytes]) -> Console:
    """A console on a stream, of a fixed width if it is no terminal."""
    width = None if stream.isatty() else _FILE_WIDTH
    return Console(file=cast("IO[str]", Utf8(stream)), width=width, highlight=False)


def draw(result: Result, explain: bool) -> RenderableType:
    """What a person wants to see: present beside absent, best first; one below the other when explained."""
    title = Text(printable(result.id or ""), style="bold")
    # Ranked phrases have one column, which names one of them.
    columns = [("phrase" if kind == "phrases" else kind, phrases) for kind, phrases in kinds(result) if phrases]
    if not columns:
        return Group(title, Text("  no phrases", style="dim"), "")
    if explain:
        return Group(title, *(_explained(kind, phrases) for kind, phrases in columns), "")
    return Group(title, _side_by_side(columns, ranked=isinstance(result, RankedPhrases)), "")


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")


def _side_by_side(columns: list[tuple[str, tuple[Keyphrase, ...]]], *, ranked: bool) -> Table:
    table = _table()
    last = "in the text" if ranked else ""  # how sure is a word that needs no heading
    for kind, _ in columns:
        table.add_column(kind, overflow="fold", min_width=12)
        table.add_column("score", justify="right", no_wrap=True)
        table.add_column(last, style="dim", no_wrap=not ranked)
    for i in range(max(len(phrases) for _, phrases in columns)):
        cells: list[Text] = []
        for _, phrases in columns:
            if i < len(phrases):
                phrase = phrases[i]
                cells += [Text(printable(phrase.phrase)), Text(f"{phrase.score:.4g}", style="dim")]
                cells.append(Text(("yes" if phrase.spans else "no") if ranked else phrase.band or ""))
            else:
                cells += [Text(), Text(), Text()]
        table.add_row(*cells)
    return table


def _explained(kind: str, phrases: tuple[Keyphrase, ...]) -> Table:
    """Each score as the product of its factors, without those that are 1 for all the phrases."""
    # Phrases that score nothing have no explanation.
    factors = [every_factor(phrase.explanation) if phrase.explanation else {} for phrase in phrases]
    names = [f.name for f in FACTORS if any(values.get(f.name, 1) != 1 for values in factors)]
    products = [
        _folded(f"{phrase.score:.4g}", [f"{values[name]:.4g}" for name in names if values])
        for phrase, values in zip(phrases, factors, strict=True)
    ]
    table = _table()
    table.add_column(kind, overflow="fold", min_width=12)
    width = max(len(line) for product in products for line in product.splitlines())
    table.add_column(_folded("score", names, width), no_wrap=True)
    table.add_column("terms: document, neighbours → weight", overflow="fold")
    sourced = any(phrase.sources for phrase in phrases)
    if sourced:
        table.add_column("from", overflow="fold", min_width=20)
    for phrase, product in zip(phrases, products, strict=True):
        terms = "; ".join(
            f"{term.term} {term.document:.3g}, {term.neighbours:.3g} → {term.weight:.3g}"
            for term in (phrase.explanation.terms if phrase.explanation else ())
        )
        cells = [Text(printable(phrase.phrase)), Text(product), Text(printable(terms))]
        table.add_row(*cells, *([Text(printable(_origin(phrase)))] if sourced else []))
    return table


def _folded(score: str, factors: list[str], width: int = _PRODUCT_WIDTH) -> str:
    """A score as the product of its factors, on as many lines as it takes."""
    return fill(" = ".join(filter(None, (score, " × ".join(factors)))), width)


def _origin(phrase: Keyphrase) -> str:
    """The documents that lent a phrase, those most like the text; or the words of the text that make it."""
    if not phrase.sources and not phrase.spans and phrase.variants:
        return f"the text: {phrase.variants[0]}"
    names = [source.name for source in phrase.sources[:_SOURCES_SHOWN]]
    rest = len(phrase.sources) - len(names)
    return "; ".join([*names, *([f"{rest} more"] if rest else [])])


def draw_suggestions(found: Mapping[str, Any]) -> RenderableType:
    """Concepts, best first, with what speaks for them; below them, terms that the vocabulary lacks."""
    title = Text(printable(found["id"] or ""), style="bold")
    parts: list[RenderableType] = [title]
    if found["suggestions"]:
        columns = {
            "concept": [one["label"] for one in found["suggestions"]],
            "sure": [f"{one['confidence']:.0%}" for one in found["suggestions"]],
            "in the text": [_labels(one["matches"]) for one in found["suggestions"]],
            "similar documents": [_voters(one["votes"]) for one in found["suggestions"]],
            "uri": [one["uri"] if one["uri"] != one["label"] else "" for one in found["suggestions"]],
        }
        shown = {name: cells for name, cells in columns.items() if any(cells)}
        table = _table()
        for name in shown:
            table.add_column(name, overflow="fold", justify="right" if name == "sure" else "left")
        for row in zip(*shown.values(), strict=True):
            table.add_row(*(Text(printable(cell)) for cell in row))
        parts.append(table)
    else:
        parts.append(Text("  no concepts", style="dim"))
    if found["new_terms"]:
        terms = "; ".join(term["phrase"] for term in found["new_terms"])
        parts.append(Text(printable(f"new terms: {terms}")))
    return Group(*parts, "")


def _labels(matches: Sequence[Mapping[str, Any]]) -> str:
    """The labels that stand in the text, each once, with how often."""
    counts = Counter(match["label"] for match in matches)
    return "; ".join(label if n == 1 else f"{label} ({n})" for label, n in counts.items())


def _voters(votes: Sequence[Mapping[str, Any]]) -> str:
    """The nearest document that carries a concept, and how many more do: a line, since each row has its own."""
    if not votes:
        return ""
    name = shorten(votes[0].get("title") or votes[0]["id"], _TITLE_WIDTH, placeholder="…")
    return name if len(votes) == 1 else f"{name} +{len(votes) - 1}"

"""A result as people see it: rows of a table, and HTML for notebooks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from erukg.core.results import Keyphrase, Keyphrases

__all__ = ["COLUMNS", "KINDS", "phrase_rows", "to_html"]

KINDS = ("present", "absent")
#: The columns of a table with one row per phrase.
COLUMNS = ("id", "kind", "rank", "phrase", "score", "confidence", "variants", "spans", "sources")

# More would make a notebook slow; the phrases of a text stand in its beginning more than anywhere else.
_MOST_CHARACTERS = 20_000
# Half transparent, so that they suit light and dark pages.
_SHADES = {"strong": "#2e9e6b66", "fair": "#2e9e6b44", "weak": "#2e9e6b26", None: "#2e9e6b44"}
_BOX = "border:1px solid #8888884d;border-radius:6px;padding:.6em .8em;"


def phrase_rows(id: str | None, lists: Mapping[str, Sequence[Keyphrase]]) -> list[dict[str, Any]]:
    """One row per phrase with all `COLUMNS`; of a list that is neither of `KINDS` each phrase has its own."""
    rows = []
    for name, phrases in lists.items():
        for rank, phrase in enumerate(phrases, 1):
            kind = name if name in KINDS else KINDS[not phrase.spans]
            data = {"variants": [], "confidence": None, **phrase.to_dict("spans", "sources")}
            data |= {"id": id, "kind": kind, "rank": rank}
            rows.append({column: data[column] for column in COLUMNS})
    return rows


def to_html(result: Keyphrases) -> str:
    """The text with its phrases marked, and both lists beside one another; whatever the text holds is shown as it is.

    Styles are written into the elements, as pages that show notebooks remove style sheets.
    """
    parts = [f'<p style="margin:0 0 .6em"><em>{_safe(notice.message)}</em></p>' for notice in result.notices]
    if result.error is not None:
        parts.append(f'<p style="margin:0">{_safe(result.error)}</p>')
    if result.text:
        marked = _marked(result.text[:_MOST_CHARACTERS], result.present)
        if len(result.text) > _MOST_CHARACTERS:
            marked += f"… <em>({len(result.text) - _MOST_CHARACTERS:,} characters more)</em>"
        style = _BOX + "max-height:22em;overflow:auto;white-space:pre-wrap;line-height:1.6;margin-bottom:.6em"
        parts.append(f'<div style="{style}">{marked}</div>')
    if result.error is None:
        lists = _list("In the text", result.present) + _list("Not in the text", result.absent)
        parts.append(f'<div style="display:flex;flex-wrap:wrap;gap:.6em 2.5em">{lists}</div>')
    return f'<div style="max-width:62em;text-align:left">{"".join(parts)}</div>'


def _marked(text: str, phrases: Sequence[Keyphrase]) -> str:
    """The text with marks around the phrases; where they overlap, around the one that begins first, or is longest."""
    spans = [(start, -end, number) for number, phrase in enumerate(phrases) for start, end in phrase.spans]
    out, at = [], 0
    for start, negative, number in sorted(spans):
        end, phrase = min(-negative, len(text)), phrases[number]
        if start < at or start >= end:
            continue
        style = f"background:{_SHADES[phrase.band]};color:inherit;border-radius:3px;padding:.1em .15em"
        mark = f'<mark style="{style}" title="{_safe(_label(phrase))}">{_safe(text[start:end])}</mark>'
        out += [_safe(text[at:start]), mark]
        at = end
    return "".join([*out, _safe(text[at:])])


def _list(heading: str, phrases: Sequence[Keyphrase]) -> str:
    left, right = "text-align:left;padding:.1em 1.2em .1em 0", "text-align:right;padding:.1em 0;opacity:.7"
    rows = "".join(
        f'<tr style="background:none"><td style="{left}">{_safe(each.phrase)}{_also(each)}</td>'
        f'<td style="{right};vertical-align:top;white-space:nowrap">{_sureness(each)}</td></tr>'
        for each in phrases
    )
    # Some pages give tables a font of their own.
    style = "border-collapse:collapse;margin:0;width:100%;font:inherit;color:inherit"
    table = f'<table style="{style}">{rows}</table>' if rows else "<em>none</em>"
    heading = f'<div style="font-weight:600;margin-bottom:.2em">{heading}</div>'
    return f'<div style="flex:1 1 20em;max-width:30em">{heading}{table}</div>'


def _also(phrase: Keyphrase) -> str:
    forms = ", ".join(map(_safe, phrase.variants))
    return f' <span style="opacity:.6">also {forms}</span>' if forms else ""


def _sureness(phrase: Keyphrase) -> str:
    return "" if phrase.confidence is None else f"{phrase.confidence:.2f} {phrase.band}"


def _label(phrase: Keyphrase) -> str:
    return " · ".join(filter(None, (phrase.phrase, _sureness(phrase))))


def _safe(text: str) -> str:
    """Escaped; halves of surrogate pairs, which no page can hold, are replaced."""
    return escape(text.encode("utf-8", "replace").decode("utf-8"))

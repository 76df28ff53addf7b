"""Lucene's query syntax: expanded queries as strings that its parsers, and those of Solr, take as they are."""

from __future__ import annotations

import re
from collections.abc import Sequence

from erukg.core.query_expansion import ExpandedQuery
from erukg.core.search_words import every_word
from erukg.errors import InputError

__all__ = ["FIELD", "SearchField", "escape_lucene", "lucene_query", "number", "parse_fields"]

#: What a field to search is written as: its name, and perhaps ^ and what its matches count.
FIELD = r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}(\^[0-9]{1,4}(\.[0-9]{1,6})?)?$"
SearchField = tuple[str, float]

# Those of the classic parser, < > = @ of the flexible one, and ' ` of tantivy's.
_SPECIAL = re.compile(r"""([+\-&|!(){}\[\]^"~*?:\\/<>=@'`])""")
_OPERATORS = {"AND", "OR", "NOT"}


def parse_fields(written: str | Sequence[str]) -> tuple[SearchField, ...]:
    """The fields of "text,keyphrases^0.4", or of a list of such, with the weight of each."""
    parts = written.split(",") if isinstance(written, str) else written
    fields = []
    for part in map(str.strip, parts):
        if not re.fullmatch(FIELD, part):
            raise InputError(
                f"A field to search is a name of letters, digits, '_', '.' and '-', perhaps with a weight: "
                f"'text' or 'keyphrases^0.4', not {part[:40]!r}."
            )
        name, _, weight = part.partition("^")
        fields.append((name, float(weight or 1)))
    return tuple(fields)


def number(value: float) -> str:
    """The number without an exponent, which no query syntax knows."""
    return f"{value:.8f}".rstrip("0").rstrip(".")


def escape_lucene(text: str) -> str:
    """The text on one line, with nothing in it that a query parser takes for more than words."""
    words = (word.lower() if word in _OPERATORS else word for word in text.split())
    return " ".join(_SPECIAL.sub(r"\\\1", word) for word in words)


def lucene_query(query: ExpandedQuery, fields: Sequence[SearchField] = ()) -> str:
    """The query in Lucene's syntax: its own words, then a group with a boost for each phrase.

    Without `fields` the parser's default field is searched, otherwise each of them with its weight. A query without
    words is an empty string, which no parser takes.
    """
    if not every_word(query.text):
        return ""
    groups = [escape_lucene(query.text)]
    for phrase in query.phrases:
        weight = number(phrase.weight)
        if weight != "0" and every_word(phrase.phrase):
            groups.append(f"({escape_lucene(phrase.phrase)})^{weight}")
    whole = " ".join(groups)
    if not fields:
        return whole
    return " ".join(f"{name}:({whole})" + ("" if weight == 1 else f"^{number(weight)}") for name, weight in fields)

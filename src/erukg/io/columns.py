"""Results as tables: the columns of CSV and of Parquet, taken from the model of a result and the list of factors."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, TypeAlias, get_args, get_origin, get_type_hints

from erukg.core.factors import FACTORS
from erukg.core.inputs import TEXT_FIELDS, given_id
from erukg.core.query_expansion import SearchPhrase
from erukg.core.results import Explanation, Keyphrase, Keyphrases, Notice, RankedPhrases
from erukg.errors import require

__all__ = [
    "Result",
    "arrow_row",
    "csv_header",
    "csv_rows",
    "every_factor",
    "expanded_cells",
    "expanded_columns",
    "expanded_names",
    "expanded_schema",
    "kinds",
    "no_formula",
    "result_schema",
]

Result: TypeAlias = Keyphrases | RankedPhrases
_PURPOSE = "Writing Parquet"
_CSV = ("id", "kind", "rank", "phrase", "score", "confidence", "variants", "spans", "sources", "titles")
# What phrases of these kinds never have.
_OMITTED = {"present": {"sources", "related"}, "absent": {"spans"}, "phrases": {"related"}}


def kinds(result: Result) -> list[tuple[str, tuple[Keyphrase, ...]]]:
    """The lists of phrases in a result, by name."""
    if isinstance(result, RankedPhrases):
        return [("phrases", result.phrases)]
    return [("present", result.present), ("absent", result.absent)]


def every_factor(explanation: Explanation) -> dict[str, float]:
    """Every factor there is, 1 where it does not apply: their product is the score of any phrase."""
    return {factor.name: explanation.factors.get(factor.name, 1.0) for factor in FACTORS}


def csv_header(explain: bool) -> tuple[str, ...]:
    return (*_CSV, *(factor.name for factor in FACTORS), "terms") if explain else _CSV


def csv_rows(result: Result, explain: bool) -> Iterator[tuple[object, ...]]:
    """One row per phrase; spans as `start-end`, sources as `id=share`, several separated by spaces, variants and the
    sources' titles by ";".
    """
    for kind, phrases in kinds(result):
        for rank, phrase in enumerate(phrases, 1):
            name = kind if kind != "phrases" else "present" if phrase.spans else "absent"
            spans = " ".join(f"{start}-{end}" for start, end in phrase.spans)
            sources = " ".join(f"{source.id}={source.share:.6g}" for source in phrase.sources)
            confidence = "" if phrase.confidence is None else repr(phrase.confidence)
            score, variants = repr(phrase.score), "; ".join(phrase.variants)
            titles = no_formula("; ".join(source.title for source in phrase.sources if source.title))
            row = (result.id, name, rank, phrase.phrase, score, confidence, variants, spans, sources, titles)
            yield row + _explained_cells(phrase.explanation) if explain else row


def no_formula(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula: titles and labels are whatever somebody wrote."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@")) else cell


def _explained_cells(explanation: Explanation | None) -> tuple[object, ...]:
    if explanation is None:
        return ("",) * (len(FACTORS) + 1)
    terms = " ".join(f"{term.term}={term.weight:.6g}" for term in explanation.terms)
    return (*every_factor(explanation).values(), terms)


def arrow_row(result: Result) -> dict[str, Any]:
    """A result as a row of `result_schema`: spans are structs, as Arrow has no lists of two numbers."""
    row = {"notices": [], **result.to_dict()}
    for kind, phrases in kinds(result):
        for data, phrase in zip(row[kind], phrases, strict=True):
            data["variants"], data["related"] = list(phrase.variants), phrase.related
            data["spans"] = [{"start": start, "end": end} for start, end in phrase.spans]
            data["sources"] = [source.to_dict() for source in phrase.sources]
            if phrase.explanation is not None:
                data["explanation"]["factors"] = every_factor(phrase.explanation)
    return row


def result_schema(kind: type[Result], explain: bool = False) -> Any:
    """The Arrow schema of results of this type: one row per document, lists of phrases inside."""
    pa = require("pyarrow", "parquet", _PURPOSE)
    names = ("phrases",) if kind is RankedPhrases else ("present", "absent")
    without = set[str]() if explain else {"explanation"}
    lists = [(name, pa.list_(_arrow_type(Keyphrase, pa, _OMITTED[name] | without))) for name in names]
    return pa.schema([("id", pa.string()), *lists, ("notices", pa.list_(_arrow_type(Notice, pa)))])


def _arrow_type(hint: Any, pa: Any, omitted: set[str] | frozenset[str] = frozenset()) -> Any:
    """The Arrow type of a type hint of the model."""
    if dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint).items()
        return pa.struct([(name, _arrow_type(inner, pa)) for name, inner in hints if name not in omitted])
    if get_origin(hint) is dict:  # the only one: the factors
        return pa.struct([(factor.name, pa.float64()) for factor in FACTORS])
    if hint == tuple[int, int]:
        return pa.struct([("start", pa.int64()), ("end", pa.int64())])
    if get_origin(hint) is tuple:
        return pa.list_(_arrow_type(get_args(hint)[0], pa))
    if NoneType in get_args(hint):
        return _arrow_type(next(inner for inner in get_args(hint) if inner is not NoneType), pa)
    return {str: pa.string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}[hint]


def expanded_schema(schema: Any) -> Any:
    """The columns of a table and, behind them, those that expansion adds."""
    pa = require("pyarrow", "parquet", _PURPOSE)
    phrases = pa.list_(pa.string())
    return pa.schema([*schema, pa.field("present", phrases), pa.field("absent", phrases)], metadata=schema.metadata)


def expanded_names(*, queries: bool) -> tuple[str, ...]:
    """The columns of expanded queries or documents; fields of no column are `metadata`."""
    own = ("text", "expansion") if queries else (*TEXT_FIELDS, "present", "absent")
    return ("_id", *own, "metadata")


def expanded_columns(*, queries: bool) -> Any:
    """The Arrow schema of `expanded_names`."""
    pa = require("pyarrow", "parquet", _PURPOSE)
    lists = dict.fromkeys(("present", "absent"), pa.list_(pa.string()))
    lists["expansion"] = pa.list_(_arrow_type(SearchPhrase, pa))
    return pa.schema([(name, lists.get(name, pa.string())) for name in expanded_names(queries=queries)])


def expanded_cells(row: Mapping[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """An expanded row with these of `expanded_names`; what has no column is JSON in `metadata`."""
    names = [name for name in columns if name not in ("_id", "metadata")]
    others = {name: value for name, value in row.items() if name not in (*names, "_id", "id")}
    metadata = json.dumps(others, ensure_ascii=False, allow_nan=False, default=str) if others else None
    return {"_id": given_id(row), **{name: row.get(name) for name in names}, "metadata": metadata}

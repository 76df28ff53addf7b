"""Polars: `import erukg.integrations.polars` adds `.erukg` to expressions and series.

>>> frame.with_columns(phrases=pl.col("abstract").erukg.keyphrases(top_k=5))
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from erukg.core.inputs import checked_count
from erukg.errors import InputError, require
from erukg.integrations.columns import Kind, check_options, phrases_of, scored_of

__all__ = ["KeyphraseExpression", "KeyphraseSeries"]

pl = require("polars", "polars", "The Polars namespace")

_PHRASES = pl.List(pl.String)
_SCORED = pl.List(
    pl.Struct({"kind": pl.String, "phrase": pl.String, "score": pl.Float64, "confidence": pl.Float64}),
)


class _Namespace:
    """Keyphrases of a column of texts; null stays null.

    Besides `top_k`, methods take a `generator` and what its `stream` takes: `settings`, `diversity`, `min_confidence`,
    `exclude`, `must_have`, `threads`.
    """

    def __init__(self, column: Any) -> None:
        self._column = column

    def keyphrases(self, top_k: int = 10, *, kind: Kind = "both", **wanted: Any) -> Any:
        """A list of phrases for each text, as `List(String)`."""
        return self._map(phrases_of, _PHRASES, kind=kind, top_k=checked_count(top_k), **wanted)

    def scored(self, top_k: int = 10, *, kind: Kind = "both", **wanted: Any) -> Any:
        """A list of structs for each text: `kind`, `phrase`, `score`, `confidence`."""
        return self._map(scored_of, _SCORED, kind=kind, top_k=checked_count(top_k), **wanted)

    def _map(self, find: Callable[..., Any], dtype: Any, **wanted: Any) -> Any:
        raise NotImplementedError


@pl.api.register_expr_namespace("erukg")
class KeyphraseExpression(_Namespace):
    __doc__ = _Namespace.__doc__

    def _map(self, find: Callable[..., Any], dtype: Any, **wanted: Any) -> Any:
        check_options(**wanted)
        work = partial(_mapped, find=find, dtype=dtype, wanted=wanted)
        return self._column.map_batches(work, return_dtype=dtype, is_elementwise=True)


@pl.api.register_series_namespace("erukg")
class KeyphraseSeries(_Namespace):
    __doc__ = _Namespace.__doc__

    def _map(self, find: Callable[..., Any], dtype: Any, **wanted: Any) -> Any:
        return _mapped(self._column, find, dtype, wanted)


def _mapped(column: Any, find: Callable[..., Any], dtype: Any, wanted: dict[str, Any]) -> Any:
    if column.dtype not in (pl.String, pl.Categorical, pl.Enum, pl.Null):
        raise InputError(f"The column '{column.name}' holds {column.dtype}, not texts; give a column of strings.")
    return pl.Series(column.name, find(column.to_list(), **wanted), dtype=dtype)

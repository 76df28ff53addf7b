"""DuckDB: functions for SQL, worked out on whole vectors by way of Arrow.

>>> register(connection, top_k=5)
>>> connection.sql("SELECT title, keyphrases(abstract) FROM papers")
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from erukg.core.arguments import checked
from erukg.core.inputs import checked_count
from erukg.errors import InputError, require
from erukg.integrations.columns import Kind, check_options, phrases_of, scored_of

__all__ = ["register"]

_PHRASES = "VARCHAR[]"
_SCORED = "STRUCT(kind VARCHAR, phrase VARCHAR, score DOUBLE, confidence DOUBLE)[]"


@checked
def register(
    connection: Any,
    name: str = "keyphrases",
    top_k: int = 10,
    *,
    kind: Kind = "both",
    scored: bool = False,
    **wanted: Any,
) -> None:
    """Add a function of this name to a connection: from a text to a list of phrases, from NULL to NULL.

    With `scored`, to a list of structs with `kind`, `phrase`, `score` and `confidence`. A function of that name which
    was added before is replaced. `wanted` is a `generator` and what its `stream` takes: `settings`, `diversity`,
    `min_confidence`, `exclude`, `must_have`, `threads`.
    """
    duckdb = require("duckdb", "duckdb", "The DuckDB function")
    pa = require("pyarrow", "duckdb", "The DuckDB function")
    if not isinstance(connection, duckdb.DuckDBPyConnection):
        raise InputError(f"connection must be what duckdb.connect() gives, not {type(connection).__name__}.")
    if not name.isidentifier():
        raise InputError(f"{name!r} cannot be the name of a function; use letters, digits and underscores.")
    check_options(**wanted)
    find: Any = scored_of if scored else phrases_of
    most = checked_count(top_k)
    struct = [("kind", pa.string()), ("phrase", pa.string()), ("score", pa.float64()), ("confidence", pa.float64())]
    entry = pa.struct(struct) if scored else pa.string()

    def work(texts: Any) -> Any:
        return pa.array(find(texts.to_pylist(), kind, top_k=most, **wanted), pa.list_(entry))

    with suppress(duckdb.Error):  # there is none
        connection.remove_function(name)
    connection.create_function(name, work, ["VARCHAR"], _SCORED if scored else _PHRASES, type="arrow")

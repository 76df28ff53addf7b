"""pandas: `import erukg.integrations.pandas` adds `.erukg` to every series and data frame.

>>> frame["phrases"] = frame["abstract"].erukg.keyphrases(top_k=5)
"""

from __future__ import annotations

from typing import Any

from erukg.core.presenting import COLUMNS, KINDS, phrase_rows
from erukg.errors import require
from erukg.integrations.columns import Kind, check_options, phrases_of, results_of

__all__ = ["KeyphraseAccessor"]

pd = require("pandas", "pandas", "The pandas accessor")


@pd.api.extensions.register_series_accessor("erukg")
@pd.api.extensions.register_dataframe_accessor("erukg")
class KeyphraseAccessor:
    """Keyphrases of a series of texts, or of a data frame with columns `title`, `abstract` or `text`, perhaps `id`.

    A missing text has missing phrases. Besides `top_k`, methods take a `generator` and what its `stream` takes:
    `settings`, `diversity`, `min_confidence`, `exclude`, `must_have`, `threads`.
    """

    def __init__(self, data: Any) -> None:
        self._data = data

    def keyphrases(self, top_k: int = 10, *, kind: Kind = "both", **wanted: Any) -> Any:
        """A series of lists of phrases with the same index; `explode()` gives one row per phrase."""
        found = phrases_of(self._texts(), kind, top_k=top_k, **wanted)
        return pd.Series(found, index=self._data.index, name="keyphrases", dtype=object)

    def table(self, top_k: int = 10, *, kind: Kind = "both", **wanted: Any) -> Any:
        """A data frame with one row per phrase, `kind`, `rank`, `phrase`, `score`, `confidence` …, under the index of
        its text.
        """
        check_options(kind=kind)
        rows: list[dict[str, Any]] = []
        labels: list[Any] = []
        for number, result in enumerate(results_of(self._texts(), top_k, **wanted)):
            if result is not None:
                lists = {name: getattr(result, name) for name in KINDS if kind in ("both", name)}
                more = phrase_rows(result.id, lists)
                rows += more
                labels += [number] * len(more)
        return pd.DataFrame(rows, columns=list(COLUMNS)[1:], index=self._data.index.take(labels))

    def _texts(self) -> Any:
        return self._data.to_dict("records") if hasattr(self._data, "columns") else self._data

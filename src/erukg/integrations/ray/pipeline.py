"""Keyphrases for a Ray Data pipeline that somebody already has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from erukg.core.settings import Settings
from erukg.errors import InputError, require
from erukg.integrations.ray.node_cache import on_any_node

if TYPE_CHECKING:
    from ray.data import Dataset

    from erukg.integrations.ray.keyphrase_job import KeyphraseJob

__all__ = ["KeyphraseColumns", "keyphrases"]

_COLUMNS = ("present", "absent", "notices", "error")


def keyphrases(
    dataset: Dataset,
    *,
    model: str | Path | None = None,
    collection: str | Path | bool | None = None,
    settings: Settings | None = None,
    top_k: int = 10,
    text: str | Sequence[str] = ("title", "abstract", "text"),
    id: str = "id",
    workers: int | tuple[int, int] | None = None,
    cpus: int = 1,
    gpus: float = 0.0,
    batch_size: int = 256,
) -> Dataset:
    """The dataset with four more columns: `present` and `absent`, the phrases of each row, `notices` and `error`.

    >>> found = keyphrases(ray.data.read_parquet("s3://archive/abstracts"), workers=8)
    >>> found.write_parquet("s3://archive/phrases")

    A row's text is its columns `text`, those that it has, joined by newlines; `id` names its document, if there is such
    a column. `present` is a list of {phrase, score, spans: [{start, end}]}, `absent` one of {phrase, score, sources:
    [{id, share, title}]}, where title may be null; `notices` one of {code, message}, empty for most texts. A row that
    cannot be used has no phrases, and in `error` the reason; `error` is null in all others.

    Workers load the model once. `model` and `collection` are as in `KeyphraseGenerator.from_pretrained`, and may be
    URIs, which each node fetches once; a collection is memory-mapped, so that the workers of a node share its pages.
    There are `workers` of them (or from one number to another, as Ray sees fit; by default up to as many as there are
    cores or GPUs). Each has `cpus` cores, and processes as many documents at a time, and `gpus` GPUs, where 0.5 means
    that two workers share one.
    """
    data = require("ray.data", "ray", "Working on a cluster")
    columns = (text,) if isinstance(text, str) else tuple(text)
    if not columns or id in columns:
        raise InputError("The text is one column or more, none of which is the id.")
    from erukg.integrations.ray.keyphrase_job import KeyphraseJob

    job = KeyphraseJob(
        command="generate",
        model=on_any_node(model),
        collection=collection if isinstance(collection, bool) else on_any_node(collection),
        device="cuda" if gpus else None,
        threads=cpus,
        top_k=top_k,
        choices=settings or Settings(),
    )
    low, high = workers if isinstance(workers, tuple) else (workers or 1, workers)
    return dataset.map_batches(
        KeyphraseColumns,
        fn_constructor_args=(job, columns, id),
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=data.ActorPoolStrategy(min_size=low, max_size=high),
        num_cpus=cpus,
        num_gpus=gpus or None,
    )


class KeyphraseColumns:
    """What `keyphrases` runs on its workers: a table in, the same with four more columns out."""

    def __init__(self, job: KeyphraseJob, text: Sequence[str], id: str) -> None:
        self._text, self._id = text, id
        self._stream = job.load()

    def __call__(self, table: Any) -> Any:
        import pyarrow as pa

        from erukg.core.results import Keyphrases
        from erukg.io.columns import arrow_row, result_schema

        if there := [name for name in _COLUMNS if name in table.column_names]:
            raise InputError(f"The dataset has a column '{there[0]}' already; drop or rename it first.")
        wanted = [name for name in self._text if name in table.column_names]
        if not wanted:
            names = ", ".join(repr(name[:40]) for name in table.column_names[:8])
            raise InputError(f"The dataset has none of the columns {', '.join(self._text)} (it has: {names}).")
        if self._id in table.column_names:
            wanted.append(self._id)
        rows = []
        for answer in self._stream(map(self._item, table.select(wanted).to_pylist())):
            found = {"present": [], "absent": [], "notices": []} if answer.result is None else arrow_row(answer.result)
            rows.append({**found, "error": None if answer.error is None else str(answer.error)})
        schema = result_schema(Keyphrases).append(pa.field("error", pa.string()))
        for name in _COLUMNS:
            table = table.append_column(name, pa.array([row[name] for row in rows], schema.field(name).type))
        return table

    def _item(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """An item of the stream, which refuses a text that is no string."""
        id, values = row.get(self._id), [row[name] for name in self._text if row.get(name) is not None]
        wrong = [value for value in values if not isinstance(value, str)]
        return {"id": None if id is None else str(id), "text": wrong[0] if wrong else "\n".join(filter(None, values))}

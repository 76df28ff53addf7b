"""Keyphrases for a Ray Data pipeline that somebody already has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from erukg.core.settings import Settings
from erukg.core.streams import attempt
from erukg.errors import InputError, require
from erukg.integrations.ray.cluster import Resources, connect
from erukg.integrations.ray.node_cache import on_any_node

if TYPE_CHECKING:
    from ray.data import Dataset

__all__ = ["KeyphraseColumns", "keyphrases"]

_COLUMNS = ("present", "absent", "error")


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
    """The dataset with three more columns: `present` and `absent`, the phrases of each row, and `error`.

    >>> found = keyphrases(ray.data.read_parquet("s3://archive/abstracts"), workers=8)
    >>> found.write_parquet("s3://archive/phrases")

    A row's text is its columns `text`, those that it has, joined by newlines; `id` names its document, if there is such
    a column. `present` is a list of {phrase, score, spans: [{start, end}]}, `absent` one of {phrase, score, sources:
    [{id, share}]}. A row that cannot be used has no phrases, and in `error` the reason; `error` is null in all others.

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
    low, high = workers if isinstance(workers, tuple) else (workers, workers)
    if low is None:
        low, high = 1, Resources(None, cpus, gpus).capacity(connect())
    return dataset.map_batches(
        KeyphraseColumns,
        fn_constructor_kwargs={
            "model": on_any_node(str(model)) if model is not None else None,
            "collection": on_any_node(str(collection)) if isinstance(collection, str | Path) else collection,
            "settings": settings or Settings(),
            "top_k": top_k,
            "text": columns,
            "id": id,
            "threads": cpus,
            "device": "cuda" if gpus else None,
        },
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=data.ActorPoolStrategy(min_size=low, max_size=high),
        num_cpus=cpus,
        num_gpus=gpus or None,
    )


class KeyphraseColumns:
    """What `keyphrases` runs on its workers: a table in, the same with three more columns out."""

    def __init__(
        self,
        model: str | None,
        collection: str | bool | None,
        settings: Settings,
        top_k: int,
        text: Sequence[str],
        id: str,
        threads: int,
        device: str | None,
    ) -> None:
        from erukg.integrations.ray.keyphrase_job import load_generator

        self._generator = load_generator(model, collection, "model", device, settings)
        self._top_k, self._threads = top_k, threads
        self._text, self._id = tuple(text), id

    def __call__(self, table: Any) -> Any:
        import pyarrow as pa

        from erukg.integrations.ray.sinks import keyphrase_types, table_row

        if there := [name for name in _COLUMNS if name in table.column_names]:
            raise InputError(f"The dataset has a column '{there[0]}' already; drop or rename it first.")
        wanted = [name for name in self._text if name in table.column_names]
        if not wanted:
            names = ", ".join(repr(name[:40]) for name in table.column_names[:8])
            raise InputError(f"The dataset has none of the columns {', '.join(self._text)} (it has: {names}).")
        if self._id in table.column_names:
            wanted.append(self._id)
        read = [attempt(self._document, row) for row in table.select(wanted).to_pylist()]
        documents = (answer.unwrap() for answer in read if answer.error is None)
        answers = self._generator.stream(documents, self._top_k, threads=self._threads)
        rows = []
        for unread in read:
            error, result = unread.error, None
            if error is None:
                answer = next(answers)
                error, result = answer.error, answer.result
            found = {"present": [], "absent": []} if result is None else table_row(result)
            rows.append({**found, "error": None if error is None else str(error)})
        types = {**keyphrase_types(), "error": pa.string()}
        for name in _COLUMNS:
            table = table.append_column(name, pa.array([row[name] for row in rows], types[name]))
        return table

    def _document(self, row: Mapping[str, Any]) -> tuple[str | None, str]:
        parts = []
        for name in self._text:
            value = row.get(name)
            if value is not None and not isinstance(value, str):
                raise InputError(f"Column '{name}' must hold strings, not {type(value).__name__}.")
            if value:
                parts.append(value)
        id = row.get(self._id)
        return None if id is None else str(id), "\n".join(parts)

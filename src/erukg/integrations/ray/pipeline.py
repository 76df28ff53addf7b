"""Keyphrases for a Ray Data pipeline that somebody already has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from erukg.core.settings import Settings
from erukg.errors import InputError, require
from erukg.integrations.ray.localising import on_any_node

if TYPE_CHECKING:
    from ray.data import Dataset

__all__ = ["KeyphraseColumns", "keyphrases"]

COLUMNS = ("present", "absent", "error")


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
    """The dataset with three columns more: `present` and `absent`, the phrases of each row, and `error`.

    >>> found = keyphrases(ray.data.read_parquet("s3://archive/abstracts"), workers=8)
    >>> found.write_parquet("s3://archive/phrases")

    A row's text is its columns `text`, those that it has, joined by newlines; `id` names its document, if there is such
    a column. `present` is a list of {phrase, score, spans: [{start, end}]}, `absent` one of {phrase, score, sources:
    [{id, share}]}. A row that cannot be used has no phrases, and in `error` the reason; `error` is null in all others.

    Workers load the model once. `model` and `collection` are as in `KeyphraseGenerator.from_pretrained`, and may be
    URIs, which each node fetches once; a collection is memory-mapped, so that the workers of a node share its pages.
    There are `workers` of them (or from one number to another, as Ray sees fit; by default up to as many as there are
    cores or GPUs), each with `cpus` cores, which work on a document each, and `gpus` GPUs, where 0.5 means that two
    share one.
    """
    ray = require("ray", "ray", "Working on a cluster")
    require("ray.data", "ray", "Working on a cluster")
    columns = (text,) if isinstance(text, str) else tuple(text)
    if not columns or id in columns:
        raise InputError("The text is one column or more, none of which is the id.")
    low, high = workers if isinstance(workers, tuple) else (workers, workers)
    if low is None:
        from erukg.integrations.ray.crew import Pool
        from erukg.integrations.ray.running import connect

        low, high = 1, Pool(None, cpus, gpus).size(connect(), 1 << 20)
    folder = on_any_node(str(collection)) if isinstance(collection, str | Path) else collection
    return dataset.map_batches(
        KeyphraseColumns,
        fn_constructor_kwargs={
            "model": on_any_node(str(model)) if model is not None else None,
            "collection": folder,
            "settings": settings or Settings(),
            "top_k": top_k,
            "text": columns,
            "id": id,
            "threads": cpus,
            "device": "cuda" if gpus else None,
        },
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=ray.data.ActorPoolStrategy(min_size=low, max_size=high),
        num_cpus=cpus,
        num_gpus=gpus or None,
    )


class KeyphraseColumns:
    """What `keyphrases` runs on its workers: a table in, the same with three columns more out."""

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
        from erukg.integrations.ray.tasks import Batches, load_generator

        generator = load_generator(model, collection, "model", device, settings)
        self._batches = Batches(generator, top_k, False, threads)
        self._text, self._id = tuple(text), id

    def __call__(self, table: Any) -> Any:
        import pyarrow as pa

        from erukg.backends.threads import past_refusals
        from erukg.integrations.ray.sinks import keyphrase_types, table_row

        if there := [name for name in COLUMNS if name in table.column_names]:
            raise InputError(f"The dataset has a column '{there[0]}' already; drop or rename it first.")
        wanted = [name for name in self._text if name in table.column_names]
        if not wanted:
            names = ", ".join(repr(name[:40]) for name in table.column_names[:8])
            raise InputError(f"The dataset has none of the columns {', '.join(self._text)} (it has: {names}).")
        if self._id in table.column_names:
            wanted.append(self._id)
        rows = table.select(wanted).to_pylist()
        out: list[dict[str, Any]] = [{"present": [], "absent": [], "error": None} for _ in rows]
        good: list[tuple[int, str | None, str]] = []
        for i, row in enumerate(rows):
            try:
                good.append((i, *self._document(row)))
            except InputError as error:
                out[i]["error"] = str(error)

        def refused(item: tuple[int, str | None, str], error: InputError) -> None:
            out[item[0]]["error"] = str(error)

        def work(items: Any) -> Any:
            order: list[int] = []

            def pairs() -> Any:
                for i, id, text in items:
                    order.append(i)
                    yield id, text

            for found in self._batches.run(pairs()):
                yield order.pop(0), found

        for i, found in past_refusals(work, good, refused):
            row = table_row(found)
            out[i].update(present=row["present"], absent=row["absent"])
        types = {**keyphrase_types(), "error": pa.string()}
        for name in COLUMNS:
            table = table.append_column(name, pa.array([row[name] for row in out], types[name]))
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

"""Keyphrases of every document, or rows expanded with them: `generate`, `extract` and `expand` on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from erukg.core.expansion import check_row, expand_row
from erukg.core.results import Keyphrases
from erukg.core.settings import Settings
from erukg.core.streams import Answer
from erukg.errors import CollectionError, InputError
from erukg.generator import KeyphraseGenerator
from erukg.integrations.ray.node_cache import local_copy
from erukg.integrations.ray.partitions import Partition
from erukg.integrations.ray.sinks import JsonLines, Parquet, Sink, expanded_schema, keyphrase_schema, table_row
from erukg.integrations.ray.storage import Store
from erukg.integrations.ray.tasks import Job, OnBad, Process
from erukg.io import BadDocument, InputDocument
from erukg.io.parquet import open_parquet
from erukg.io.streams import open_bytes
from erukg.taggers import load_tagger

# TEMPORARY until CORE_READY
if not hasattr(KeyphraseGenerator, "stream"):

    def _shim(self, items, top_k=10, settings=None, *, explain=False, threads=None):
        from erukg.core.inputs import as_item
        from erukg.core.streams import attempt

        def one(given):
            item = as_item(given)
            return self.generate(item.text, top_k, settings, explain=explain, id=item.id)

        from erukg.backends.threads import in_order

        return in_order(lambda i: attempt(one, i), items, threads)

    KeyphraseGenerator.stream = _shim

__all__ = ["KeyphraseJob"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyphraseJob(Job):
    """`generate`, `extract` or `expand`, as the commands of these names; only `expand` keeps the rows.

    `model` and `collection` are folders or URIs, None for the bundled ones, False for no collection. `form` is "jsonl"
    or "parquet"; expanded rows are written in the form they had.
    """

    command: str
    collection: str | bool | None = None
    tagger: str = "model"
    top_k: int = 10
    explain: bool = False
    append: bool = False
    form: str = "jsonl"
    choices: Settings = field(default_factory=Settings)

    @property
    def keeps_rows(self) -> bool:
        return self.command == "expand"

    def settings(self) -> dict[str, Any]:
        return {
            **Job.settings(self),
            "command": self.command,
            "collection": self._collection_key(),
            "tagger": self.tagger,
            "top_k": self.top_k,
            "explain": self.explain,
            "append": self.append,
            "form": "as the input" if self.keeps_rows else self.form,
            **self._choices().to_dict(),
        }

    def _choices(self) -> Settings:
        return self.choices.extraction() if self.command == "extract" else self.choices

    def _collection_key(self) -> str | None:
        """A name for the contents of the collection, whatever folder it lies in."""
        from erukg.collection.bundled import bundled_collection
        from erukg.collection.manifest import read_manifest

        if self.collection is False:
            return None
        term_space = self.model_folder().term_space
        folder = local_copy(self.collection) if isinstance(self.collection, str) else bundled_collection(term_space)
        if folder is None:
            return None
        manifest = read_manifest(Path(folder))
        if manifest.fingerprint != term_space:
            raise CollectionError(
                "The collection was made with another model than the one given; build it again with this model, "
                "or give the model it was made with."
            )
        files = "-".join(f"{file.crc32:08x}" for file in manifest.files)
        return f"{manifest.documents} documents, {files}"

    def load_generator(self) -> KeyphraseGenerator:
        """The generator on this node; folders named by URI are fetched first."""
        folder = local_copy(self.collection) if isinstance(self.collection, str) else None
        return KeyphraseGenerator.from_pretrained(
            local_copy(self.model),
            False if self.collection is False else folder,
            tagger=load_tagger(self.tagger),
            settings=self._choices(),
            device=self.device,
        )

    def load(self) -> Process:
        return partial(_write_keyphrases, self, self.load_generator())


def _write_keyphrases(
    job: KeyphraseJob,
    generator: KeyphraseGenerator,
    partition: Partition,
    documents: Iterator[InputDocument],
    store: Store,
    on_bad: OnBad,
) -> tuple[int, tuple[dict[str, Any], ...]]:
    form = partition.form if job.keeps_rows else job.form

    def accepted() -> Iterator[InputDocument]:
        for document in documents:
            try:
                if job.keeps_rows:
                    check_row(document.fields or {}, as_json=form == "jsonl")
            except InputError as error:
                on_bad(BadDocument(document.place, str(error)))
            else:
                yield document

    def rows() -> Iterator[dict[str, Any]]:
        for answer in generator.stream(accepted(), job.top_k, explain=job.explain, threads=job.threads):
            if answer.error is not None:
                on_bad(BadDocument(answer.item.place, str(answer.error)))
            else:
                yield _row(job, form, answer)

    results = rows()
    first = next(results, None)
    if first is None:  # no file: some readers stumble over empty ones
        return 0, ()
    name = f"part-{partition.number:06d}.{form}"
    with store.create(name) as stream, closing(_sink(job, form, partition, stream)) as sink:
        count = 0
        for row in chain([first], results):
            sink.write(row)
            count += 1
    return count, ({"name": name},)


def _row(job: KeyphraseJob, form: str, answer: Answer[InputDocument, Keyphrases]) -> dict[str, Any]:
    found = answer.unwrap()
    if not job.keeps_rows:
        return found.to_dict() if form == "jsonl" else table_row(found)
    present, absent = ([k.phrase for k in kind if k.score > 0] for kind in (found.present, found.absent))
    return expand_row(answer.item.fields or {}, present, absent, append=job.append)


def _sink(job: KeyphraseJob, form: str, partition: Partition, stream: Any) -> Sink:
    if form == "jsonl":
        return JsonLines(stream)
    if not job.keeps_rows:
        return Parquet(stream, keyphrase_schema())
    with open_bytes(partition.uri) as source, open_parquet(source) as file:
        return Parquet(stream, expanded_schema(file.schema_arrow))

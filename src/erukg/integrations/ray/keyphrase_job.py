"""Keyphrases of every document, or rows expanded with them: `generate`, `extract` and `expand` on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from erukg.collection import bundled_collection
from erukg.collection.manifest import read_manifest
from erukg.core.expansion import best_phrases, check_row, expand_row
from erukg.core.results import Keyphrases
from erukg.core.runner import Request
from erukg.core.settings import Settings
from erukg.core.streams import Answer, attempt
from erukg.errors import CollectionError
from erukg.generator import KeyphraseGenerator
from erukg.integrations.ray.node_cache import local_copy
from erukg.integrations.ray.partitions import Partition
from erukg.integrations.ray.storage import Store
from erukg.integrations.ray.tasks import Job, OnBad, Written
from erukg.io import BadDocument, InputDocument
from erukg.io.columns import expanded_schema, result_schema
from erukg.io.parquet import open_parquet
from erukg.io.streams import open_bytes
from erukg.io.writers import JsonWriter, ParquetWriter, Row, Writer
from erukg.taggers import load_tagger

__all__ = ["KeyphraseJob"]

Stream = Callable[[Iterable[Any]], Iterator[Answer[Any, Keyphrases]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyphraseJob(Job):
    """`generate`, `extract` or `expand`, as the commands of these names; only `expand` keeps the rows.

    `model` and `collection` are folders or URIs, None for the bundled ones, False for no collection. `form` is "jsonl"
    or "parquet"; expanded rows are written in the form they had, with `present` and `absent` phrases at most, other
    results have `top_k` of each.
    """

    command: str
    collection: str | bool | None = None
    tagger: str = "model"
    language: Literal["en"] | None = None
    top_k: int = 10
    present: int = 10
    absent: int = 20
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
            "language": self.language,
            **({"present": self.present, "absent": self.absent} if self.keeps_rows else {"top_k": self.top_k}),
            "explain": self.explain,
            "append": self.append,
            "form": "as the input" if self.keeps_rows else self.form,
            **self._choices().to_dict(),
        }

    @property
    def _most(self) -> int:
        return max(self.present, self.absent) if self.keeps_rows else self.top_k

    def _choices(self) -> Settings:
        return self.choices.extraction() if self.command == "extract" else self.choices

    def _collection_key(self) -> str | None:
        """A name for the contents of the collection, whatever folder it lies in."""
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

    def load(self) -> Stream:
        """The generator's `stream` on this node; folders named by URI are fetched first."""
        folder = local_copy(self.collection) if isinstance(self.collection, str) else None
        generator = KeyphraseGenerator.from_pretrained(
            local_copy(self.model),
            False if self.collection is False else folder,
            tagger=load_tagger(self.tagger),
            settings=self._choices(),
            device=self.device,
            language=self.language,
        )
        if self.device is None:
            return partial(generator.stream, top_k=self._most, explain=self.explain, threads=self.threads)
        from erukg.gpu import DeviceRunner

        # The processes around a GPU stay from one partition to the next.
        loaded: Any = generator
        runner = DeviceRunner(loaded.backend, loaded.background)
        return runner.open(generator, Request(self._most, generator.settings, self.explain), self.threads).run

    def process(
        self, loaded: Stream, partition: Partition, documents: Iterator[InputDocument], store: Store, on_bad: OnBad
    ) -> Written:
        form = partition.form if self.keeps_rows else self.form
        check = partial(check_row, as_json=form == "jsonl")

        def accepted() -> Iterator[InputDocument]:
            for document in documents:
                error = attempt(check, document.fields or {}).error if self.keeps_rows else None
                if error is None:
                    yield document
                else:
                    on_bad(BadDocument(document.place, str(error)))

        def results() -> Iterator[Row]:
            for answer in loaded(accepted()):
                document, found = answer.item, answer.result
                if found is None:
                    on_bad(BadDocument(document.place, str(answer.error)))
                elif self.keeps_rows:
                    phrases = best_phrases(found, self.present, self.absent)
                    yield expand_row(document.fields or {}, *phrases, append=self.append)
                else:
                    yield found

        rows = results()
        first = next(rows, None)
        if first is None:  # no file: some readers stumble over empty ones
            return 0, ()
        name, count = f"part-{partition.number:06d}.{form}", 0
        with store.create(name) as file, closing(self._writer(form, partition, file)) as writer:
            for count, row in enumerate(chain([first], rows), 1):  # noqa: B007 (counted)
                writer.write(row)
        return count, ({"name": name},)

    def _writer(self, form: str, partition: Partition, file: Any) -> Writer:
        if form == "jsonl":
            return JsonWriter(file)
        if not self.keeps_rows:
            return ParquetWriter(file, result_schema(Keyphrases, self.explain))
        with open_bytes(partition.uri) as stream, open_parquet(stream) as source:
            return ParquetWriter(file, expanded_schema(source.schema_arrow))

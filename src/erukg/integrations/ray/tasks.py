"""What a worker does with a partition: keyphrases, expanded rows, or segments of a collection."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from erukg._version import __version__
from erukg.backends import ModelFolder, find_model
from erukg.backends.threads import past_refusals
from erukg.core.expansion import check_row, expand_row
from erukg.core.results import Keyphrases
from erukg.core.settings import Settings
from erukg.errors import CollectionError, InputError
from erukg.generator import KeyphraseGenerator
from erukg.integrations.ray.inputs import open_input
from erukg.integrations.ray.localising import on_this_node
from erukg.integrations.ray.partitions import Partition
from erukg.integrations.ray.sinks import JsonLines, Parquet, Sink, expanded_schema, keyphrase_schema, table_row
from erukg.integrations.ray.storage import Store
from erukg.io import InputDocument, Limits
from erukg.io.parquet import open_parquet
from erukg.taggers import NltkTagger, SpacyTagger, Tagger

if TYPE_CHECKING:
    from erukg.gpu.pipeline import Standing

__all__ = ["Batches", "CollectionSource", "KeyphraseTask", "Refuse", "Task", "Work", "load_generator"]

Refuse = Callable[[str, str], None]
"""Called with the place of a document that cannot be used, and why."""
CollectionSource = str | bool | None
"""A folder or URI, None for the bundled collection, False for none."""


class Work(Protocol):
    """A task that has been loaded, on a worker."""

    def run(
        self,
        partition: Partition,
        documents: Iterator[InputDocument],
        store: Store,
        refuse: Refuse,
        note: Callable[[str], None] | None,
    ) -> tuple[int, tuple[dict[str, Any], ...]]:
        """Write what comes of the documents; how many results there are, and the files they are in.

        With `note` it works on one document at a time and calls it with the place of each before it begins.
        """
        ...


class Task(Protocol):
    """A description of the work that travels to the workers."""

    @property
    def limits(self) -> Limits: ...

    @property
    def expands(self) -> bool:
        """Whether the rows themselves come out again."""
        ...

    def settings(self) -> dict[str, Any]:
        """All that decides what comes out, as plain data."""
        ...

    def load(self) -> Work: ...


@dataclass(frozen=True, slots=True)
class KeyphraseTask:
    """`generate`, `extract` (neither of which keeps the row) or `expand`, as the commands of these names.

    `form` is "jsonl" or "parquet"; expanded rows come out in the form they had. `threads` documents are worked on at a
    time; with `device` a GPU does, and `threads` processes beside it.
    """

    command: str
    model: str | None = None
    collection: CollectionSource = None
    tagger: str = "model"
    device: str | None = None
    threads: int = 1
    top_k: int = 10
    explain: bool = False
    append: bool = False
    form: str = "jsonl"
    choices: Settings = field(default_factory=Settings)
    limits: Limits = field(default_factory=Limits)

    @property
    def expands(self) -> bool:
        return self.command == "expand"

    def settings(self) -> dict[str, Any]:
        model = ModelFolder.open(find_model(on_this_node(self.model)))
        out: dict[str, Any] = {
            "command": self.command,
            "version": __version__,
            "model": model.fingerprint,
            "precision": model.precision,
            "collection": self._collection_key(model.term_space),
            "tagger": self.tagger,
            "top_k": self.top_k,
            "explain": self.explain,
            "append": self.append,
            "form": "as the input" if self.expands else self.form,
            "document_bytes": self.limits.document_bytes,
        }
        return {**out, **self._choices().to_dict()}

    def _choices(self) -> Settings:
        return self.choices.extraction() if self.command == "extract" else self.choices

    def _collection_key(self, term_space: str) -> str | None:
        """A name for the contents of the collection, whatever folder it lies in."""
        from erukg.collection.bundled import bundled_collection
        from erukg.collection.manifest import read_manifest

        if self.collection is False:
            return None
        folder = on_this_node(self.collection) if isinstance(self.collection, str) else bundled_collection(term_space)
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

    def load(self) -> Work:
        generator = load_generator(self.model, self.collection, self.tagger, self.device, self._choices())
        return _KeyphraseWork(self, generator)


def load_generator(
    model: str | None, collection: CollectionSource, tagger: str, device: str | None, settings: Settings
) -> KeyphraseGenerator:
    """The generator on this node; folders named by URI are fetched first."""
    taggers: dict[str, Callable[[], Tagger | None]] = {"model": lambda: None, "spacy": SpacyTagger, "nltk": NltkTagger}
    folder = on_this_node(collection) if isinstance(collection, str) else None
    return KeyphraseGenerator.from_pretrained(
        on_this_node(model),
        False if collection is False else folder,
        tagger=taggers[tagger](),
        settings=settings,
        device=device,
    )


class Batches:
    """`generate_batch` again and again; on a GPU the processes beside it start only once."""

    def __init__(self, generator: KeyphraseGenerator, top_k: int, explain: bool, threads: int) -> None:
        self._generator, self._top_k, self._explain, self._threads = generator, top_k, explain, threads
        self._standing: Standing | None = None
        if isinstance(generator.backend, BatchEncoder):
            from erukg.gpu import standing_keyphrases

            self._standing = standing_keyphrases(generator, top_k, generator.settings, explain=explain, workers=threads)

    def run(self, pairs: Iterable[tuple[str | None, str]]) -> Iterator[Keyphrases]:
        if self._standing is not None:
            return self._standing.stream(pairs)
        return self._generator.generate_batch(pairs, self._top_k, explain=self._explain, threads=self._threads)


class _KeyphraseWork:
    def __init__(self, task: KeyphraseTask, generator: KeyphraseGenerator) -> None:
        self._task, self._generator = task, generator
        self._batches = Batches(generator, task.top_k, task.explain, task.threads)

    def run(
        self,
        partition: Partition,
        documents: Iterator[InputDocument],
        store: Store,
        refuse: Refuse,
        note: Callable[[str], None] | None,
    ) -> tuple[int, tuple[dict[str, Any], ...]]:
        task = self._task
        form = partition.form if task.expands else task.form
        waiting: deque[InputDocument] = deque()

        def refused(document: InputDocument, error: InputError) -> None:
            waiting.popleft()
            refuse(document.place, str(error))

        def accepted() -> Iterator[InputDocument]:
            for document in documents:
                if task.expands:
                    try:
                        check_row(document.fields or {}, as_json=form == "jsonl")
                    except InputError as error:
                        refuse(document.place, str(error))
                        continue
                waiting.append(document)
                yield document

        def work(items: Iterable[InputDocument]) -> Iterator[Keyphrases]:
            if note is not None:
                return self._one_by_one(items, note)
            return self._batches.run((document.id, document.text) for document in items)

        name = f"part-{partition.number:06d}.{form}"
        count = 0
        results = past_refusals(work, accepted(), refused)
        # No file for a partition without results: some readers stumble over empty ones.
        first = next(results, None)
        if first is None:
            return 0, ()
        with store.create(name) as stream:
            sink = self._sink(stream, form, partition)
            while first is not None:
                sink.write(self._row(waiting.popleft(), first, form))
                count += 1
                first = next(results, None)
            sink.close()
        return count, ({"name": name},)

    def _one_by_one(self, items: Iterable[InputDocument], note: Callable[[str], None]) -> Iterator[Keyphrases]:
        for document in items:
            note(document.place)
            try:
                yield self._generator.generate(
                    document.text, self._task.top_k, explain=self._task.explain, id=document.id
                )
            except (OSError, MemoryError, InputError):
                raise
            except Exception as error:
                raise InputError(f"It could not be worked on ({type(error).__name__}: {error}).") from error

    def _row(self, document: InputDocument, found: Keyphrases, form: str) -> dict[str, Any]:
        if not self._task.expands:
            return found.to_dict() if form == "jsonl" else table_row(found)
        present, absent = ([k.phrase for k in kind if k.score > 0] for kind in (found.present, found.absent))
        return expand_row(document.fields or {}, present, absent, append=self._task.append)

    def _sink(self, stream: Any, form: str, partition: Partition) -> Sink:
        if form == "jsonl":
            return JsonLines(stream)
        if not self._task.expands:
            return Parquet(stream, keyphrase_schema())
        with open_input(partition.uri) as source, open_parquet(source) as file:
            return Parquet(stream, expanded_schema(file.schema_arrow))

"""A collection built by many workers: each partition becomes segments, and the driver puts them together."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from erukg._version import __version__
from erukg.backends import ModelFolder, OnnxBackend, find_model, load_backend
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.arrays import FileEntry
from erukg.collection.assembling import assemble, check_target, write_part
from erukg.collection.build import OnBad, Report
from erukg.collection.encoded import Analyser, EncodedDocument
from erukg.collection.gpu_analyser import GpuAnalyser
from erukg.collection.manifest import SegmentEntry
from erukg.collection.writer import PART_DOCUMENTS
from erukg.errors import CollectionError, ErukgError, InputError
from erukg.integrations.ray.crew import Pool
from erukg.integrations.ray.localising import on_this_node
from erukg.integrations.ray.partitions import Partition, read_partition
from erukg.integrations.ray.plan import Plan
from erukg.integrations.ray.running import Summary, run_job
from erukg.integrations.ray.storage import Store, is_uri
from erukg.integrations.ray.tasks import Refuse, Work
from erukg.io import BadDocument, InputDocument, Limits

__all__ = ["CollectionTask", "build_collection"]

_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class CollectionTask:
    """Segments of a collection from the documents of a partition."""

    model: str | None = None
    device: str | None = None
    threads: int = 1
    most_terms: int = 128
    limits: Limits = field(default_factory=Limits)

    @property
    def expands(self) -> bool:
        return False

    def folder(self) -> ModelFolder:
        return ModelFolder.open(find_model(on_this_node(self.model)))

    def settings(self) -> dict[str, Any]:
        model = self.folder()
        return {
            "command": "collection build",
            "version": __version__,
            "model": model.fingerprint,
            "precision": model.precision,
            "terms": self.most_terms,
            "document_bytes": self.limits.document_bytes,
        }

    def load(self) -> Work:
        return _CollectionWork(self, load_backend(find_model(on_this_node(self.model)), self.device))


class _CollectionWork:
    def __init__(self, task: CollectionTask, encoder: OnnxBackend) -> None:
        self._task = task
        self._single = ModelAnalyser(encoder)
        self._analyser: Analyser = ModelAnalyser(encoder, threads=task.threads) if task.threads > 1 else self._single
        if isinstance(encoder, BatchEncoder):
            self._analyser = GpuAnalyser(encoder, workers=task.threads, standing=True)

    def run(
        self,
        partition: Partition,
        documents: Iterator[InputDocument],
        store: Store,
        refuse: Refuse,
        note: Callable[[str], None] | None,
    ) -> tuple[int, tuple[dict[str, Any], ...]]:
        analyser, batch = self._analyser, 32
        if note is not None:
            analyser, batch = _Careful(self._single), 1
            documents = _noted(documents, note)
        files: list[dict[str, Any]] = []
        with tempfile.TemporaryDirectory(prefix="erukg-part-") as folder:
            segments = write_part(
                Path(folder),
                documents,
                analyser,
                most_terms=self._task.most_terms,
                batch=batch,
                on_bad=lambda bad: refuse(bad.place, bad.message),
            )
            for number, entry in enumerate(segments):
                name = f"part-{partition.number:06d}-{number:02d}.segment"
                with store.create(name) as stream, (Path(folder) / entry.file.name).open("rb") as source:
                    shutil.copyfileobj(source, stream, _CHUNK)
                sizes = {"bytes": entry.file.bytes, "crc32": entry.file.crc32}
                files.append({"name": name, "documents": entry.documents, "length": entry.length, **sizes})
        return sum(entry.documents for entry in segments), tuple(files)


def _noted(documents: Iterator[InputDocument], note: Callable[[str], None]) -> Iterator[InputDocument]:
    for document in documents:
        note(document.place)
        yield document


class _Careful:
    """An analyser that blames whatever goes wrong on the text at hand."""

    def __init__(self, analyser: Analyser) -> None:
        self._analyser = analyser
        self.fingerprint, self.vocab_size = analyser.fingerprint, analyser.vocab_size

    def __call__(self, texts: Sequence[str]) -> Sequence[EncodedDocument]:
        try:
            return self._analyser(texts)
        except (OSError, MemoryError, InputError):
            raise
        except Exception as error:
            raise InputError(f"It could not be worked on ({type(error).__name__}: {error}).") from error


def build_collection(
    out: str | Path,
    sources: Sequence[str],
    task: CollectionTask,
    pool: Pool,
    *,
    work: str | None = None,
    restart: bool = False,
    partition_documents: int = PART_DOCUMENTS,
    on_bad: OnBad | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Make a collection in the local folder `out`: the same that `erukg.collection.build.build` makes of the sources.

    Finished partitions lie in `work` (default: `out` with .work behind it), a folder or URI that all nodes can reach,
    until the collection is complete; run again after an interruption, it goes on with them.
    """
    if is_uri(str(out)):
        raise InputError(f"A collection is made in a local folder, not in {out}; copy it there when it is complete.")
    folder = Path(out)
    model = task.folder()
    key = hashlib.sha256(json.dumps([task.settings(), list(map(str, sources))]).encode()).hexdigest()
    check_target(folder, model.term_space, model.vocab_size, key, restart)
    store = Store(work or f"{folder}.work")
    if restart:
        store.remove_folder()
    summary = run_job(
        task,
        sources,
        store,
        pool,
        partition_documents=partition_documents,
        on_bad=on_bad,
        on_progress=on_progress,
        strict=True,
    )
    if summary.failed:
        raise ErukgError(
            f"{summary.failed} of {summary.partitions} partitions could not be finished, so there is no collection "
            "yet; the same command tries them again."
        )
    owners, parts = _parts(summary, store)
    twice = assemble(folder, parts, fingerprint=model.term_space, vocab_size=model.vocab_size, key=key, restart=restart)
    _report_twice(store, [(owners[segment], id) for segment, id in twice], task.limits, on_bad)
    resumed = summary.resumed_rows
    store.remove_folder()
    bad = summary.bad + len(twice)
    return Report(summary.documents - len(twice), bad, summary.documents + summary.bad, resumed)


def _parts(summary: Summary, store: Store) -> tuple[list[int], list[tuple[SegmentEntry, Callable[[Path], None]]]]:
    """All segments in the order of the input, and the partition that each is of."""
    owners: list[int] = []
    parts: list[tuple[SegmentEntry, Callable[[Path], None]]] = []
    for number in sorted(summary.outcomes):
        for file in summary.outcomes[number].files:
            entry = SegmentEntry(
                FileEntry(file["name"], file["bytes"], file["crc32"]),
                file["documents"],
                file["documents"],
                file["length"],
            )
            owners.append(number)
            parts.append((entry, _fetcher(store, entry.file)))
    return owners, parts


def _fetcher(store: Store, file: FileEntry) -> Callable[[Path], None]:
    def fetch(path: Path) -> None:
        crc = 0
        with store.open(file.name) as source, path.open("xb") as target:
            while data := source.read(_CHUNK):
                crc = zlib.crc32(data, crc)
                target.write(data)
        if crc != file.crc32:
            raise CollectionError(
                f"{store.describe(file.name)} is not as its worker wrote it; remove {store.describe('')} and run again."
            )

    return fetch


def _report_twice(store: Store, twice: Sequence[tuple[int, str]], limits: Limits, on_bad: OnBad | None) -> None:
    """Tell where the documents are whose id came before: their partitions are read again for it."""
    plan = Plan.load(store)
    if on_bad is None or plan is None:
        return
    wanted: dict[int, list[str]] = {}
    for number, id in twice:
        wanted.setdefault(number, []).append(id)
    for number, ids in sorted(wanted.items()):
        places: dict[str, str] = {}
        for item in read_partition(plan.partitions[number], limits):
            if isinstance(item, InputDocument) and item.text.strip():
                places.setdefault(item.id, item.place)
        for id in ids:
            on_bad(BadDocument(places.get(id, id), f"The id {id!r} is in the collection already."))

"""A collection built on a cluster: each partition becomes segments, and the driver puts them together."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from erukg._version import __version__
from erukg.backends import ModelFolder, find_model, load_encoder
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.arrays import FileEntry
from erukg.collection.assembling import assemble, check_target, write_part
from erukg.collection.build import Report
from erukg.collection.encoded import Analyser
from erukg.collection.manifest import SegmentEntry
from erukg.collection.writer import PART_DOCUMENTS
from erukg.errors import CollectionError, ErukgError, InputError
from erukg.integrations.ray.cluster import Resources
from erukg.integrations.ray.driver import run_job
from erukg.integrations.ray.node_cache import local_copy
from erukg.integrations.ray.partitions import Partition, read_partition
from erukg.integrations.ray.plan import Plan
from erukg.integrations.ray.storage import Store, is_uri
from erukg.integrations.ray.tasks import OnBad, Process
from erukg.io import BadDocument, InputDocument, Limits

__all__ = ["CollectionJob", "build_collection"]

_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class CollectionJob:
    """Segments of a collection from the documents of each partition."""

    model: str | None = None
    device: str | None = None
    threads: int = 1
    most_terms: int = 128
    limits: Limits = field(default_factory=Limits)

    @property
    def expands(self) -> bool:
        return False

    def folder(self) -> ModelFolder:
        return ModelFolder.open(find_model(local_copy(self.model)))

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

    def load(self) -> Process:
        encoder = load_encoder(find_model(local_copy(self.model)), self.device)
        return partial(_write_segments, self, ModelAnalyser(encoder, threads=self.threads))


def _write_segments(
    job: CollectionJob,
    analyser: Analyser,
    partition: Partition,
    documents: Iterator[InputDocument],
    store: Store,
    on_bad: OnBad,
) -> tuple[int, tuple[dict[str, Any], ...]]:
    files: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="erukg-part-") as folder:
        segments = write_part(Path(folder), documents, analyser, most_terms=job.most_terms, on_bad=on_bad)
        for number, entry in enumerate(segments):
            name = f"part-{partition.number:06d}-{number:02d}.segment"
            with store.create(name) as stream, (Path(folder) / entry.file.name).open("rb") as source:
                shutil.copyfileobj(source, stream, _CHUNK)
            sizes = {"bytes": entry.file.bytes, "crc32": entry.file.crc32}
            files.append({"name": name, "documents": entry.documents, "length": entry.length, **sizes})
    return sum(entry.documents for entry in segments), tuple(files)


def build_collection(
    out: str | Path,
    sources: Sequence[str],
    job: CollectionJob,
    resources: Resources,
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
    model = job.folder()
    key = hashlib.sha256(json.dumps([job.settings(), list(map(str, sources))]).encode()).hexdigest()
    check_target(folder, model.term_space, model.vocab_size, key, restart)
    store = Store(work or f"{folder}.work")
    if restart:
        store.remove_folder()
    summary = run_job(
        job,
        sources,
        store,
        resources,
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
    # The segments in the order of the input, and the partition that each is of.
    owners, parts = [], []
    for number, outcome in sorted(summary.outcomes.items()):
        for file in outcome.files:
            entry = FileEntry(file["name"], file["bytes"], file["crc32"])
            segment = SegmentEntry(entry, file["documents"], file["documents"], file["length"])
            owners.append(number)
            parts.append((segment, partial(_fetch, store, entry)))
    twice = assemble(folder, parts, fingerprint=model.term_space, vocab_size=model.vocab_size, key=key, restart=restart)
    if on_bad is not None:
        _report_twice(store, [(owners[segment], id) for segment, id in twice], job.limits, on_bad)
    store.remove_folder()
    bad, rows = summary.bad + len(twice), summary.documents + summary.bad
    return Report(summary.documents - len(twice), bad, rows, summary.resumed_rows)


def _fetch(store: Store, file: FileEntry, path: Path) -> None:
    crc = 0
    with store.open(file.name) as source, path.open("xb") as target:
        while data := source.read(_CHUNK):
            crc = zlib.crc32(data, crc)
            target.write(data)
    if crc != file.crc32:
        raise CollectionError(
            f"{store.describe(file.name)} is not as its worker wrote it; remove {store.describe('')} and run again."
        )


def _report_twice(store: Store, twice: Sequence[tuple[int, str]], limits: Limits, on_bad: OnBad) -> None:
    """Report where the documents are whose id came before: their partitions are read again for it."""
    plan = Plan.load(store)
    assert plan is not None
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

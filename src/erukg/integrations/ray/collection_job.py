"""A collection built on a cluster: each partition becomes segments, and the driver joins them."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from erukg.collection.analyser import as_the_paper, choices_of
from erukg.collection.arrays import FileEntry, checksum
from erukg.collection.build import IngestReport
from erukg.collection.distributed import check_target, combine_parts, write_part
from erukg.collection.encoded import BY_SIZE, TOP_PHRASES, Analyser
from erukg.collection.manifest import SegmentEntry
from erukg.collection.tags import check_field
from erukg.collection.writer import PART_DOCUMENTS
from erukg.core.settings import Settings
from erukg.errors import CollectionError, ErukgError, InputError
from erukg.generator import load_analyser
from erukg.integrations.ray.driver import run_job
from erukg.integrations.ray.node_cache import local_copy
from erukg.integrations.ray.partitions import Partition, read_partition
from erukg.integrations.ray.plan import Plan
from erukg.integrations.ray.storage import Store
from erukg.integrations.ray.tasks import Job, OnBad, Resources, Written
from erukg.io import BadDocument, InputDocument, Limits
from erukg.io.places import is_uri

__all__ = ["CollectionJob", "build_collection"]

_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionJob(Job):
    """Segments of a collection from the documents of each partition."""

    most_terms: int = 128
    phrases: int = TOP_PHRASES
    choices: Settings = field(default_factory=Settings)
    glossary_documents: int = BY_SIZE
    titles: bool = True
    tags: str | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        return () if self.tags is None else (self.tags,)

    def settings(self) -> dict[str, Any]:
        return {
            "command": "collection build",
            "terms": self.most_terms,
            "glossary_documents": self.glossary_documents or "by size",
            "titles": self.titles,
            **({} if self.tags is None else {"tags": self.tags}),
            **choices_of(self.phrases, self.choices),
            **Job.settings(self),
        }

    def load(self) -> Analyser:
        return load_analyser(
            local_copy(self.model),
            self.device,
            self.threads,
            phrases=self.phrases,
            settings=self.choices,
            term_weights=self.most_terms > 0,
            keep_open=True,
        )

    def process(
        self, loaded: Analyser, partition: Partition, documents: Iterator[InputDocument], store: Store, on_bad: OnBad
    ) -> Written:
        files: list[dict[str, Any]] = []
        with tempfile.TemporaryDirectory(prefix="erukg-part-") as folder:
            segments = write_part(
                Path(folder),
                documents,
                loaded,
                most_terms=self.most_terms,
                titles=self.titles,
                tags=self.tags,
                on_bad=on_bad,
            )
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
) -> IngestReport:
    """Make a collection in the local folder `out`: the same that `erukg.collection.build.build` makes of the sources.

    Finished partitions lie in `work` (default: `out` with .work behind it), a folder or URI that all nodes can reach,
    until the collection is complete; run again after an interruption, it goes on with them.
    """
    if is_uri(str(out)):
        raise InputError(f"A collection is made in a local folder, not in {out}; copy it there when it is complete.")
    check_field(job.tags)
    folder = Path(out)
    model = job.model_folder()
    key = hashlib.sha256(json.dumps([job.settings(), list(map(str, sources))]).encode()).hexdigest()
    least = job.glossary_documents
    check_target(folder, model.term_space, model.vocab_size, key, restart, glossary_documents=least)
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
    twice = combine_parts(
        folder,
        parts,
        fingerprint=model.term_space,
        vocab_size=model.vocab_size,
        key=key,
        restart=restart,
        glossary_documents=least,
        paper=as_the_paper(choices_of(job.phrases, job.choices), job.most_terms, least),
        tags=job.tags,
    )
    if on_bad is not None:
        _report_twice(store, [(owners[segment], id) for segment, id in twice], job.limits, on_bad)
    store.remove_folder()
    bad, rows = summary.bad + len(twice), summary.documents + summary.bad
    return IngestReport(summary.documents - len(twice), bad, rows, summary.resumed_rows)


def _fetch(store: Store, file: FileEntry, path: Path) -> None:
    with store.open(file.name) as source, path.open("xb") as target:
        shutil.copyfileobj(source, target, _CHUNK)
    if checksum(path) != file.crc32:
        raise CollectionError(
            f"{store.root}/{file.name} is not as its worker wrote it; remove {store.root} and run again."
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

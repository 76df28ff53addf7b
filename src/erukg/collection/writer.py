"""Changing a collection: every change is a commit, and a commit happens entirely or not at all.

Order of a commit: new segments are written and synced, then the file with what depends on all of them, then
the manifest is replaced by a rename; only then are files that no commit needs deleted. Killed at any moment,
the folder holds the old commit or the new one, and left-over files that the next writer clears away. Readers
have the files they opened mapped, so deleting them takes nothing from them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import ANALYSIS
from erukg.collection.arrays import FileEntry, check_file
from erukg.collection.calibration import calibrate_locked, stale
from erukg.collection.commit import NONE_DEAD, derive, write_commit
from erukg.collection.encoded import BY_SIZE, DocumentRecord, EncodedDocument, check_document
from erukg.collection.id_index import IdIndex
from erukg.collection.lock import write_errors, writer_lock
from erukg.collection.manifest import Journal, Manifest, SegmentEntry, read_manifest, write_manifest
from erukg.collection.merging import merge_segments
from erukg.collection.opening import check_made_with, open_parts
from erukg.collection.own_files import check_free, clear_away
from erukg.collection.segment import Segment
from erukg.collection.segment_builder import SegmentBuilder
from erukg.collection.weights import MOST_TERMS, WEIGHT_LIMIT
from erukg.core.arguments import checked
from erukg.errors import CollectionError, InputError

__all__ = ["MERGED_DOCUMENTS", "PART_DOCUMENTS", "Writer"]

#: A part is written out at this many documents or terms, which bounds the memory of a build to some 200 MB.
PART_DOCUMENTS = 16_384
PART_LENGTH = 8_000_000
#: Merging makes no segment larger than this, which bounds its memory.
MERGED_DOCUMENTS = 1 << 22
_MOST_SEGMENTS = 8


class Writer:
    """The one writer of a collection; use it as a context manager, which holds the lock.

    `create` and `open` make one. `add` gathers documents and `commit` publishes them; `remove` and `merge`
    publish by themselves.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self._lock = ExitStack()
        self.manifest = manifest
        self._segments: list[Segment] = []
        self._dead: list[NDArray[np.uint8]] = []
        self._written: list[SegmentEntry] = []
        self._next_file = manifest.next_file
        self.part_documents = PART_DOCUMENTS
        self.most_terms = 128
        self._builder: SegmentBuilder | None = None
        self._known_ids: IdIndex | None = None
        self._replaced: dict[str, tuple[int, int]] = {}

    @classmethod
    @checked
    def create(
        cls,
        folder: str | Path,
        *,
        fingerprint: str,
        vocab_size: int,
        k1: float = 0.9,
        b: float = 0.4,
        glossary_documents: int = BY_SIZE,
        weight_limit: float = WEIGHT_LIMIT,
    ) -> Writer:
        """A new, empty collection for the model with this fingerprint; `folder` must not hold one already."""
        if not 0 < vocab_size <= 1 << 16:
            raise InputError(f"A collection keeps term ids below 65536; the model has a vocabulary of {vocab_size}.")
        if not (1e-6 <= k1 <= 1e3 and 0 <= b <= 1 and 1e-6 <= weight_limit <= 1e6 and glossary_documents >= 0):
            raise InputError("BM25 needs k1 above 0 and b from 0 to 1; the other numbers must be above 0.")
        folder = Path(folder)
        with write_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            check_free(folder)
        with ExitStack() as lock:
            lock.enter_context(writer_lock(folder))
            check_free(folder)
            manifest = Manifest(
                number=0,
                fingerprint=fingerprint,
                analysis=ANALYSIS,
                vocab_size=vocab_size,
                weight_limit=float(weight_limit),
                k1=float(k1),
                b=float(b),
                glossary_documents=glossary_documents,
                derived=True,
                frozen=False,
                next_file=0,
                commit=FileEntry("commit-00000000.bin", 0, 0),
            )
            writer = cls(folder, manifest)
            with write_errors(folder):
                writer._clear()
                writer._publish([], [], None)
            writer._lock = lock.pop_all()
        return writer

    @classmethod
    @checked
    def open(cls, folder: str | Path, *, fingerprint: str | None = None) -> Writer:
        """Open a collection for changes, or say who is changing it."""
        folder = Path(folder)
        read_manifest(folder)
        with ExitStack() as lock:
            lock.enter_context(writer_lock(folder))
            manifest, segments, commit = open_parts(folder)
            if manifest.frozen:
                raise CollectionError(
                    f"{folder} was slimmed down and can only be read; build one of your own to change."
                )
            check_made_with(folder, manifest, fingerprint)
            # The next commit takes over which documents are removed.
            check_file(folder / manifest.commit.name, manifest.commit)
            writer = cls(folder, manifest)
            writer._segments = list(segments)
            writer._dead = [state.dead for state in commit.states]
            writer._clear()
            writer._lock = lock.pop_all()
        return writer

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop what is not committed and let others write."""
        with self._lock:
            self._clear()

    def __len__(self) -> int:
        return self.manifest.documents

    @property
    def _ids(self) -> IdIndex:
        if self._known_ids is None:
            self._known_ids = IdIndex(self._segments, self._dead)
        return self._known_ids

    @checked
    def add(self, record: DocumentRecord, document: EncodedDocument, *, replace: bool = False) -> bool:
        """Gather a document for the next commit; an `InputError` says why one cannot be taken.

        With `replace` it takes the place of the one with its id, which is otherwise refused. Returns True
        when a commit is worthwhile.
        """
        check_document(record, document)
        if not record.id:
            raise InputError("It has no id.")
        if not record.text.strip():
            raise InputError("It has no text.")
        if record.id in self._ids.pending:
            raise InputError(f"The id {record.id!r} was given twice.")
        known = self._ids.find([record.id])[0]
        if known is not None and not replace:
            raise InputError(f"The id {record.id!r} is in the collection already.")
        if self._builder is None:
            m, most_terms = self.manifest, min(self.most_terms, MOST_TERMS)
            self._builder = SegmentBuilder(m.vocab_size, m.weight_limit, most_terms, self.part_documents, PART_LENGTH)
        self._builder.add(record, document)
        self._ids.pending.add(record.id)
        if record.tags and self.manifest.tags is None:
            self.note_tags("")
        if known is not None:
            self._replaced[record.id] = known
        return self._builder.full

    def note_tags(self, field: str | None) -> None:
        """Note, with the next commit, from which field the documents' tags come (None: the collection keeps none)."""
        self.manifest = replace(self.manifest, tags=field)

    @property
    def gathered(self) -> int:
        """How many documents wait for the next commit."""
        return len(self._builder) if self._builder is not None else 0

    @checked
    def keep(self, n: int) -> None:
        """Forget all gathered documents but the first `n`."""
        if self._builder is not None:
            self._builder.keep(n)

    def _settle(self) -> None:
        if self.gathered:
            self.commit(self.manifest.journal)

    @checked
    def commit(
        self,
        journal: Journal | None = None,
        *,
        glossary: bool = True,
        source: str | None = None,
        paper: bool | None = None,
    ) -> None:
        """Publish what was gathered, and how far the input has been read.

        Without `glossary` only what is new takes time; there is no glossary until a later commit. `source` is the key
        of the sources when the collection holds just their documents. `paper` says whether all of them were taken in as
        the paper does (None: as before).
        """
        if paper is not None:
            self.manifest = replace(self.manifest, paper=paper)
        with write_errors(self.folder):
            if self._builder is not None and len(self._builder):
                coming = set(self._builder.ids)
                self._replaced = {id: place for id, place in self._replaced.items() if id in coming}
                self._written.append(self._builder.write(self._file("segment")))
                self._builder = None
            stale = journal != self.manifest.journal or (glossary and not self.manifest.derived)
            if self._written or stale:
                dead = self._mark_removed(self._replaced.values())
                self._publish([*self.manifest.segments, *self._written], dead, journal, glossary, source)

    def adopt(
        self, parts: Iterable[tuple[SegmentEntry, Callable[[Path], None]]], journal: Journal
    ) -> list[tuple[int, str]]:
        """Fill an empty collection with segments that other writers made, in this order; functions fetch them to paths.

        Of documents with the same id the first counts; returns segment and id of the others.
        """
        entries: list[SegmentEntry] = []
        with write_errors(self.folder):
            for entry, fetch in parts:
                path = self._file("segment")
                fetch(path)
                entries.append(replace(entry, file=replace(entry.file, name=path.name)))
            self._publish(entries, [], journal, glossary=False)
            repeated = self._ids.repeated()
            if repeated:
                self._publish(entries, self._mark_removed([place for place, _ in repeated]), journal, glossary=False)
        return [(segment, id) for (segment, _), id in repeated]

    def _mark_removed(self, places: Collection[tuple[int, int]]) -> list[NDArray[np.uint8]]:
        """The marks of removed documents with these added."""
        dead = list(self._dead)
        for segment in {segment for segment, _ in places}:
            dead[segment] = (
                dead[segment].copy() if len(dead[segment]) else np.zeros(len(self._segments[segment]), np.uint8)
            )
        for segment, row in places:
            dead[segment][row] = 1
        for marks in dead:
            marks.setflags(write=False)
        return dead

    @checked
    def remove(self, ids: Iterable[str]) -> list[str]:
        """Remove the documents with these ids in one commit; returns those ids that it does not have."""
        self._settle()
        wanted = list(dict.fromkeys(ids))
        found = dict(zip(wanted, self._ids.find(wanted), strict=True))
        places = [place for place in found.values() if place is not None]
        if places:
            with write_errors(self.folder):
                self._publish(self.manifest.segments, self._mark_removed(places), self.manifest.journal)
        return [id for id, place in found.items() if place is None]

    @checked
    def reset(self, *, fingerprint: str, vocab_size: int, glossary_documents: int) -> None:
        """Throw every document away and start anew for this model."""
        with write_errors(self.folder):
            self._segments, self._dead = [], []
            self.manifest = replace(
                self.manifest,
                fingerprint=fingerprint,
                vocab_size=vocab_size,
                glossary_documents=glossary_documents,
                likeness=None,
                paper=False,
                tags=None,
            )
            self._publish([], [], None)

    def tidy(self) -> None:
        """Merge small segments when there are many, so that each addition costs little and none a rebuild."""
        self._settle()
        sizes = [entry.live for entry in self.manifest.segments]
        if len(sizes) > _MOST_SEGMENTS:
            first = next(i for i in range(len(sizes)) if sizes[i] <= sum(sizes[i + 1 :]) or i == len(sizes) - 2)
            self._merge([[i] for i in range(first)] + [list(range(first, len(sizes)))])

    @checked
    def merge(self, most_documents: int = MERGED_DOCUMENTS) -> None:
        """Join segments up to a size and drop removed documents: smaller, and a little faster to search."""
        self._settle()
        groups: list[list[int]] = []
        size = 0
        for i, entry in enumerate(self.manifest.segments):
            if not groups or size + entry.live > most_documents:
                groups.append([])
                size = 0
            groups[-1].append(i)
            size += entry.live
        self._merge(groups)

    def calibrate(self) -> None:
        """Fit what is usual for the collection, where that has not been done since it grew or shrank by a quarter."""
        if self.manifest.derived and self.manifest.journal is None and stale(self.manifest):
            with write_errors(self.folder):
                self.manifest = calibrate_locked(self.folder)

    def _merge(self, groups: Sequence[Sequence[int]]) -> None:
        """Make one segment of each group of consecutive ones; one alone and without gaps stays as it is."""
        if all(len(group) == 1 and not len(self._dead[group[0]]) for group in groups):
            return
        merged = [group for group in groups if len(group) > 1 or len(self._dead[group[0]])]
        for entry in (self.manifest.segments[i].file for group in merged for i in group):
            # What is merged gets a checksum of its own, which would vouch for damaged data.
            check_file(self.folder / entry.name, entry)
        commit = derive(self._segments, self._dead, self.manifest.glossary_documents, glossary=False)
        entries: list[SegmentEntry] = []
        with write_errors(self.folder):
            for group in groups:
                if len(group) == 1 and not len(self._dead[group[0]]):
                    entries.append(self.manifest.segments[group[0]])
                elif any(self.manifest.segments[i].live for i in group):
                    segments, states = [self._segments[i] for i in group], [commit.states[i] for i in group]
                    entries.append(merge_segments(self._file("segment"), segments, states))
            self._publish(entries, [], self.manifest.journal, source=self.manifest.source)

    def _file(self, kind: str) -> Path:
        while True:
            self._next_file += 1
            path = self.folder / f"{kind}-{self._next_file:08d}.bin"
            if not os.path.lexists(path):  # a file of somebody else may have the name
                return path

    def _publish(
        self,
        entries: Sequence[SegmentEntry],
        dead: Sequence[NDArray[np.uint8]],
        journal: Journal | None,
        glossary: bool = True,
        source: str | None = None,
    ) -> None:
        known = {segment.path.name: segment for segment in self._segments}
        segments = [known.get(e.file.name) or Segment.open(self.folder, e) for e in entries]
        dead = [*dead, *([NONE_DEAD] * (len(entries) - len(dead)))]
        counted = []
        for entry, segment, gone in zip(entries, segments, dead, strict=True):
            if len(gone):
                live = segment.live(gone)
                entry = replace(entry, live=len(live), length=int(segment.lengths[live].sum(dtype=np.int64)))
            counted.append(entry)
        commit = derive(segments, dead, self.manifest.glossary_documents, glossary=glossary)
        file = write_commit(self._file("commit"), commit)
        manifest = replace(
            self.manifest,
            number=self.manifest.number + 1,
            segments=tuple(counted),
            commit=file,
            journal=journal,
            source=source,
            derived=glossary,
            next_file=self._next_file,
        )
        write_manifest(self.folder, manifest)
        self.manifest = manifest
        same = all(a is b for a, b in zip(segments, self._segments, strict=False)) and all(
            a is b for a, b in zip(dead, self._dead, strict=False)
        )
        if self._known_ids is not None and same and len(segments) >= len(self._segments):
            self._known_ids.extend(segments)
        else:
            self._known_ids = None
        self._segments, self._dead = segments, list(dead)
        self._written, self._replaced, self._builder = [], {}, None
        self._clear()

    def _clear(self) -> None:
        """Delete the files of earlier commits and of killed writers, which the current commit does not need.

        That is the one which readers find; where the disk failed while it was published, the writer may not know of it.
        """
        needed = {entry.name for entry in self.manifest.files}
        if self.manifest.number:
            try:
                needed |= {entry.name for entry in read_manifest(self.folder).files}
            except CollectionError:  # a reader would say why; what it may still need stays
                return
        clear_away(self.folder, needed)

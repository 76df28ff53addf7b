"""Changing a collection: every change is a commit, and a commit happens entirely or not at all.

Order of a commit: new segments are written and synced, then the file with what depends on all of them, then the
manifest is replaced by a rename; only then are files that no commit needs deleted. Killed at any moment, the folder
holds the old commit or the new one, and left-over files that the next writer clears away. Readers have the files
they opened mapped, so deleting them takes nothing from them.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import ANALYSIS
from erukg.collection.arrays import FileEntry
from erukg.collection.commit import derive, write_commit
from erukg.collection.encoded import DocumentRecord, EncodedDocument
from erukg.collection.lock import WriterLock
from erukg.collection.manifest import MANIFEST, Journal, Manifest, SegmentEntry, read_manifest, write_manifest
from erukg.collection.merging import merge_segments
from erukg.collection.part import Part
from erukg.collection.ragged import hash_strings
from erukg.collection.reader import open_parts
from erukg.collection.segment import Segment
from erukg.collection.weights import MOST_TERMS, WEIGHT_LIMIT
from erukg.errors import CollectionError, InputError
from erukg.folding import hash_phrases

__all__ = ["MERGED_DOCUMENTS", "PART_DOCUMENTS", "Writer"]

#: A part is written out at this many documents or terms, which bounds the memory of a build to some 200 MB.
PART_DOCUMENTS = 16_384
PART_LENGTH = 8_000_000
#: Merging makes no segment larger than this, which bounds its memory.
MERGED_DOCUMENTS = 1 << 22
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NONE = np.empty(0, np.uint8)


class Writer:
    """The one writer of a collection; use it as a context manager, which holds the lock.

    `create` and `open` make one. `add` gathers documents and `commit` publishes them; `remove` and `merge` publish
    by themselves.
    """

    def __init__(self, folder: Path, lock: WriterLock, manifest: Manifest) -> None:
        self.folder = folder
        self._lock = lock
        self.manifest = manifest
        self._segments: list[Segment] = []
        self._dead: list[NDArray[np.uint8]] = []
        self._written: list[SegmentEntry] = []
        self._next_file = manifest.next_file
        self.part_documents = PART_DOCUMENTS
        self.most_terms = 128
        self._part: Part | None = None
        self._known: _Ids | None = None

    @classmethod
    def create(
        cls,
        folder: str | Path,
        *,
        fingerprint: str,
        vocab_size: int,
        k1: float = 0.9,
        b: float = 0.4,
        glossary_documents: int = 3,
        weight_limit: float = WEIGHT_LIMIT,
    ) -> Writer:
        """A new, empty collection for the model with this fingerprint; `folder` must not hold one already."""
        if not 0 < vocab_size <= 1 << 16:
            raise InputError(f"A collection keeps term ids below 65536; the model has a vocabulary of {vocab_size}.")
        folder = Path(folder)
        with _disk(folder):
            folder.mkdir(parents=True, exist_ok=True)
        lock = WriterLock(folder).__enter__()
        try:
            if (folder / MANIFEST).exists():
                raise CollectionError(f"{folder} already holds a collection; choose another folder, or add to it.")
            nothing = FileEntry("commit-00000000.bin", 0, 0)
            manifest = Manifest(
                0, fingerprint, ANALYSIS, vocab_size, float(weight_limit), float(k1), float(b), glossary_documents, False, 0, nothing
            )
            writer = cls(folder, lock, manifest)
            writer._clear()
            writer._publish([], [], None)
        except BaseException:
            lock.__exit__(None, None, None)
            raise
        return writer

    @classmethod
    def open(cls, folder: str | Path, *, fingerprint: str | None = None) -> Writer:
        """Open a collection for changes, or say who is changing it."""
        folder = Path(folder)
        read_manifest(folder)
        lock = WriterLock(folder).__enter__()
        try:
            manifest, segments, commit = open_parts(folder)
            if manifest.frozen:
                raise CollectionError(f"{folder} was slimmed down and can only be read; build a collection of your own to change.")
            if fingerprint is not None and fingerprint != manifest.fingerprint:
                raise CollectionError(
                    f"{folder} was made with model {manifest.fingerprint[:12]}, not with {fingerprint[:12]}; use that model."
                )
            if manifest.analysis != ANALYSIS:
                raise CollectionError(f"{folder} was made with text analysis {manifest.analysis!r}; build it again.")
            writer = cls(folder, lock, manifest)
            writer._segments = list(segments)
            writer._dead = [state.dead for state in commit.states]
            writer._clear()
        except BaseException:
            lock.__exit__(None, None, None)
            raise
        return writer

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self._clear()
        finally:
            self._lock.__exit__(None, None, None)

    def __len__(self) -> int:
        return self.manifest.documents

    def __contains__(self, id: str) -> bool:
        return self._ids().find([id])[0] is not None or (self._part is not None and id in self._pending)

    @property
    def _pending(self) -> set[str]:
        return self._ids().pending

    def _ids(self) -> _Ids:
        if self._known is None:
            self._known = _Ids(self._segments, self._dead)
        return self._known

    def add(self, record: DocumentRecord, document: EncodedDocument) -> bool:
        """Gather a document for the next commit; an `InputError` says why one cannot be taken (id in use, bad weights).

        Returns True when enough are gathered for a commit to be worthwhile.
        """
        if not record.id:
            raise InputError("It has no id.")
        if record.id in self:
            raise InputError(f"The id {record.id!r} is in the collection already.")
        if self._part is None:
            m = self.manifest
            self._part = Part(m.vocab_size, m.weight_limit, min(self.most_terms, MOST_TERMS), self.part_documents, PART_LENGTH)
        self._part.add(record.id, record.text, document)
        self._pending.add(record.id)
        return self._part.full

    def commit(self, journal: Journal | None = None) -> None:
        """Publish what was gathered, and how far the input has been read."""
        with _disk(self.folder):
            if self._part is not None and len(self._part):
                self._written.append(self._part.write(self._file("segment")))
            if self._written or journal != self.manifest.journal:
                self._publish([*self.manifest.segments, *self._written], self._dead, journal)

    def remove(self, ids: Iterable[str]) -> list[str]:
        """Remove the documents with these ids in one commit; returns the ids that the collection does not have."""
        wanted = list(dict.fromkeys(ids))
        missing = []
        dead = [d.copy() if len(d) else d for d in self._dead]
        changed = False
        for id, place in zip(wanted, self._ids().find(wanted), strict=True):
            if place is None:
                missing.append(id)
                continue
            segment, row = place
            if not len(dead[segment]):
                dead[segment] = np.zeros(len(self._segments[segment]), np.uint8)
            dead[segment][row] = 1
            changed = True
        if changed:
            with _disk(self.folder):
                self._publish(self.manifest.segments, dead, self.manifest.journal)
        return missing

    def merge(self, most_documents: int = MERGED_DOCUMENTS, progress: Callable[[int, int], None] | None = None) -> None:
        """Join segments up to a size, dropping removed documents: smaller on disk and a little faster to search."""
        commit = derive(self._segments, self._dead, self.manifest.glossary_documents)
        groups: list[list[int]] = []
        size = 0
        for i, entry in enumerate(self.manifest.segments):
            if not groups or size + entry.live > most_documents:
                groups.append([])
                size = 0
            groups[-1].append(i)
            size += entry.live
        if all(len(g) == 1 and not len(self._dead[g[0]]) for g in groups):
            return
        entries: list[SegmentEntry] = []
        dead: list[NDArray[np.uint8]] = []
        with _disk(self.folder):
            for number, group in enumerate(groups):
                if progress:
                    progress(number, len(groups))
                if len(group) == 1 and not len(self._dead[group[0]]):
                    entries.append(self.manifest.segments[group[0]])
                else:
                    segments, states = [self._segments[i] for i in group], [commit.states[i] for i in group]
                    entries.append(merge_segments(self._file("segment"), segments, states))
                dead.append(_NONE)
            kept = [(e, d) for e, d in zip(entries, dead, strict=True) if e.documents]
            self._publish([e for e, _ in kept], [d for _, d in kept], self.manifest.journal)

    def _file(self, kind: str) -> Path:
        self._next_file += 1
        return self.folder / f"{kind}-{self._next_file:08d}.bin"

    def _publish(
        self, entries: Sequence[SegmentEntry], dead: Sequence[NDArray[np.uint8]], journal: Journal | None
    ) -> None:
        known = {segment.path.name: segment for segment in self._segments}
        segments = [known.get(e.file.name) or Segment.open(self.folder, e) for e in entries]
        dead = [*dead, *([_NONE] * (len(entries) - len(dead)))]
        counted = []
        for entry, segment, gone in zip(entries, segments, dead, strict=True):
            if len(gone):
                alive = gone == 0
                length = int(segment.lengths[alive].sum(dtype=np.int64))
                entry = replace(entry, live=int(alive.sum()), length=length)
            counted.append(entry)
        commit = derive(segments, dead, self.manifest.glossary_documents)
        file = write_commit(self._file("commit"), commit, segments)
        manifest = replace(
            self.manifest,
            number=self.manifest.number + 1,
            segments=tuple(counted),
            commit=file,
            journal=journal,
            next_file=self._next_file,
        )
        write_manifest(self.folder, manifest)
        self.manifest = manifest
        self._segments, self._dead = segments, list(dead)
        self._written, self._part, self._known = [], None, None
        self._clear()

    def _clear(self) -> None:
        """Delete the files that the current commit does not need."""
        needed = {entry.name for entry in self.manifest.files}
        for path in self.folder.iterdir():
            if (path.suffix == ".bin" and path.name not in needed) or path.name == MANIFEST + ".tmp":
                path.unlink(missing_ok=True)


class _Ids:
    """Which document has which id: sorted hashes of all live ids, checked against the ids themselves."""

    def __init__(self, segments: Sequence[Segment], dead: Sequence[NDArray[np.uint8]]) -> None:
        self._segments = segments
        self.pending: set[str] = set()
        hashes, places = [np.empty(0, np.uint64)], [np.empty((0, 2), np.int64)]
        for i, (segment, gone) in enumerate(zip(segments, dead, strict=True)):
            rows = np.flatnonzero(gone == 0) if len(gone) else np.arange(len(segment))
            hashes.append(hash_strings(segment.ids, segment.ids_offsets)[rows])
            places.append(np.stack([np.full(len(rows), i), rows], axis=1))
        every, where = np.concatenate(hashes), np.concatenate(places)
        order = np.argsort(every, kind="stable")
        self._hashes, self._places = every[order], where[order]

    def find(self, ids: Sequence[str]) -> list[tuple[int, int] | None]:
        """Segment and row of each id, or None."""
        wanted = hash_phrases(list(ids))
        first = np.searchsorted(self._hashes, wanted, "left").tolist()
        last = np.searchsorted(self._hashes, wanted, "right").tolist()
        return [self._match(id, a, b) for id, a, b in zip(ids, first, last, strict=True)]

    def _match(self, id: str, first: int, last: int) -> tuple[int, int] | None:
        for segment, row in self._places[first:last].tolist():
            if self._segments[segment].document_ids(np.array([row])) == [id]:
                return segment, row
        return None


@contextmanager
def _disk(folder: Path) -> Iterator[None]:
    """Turn the system's refusals into errors that say what to do; the last commit is untouched in every case."""
    try:
        yield
    except OSError as error:
        if error.errno in _DISK_FULL:
            raise CollectionError(
                f"There is no room to write to {folder} ({error.strerror}); the collection is as it was before, "
                "free some space and run the command again."
            ) from error
        raise CollectionError(f"{folder} cannot be written to: {error.strerror or error}.") from error


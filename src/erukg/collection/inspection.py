"""Is the collection what was written, byte for byte, and does it hold together?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.collection.commit import Commit, derive
from erukg.collection.held_files import HeldFiles
from erukg.collection.manifest import Manifest
from erukg.collection.opening import open_parts
from erukg.collection.postings import count_live
from erukg.collection.segment import Segment
from erukg.collection.tags import TagCounts
from erukg.core.arguments import checked
from erukg.errors import CollectionError

__all__ = ["Info", "info", "verify"]

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Info:
    """What a collection holds, as its manifest and headers say."""

    folder: str
    commit: int
    documents: int
    removed: int
    terms_a_document: float
    phrases: int
    segments: int
    bytes: int
    fingerprint: str
    analysis: str
    frozen: bool
    complete: bool
    paper: bool
    tags: int
    tagged_documents: int
    tags_field: str


@checked
def info(folder: str | Path) -> Info:
    """Open a collection and say what it holds."""
    folder = Path(folder)
    manifest, segments, commit = open_parts(folder)
    stored = sum(len(segment) for segment in segments)
    tags = TagCounts.of((s.tags, s.live(state.dead)) for s, state in zip(segments, commit.states, strict=True))
    return Info(
        folder=str(folder),
        commit=manifest.number,
        documents=manifest.documents,
        removed=stored - manifest.documents,
        terms_a_document=manifest.length / max(manifest.documents, 1),
        phrases=len(commit.phrases),
        segments=len(segments),
        bytes=sum(entry.bytes for entry in manifest.files),
        fingerprint=manifest.fingerprint,
        analysis=manifest.analysis,
        frozen=manifest.frozen,
        complete=manifest.journal is None and manifest.derived,
        paper=manifest.paper,
        tags=len(tags.counts),
        tagged_documents=tags.documents,
        tags_field=manifest.tags or "",
    )


@checked
def verify(folder: str | Path, on_file: Progress | None = None) -> list[str]:
    """Every fault found, a sentence each; none means that all files are as written and fit together.

    All checksums are computed, then every index is checked and everything derived is derived again, of the commit that
    was current at the beginning, whatever a writer does meanwhile. An unreadable manifest is an error, as there is
    nothing to check against.
    """
    folder = Path(folder)
    with HeldFiles(folder) as files:
        faults = [f"{path} {what}." for path, what in files.faults(on_file)]
        if faults:
            return faults
        try:
            return list(_structure_faults(files.manifest, *files.parts()))
        except CollectionError as error:
            return [str(error)]


def _structure_faults(manifest: Manifest, segments: tuple[Segment, ...], commit: Commit) -> Iterator[str]:
    for segment, state, entry in zip(segments, commit.states, manifest.segments, strict=True):
        try:
            _check_segment(segment, manifest.frozen)
        except ValueError as error:
            yield f"{segment.path} does not hold together: {error}."
            return
        live = segment.live(state.dead)
        if len(live) != entry.live or int(segment.lengths[live].sum(dtype=np.int64)) != entry.length:
            yield f"{segment.path} holds another number of documents or terms than the manifest says."
    dead = [state.dead for state in commit.states]
    again = derive(segments, dead, manifest.glossary_documents, glossary=manifest.derived)
    if not all(map(np.array_equal, _arrays(commit), _arrays(again))):
        yield f"The glossary or the document frequencies in {manifest.commit.name} do not fit the documents."


def _check_segment(segment: Segment, frozen: bool) -> None:
    forms = segment.forms
    for lists, what in (
        (segment.postings, "posting lists"),
        (segment.ids, "ids"),
        (segment.titles, "titles"),
        (segment.weights, "term weights"),
        (segment.phrases, "phrases"),
        (forms.text, "written forms"),
        (forms.terms, "word pieces"),
        (segment.tags.rows, "tags"),
        (segment.tags.uris, "tags' URIs"),
        (segment.tags.labels, "tags' labels"),
    ):
        lists.bounds(np.arange(len(lists)))
        if lists.offsets[0] != 0 or lists.offsets[-1] != len(lists.values):
            raise ValueError(f"its {what} do not fill their array")
    for sorted_array, what in ((segment.vocabulary, "terms"), (forms.folds, "phrases")):
        if np.any(sorted_array[1:] < sorted_array[:-1]):
            raise ValueError(f"its {what} are out of order")
    segment.tags.check()
    counted = count_live(segment.postings, np.zeros(len(segment), np.uint8))
    # A slim copy may have fewer words of each document, but counts them as if it had all.
    if not (np.all(counted <= segment.frequencies) if frozen else np.array_equal(counted, segment.frequencies)):
        raise ValueError("its document frequencies are not those of its posting lists")


def _arrays(commit: Commit) -> Iterator[NDArray[Any]]:
    p = commit.phrases
    yield from (p.folds, p.text.values, p.text.offsets, p.terms.values, p.terms.offsets, commit.counts, commit.titled)
    for state in commit.states:
        yield from (state.frequencies, state.glossary)

"""Fitting what is usual for a collection: its own documents, and queries made of their phrases, searched for in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import Query, analyse
from erukg.collection.likeness import NEAREST, Likeness, Signals, fit_likeness, signals
from erukg.collection.lock import write_errors, writer_lock
from erukg.collection.manifest import Manifest, read_manifest, write_manifest
from erukg.collection.postings import count_live, decode
from erukg.collection.reader import Collection
from erukg.collection.search import idf
from erukg.collection.segment import Segment
from erukg.core.arguments import checked
from erukg.errors import CollectionError

__all__ = ["FEWEST", "calibrate", "calibrate_locked", "measure", "stale"]

#: Fewer documents do not say what is usual.
FEWEST = 200
_SAMPLE = 1000
_MOST_PHRASES = 4


def stale(manifest: Manifest) -> bool:
    """Whether a collection has grown or shrunk by a quarter since what is usual was fitted."""
    known = manifest.likeness.documents if manifest.likeness is not None else 0
    return abs(manifest.documents - known) > 0.25 * known


@checked
def calibrate(folder: str | Path) -> Likeness | None:
    """Fit what is usual for the collection in `folder` and note it in its manifest; None if it holds too little.

    Nothing but the manifest is written, so a slimmed collection may be calibrated as well.
    """
    folder = Path(folder)
    read_manifest(folder)  # no lock is put where there is no collection
    with write_errors(folder), writer_lock(folder):
        return calibrate_locked(folder).likeness


def calibrate_locked(folder: Path, whole: Collection | None = None) -> Manifest:
    """`calibrate` for the one who holds the writer's lock: the manifest as written, or as it was.

    `whole` has the same documents with all their words, where the collection in `folder` has not.
    """
    collection = Collection.open(folder)
    if not collection.complete:
        raise CollectionError(f"The build of {folder} is unfinished; run it again to finish it, then calibrate.")
    likeness, manifest = measure(collection, whole), collection.manifest
    if likeness != manifest.likeness:
        manifest = replace(manifest, number=manifest.number + 1, likeness=likeness)
        write_manifest(folder, manifest)
    return manifest


def measure(collection: Collection, whole: Collection | None = None) -> Likeness | None:
    """What is usual for a collection, from a sample of it; None if it holds too few documents or phrases.

    `whole` is the collection that the sample is taken from, with the same documents.
    """
    if len(collection) < FEWEST:
        return None
    chance = np.random.default_rng(0)
    texts: list[Signals] = []
    queries: list[Signals] = []
    source = whole or collection
    for document, id, query in _sampled(source, chance):
        texts += _signals(collection, query, None)
        phrases = source.phrases_of(document)
        some = chance.permutation(phrases)[: int(chance.integers(1, _MOST_PHRASES + 1))]
        if len(some):
            queries += _signals(collection, analyse(" . ".join(source.glossary.phrases(some))), id)
    return fit_likeness(len(collection), texts, queries) if min(len(texts), len(queries)) >= FEWEST // 2 else None


def _signals(collection: Collection, query: Query, exclude: str | None) -> list[Signals]:
    """The signals of a text made of one of the documents, as if that were not in the collection; none or one."""
    others = np.maximum(collection.frequencies(query.terms) - 1, 0)
    scores = collection.search_terms(query, NEAREST, exclude=exclude).scores
    found = signals(query.counts, idf(others, len(collection) - 1), int(query.counts.sum()), scores)
    return [] if found is None else [found]


def _sampled(collection: Collection, chance: np.random.Generator) -> Iterator[tuple[int, str, Query]]:
    """Some documents: their numbers, ids and the queries that their texts would make."""
    first = 0
    share = min(1.0, _SAMPLE / len(collection))
    for segment, live in collection.live_rows():
        rows = np.sort(chance.choice(live, round(share * len(live)), replace=False))
        ids = collection.ids(rows + first)
        for row, id, (terms, counts) in zip(rows.tolist(), ids, _texts(segment, rows), strict=True):
            yield first + row, id, Query(segment.vocabulary[terms], counts, int(segment.texts[row]))
        first += len(segment)


def _texts(segment: Segment, rows: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The places in the vocabulary of the terms of each of these documents, and how often each occurs in it."""
    others = np.ones(len(segment), np.uint8)
    others[rows] = 0
    numbers = np.full(len(segment), -1, np.int32)
    numbers[rows] = np.arange(len(rows), dtype=np.int32)
    counts = count_live(segment.postings, others).astype(np.int64)
    starts = np.cumsum(counts) - counts
    documents, frequencies = np.empty(counts.sum(), np.int32), np.empty(counts.sum(), np.int32)
    every = np.arange(len(segment.vocabulary))
    decode(segment.postings, 0, len(every), every, numbers, starts, documents, frequencies)
    terms, order = np.repeat(every, counts), np.argsort(documents, kind="stable")
    ends = np.searchsorted(documents[order], np.arange(len(rows) + 1))
    for first, last in pairwise(ends.tolist()):
        which = order[first:last]
        yield terms[which], frequencies[which].astype(np.int64)

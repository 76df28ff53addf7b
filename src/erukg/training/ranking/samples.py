"""What the ranking is learned from: documents whose title is hidden, and which neighbours' phrases it is made of.

A document outside the collection is read without its title. Of the phrases that its neighbours lend, those that the
hidden title holds are right; they need no one to label them. Single words are no evidence: titles hold too many.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erukg.backends.threads import ordered_map
from erukg.collection import Collection
from erukg.core.absent_features import FEATURES
from erukg.core.document import Document
from erukg.core.generator import Generator
from erukg.core.hashing import among
from erukg.core.inputs import BadDocument, InputDocument
from erukg.training.folders import claim_work
from erukg.training.kept_parts import kept_parts

__all__ = ["Drawn", "Hidden", "Samples", "draw", "gather_samples", "hidden_titles"]

_FORMAT = "erukg-ranking-samples"
# Documents of a part: what is lost when the program is killed.
_PART = 256
_SHORTEST = 200  # characters; shorter texts say too little without their title
_WORDS = list(FEATURES).index("words")
_COLUMNS = len(FEATURES) + 2


@dataclass(frozen=True, slots=True)
class Hidden:
    """A document without its title, and the title."""

    id: str
    text: str
    title: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """The documents drawn, and how many could not be: those in the collection itself, and those that are unreadable."""

    documents: list[Hidden]
    inside: int
    bad: int


@dataclass(frozen=True, slots=True)
class Samples:
    """Candidates of several documents, end to end: features, whether each is right, and how many a document has."""

    features: NDArray[np.float32]
    right: NDArray[np.bool_]
    sizes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sizes)


def hidden_titles(
    rows: Iterable[InputDocument | BadDocument],
    collection: Collection,
    limit: int,
    seed: int,
    on_bad: Callable[[BadDocument], None] | None = None,
) -> Drawn:
    """`limit` documents with a title and a text of their own, drawn by `seed`; of those with one id the first."""
    known = {id for segment, live in collection.live_rows() for id in segment.ids.strings(live)}
    seen: set[str] = set()
    drawn: list[tuple[int, str, Hidden]] = []
    inside = bad = 0
    for row in rows:
        if isinstance(row, BadDocument):
            bad += 1
            if on_bad is not None:
                on_bad(row)
            continue
        if not row.title or not row.text.startswith(row.title):
            continue
        text = row.text[len(row.title) :].strip()
        if len(text) < _SHORTEST:
            continue
        if row.id in known:
            inside += 1
            continue
        if row.id in seen:
            continue
        seen.add(row.id)
        entry = -draw(seed, row.id), row.id, Hidden(row.id, text, row.title)
        # The worst of those drawn so far is the first, so that it goes when a better one comes.
        (heapq.heappush if len(drawn) < limit else heapq.heappushpop)(drawn, entry)
    return Drawn([hidden for *_, hidden in sorted(drawn, key=lambda entry: (-entry[0], entry[1]))], inside, bad)


def gather_samples(
    generator: Generator,
    documents: list[Hidden],
    work: Path,
    key: str,
    *,
    negatives: int,
    seed: int,
    threads: int | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Samples:
    """The samples of the documents, in the folder `work` part by part: the same call goes on where one was stopped."""
    claim_work(work, _FORMAT, key, "holds samples of other documents or options; remove it or give another folder.")

    def make(some: Sequence[Hidden]) -> NDArray[np.float32]:
        found = ordered_map(lambda hidden: _sample(generator, hidden, negatives, seed), some, threads)
        return _table([each for each in found if each is not None])

    parts = [_samples(table) for table in kept_parts(documents, work, _PART, make, _COLUMNS, on_progress)]
    return Samples(
        np.concatenate([np.empty((0, len(FEATURES)), np.float32), *(part.features for part in parts)]),
        np.concatenate([np.empty(0, np.bool_), *(part.right for part in parts)]),
        np.concatenate([np.empty(0, np.int64), *(part.sizes for part in parts)]),
    )


def _sample(generator: Generator, hidden: Hidden, negatives: int, seed: int) -> Samples | None:
    """What can be learned from a document; None when its title holds none of the candidates."""
    assert generator.background is not None
    settings = generator.settings
    prepared = generator.prepare((hidden.id, hidden.text), settings)
    runs = Document.parse(hidden.title).run_hashes
    found = generator.absent_candidates(prepared, generator.backend.encode(prepared.pieces, prepared.terms), settings)
    if not len(found.hashes):
        return None
    several = found.features[:, _WORDS] > 1
    titled = among(found.hashes, runs)
    right, wrong = np.flatnonzero(titled & several), np.flatnonzero(~titled & several)
    if not len(right) or not len(wrong):
        return None
    chance = np.random.default_rng(draw(seed, hidden.id))
    rows = np.concatenate((right, np.sort(chance.permutation(wrong)[:negatives])))
    return Samples(found.features[rows], titled[rows], np.array([len(rows)], np.int64))


def draw(seed: int, id: str) -> int:
    """A number of 64 bits by chance, always the same for a seed and a document."""
    digest = hashlib.blake2b(f"{seed}\n{id}".encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "big")


def _table(samples: list[Samples]) -> NDArray[np.float32]:
    """One array: a row for each candidate, with its document's number in the part and whether it is right in front."""
    table = np.empty((sum(int(each.sizes[0]) for each in samples), _COLUMNS), np.float32)
    first = 0
    for number, each in enumerate(samples):
        last = first + len(each.right)
        table[first:last, 0], table[first:last, 1], table[first:last, 2:] = number, each.right, each.features
        first = last
    return table


def _samples(table: NDArray[np.float32]) -> Samples:
    numbers = table[:, 0].astype(np.int64)
    sizes = np.bincount(numbers) if len(numbers) else np.empty(0, np.int64)
    return Samples(np.ascontiguousarray(table[:, 2:]), table[:, 1] > 0, sizes)

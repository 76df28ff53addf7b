"""An opened collection: finds a text's neighbours and sums what they know."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import Query, analyse, weightiest
from erukg.collection.arrays import PackedLists, check_whole, damaged
from erukg.collection.bundled import bundled_collection
from erukg.collection.commit import Commit
from erukg.collection.glossary import MappedGlossary
from erukg.collection.likeness import NEAREST, signals
from erukg.collection.manifest import Manifest
from erukg.collection.merging import JoinedPostings
from erukg.collection.neighbourhood import HeldPhrases, Hits, Holders, LazyNeighbourhood, phrases_held, sum_by_phrase
from erukg.collection.opening import check_made_with, open_parts
from erukg.collection.postings import BLOCK, find_documents, sum_weights
from erukg.collection.search import (
    Excluded,
    QueryLists,
    SearchedDocuments,
    Task,
    best_first,
    idf,
    norms,
    run,
    scan_order,
)
from erukg.collection.segment import Segment
from erukg.collection.tags import Tag, TagCounts
from erukg.collection.weights import add_weights, decode_table, high_values
from erukg.core.arguments import checked
from erukg.core.hashing import find_sorted
from erukg.core.neighbours import Neighbourhood, Source, WeightedTerms
from erukg.errors import ErukgWarning, InputError

__all__ = ["Collection", "Hits"]


class _Known(NamedTuple):
    """What is known of some terms: in how many documents each occurs, its idf; for each segment which it has, where."""

    frequencies: NDArray[np.int64]
    rarity: NDArray[np.float64]
    places: list[tuple[NDArray[Any], NDArray[Any]]]


class Collection:
    """D, memory-mapped and read-only (`erukg.core.neighbours.Background`). Safe to use from many threads.

    It shows the commit that was current when it was opened, whatever is added or removed afterwards.
    """

    def __init__(
        self, folder: Path, manifest: Manifest, segments: Sequence[Segment], commit: Commit, threads: int
    ) -> None:
        self.folder = folder
        self.manifest = manifest
        self._segments = tuple(segments)
        self._commit = commit
        self._threads = threads
        self._starts = np.cumsum([0, *(len(s) for s in segments)])
        self._glossary = MappedGlossary(commit.phrases, commit.counts, commit.titled)
        self._table = decode_table(manifest.weight_limit)

    @classmethod
    @checked
    def open(cls, folder: str | Path, *, fingerprint: str | None = None, threads: int = 1) -> Collection:
        """Open the collection in `folder`.

        With a `fingerprint` (`Encoder.fingerprint`) it is refused when another model made it. `threads` is
        how many cores one search may use; searches from several threads run side by side anyway.
        """
        folder = Path(folder)
        if threads < 1:
            raise InputError(f"A search needs at least 1 thread, not {threads}.")
        manifest, segments, commit = open_parts(folder)
        check_made_with(folder, manifest, fingerprint)
        if not manifest.derived:
            warnings.warn(
                f"The build of {folder} is unfinished, so it has no glossary yet; run it again to finish it.",
                ErukgWarning,
                stacklevel=2,
            )
        return cls(folder, manifest, segments, commit, threads)

    def __reduce__(self) -> tuple[Any, ...]:
        # Its files are not copied: who unpickles it has them, and sees what they hold then.
        return _reopen, (self.folder.absolute(), self.fingerprint, self._threads)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # it is read-only

    @property
    def fingerprint(self) -> str:
        """Of the model whose term weights are stored."""
        return self.manifest.fingerprint

    @property
    def complete(self) -> bool:
        """False while a build or an addition is unfinished: run the same command again to finish it.

        The glossary of an unfinished build is empty.
        """
        return self.manifest.journal is None and self.manifest.derived

    @property
    def glossary(self) -> MappedGlossary:
        return self._glossary

    def __len__(self) -> int:
        return self.manifest.documents

    @checked
    def search(self, text: str, n: int, *, exclude: str | None = None) -> Hits:
        """The `n` documents with the highest BM25 score above 0 for the whole text as query.

        Documents with the same text, and the one with the id `exclude`, are passed over.
        """
        return self.search_terms(analyse(text), n, exclude=exclude)

    @checked
    def search_terms(self, query: Query, n: int, *, exclude: str | None = None) -> Hits:
        """`search` for a text that is analysed already."""
        return self._search(query, self._look_up(query.terms), n, exclude)

    def _search(self, query: Query, known: _Known, n: int, exclude: str | None, words: int = 0) -> Hits:
        n = min(n, len(self))
        if n <= 0 or not len(query.terms):
            return Hits(np.empty(0, np.int64), np.empty(0, np.float32))
        tasks = self._tasks(query, known, exclude, words)
        if len(tasks) == 1 or self._threads == 1:
            return Hits(*run(tasks, n))
        documents, scores = zip(*self._executor.map(lambda task: run([task], n), tasks), strict=True)
        return Hits(*best_first(np.concatenate(documents), np.concatenate(scores), n))

    def _tasks(self, query: Query, known: _Known, exclude: str | None, words: int) -> list[Task]:
        frequencies, rarity, found = known
        factors = (query.counts * rarity).astype(np.float32)
        asked = weightiest(factors, np.zeros(len(factors), np.int64), words)
        excluded = Excluded(
            np.uint64(query.key), np.frombuffer((exclude or "").encode("utf-8", "surrogatepass"), np.uint8)
        )
        tasks: list[Task] = []
        for i, (segment, (which, place)) in enumerate(zip(self._segments, found, strict=True)):
            which, place = which[asked[which]], place[asked[which]]
            if not len(which):
                continue
            order = scan_order(factors[which], frequencies[which])
            which, place = which[order], place[order]
            lists = QueryLists(segment.postings.values, *segment.postings.bounds(place), factors[which])
            dead, ids = self._commit.states[i].dead, segment.ids
            documents = SearchedDocuments(
                int(self._starts[i]), self._norms[i], dead, segment.texts, ids.values, ids.offsets
            )
            blocks = -(-len(segment) // BLOCK)
            pieces = max(1, min(self._threads, blocks))
            for some in pairwise(blocks * k // pieces for k in range(pieces + 1)):
                tasks.append(Task(segment.path, lists, documents, excluded, some))
        return tasks

    def frequencies(self, terms: NDArray[np.uint64]) -> NDArray[np.int64]:
        """In how many documents each of these terms occurs."""
        return self._look_up(terms).frequencies

    def holding(self, documents: NDArray[np.int64], terms: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Which of the documents have each of these terms: a row for each term, a column for each document."""
        out = np.zeros((len(terms), len(documents)), np.bool_)
        found = self._look_up(terms).places
        for i, which, rows in self._by_segment(self._known_numbers(documents)):
            segment, (known, places) = self._segments[i], found[i]
            out[np.ix_(known, which)] = find_documents(segment.postings, places, rows, len(segment))
        return out

    def summed(self, terms: NDArray[np.uint64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of each document by its number, removed ones included, the weights of those of the terms that it has."""
        out = np.zeros(int(self._starts[-1]))
        for i, (which, places) in enumerate(self._look_up(terms).places):
            sum_weights(self._segments[i].postings, places, weights[which], out[self._starts[i] : self._starts[i + 1]])
        return out

    def _look_up(self, terms: NDArray[np.uint64]) -> _Known:
        frequencies = np.zeros(len(terms), np.int64)
        found: list[tuple[NDArray[Any], NDArray[Any]]] = []
        check_whole(self.folder / self.manifest.commit.name, self._commit.counts)
        for segment, state in zip(self._segments, self._commit.states, strict=True):
            check_whole(segment.path, segment.lengths)
            place = find_sorted(segment.vocabulary, terms)
            which = np.flatnonzero(place >= 0)
            place = place[which]
            frequencies[which] += state.frequencies[place]
            found.append((which, place))
        if frequencies.max(initial=0) > len(self):
            raise damaged(self.folder, "its document frequencies are too high")
        return _Known(frequencies, idf(frequencies, len(self)), found)

    def live_rows(self) -> Iterator[tuple[Segment, NDArray[np.int64]]]:
        """Every segment, and the rows of it that are not removed."""
        for segment, state in zip(self._segments, self._commit.states, strict=True):
            yield segment, segment.live(state.dead)

    def joined_postings(self) -> JoinedPostings:
        """The posting lists of all documents, these numbered by their places in `documents`."""
        return JoinedPostings(self._segments, self._commit.states, [rows for _, rows in self.live_rows()])

    @checked
    def phrases_of(self, document: int) -> NDArray[np.int64]:
        """The glossary's numbers of the phrases that a document lends."""
        return self._phrases(self._known_numbers([document]))[0]

    @cached_property
    def _norms(self) -> list[NDArray[np.float32]]:
        m = self.manifest
        average = max(m.length, 1) / max(len(self), 1)
        return [norms(s.lengths, average, m.k1, m.b) for s in self._segments]

    @cached_property
    def _executor(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads, "erukg-search")

    @checked
    def ids(self, documents: NDArray[np.int64]) -> list[str]:
        """The ids of documents by their numbers."""
        return self._strings(self._known_numbers(documents), [segment.ids for segment in self._segments])

    @checked
    def titles(self, documents: NDArray[np.int64]) -> list[str]:
        """The titles of documents by their numbers; empty for those without one."""
        return self._strings(self._known_numbers(documents), [segment.titles for segment in self._segments])

    def documents(self) -> NDArray[np.int64]:
        """The numbers of all documents, removed ones not among them."""
        each = zip(self._starts[:-1].tolist(), self.live_rows(), strict=True)
        return np.concatenate([np.empty(0, np.int64), *(start + rows for start, (_, rows) in each)])

    @cached_property
    def has_tags(self) -> bool:
        """Whether any document has a tag."""
        return any(segment.tags.are_any(rows) for segment, rows in self.live_rows())

    def tags_of(self, documents: NDArray[np.int64]) -> list[tuple[Tag, ...]]:
        """The tags of documents by their numbers, as the documents came with them."""
        documents = self._known_numbers(documents)
        found: dict[int, tuple[Tag, ...]] = {}
        for i, which, rows in self._by_segment(documents):
            found.update(zip(which.tolist(), self._segments[i].tags.tags_of(rows), strict=True))
        return [found[place] for place in range(len(documents))]

    def tag_counts(self) -> dict[str, int]:
        """How many documents have each tag, by its URI."""
        return dict(self._tags.counts)

    def tag_labels(self) -> dict[str, str]:
        """The label of each tag by its URI: the one that most documents give it, or the URI where none has a label."""
        return dict(self._tags.labels)

    @cached_property
    def _tags(self) -> TagCounts:
        return TagCounts.of((segment.tags, rows) for segment, rows in self.live_rows())

    def lengths(self, documents: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many words, stop words left out, documents have by their numbers."""
        out = np.zeros(len(documents), np.int64)
        for i, which, rows in self._by_segment(self._known_numbers(documents)):
            out[which] = self._segments[i].lengths[rows]
        return out

    def _strings(self, documents: NDArray[np.int64], lists: Sequence[PackedLists]) -> list[str]:
        if len(lists) == 1:
            return lists[0].strings(documents)
        out = np.empty(len(documents), object)
        for i, which, rows in self._by_segment(documents):
            out[which] = lists[i].strings(rows)
        return out.tolist()

    def _known_numbers(self, documents: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
        numbers = np.asarray(documents)
        if numbers.size and (numbers.min() < 0 or numbers.max() >= self._starts[-1]):
            raise InputError(f"The collection has documents 0 to {self._starts[-1] - 1}; other numbers were asked for.")
        return numbers.astype(np.int64, copy=False)

    def _by_segment(self, documents: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
        """Each segment that has some of the documents: its number, which of them, and their rows in it."""
        if len(self._segments) == 1:
            yield 0, np.arange(len(documents)), documents
            return
        owner = np.searchsorted(self._starts, documents, side="right") - 1
        for i in np.unique(owner).tolist():
            which = np.flatnonzero(owner == i)
            yield i, which, documents[which] - self._starts[i]

    @checked
    def neighbourhood(self, text: str, n: int, *, exclude: str | None = None, words: int = 0) -> Neighbourhood:
        """The `n` documents most similar to `text` by BM25; never the text itself nor the id `exclude`.

        Only so many `words` of the text, those that weigh most, are searched for; 0 is all of them.
        """
        query = analyse(text)
        known = self._look_up(query.terms)
        hits = self._search(query, known, n, exclude, words)
        return self.gather(self.with_fit(query, hits, n, words, known.rarity))

    def with_fit(
        self, query: Query, hits: Hits, n: int, words: int = 0, rarity: NDArray[np.float64] | None = None
    ) -> Hits:
        """The `n` best hits of a query, and how much its text is like the documents; unknown if too few were wanted.

        They were searched for with so many `words` of the text, 0 for all. The `rarity` of its terms, their idf, is
        looked up if it is not given.
        """
        usual = self.manifest.likeness
        if usual is None or n < NEAREST:
            return hits
        rarity = self._look_up(query.terms).rarity if rarity is None else rarity
        found = signals(query.counts, rarity, int(query.counts.sum()), hits.scores, words)
        return replace(hits, fit=-math.inf if found is None else usual.fit(found))

    def gather(self, hits: Hits) -> Neighbourhood:
        """What the equations read of these documents, s̃ being their scores' shares of the sum."""
        if not len(hits.documents):
            return replace(Neighbourhood.empty(), fit=hits.fit)
        shares = hits.scores.astype(np.float64) / hits.scores.sum(dtype=np.float64)
        phrases, neighbours, probabilities, titled = self._phrases(hits.documents)
        held = Holders.of(phrases, neighbours)
        phrase_ids, phrase_shares, counts, support = sum_by_phrase(held, probabilities, titled, shares)
        return LazyNeighbourhood(
            hits.documents,
            shares.astype(np.float32),
            phrase_ids,
            phrase_shares,
            partial(self._term_weights, hits.documents, shares),
            fit=hits.fit,
            phrase_holders=counts,
            support=support,
            holders=held,
        )

    def _term_weights(self, documents: NDArray[np.int64], shares: NDArray[np.float64]) -> WeightedTerms:
        """Σ s̃ w^x' of every term that some of the documents has."""
        weights = np.zeros(self.manifest.vocab_size)
        high = high_values(self.manifest.vocab_size)
        for i, which, rows in self._by_segment(documents):
            packed = self._segments[i].weights
            starts, stops = packed.bounds(rows)
            if not add_weights(packed.values, starts, stops, shares[which], self._table, high, weights):
                raise damaged(packed.path, "its term weights are not as they were written")
        terms = np.flatnonzero(weights > 0)
        return WeightedTerms(terms.astype(np.int32), weights[terms].astype(np.float32))

    def _phrases(self, documents: NDArray[np.int64]) -> HeldPhrases:
        parts, size = self._by_segment(documents) if len(self._glossary) else (), len(self._glossary)
        each = ((self._segments[i].phrases, self._commit.states[i].glossary, which, rows) for i, which, rows in parts)
        return phrases_held(each, size)

    def sources(self, neighbourhood: Neighbourhood, phrase_ids: NDArray[np.int64]) -> Sequence[tuple[Source, ...]]:
        """For each glossary phrase, the neighbours whose C̃_x' holds it, largest share first."""
        wanted = np.asarray(phrase_ids, np.int64)
        if not len(wanted) or not len(neighbourhood.documents):
            return [()] * len(wanted)
        if isinstance(neighbourhood, LazyNeighbourhood):
            holders = neighbourhood.holders
        else:
            holders = Holders.of(*self._phrases(neighbourhood.documents)[:2])
        # Neighbours are numbered best first, so their number orders by share.
        found = holders.find(wanted)
        numbers = list({i for held in found for i in held})
        documents, shares = self._known_numbers(neighbourhood.documents[numbers]), neighbourhood.shares[numbers]
        ids, titles = (self._strings(documents, [getattr(s, x) for s in self._segments]) for x in ("ids", "titles"))
        known = dict(zip(numbers, map(Source, ids, shares.tolist(), titles), strict=True))
        return [tuple([known[i] for i in held]) for held in found]


def _reopen(folder: Path, fingerprint: str, threads: int) -> Collection:
    # The bundled one lies elsewhere on another machine.
    found = folder if folder.is_dir() else bundled_collection(fingerprint)
    return Collection.open(found or folder, fingerprint=fingerprint, threads=threads)

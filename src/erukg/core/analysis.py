"""Everything about one document that its ranking starts from: its candidates, the pool of them and their weights."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from erukg.core import scoring
from erukg.core.backend import Backend, Encoding, Pieces
from erukg.core.candidates import find_candidates
from erukg.core.chunking import TaggedText
from erukg.core.composing import Composed, add_composed, compose
from erukg.core.document import Document
from erukg.core.folding import fold
from erukg.core.locating import Located, could_contain, locate
from erukg.core.neighbours import Glossary, Neighbourhood, Terms
from erukg.core.pool import Pool, build_pool
from erukg.core.ranking import Weights
from erukg.core.settings import Settings
from erukg.core.tagging import Tagger, tag_classes

__all__ = ["Analysis", "Prepared", "analyse", "distinct"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document as the model gets it: its words, their pieces, its neighbours and the terms whose weights matter."""

    id: str | None
    document: Document
    pieces: Pieces
    neighbourhood: Neighbourhood
    terms: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Analysis:
    """A document with the pool of its candidates; `places` are those in the text, by row of the pool, and `composed`
    those that its words make.
    """

    document: Document
    pieces: Pieces
    neighbourhood: Neighbourhood
    weights: Weights
    pool: Pool
    places: dict[int, Located]
    tagged: TaggedText | None = None
    composed: dict[int, Composed] = field(default_factory=dict)

    @property
    def has_absent(self) -> bool:
        """Whether any candidate is absent from the text."""
        return len(self.pool) > len(self.places) and bool(np.isinf(self.pool.words_before).any())

    def absent_phrases(self, rows: NDArray[np.int64], glossary: Glossary) -> list[str]:
        """How the absent phrases in these rows of the pool are written."""
        ids = self.pool.glossary_ids[rows]
        if (ids >= 0).all():
            return glossary.phrases(ids)
        assert self.tagged is not None
        known, text = iter(glossary.phrases(ids[ids >= 0])), self.tagged
        pairs = zip(rows.tolist(), ids.tolist(), strict=True)
        return [next(known) if id >= 0 else self.composed[row].form(text) for row, id in pairs]

    def wording(self, row: int) -> tuple[str, ...]:
        """What the text says in place of the absent phrase in this row of the pool, if its words make it."""
        made = self.composed.get(row)
        return () if made is None or self.tagged is None else (made.wording(self.tagged),)


def analyse(
    prepared: Prepared,
    encoding: Encoding,
    backend: Backend,
    glossary: Glossary | None,
    tagger: Tagger | None,
    settings: Settings,
    *,
    composing: bool = False,
) -> Analysis:
    """What is to be ranked, given what the model has said of the document.

    `composing` adds absent phrases that the text's own words make.
    """
    document, neighbourhood, whole = prepared.document, prepared.neighbourhood, settings.whole_phrases
    classes = encoding.tags if tagger is None else tag_classes(tagger, document.words)
    known = glossary if settings.uses_neighbours else None
    tagged = TaggedText(document, classes) if whole else None
    candidates = find_candidates(document, classes, settings.max_words, whole=whole, glossary=known, tagged=tagged)
    terms = backend.phrase_terms([candidate.form for candidate in candidates])
    weights = Weights.combine(prepared.terms, encoding.weights, neighbourhood, document.words, prepared.pieces)
    worth = partial(_worth, document, weights, glossary, settings) if whole and glossary is not None else None
    query, places = document.is_query, dict(enumerate(candidates))
    pool = build_pool(candidates, terms, neighbourhood, glossary, settings, worth, query)
    if not whole:
        located = _locate(document, pool, len(candidates), glossary)
        pool, places = pool.with_places(located), places | located
    made: dict[int, Composed] = {}
    composing &= pool.support is not None and settings.absent_composed > 0
    if composing and tagged is not None and glossary is not None and (found := compose(tagged)):
        pool, made = add_composed(pool, found, document.folded, prepared.pieces, glossary, settings)
    if backend.affinity is not None and (settings.affinity or settings.absent_affinity):
        pool = replace(pool, affinity=backend.affinity.to(encoding.vector, pool.terms))
    return Analysis(document, prepared.pieces, neighbourhood, weights, pool, places, tagged, made)


def _worth(
    document: Document, weights: Weights, glossary: Glossary, settings: Settings, ids: NDArray[np.int64], terms: Terms
) -> NDArray[np.bool_]:
    """Which of the neighbours' phrases can be absent ones that say something: most have no weight at all.

    Those that the text seems to hold after all are only words of it: no phrase here, neither absent nor worth showing.
    """
    mixed = weights.mixed(settings.absent_alpha)
    telling = scoring.informativeness(mixed, weights.index(terms), 0.0) > 0
    telling[telling] = ~could_contain(document, glossary.hashes(ids[telling]))
    return telling


def _locate(document: Document, pool: Pool, own: int, glossary: Glossary | None) -> dict[int, Located]:
    """Where those of the neighbours' phrases stand, in the pool from row `own` on, that the text holds after all."""
    extra = pool.glossary_ids[own:]
    if glossary is None or not len(extra):
        return {}
    rows = own + np.flatnonzero(could_contain(document, glossary.hashes(extra)))
    places = locate(document, [fold(phrase) for phrase in glossary.phrases(pool.glossary_ids[rows])])
    return {i: place for i, place in zip(rows.tolist(), places, strict=True) if place is not None}


def distinct(ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """The different ids, ascending."""
    ids = np.sort(ids)
    first = np.ones(len(ids), np.bool_)
    np.not_equal(ids[1:], ids[:-1], out=first[1:])
    return ids[first]

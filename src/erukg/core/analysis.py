"""Everything about one document that its ranking starts from: its candidates, the pool of them and their weights."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from erukg.core.backend import Backend, Encoding, Pieces
from erukg.core.candidates import find_candidates
from erukg.core.chunking import TaggedText
from erukg.core.composing import Composed, add_composed, compose
from erukg.core.document import Document
from erukg.core.folding import fold
from erukg.core.locating import Located, could_contain, locate
from erukg.core.neighbours import Glossary, Neighbourhood
from erukg.core.pool import Pool, build_pool
from erukg.core.ranking import Weights
from erukg.core.settings import Settings
from erukg.core.tagging import Tagger, tag_classes

__all__ = ["Analysis", "Prepared", "analyse"]


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
    pool, places = build_pool(candidates, terms, neighbourhood, glossary, settings), dict(enumerate(candidates))
    in_text = _in_text(document, pool, len(candidates), glossary)
    if whole:
        # Words of neighbours' phrases that are no phrase here: neither absent nor worth showing.
        pool = pool.without(in_text)
    else:
        located = _locate(document, pool, in_text, glossary)
        pool, places = pool.with_places(located), places | located
    made: dict[int, Composed] = {}
    composing &= pool.support is not None and settings.absent_composed > 0
    if composing and tagged is not None and glossary is not None and (found := compose(tagged)):
        pool, made = add_composed(pool, found, document.folded, prepared.pieces, glossary, settings)
    weights = Weights.combine(prepared.terms, encoding.weights, neighbourhood, document.words, prepared.pieces)
    return Analysis(document, prepared.pieces, neighbourhood, weights, pool, places, tagged, made)


def _in_text(document: Document, pool: Pool, own: int, glossary: Glossary | None) -> NDArray[np.int64]:
    """Those of the neighbours' phrases, in the pool from row `own` on, that the text seems to hold after all."""
    extra = pool.glossary_ids[own:]
    if glossary is None or not len(extra):
        return np.empty(0, np.int64)
    return own + np.flatnonzero(could_contain(document, glossary.hashes(extra)))


def _locate(document: Document, pool: Pool, rows: NDArray[np.int64], glossary: Glossary | None) -> dict[int, Located]:
    """Where the glossary's phrases of these rows stand, those that do."""
    if glossary is None or not len(rows):
        return {}
    places = locate(document, [fold(phrase) for phrase in glossary.phrases(pool.glossary_ids[rows])])
    return {i: place for i, place in zip(rows.tolist(), places, strict=True) if place is not None}

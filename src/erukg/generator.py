"""The generator: Algorithm 1 of the paper, from a text to its keyphrases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.backends import BatchEncoder, Encoder, Encoding, Pieces, TermEncoder, find_model, load_encoder
from erukg.backends.threads import in_order
from erukg.core.candidates import Candidates, noun_phrases
from erukg.core.document import Document
from erukg.core.explaining import explain_score
from erukg.core.folding import fold
from erukg.core.locating import Located, locate, locate_candidates, may_hold
from erukg.core.neighbours import Background, Neighbourhood
from erukg.core.phrase_list import PhraseList
from erukg.core.ranking import Pool, Ranked, Weights, build_pool, drop_contained, rank_pool
from erukg.core.results import Keyphrase, Keyphrases
from erukg.core.settings import Settings
from erukg.core.tagging import tag_classes
from erukg.errors import CollectionError, InputError
from erukg.taggers import Tagger

__all__ = ["KeyphraseGenerator", "Reading"]

Item: TypeAlias = str | tuple[str | None, str]
"""A text, or its id and the text."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A document as the encoder gets it: its words, their pieces, its neighbours and the terms whose weights matter."""

    document: Document
    pieces: Pieces
    neighbourhood: Neighbourhood
    terms: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _Analysis:
    """Everything about one document that does not depend on how its candidates are scored."""

    document: Document
    neighbourhood: Neighbourhood
    weights: Weights
    candidates: Candidates


class KeyphraseGenerator:
    """Finds the phrases that describe a text, both those in it and those not. Thread-safe.

    >>> generator = KeyphraseGenerator.from_pretrained()
    >>> [k.phrase for k in generator.generate(text).present]
    """

    def __init__(
        self,
        encoder: TermEncoder,
        background: Background | None = None,
        *,
        tagger: Tagger | None = None,
        settings: Settings | None = None,
    ) -> None:
        if background is not None and background.fingerprint != encoder.term_space:
            raise CollectionError(
                "The collection was made with another model than the one given; build it again with this model, "
                "or give the model it was made with."
            )
        self.encoder = encoder
        self.background = background
        self.tagger = tagger
        self.settings = settings or Settings()

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path | None = None,
        collection: str | Path | Literal[False] | None = None,
        *,
        tagger: Tagger | None = None,
        settings: Settings | None = None,
        threads: int = 1,
        device: str | None = None,
    ) -> KeyphraseGenerator:
        """Load a model and a collection: None means the bundled one, otherwise a folder.

        `collection=False` works without one: only present phrases are found. `threads` is how many cores a single
        document may use; `generate_batch` uses all cores by itself, a document each. `device` is where the model runs:
        the CPU, "cuda" or "cuda:1", or "auto" for a GPU if there is one; a GPU needs `erukg[gpu]`.
        """
        encoder: Encoder = load_encoder(find_model(model), device, threads)
        background: Background | None = None
        if collection is not False:
            from erukg.collection import Collection
            from erukg.collection.bundled import bundled_collection

            path = Path(collection) if collection is not None else bundled_collection(encoder.term_space)
            background = Collection.open(path) if path is not None else None
        return cls(encoder, background, tagger=tagger, settings=settings)

    def generate(
        self,
        text: str,
        top_k: int = 10,
        settings: Settings | None = None,
        *,
        explain: bool = False,
        id: str | None = None,
    ) -> Keyphrases:
        """The best `top_k` present and the best `top_k` absent phrases of `text`.

        `id` names the document, in the result and so that a collection holding it does not return it as a neighbour.
        """
        settings = settings or self.settings
        reading = self.read(text, top_k, settings, id=id)
        encoding = self.encoder.encode(reading.pieces, reading.terms)
        return self.finish(reading, encoding, top_k, settings, explain=explain, id=id)

    def read(
        self,
        text: str,
        top_k: int,
        settings: Settings,
        *,
        id: str | None = None,
        neighbourhood: Neighbourhood | None = None,
    ) -> Reading:
        """The part of `generate` before the encoder: words, pieces, neighbours, and the terms it is asked for.

        A `neighbourhood` that was found elsewhere saves the search.
        """
        _check(text, top_k)
        return self._read(text, settings, id, neighbourhood=neighbourhood)

    def finish(
        self,
        reading: Reading,
        encoding: Encoding,
        top_k: int,
        settings: Settings,
        *,
        explain: bool = False,
        id: str | None = None,
    ) -> Keyphrases:
        """The part of `generate` after the encoder: candidates, their scores and the best of them."""
        analysis = self._analyse(reading, encoding, settings)
        candidates = analysis.candidates
        glossary = self.background.glossary if self.background is not None else None
        pool = build_pool(
            candidates,
            self.encoder.phrase_terms(candidates.forms),
            analysis.neighbourhood,
            glossary,
            settings,
        )
        found, pool = self._find_in_text(analysis.document, pool)
        # How many of them are parts of better ones is not known yet.
        limit = len(pool) if settings.drop_contained else top_k
        present = rank_pool(pool, analysis.weights, settings, present=True, limit=limit)
        if settings.drop_contained:
            folds = (candidates.folds[i] if i < pool.own else fold(found[i].form) for i in present.pool.tolist())
            present = drop_contained(present, folds, top_k)
        shown = self._present(present, top_k, analysis, pool, found, explain)
        if pool.own + len(found) == len(pool):
            return Keyphrases(shown, (), id)
        absent = rank_pool(pool, analysis.weights, settings, present=False, limit=top_k)
        return Keyphrases(shown, self._absent(absent, analysis, pool, explain), id)

    def extract(
        self,
        text: str,
        top_k: int = 10,
        settings: Settings | None = None,
        *,
        explain: bool = False,
        id: str | None = None,
    ) -> Keyphrases:
        """Present phrases from the text alone: `generate` with α = β = 1, without looking at the collection."""
        return self.generate(text, top_k, (settings or self.settings).extraction(), explain=explain, id=id)

    def generate_batch(
        self,
        texts: Iterable[Item],
        top_k: int = 10,
        settings: Settings | None = None,
        *,
        explain: bool = False,
        threads: int | None = None,
    ) -> Iterator[Keyphrases]:
        """`generate` for each text, or (id, text) pair, in order; takes an endless stream in constant memory.

        Runs a document a thread on all cores (or `threads`); the results are exactly those of one at a time. On a GPU
        the model runs many documents a pass, and `threads` processes do the rest; the results are then those of one at
        a time up to rounding.
        """
        if isinstance(self.encoder, BatchEncoder):
            from erukg.gpu import stream_keyphrases

            pairs = map(_pair, texts)
            return stream_keyphrases(self, pairs, top_k, settings or self.settings, explain=explain, workers=threads)

        def work(item: Item) -> Keyphrases:
            id, text = _pair(item)
            return self.generate(text, top_k, settings, explain=explain, id=id)

        return in_order(work, texts, threads)

    def extract_batch(
        self,
        texts: Iterable[Item],
        top_k: int = 10,
        settings: Settings | None = None,
        *,
        explain: bool = False,
        threads: int | None = None,
    ) -> Iterator[Keyphrases]:
        """`extract` for each text, as `generate_batch`."""
        alone = (settings or self.settings).extraction()
        return self.generate_batch(texts, top_k, alone, explain=explain, threads=threads)

    def phrase_list(self, phrases: Sequence[str]) -> PhraseList:
        """Prepare phrases for `rank`; phrases that fold to the same one are kept once, in their first form."""
        return PhraseList.of(phrases, self.encoder)

    def rank(
        self,
        text: str,
        phrases: Sequence[str] | PhraseList,
        settings: Settings | None = None,
        *,
        top_k: int | None = None,
        explain: bool = False,
        id: str | None = None,
    ) -> list[Keyphrase]:
        """Score any phrases (a thesaurus, headings, tags) against a text, present in it or not, best first.

        The caller vouches for the phrases, so phraseness is left out: score = ω^p · f̂. Phrases in the text have
        `spans`. A `PhraseList` from `phrase_list` saves preparing a long list for every text.
        """
        _check(text, 0 if top_k is None else top_k)
        listed = phrases if isinstance(phrases, PhraseList) else self.phrase_list(phrases)
        settings = (settings or self.settings).replace(
            phraseness=0.0, absent_phraseness=0.0, absent_commonness=0.0, beta=1.0
        )
        reading = self._read(text, settings, id, listed.vocabulary)
        analysis = self._analyse(reading, self.encoder.encode(reading.pieces, reading.terms), settings)
        n = len(listed.forms)
        likely = np.flatnonzero(may_hold(analysis.document, listed.hashes)).tolist()
        places = locate(analysis.document, [listed.folds[i] for i in likely])
        found = {i: place for i, place in zip(likely, places, strict=True) if place is not None}
        spans = {i: place.spans for i, place in found.items()}
        before = np.full(n, np.inf)
        before[list(found)] = [place.words_before for place in found.values()]
        pool = Pool(
            n, np.full(n, -1, np.int64), np.ones(n), np.zeros(n), np.ones(n), before, listed.single, listed.terms
        )
        kinds = [rank_pool(pool, analysis.weights, settings, present=kind, limit=n) for kind in (True, False)]
        # Only what is asked for becomes an object: of ten thousand phrases most score nothing.
        entries = [(ranked, k) for ranked in kinds for k in range(len(ranked.pool))]
        order = np.argsort(-np.concatenate([ranked.scores for ranked in kinds]), kind="stable")[:top_k]
        out = []
        for ranked, k in (entries[i] for i in order.tolist()):
            i = int(ranked.pool[k])
            explanation = explain_score(ranked, k, pool, analysis.weights, self.encoder) if explain else None
            out.append(Keyphrase(listed.forms[i], float(ranked.scores[k]), spans.get(i, ()), explanation=explanation))
        scored = np.concatenate([ranked.pool for ranked in kinds])
        unscored = np.setdiff1d(np.arange(n), scored)[: None if top_k is None else top_k - len(out)]
        return out + [Keyphrase(listed.forms[i], 0.0, spans.get(i, ())) for i in unscored.tolist()]

    def rank_batch(
        self,
        texts: Iterable[Item],
        phrases: Sequence[str] | PhraseList,
        settings: Settings | None = None,
        *,
        top_k: int | None = None,
        explain: bool = False,
        threads: int | None = None,
    ) -> Iterator[list[Keyphrase]]:
        """`rank` of the same phrases for each text, as `generate_batch`."""
        listed = phrases if isinstance(phrases, PhraseList) else self.phrase_list(phrases)

        def work(item: Item) -> list[Keyphrase]:
            id, text = _pair(item)
            return self.rank(text, listed, settings, top_k=top_k, explain=explain, id=id)

        return in_order(work, texts, threads)

    def _read(
        self,
        text: str,
        settings: Settings,
        id: str | None,
        more_terms: NDArray[np.int32] | None = None,
        neighbourhood: Neighbourhood | None = None,
    ) -> Reading:
        document = Document.parse(text)
        pieces = self.encoder.pieces(document.words)
        wanted = [pieces.ids] if more_terms is None else [pieces.ids, more_terms]
        if self.background is None or not settings.uses_neighbours or not len(pieces.ids):
            neighbourhood = Neighbourhood.empty()
        else:
            if neighbourhood is None:
                neighbourhood = self.background.neighbourhood(text, settings.neighbours, exclude=id)
            # A superset of the neighbour candidates that can be chosen: being in C_x as well only moves others down.
            phrases = neighbourhood.phrase_ids
            if len(phrases) > settings.neighbour_candidates:
                order = np.argsort(-neighbourhood.phrase_shares, kind="stable")
                phrases = phrases[order[: settings.neighbour_candidates]]
            wanted.append(self.background.glossary.terms(phrases).ids)
        return Reading(document, pieces, neighbourhood, _distinct(np.concatenate(wanted)))

    def _analyse(self, reading: Reading, encoding: Encoding, settings: Settings) -> _Analysis:
        document, neighbourhood = reading.document, reading.neighbourhood
        classes = encoding.tags
        if self.tagger is not None:
            classes = tag_classes(self.tagger, document)
        candidates = locate_candidates(document, noun_phrases(document, classes, settings.max_words))
        weights = Weights.combine(reading.terms, encoding.weights, neighbourhood)
        return _Analysis(document, neighbourhood, weights, candidates)

    def _find_in_text(self, document: Document, pool: Pool) -> tuple[dict[int, Located], Pool]:
        """Those of the neighbours' phrases that the text holds after all, and the pool that counts them as present."""
        extra = pool.glossary_ids[pool.own :]
        if self.background is None or not len(extra):
            return {}, pool
        glossary = self.background.glossary
        likely = np.flatnonzero(may_hold(document, glossary.hashes(extra)))
        if not len(likely):
            return {}, pool
        places = locate(document, [fold(phrase) for phrase in glossary.phrases(extra[likely])])
        found = {pool.own + i: place for i, place in zip(likely.tolist(), places, strict=True) if place is not None}
        before = pool.words_before.copy()
        before[list(found)] = [place.words_before for place in found.values()]
        single = pool.single.copy()
        single[list(found)] = [" " not in fold(place.form) for place in found.values()]
        return found, replace(pool, words_before=before, single=single)

    def _present(
        self,
        ranked: Ranked,
        top_k: int,
        analysis: _Analysis,
        pool: Pool,
        found: dict[int, Located],
        explain: bool,
    ) -> tuple[Keyphrase, ...]:
        candidates = analysis.candidates
        out = []
        for k, i in enumerate(ranked.pool[:top_k].tolist()):
            own = i < pool.own
            form, spans = (candidates.forms[i], candidates.spans[i]) if own else (found[i].form, found[i].spans)
            explanation = explain_score(ranked, k, pool, analysis.weights, self.encoder) if explain else None
            out.append(Keyphrase(form, float(ranked.scores[k]), spans, explanation=explanation))
        return tuple(out)

    def _absent(self, ranked: Ranked, analysis: _Analysis, pool: Pool, explain: bool) -> tuple[Keyphrase, ...]:
        if self.background is None or not len(ranked.pool):
            return ()
        ids = pool.glossary_ids[ranked.pool]
        phrases = self.background.glossary.phrases(ids)
        sources = self.background.sources(analysis.neighbourhood, ids)
        return tuple(
            Keyphrase(
                phrase,
                float(ranked.scores[k]),
                sources=tuple(source),
                explanation=explain_score(ranked, k, pool, analysis.weights, self.encoder) if explain else None,
            )
            for k, (phrase, source) in enumerate(zip(phrases, sources, strict=True))
        )


def _pair(item: Item) -> tuple[str | None, str]:
    return (None, item) if isinstance(item, str) else item


def _distinct(ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """The different ids, ascending; they are numbers in a vocabulary, so marking them is quicker than sorting."""
    marked = np.zeros(int(ids.max(initial=-1)) + 1, np.bool_)
    marked[ids] = True
    return np.flatnonzero(marked).astype(np.int32)


def _check(text: object, top_k: object) -> None:
    if not isinstance(text, str):
        raise InputError(f"A document must be a string, not {type(text).__name__}.")
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 0:
        raise InputError(f"top_k must be a whole number of 0 or more, not {top_k!r}.")

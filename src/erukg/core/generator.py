"""The generator: Algorithm 1 of the paper, from a text to its keyphrases, over any model and any collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from erukg.core.absent import UNLIKE, choose_absent, is_unlike
from erukg.core.backend import Backend, Encoding, Pieces
from erukg.core.candidates import find_candidates
from erukg.core.document import Document
from erukg.core.explaining import explain_score
from erukg.core.folding import fold
from erukg.core.inputs import as_item, check_items
from erukg.core.locating import Located, could_contain, locate
from erukg.core.neighbours import Background, Neighbourhood
from erukg.core.phrase_list import PhraseList
from erukg.core.pool import Pool, build_pool
from erukg.core.ranking import Ranked, Weights, drop_contained, rank_pool
from erukg.core.results import Keyphrase, Keyphrases, RankedPhrases
from erukg.core.runner import Request, Runner, SerialRunner
from erukg.core.settings import Settings
from erukg.core.streams import Answer, attempt, or_error
from erukg.core.tagging import Tagger, tag_classes
from erukg.errors import CollectionError, InputError

__all__ = ["Generator", "Prepared"]

ItemT = TypeVar("ItemT")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document as the model gets it: its words, their pieces, its neighbours and the terms whose weights matter."""

    id: str | None
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
    candidates: list[Located]


class Generator:
    """Finds the phrases that describe a text, both those in it and those not. Thread-safe."""

    _default_runner: ClassVar[type[SerialRunner]] = SerialRunner

    def __init__(
        self,
        backend: Backend,
        background: Background | None = None,
        *,
        tagger: Tagger | None = None,
        settings: Settings | None = None,
        runner: Runner | None = None,
    ) -> None:
        if background is not None and background.fingerprint != backend.term_space:
            raise CollectionError(
                "The collection was made with another model than the one given; build it again with this model, "
                "or give the model it was made with."
            )
        self.backend = backend
        self.background = background
        self.tagger = tagger
        self.settings = settings or Settings()
        self._runner: Runner = runner or self._default_runner()

    def generate(
        self,
        text: str | Document,
        top_k: int = 10,
        settings: Settings | None = None,
        *,
        explain: bool = False,
        id: str | None = None,
    ) -> Keyphrases:
        """The best `top_k` present and the best `top_k` absent phrases of `text`.

        `id` names the document, in the result and so that a collection holding it does not return it as a neighbour.
        """
        request = Request(_checked(top_k), settings or self.settings, explain)
        return self._generate(_one(text, id), request)

    def extract(
        self,
        text: str | Document,
        top_k: int = 10,
        settings: Settings | None = None,
        *,
        explain: bool = False,
        id: str | None = None,
    ) -> Keyphrases:
        """Present phrases from the text alone: `generate` with α = β = 1, without looking at the collection."""
        return self.generate(text, top_k, (settings or self.settings).extraction(), explain=explain, id=id)

    def prepare(
        self,
        item: object,
        settings: Settings,
        *,
        more_terms: NDArray[np.int32] | None = None,
        neighbourhood: Neighbourhood | None = None,
    ) -> Prepared:
        """The part of `generate` before the model runs: words, pieces, neighbours, and the terms it is asked for.

        `more_terms` are asked for as well. A `neighbourhood` that was found elsewhere saves the search.
        """
        given = as_item(item)
        document = given.parsed or Document.parse(given.text)
        pieces = self.backend.pieces(document.words)
        wanted = [pieces.ids] if more_terms is None else [pieces.ids, more_terms]
        if self.background is None or not settings.uses_neighbours or not len(pieces.ids):
            neighbourhood = Neighbourhood.empty()
        else:
            if neighbourhood is None:
                neighbourhood = self.background.neighbourhood(given.text, settings.neighbours, exclude=given.id)
            # A superset of the neighbour candidates that can be chosen: being in C_x as well only moves others down.
            phrases = neighbourhood.phrase_ids
            if len(phrases) > settings.neighbour_candidates:
                order = np.argsort(-neighbourhood.phrase_shares, kind="stable")
                phrases = phrases[order[: settings.neighbour_candidates]]
            wanted.append(self.background.glossary.terms(phrases).ids)
        return Prepared(given.id, document, pieces, neighbourhood, _distinct(np.concatenate(wanted)))

    def complete(
        self, prepared: Prepared, encoding: Encoding, top_k: int, settings: Settings, *, explain: bool = False
    ) -> Keyphrases:
        """The part of `generate` after the model has run: candidates, their scores and the best of them."""
        analysis = self._analyse(prepared, encoding, settings)
        candidates = analysis.candidates
        pool = build_pool(
            candidates,
            self.backend.phrase_terms([candidate.form for candidate in candidates]),
            analysis.neighbourhood,
            self.background.glossary if self.background is not None else None,
            settings,
        )
        found = self._find_in_text(analysis.document, pool, len(candidates))
        pool, places = pool.with_places(found), {**dict(enumerate(candidates)), **found}
        # How many of them are parts of better ones is not known yet.
        limit = len(pool) if settings.drop_contained else top_k
        present = rank_pool(pool, analysis.weights, settings, present=True, limit=limit)
        if settings.drop_contained:
            present = drop_contained(present, (places[i].fold for i in present.pool.tolist()), top_k)
        shown = self._present(present, analysis, pool, places, explain)
        if is_unlike(analysis.neighbourhood, settings):
            return Keyphrases(shown, (), prepared.id, notices=(UNLIKE,))
        if len(places) == len(pool):
            return Keyphrases(shown, (), prepared.id)
        pool = pool.with_words(prepared.pieces.ids, self.backend.term_kinds)
        return Keyphrases(shown, self._absent(pool, analysis, settings, shown, top_k, explain), prepared.id)

    def answer(self, item: ItemT, request: Request) -> Answer[ItemT, Keyphrases]:
        """What a stream answers for one item: its keyphrases, or what is wrong with it."""
        return attempt(lambda each: self._generate(each, request), item)

    def stream(
        self,
        items: Iterable[ItemT],
        top_k: int = 10,
        settings: Settings | None = None,
        *,
        explain: bool = False,
        threads: int | None = None,
    ) -> Iterator[Answer[ItemT, Keyphrases]]:
        """`generate` for each item, in order; takes an endless stream in constant memory.

        An item is a text, an (id, text) pair, a mapping with `text`, `title` or `abstract` and perhaps an `id`, an
        `InputDocument` or a `Document`. It is answered by its result or by its error, and comes back with the answer;
        no item ends the stream. The work is done on all cores (or `threads`), with exactly the results of one item at
        a time; on a GPU, up to rounding.
        """
        request = Request(_checked(top_k), settings or self.settings, explain)
        return self._runner.generate(self, check_items(items), request, threads)

    def generate_batch(
        self,
        items: Iterable[object],
        top_k: int = 10,
        settings: Settings | None = None,
        *,
        explain: bool = False,
        threads: int | None = None,
    ) -> Iterator[Keyphrases]:
        """The results of `stream`, in order; a bad item's result is empty, and its `error` says why."""
        answers = self.stream(items, top_k, settings, explain=explain, threads=threads)
        return (or_error(answer, Keyphrases) for answer in answers)

    def extract_batch(
        self,
        items: Iterable[object],
        top_k: int = 10,
        settings: Settings | None = None,
        *,
        explain: bool = False,
        threads: int | None = None,
    ) -> Iterator[Keyphrases]:
        """`extract` for each item, as `generate_batch`."""
        alone = (settings or self.settings).extraction()
        return self.generate_batch(items, top_k, alone, explain=explain, threads=threads)

    def phrase_list(self, phrases: Sequence[str]) -> PhraseList:
        """Prepare phrases for `rank`; phrases that fold to the same one are kept once, in their first form."""
        return PhraseList.of(phrases, self.backend)

    def rank(
        self,
        text: str | Document,
        phrases: Sequence[str] | PhraseList,
        settings: Settings | None = None,
        *,
        top_k: int | None = None,
        explain: bool = False,
        id: str | None = None,
    ) -> list[Keyphrase]:
        """Score any phrases (a thesaurus, headings, tags) against a text, present in it or not, best first.

        The caller vouches for the phrases, so phraseness is left out: score = ω^p · f̂, or f̂ by whole words and by
        all of them (`erukg.core.factors`) for phrases not in the text. Those that are have `spans`. A `PhraseList`
        from `phrase_list` saves preparing a long list for every text.
        """
        limit = None if top_k is None else _checked(top_k)
        return self._rank(
            _one(text, id), self._listed(phrases), _for_ranking(settings or self.settings), limit, explain
        )

    def rank_stream(
        self,
        items: Iterable[ItemT],
        phrases: Sequence[str] | PhraseList,
        settings: Settings | None = None,
        *,
        top_k: int | None = None,
        explain: bool = False,
        threads: int | None = None,
    ) -> Iterator[Answer[ItemT, RankedPhrases]]:
        """`rank` of the same phrases for each item, as `stream`."""
        limit = None if top_k is None else _checked(top_k)
        listed, chosen = self._listed(phrases), _for_ranking(settings or self.settings)

        def rank(item: ItemT) -> RankedPhrases:
            return RankedPhrases(tuple(self._rank(item, listed, chosen, limit, explain)), as_item(item).id)

        return self._runner.map(partial(attempt, rank), check_items(items), threads)

    def rank_batch(
        self,
        items: Iterable[object],
        phrases: Sequence[str] | PhraseList,
        settings: Settings | None = None,
        *,
        top_k: int | None = None,
        explain: bool = False,
        threads: int | None = None,
    ) -> Iterator[RankedPhrases]:
        """The results of `rank_stream`, in order; a bad item's result is empty, and its `error` says why."""
        answers = self.rank_stream(items, phrases, settings, top_k=top_k, explain=explain, threads=threads)
        return (or_error(answer, RankedPhrases) for answer in answers)

    def _generate(self, item: object, request: Request) -> Keyphrases:
        prepared = self.prepare(item, request.settings)
        encoding = self.backend.encode(prepared.pieces, prepared.terms)
        return self.complete(prepared, encoding, request.top_k, request.settings, explain=request.explain)

    def _rank(
        self, item: object, listed: PhraseList, settings: Settings, top_k: int | None, explain: bool
    ) -> list[Keyphrase]:
        prepared = self.prepare(item, settings, more_terms=listed.vocabulary)
        analysis = self._analyse(prepared, self.backend.encode(prepared.pieces, prepared.terms), settings)
        n = len(listed.forms)
        likely = np.flatnonzero(could_contain(analysis.document, listed.hashes)).tolist()
        places = locate(analysis.document, [listed.folds[i] for i in likely])
        found = {i: place for i, place in zip(likely, places, strict=True) if place is not None}
        spans = {i: place.spans for i, place in found.items()}
        pool = Pool.of(listed.terms, phraseness_document=np.ones(n)).with_places(found)
        pool = pool.with_words(prepared.pieces.ids, self.backend.term_kinds)
        kinds = [rank_pool(pool, analysis.weights, settings, present=kind, limit=n) for kind in (True, False)]
        # Only what is asked for becomes an object: of ten thousand phrases most score nothing.
        entries = [(ranked, k) for ranked in kinds for k in range(len(ranked.pool))]
        order = np.argsort(-np.concatenate([ranked.scores for ranked in kinds]), kind="stable")[:top_k]
        out = []
        for ranked, k in (entries[i] for i in order.tolist()):
            i = int(ranked.pool[k])
            explanation = explain_score(ranked, k, pool, analysis.weights, self.backend) if explain else None
            out.append(
                Keyphrase(listed.forms[i], float(ranked.scores[k]), spans=spans.get(i, ()), explanation=explanation)
            )
        scored = np.concatenate([ranked.pool for ranked in kinds])
        unscored = np.setdiff1d(np.arange(n), scored)[: None if top_k is None else top_k - len(out)]
        return out + [Keyphrase(listed.forms[i], 0.0, spans=spans.get(i, ())) for i in unscored.tolist()]

    def _listed(self, phrases: Sequence[str] | PhraseList) -> PhraseList:
        return phrases if isinstance(phrases, PhraseList) else self.phrase_list(phrases)

    def _analyse(self, prepared: Prepared, encoding: Encoding, settings: Settings) -> _Analysis:
        document, neighbourhood = prepared.document, prepared.neighbourhood
        classes = encoding.tags if self.tagger is None else tag_classes(self.tagger, document)
        candidates = find_candidates(document, classes, settings.max_words)
        weights = Weights.combine(prepared.terms, encoding.weights, neighbourhood)
        return _Analysis(document, neighbourhood, weights, candidates)

    def _find_in_text(self, document: Document, pool: Pool, own: int) -> dict[int, Located]:
        """Those of the neighbours' phrases, in the pool from row `own` on, that the text holds after all."""
        extra = pool.glossary_ids[own:]
        if self.background is None or not len(extra):
            return {}
        glossary = self.background.glossary
        likely = np.flatnonzero(could_contain(document, glossary.hashes(extra)))
        if not len(likely):
            return {}
        places = locate(document, [fold(phrase) for phrase in glossary.phrases(extra[likely])])
        return {own + i: place for i, place in zip(likely.tolist(), places, strict=True) if place is not None}

    def _present(
        self, ranked: Ranked, analysis: _Analysis, pool: Pool, places: dict[int, Located], explain: bool
    ) -> tuple[Keyphrase, ...]:
        sure = ranked.confidence(analysis.neighbourhood.fit)
        least = ranked.evidence.settings.min_confidence
        out = []
        for k, i in enumerate(ranked.pool.tolist()):
            if sure is not None and sure[k] < least:
                continue
            explanation = explain_score(ranked, k, pool, analysis.weights, self.backend) if explain else None
            place, score, confidence = places[i], float(ranked.scores[k]), None if sure is None else float(sure[k])
            out.append(Keyphrase(place.form, score, confidence, spans=place.spans, explanation=explanation))
        return tuple(out)

    def _absent(
        self,
        pool: Pool,
        analysis: _Analysis,
        settings: Settings,
        shown: Sequence[Keyphrase],
        top_k: int,
        explain: bool,
    ) -> tuple[Keyphrase, ...]:
        if self.background is None:
            return ()
        glossary, n_words, weights = self.background.glossary, len(analysis.document), analysis.weights
        names = (k.phrase for k in shown)
        ranked, phrases, related = choose_absent(pool, weights, glossary, settings, names, n_words, top_k)
        sure = ranked.confidence(analysis.neighbourhood.fit)
        sources = self.background.sources(analysis.neighbourhood, pool.glossary_ids[ranked.pool])
        return tuple(
            Keyphrase(
                phrase,
                float(ranked.scores[k]),
                None if sure is None else float(sure[k]),
                sources=tuple(source),
                explanation=explain_score(ranked, k, pool, weights, self.backend) if explain else None,
                related=related[k],
            )
            for k, (phrase, source) in enumerate(zip(phrases, sources, strict=True))
        )


def _one(text: object, id: str | None) -> object:
    """A single document as an item of a stream."""
    if isinstance(text, str):
        return (id, text)
    if isinstance(text, Document):
        return text if id is None else replace(as_item(text), id=id)
    raise InputError(f"A document must be a string or a Document, not {type(text).__name__}.")


def _for_ranking(settings: Settings) -> Settings:
    return settings.replace(
        phraseness=0.0, absent_phraseness=0.0, absent_commonness=0.0, absent_agreement=0.0, beta=1.0
    )


def _distinct(ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """The different ids, ascending; they are numbers in a vocabulary, so marking them is quicker than sorting."""
    marked = np.zeros(int(ids.max(initial=-1)) + 1, np.bool_)
    marked[ids] = True
    return np.flatnonzero(marked).astype(np.int32)


def _checked(top_k: object) -> int:
    if not isinstance(top_k, int) or isinstance(top_k, bool) or top_k < 0:
        raise InputError(f"top_k must be a whole number of 0 or more, not {top_k!r}.")
    return top_k

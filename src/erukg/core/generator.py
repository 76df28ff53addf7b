"""The generator: Algorithm 1 of the paper, from a text to its keyphrases, over any model and any collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from erukg.core.absent import choose_absent, is_unlike
from erukg.core.analysis import Analysis, Prepared, analyse
from erukg.core.arguments import checked
from erukg.core.backend import Backend, Encoding
from erukg.core.document import Document
from erukg.core.explaining import explain_score
from erukg.core.inputs import as_item, check_items, checked_count, single_item
from erukg.core.learned import AbsentCandidates, LearnedRanking
from erukg.core.merging import Merged, rank_present
from erukg.core.neighbours import Background, Glossary, Neighbourhood
from erukg.core.notices import LanguageOf, notices_of, unlike_collection, withholds_absent
from erukg.core.phrase_list import PhraseList
from erukg.core.phrase_ranking import PhraseRanker
from erukg.core.ranking import Ranked
from erukg.core.results import Keyphrase, Keyphrases, RankedPhrases
from erukg.core.runner import Request, Runner, SerialRunner
from erukg.core.settings import Settings
from erukg.core.streams import Answer, attempt, or_error
from erukg.core.tagging import Tagger
from erukg.errors import CollectionError, InputError

__all__ = ["Generator"]

ItemT = TypeVar("ItemT")


class Generator:
    """Finds the phrases that describe a text, both those in it and those not. Thread-safe.

    With `language_of`, a text that is not English gets a notice that says so, and no absent phrases.
    """

    _default_runner: ClassVar[type[SerialRunner]] = SerialRunner

    @checked
    def __init__(
        self,
        backend: Backend,
        background: Background | None = None,
        *,
        tagger: Tagger | None = None,
        settings: Settings | None = None,
        runner: Runner | None = None,
        language_of: LanguageOf | None = None,
    ) -> None:
        if background is not None and background.fingerprint != backend.term_space:
            raise CollectionError(
                "The collection was made with another model than the one given; build it again with this model, "
                "or give the model it was made with."
            )
        self.backend = backend
        self.background = background
        self.tagger = tagger
        self.language_of = language_of
        self.settings = settings or Settings()
        self._runner: Runner = runner or self._default_runner()
        self._ranker = PhraseRanker(backend)
        self._learned = LearnedRanking(backend)

    @property
    def runner(self) -> Runner:
        """What works through streams."""
        return self._runner

    @checked
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
        request = Request(checked_count(top_k), settings or self.settings, explain)
        return self._generate(single_item(text, id), request)

    @checked
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
        analysis, present = self._analyse(prepared, encoding, top_k, settings)
        shown = self._present(present, analysis, explain)
        notices = notices_of(prepared.document, self.language_of)
        if not withholds_absent(notices) and is_unlike(analysis.neighbourhood, settings):
            notices += (unlike_collection(),)
        if withholds_absent(notices):
            return Keyphrases(shown, (), prepared.id, notices=notices)
        absent = self._absent(self._with_words(analysis), present.every, settings, shown, top_k, explain)
        return Keyphrases(shown, absent, prepared.id, notices=notices)

    def answer(self, item: ItemT, request: Request) -> Answer[ItemT, Keyphrases]:
        """What a stream answers for one item: its keyphrases, or what is wrong with it."""
        return attempt(lambda each: self._generate(each, request), item)

    @checked
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
        request = Request(checked_count(top_k), settings or self.settings, explain)
        return self._runner.generate(self, check_items(items), request, threads)

    @checked
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

    @checked
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

    @checked
    def phrase_list(self, phrases: Sequence[str]) -> PhraseList:
        """Prepare phrases for `rank`; phrases that fold to the same one are kept once, in their first form."""
        return PhraseList.of(phrases, self.backend)

    @checked
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

        A phrase is judged as a whole: by what its words weigh in the text, by how much of what it calls up in the model
        the text calls up too, and by their likeness. What is hardly about the text scores 0 and comes last. Phrases in
        the text have `spans`. A `PhraseList` from `phrase_list` saves preparing a long list for every text.
        """
        limit = None if top_k is None else checked_count(top_k)
        listed, chosen = self._listed(phrases), _for_ranking(settings or self.settings)
        return list(self._rank(single_item(text, id), listed, chosen, limit, explain).phrases)

    @checked
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
        limit = None if top_k is None else checked_count(top_k)
        listed, chosen = self._listed(phrases), _for_ranking(settings or self.settings)

        @checked
        def rank(item: ItemT) -> RankedPhrases:
            return self._rank(item, listed, chosen, limit, explain)

        return self._runner.map(partial(attempt, rank), check_items(items), threads)

    @checked
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
    ) -> RankedPhrases:
        given = as_item(item)
        document = given.parsed or Document.parse(given.text)

        def prepare(terms: NDArray[np.int32]) -> Prepared:
            return self.prepare(replace(given, parsed=document), settings, more_terms=terms)

        phrases = self._ranker.rank(listed, prepare, self._glossary, settings, top_k, explain)
        return RankedPhrases(tuple(phrases), given.id, notices=notices_of(document, self.language_of))

    @property
    def _glossary(self) -> Glossary | None:
        return self.background.glossary if self.background is not None else None

    def _listed(self, phrases: Sequence[str] | PhraseList) -> PhraseList:
        return phrases if isinstance(phrases, PhraseList) else self.phrase_list(phrases)

    def absent_candidates(self, prepared: Prepared, encoding: Encoding, settings: Settings) -> AbsentCandidates:
        """Every absent phrase that a text could get, with the features that a ranking of them is learned from."""
        if self.background is None:
            raise InputError("Absent phrases come from a collection; open the generator with one.")
        analysis, present = self._analyse(prepared, encoding, 0, settings)
        return self._learned.candidates(self._with_words(analysis), present.every, self.background.glossary, settings)

    def _analyse(
        self, prepared: Prepared, encoding: Encoding, top_k: int, settings: Settings
    ) -> tuple[Analysis, Merged]:
        """The analysed document, and its best `top_k` present phrases."""
        analysis = analyse(prepared, encoding, self.backend, self._glossary, self.tagger, settings)
        weights, document, places = analysis.weights, analysis.document, analysis.places
        return analysis, rank_present(analysis.pool, weights, settings, document, places, top_k)

    def _with_words(self, analysis: Analysis) -> Analysis:
        return replace(analysis, pool=analysis.pool.with_words(analysis.pieces.ids, self.backend.term_kinds))

    def _present(self, merged: Merged, analysis: Analysis, explain: bool) -> tuple[Keyphrase, ...]:
        out, ranked = [], merged.ranked
        sure, least = ranked.confidence(analysis.neighbourhood.fit), ranked.evidence.settings.min_confidence
        for k, (i, variants) in enumerate(zip(ranked.pool.tolist(), merged.variants, strict=True)):
            place, score, confidence = (
                analysis.places[i],
                float(ranked.scores[k]),
                None if sure is None else float(sure[k]),
            )
            if confidence is not None and confidence < least:
                continue
            explanation = explain_score(ranked, k, analysis.pool, analysis.weights, self.backend) if explain else None
            out.append(Keyphrase(place.form, score, confidence, variants, place.spans, explanation=explanation))
        return tuple(out)

    def _absent(
        self,
        analysis: Analysis,
        present: Ranked,
        settings: Settings,
        shown: Sequence[Keyphrase],
        top_k: int,
        explain: bool,
    ) -> tuple[Keyphrase, ...]:
        if self.background is None:
            return ()
        glossary, n_words, weights = self.background.glossary, len(analysis.document), analysis.weights
        pool, learned = analysis.pool, self._learned.of(analysis, present, glossary, settings)
        names = [(k.phrase, *k.variants) for k in shown]
        ranked, phrases, related = choose_absent(pool, weights, glossary, settings, names, n_words, top_k, learned)
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


def _for_ranking(settings: Settings) -> Settings:
    # None of the neighbours' phrases is a candidate, so none is weighed.
    return settings.replace(neighbour_candidates=0)


def _distinct(ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """The different ids, ascending; they are numbers in a vocabulary, so marking them is quicker than sorting."""
    marked = np.zeros(int(ids.max(initial=-1)) + 1, np.bool_)
    marked[ids] = True
    return np.flatnonzero(marked).astype(np.int32)

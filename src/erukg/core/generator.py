"""The generator: Algorithm 1 of the paper, from a text to its keyphrases, over any model and any collection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from erukg.core.absent import choose_absent, is_hopeless, is_unlike, sources_of
from erukg.core.analysis import Analysis, Prepared, analyse, distinct
from erukg.core.arguments import checked
from erukg.core.backend import Backend, Encoding
from erukg.core.choices import Choice, rows_by_fold
from erukg.core.document import Document
from erukg.core.explaining import explain_score
from erukg.core.inputs import Text, as_item, check_items, checked_count, single_item
from erukg.core.learned import AbsentCandidates, LearnedRanking
from erukg.core.merging import Merged, rank_present
from erukg.core.neighbours import Background, Glossary, Neighbourhood
from erukg.core.notices import LanguageOf, notices_of, unlike_collection, withholds_absent
from erukg.core.ranking import Ranked, rank_pool
from erukg.core.results import Keyphrase, Keyphrases
from erukg.core.runner import Request, Runner, SerialRunner
from erukg.core.scoring import top_neighbour_candidates
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
        self._learned = LearnedRanking(backend)

    def __reduce__(self) -> tuple[Any, ...]:
        # What was worked out on the way is left behind: a copy, also in another process, works it out again.
        parts = {name: getattr(self, name) for name in ("tagger", "settings", "runner", "language_of")}
        return _remade, (type(self), self.backend, self.background, parts)

    @property
    def runner(self) -> Runner:
        """What works through streams."""
        return self._runner

    @checked
    def generate(
        self,
        text: Text,
        top_k: int = 10,
        settings: Settings | None = None,
        *,
        diversity: float | None = None,
        min_confidence: float | None = None,
        exclude: Collection[str] | None = None,
        must_have: Collection[str] | None = None,
        explain: bool = False,
        id: str | int | None = None,
    ) -> Keyphrases:
        """The best `top_k` present and the best `top_k` absent phrases of `text`.

        `id` names the document, in the result and so that a collection holding it does not return it as a neighbour.
        `diversity` and `min_confidence` change these two of the settings. Phrases that hold one of the words and
        phrases in `exclude`, up to endings, are left out. Those in `must_have` are in the result in any case: with the
        score that they have, or 0, and in the place of the weakest others.
        """
        request = self._request(top_k, settings, explain, diversity, min_confidence, exclude, must_have)
        item = single_item(text, id)
        return replace(self._generate(item, request), text=item.text)

    @checked
    def extract(
        self,
        text: Text,
        top_k: int = 10,
        settings: Settings | None = None,
        *,
        diversity: float | None = None,
        min_confidence: float | None = None,
        exclude: Collection[str] | None = None,
        must_have: Collection[str] | None = None,
        explain: bool = False,
        id: str | int | None = None,
    ) -> Keyphrases:
        """Present phrases from the text alone: `generate` with α = β = 1, without looking at the collection."""
        alone = _extraction(settings or self.settings)
        request = self._request(top_k, alone, explain, diversity, min_confidence, exclude, must_have)
        item = single_item(text, id)
        return replace(self._generate(item, request), text=item.text)

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
                neighbourhood = self.background.neighbourhood(
                    given.text, settings.neighbours, exclude=given.id, words=settings.search_words
                )
            # A superset of the neighbour candidates that can be chosen: being in C_x as well only moves others down.
            phrases = neighbourhood.phrase_ids
            if len(phrases) > settings.neighbour_candidates:
                shares = neighbourhood.phrase_shares.astype(np.float64)
                phrases = phrases[top_neighbour_candidates(shares, settings.neighbour_candidates)]
            wanted.append(self.background.glossary.terms(phrases).ids)
        return Prepared(given.id, document, pieces, neighbourhood, distinct(np.concatenate(wanted)))

    def complete(
        self,
        prepared: Prepared,
        encoding: Encoding,
        top_k: int,
        settings: Settings,
        *,
        explain: bool = False,
        choice: Choice | None = None,
    ) -> Keyphrases:
        """The part of `generate` after the model has run: candidates, their scores and the best of them."""
        analysis, present = self._analyse(prepared, encoding, top_k, settings, choice)
        shown = self._present(present, analysis, explain, settings.min_confidence)
        notices = notices_of(prepared.document, self.language_of)
        absent: tuple[Keyphrase, ...] = ()
        if not withholds_absent(notices):
            if analysis.has_absent and not is_hopeless(analysis, settings):
                absent = self._absent(self._with_words(analysis), present.every, settings, shown, top_k, explain)
            if not absent and is_unlike(analysis, settings):
                notices += (unlike_collection(),)
        if choice is not None and choice.must_have:
            shown, absent = self._with_wanted(choice, shown, absent, analysis, present.every, top_k, explain)
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
        diversity: float | None = None,
        min_confidence: float | None = None,
        exclude: Collection[str] | None = None,
        must_have: Collection[str] | None = None,
        explain: bool = False,
        threads: int | None = None,
    ) -> Iterator[Answer[ItemT, Keyphrases]]:
        """`generate` for each item, in order; takes an endless stream in constant memory.

        An item is a text, an (id, text) pair, a mapping with `text`, `title` or `abstract` and perhaps an `id`, an
        `InputDocument` or a `Document`. It is answered by its result or by its error, and comes back with the answer;
        no item ends the stream. The work is done on some cores (or `threads`), with exactly the results of one item at
        a time; on a GPU, up to rounding.
        """
        request = self._request(top_k, settings, explain, diversity, min_confidence, exclude, must_have)
        return self._runner.generate(self, check_items(items), request, threads)

    @checked
    def generate_batch(
        self,
        items: Iterable[object],
        top_k: int = 10,
        settings: Settings | None = None,
        *,
        diversity: float | None = None,
        min_confidence: float | None = None,
        exclude: Collection[str] | None = None,
        must_have: Collection[str] | None = None,
        explain: bool = False,
        threads: int | None = None,
    ) -> Iterator[Keyphrases]:
        """The results of `stream`, in order; a bad item's result is empty, and its `error` says why."""
        request = self._request(top_k, settings, explain, diversity, min_confidence, exclude, must_have)
        return self._with_texts(self._runner.generate(self, check_items(items), request, threads))

    @checked
    def extract_batch(
        self,
        items: Iterable[object],
        top_k: int = 10,
        settings: Settings | None = None,
        *,
        diversity: float | None = None,
        min_confidence: float | None = None,
        exclude: Collection[str] | None = None,
        must_have: Collection[str] | None = None,
        explain: bool = False,
        threads: int | None = None,
    ) -> Iterator[Keyphrases]:
        """`extract` for each item, as `generate_batch`."""
        alone = (settings or self.settings).extraction()
        request = self._request(top_k, alone, explain, diversity, min_confidence, exclude, must_have)
        return self._with_texts(self._runner.generate(self, check_items(items), request, threads))

    def _request(
        self,
        top_k: int,
        settings: Settings | None,
        explain: bool,
        diversity: float | None,
        min_confidence: float | None,
        exclude: Collection[str] | None,
        must_have: Collection[str] | None,
    ) -> Request:
        given = {"diversity": diversity, "min_confidence": min_confidence}
        changes = {name: value for name, value in given.items() if value is not None}
        used = settings or self.settings
        used = used.replace(**changes) if changes else used
        return Request(checked_count(top_k), used, explain, Choice.of(exclude, must_have))

    @staticmethod
    def _with_texts(answers: Iterator[Answer[object, Keyphrases]]) -> Iterator[Keyphrases]:
        for answer in answers:
            result = or_error(answer, Keyphrases)
            yield result if result.error is not None else replace(result, text=as_item(answer.item).text)

    def _generate(self, item: object, request: Request) -> Keyphrases:
        prepared = self.prepare(item, request.settings)
        encoding = self.backend.encode(prepared.pieces, prepared.terms)
        return self.complete(
            prepared, encoding, request.top_k, request.settings, explain=request.explain, choice=request.choice
        )

    @property
    def _glossary(self) -> Glossary | None:
        return self.background.glossary if self.background is not None else None

    def absent_candidates(self, prepared: Prepared, encoding: Encoding, settings: Settings) -> AbsentCandidates:
        """Every absent phrase that a text could get, with the features that a ranking of them is learned from."""
        if self.background is None:
            raise InputError("Absent phrases come from a collection; open the generator with one.")
        analysis, present = self._analyse(prepared, encoding, 0, settings, composing=True)
        return self._learned.candidates(self._with_words(analysis), present.every, self.background.glossary, settings)

    def _analyse(
        self,
        prepared: Prepared,
        encoding: Encoding,
        top_k: int,
        settings: Settings,
        choice: Choice | None = None,
        *,
        composing: bool = False,
    ) -> tuple[Analysis, Merged]:
        """The analysed document, and its best `top_k` present phrases.

        Phrases are composed only for a learned ranking, as nothing else tells good ones from bad.
        """
        ranker, glossary = self.backend.ranker, self._glossary
        composing |= ranker is not None and ranker.composes and settings.absent_learned > 0
        analysis = analyse(prepared, encoding, self.backend, glossary, self.tagger, settings, composing=composing)
        if choice is not None:
            analysis = choice.leave_out(analysis, self._glossary)
        weights, document, places = analysis.weights, analysis.document, analysis.places
        return analysis, rank_present(analysis.pool, weights, settings, document, places, top_k)

    def _with_words(self, analysis: Analysis) -> Analysis:
        return replace(analysis, pool=analysis.pool.with_words(analysis.pieces.ids, self.backend.term_kinds))

    def _present(self, merged: Merged, analysis: Analysis, explain: bool, least: float) -> tuple[Keyphrase, ...]:
        out, ranked = [], merged.ranked
        confidence = ranked.confidence(analysis.neighbourhood.fit)
        sure = [None] * len(ranked.pool) if confidence is None else confidence.tolist()
        rows = zip(ranked.pool.tolist(), ranked.scores.tolist(), sure, merged.variants, strict=True)
        for k, (row, score, likely, variants) in enumerate(rows):
            if likely is not None and likely < least:
                continue
            place = analysis.places[row]
            explanation = explain_score(ranked, k, analysis.pool, analysis.weights, self.backend) if explain else None
            out.append(Keyphrase(place.form, score, likely, variants, place.spans, explanation=explanation))
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
        glossary = self.background.glossary
        learned = self._learned.of(analysis, present, glossary, settings)
        names = [(k.phrase, *k.variants) for k in shown]
        ranked, phrases, related = choose_absent(analysis, glossary, settings, names, top_k, learned)
        return self._show_absent(analysis, ranked, phrases, related, explain)

    def _show_absent(
        self, analysis: Analysis, ranked: Ranked, phrases: Sequence[str], related: Sequence[bool], explain: bool
    ) -> tuple[Keyphrase, ...]:
        assert self.background is not None
        pool, weights = analysis.pool, analysis.weights
        sure = ranked.confidence(analysis.neighbourhood.fit)
        sources = sources_of(self.background, analysis, pool.glossary_ids[ranked.pool])
        return tuple(
            Keyphrase(
                phrase,
                float(ranked.scores[k]),
                None if sure is None else float(sure[k]),
                analysis.wording(int(ranked.pool[k])),
                sources=source,
                explanation=explain_score(ranked, k, pool, weights, self.backend) if explain else None,
                related=related[k],
            )
            for k, (phrase, source) in enumerate(zip(phrases, sources, strict=True))
        )

    def _with_wanted(
        self,
        choice: Choice,
        shown: Sequence[Keyphrase],
        absent: Sequence[Keyphrase],
        analysis: Analysis,
        every: Ranked,
        top_k: int,
        explain: bool,
    ) -> tuple[tuple[Keyphrase, ...], tuple[Keyphrase, ...]]:
        """The present and the absent phrases with all that the caller must have."""
        present, missing = [*shown], choice.missing([*shown, *absent])
        found = rows_by_fold(every, analysis, None, missing)
        own = every.take(np.array(list(found.values()), np.int64))
        present += self._present(Merged(own, ((),) * len(found), every), analysis, explain, 0.0)
        missing, more = [key for key in missing if key not in found], [*absent]
        if missing and self.background is not None:
            settings, glossary, wordy = every.evidence.settings, self.background.glossary, self._with_words(analysis)
            learned = self._learned.of(wordy, every, glossary, settings)
            ranked = rank_pool(
                wordy.pool, wordy.weights, settings, present=False, limit=len(wordy.pool), learned=learned
            )
            found = rows_by_fold(ranked, wordy, glossary, missing)
            ranked = ranked.take(np.array(list(found.values()), np.int64))
            named = [choice.must_have[key] for key in found]
            more += self._show_absent(wordy, ranked, named, [False] * len(named), explain)
        others = choice.unranked([key for key in missing if key not in found], analysis)
        return choice.fit([*present, *others[0]], top_k), choice.fit([*more, *others[1]], top_k)


# The same settings come with every text.
_extraction = lru_cache(maxsize=16)(Settings.extraction)


def _remade(kind: type[Generator], backend: Backend, background: Background | None, parts: dict[str, Any]) -> Generator:
    return kind(backend, background, **parts)

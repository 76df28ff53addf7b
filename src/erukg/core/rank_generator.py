"""The generator for phrases that the caller brings: a thesaurus, subject headings, tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from erukg.core.analysis import Prepared
from erukg.core.arguments import checked
from erukg.core.document import Document
from erukg.core.generator import Generator
from erukg.core.inputs import Text, as_item, check_items, checked_count, single_item
from erukg.core.notices import notices_of
from erukg.core.phrase_list import PhraseList
from erukg.core.phrase_ranking import PhraseRanker
from erukg.core.results import Keyphrase, RankedPhrases
from erukg.core.settings import Settings
from erukg.core.streams import Answer, attempt, or_error

__all__ = ["RankGenerator"]

ItemT = TypeVar("ItemT")


class RankGenerator(Generator):
    """A generator that also ranks the caller's own phrases."""

    @cached_property
    def _ranker(self) -> PhraseRanker:
        return PhraseRanker(self.backend)

    @checked
    def phrase_list(self, phrases: Sequence[str]) -> PhraseList:
        """Prepare phrases for `rank`; phrases that fold to the same one are kept once, in their first form."""
        return PhraseList.of(phrases, self.backend)

    @checked
    def rank(
        self,
        text: Text,
        phrases: Sequence[str] | PhraseList,
        settings: Settings | None = None,
        *,
        top_k: int | None = None,
        explain: bool = False,
        id: str | int | None = None,
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

    def _rank(
        self, item: object, listed: PhraseList, settings: Settings, top_k: int | None, explain: bool
    ) -> RankedPhrases:
        given = as_item(item)
        document = given.parsed or Document.parse(given.text)

        def prepare(terms: NDArray[np.int32]) -> Prepared:
            return self.prepare(replace(given, parsed=document), settings, more_terms=terms)

        phrases = self._ranker.rank(listed, prepare, self._glossary, settings, top_k, explain)
        return RankedPhrases(tuple(phrases), given.id, notices=notices_of(document, self.language_of))

    def _listed(self, phrases: Sequence[str] | PhraseList) -> PhraseList:
        return phrases if isinstance(phrases, PhraseList) else self.phrase_list(phrases)


def _for_ranking(settings: Settings) -> Settings:
    # None of the neighbours' phrases is a candidate, so none is weighed.
    return settings.replace(neighbour_candidates=0)

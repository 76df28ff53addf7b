"""The generator for search engines: longer queries, and texts as sparse vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from typing import TypeVar

from erukg.core.arguments import checked
from erukg.core.inputs import Text, as_item, check_items, checked_count, single_item
from erukg.core.new_words import NewWords
from erukg.core.query_expansion import ExpandedQuery, QueryOptions, weigh_query
from erukg.core.rank_generator import RankGenerator
from erukg.core.settings import Settings
from erukg.core.sparse import TERMS, SparseEncoder, SparseVector, TermCounts
from erukg.core.streams import Answer, attempt

__all__ = ["SearchGenerator"]

ItemT = TypeVar("ItemT")


class SearchGenerator(RankGenerator):
    """A generator that also makes what search engines take."""

    @checked
    def expand_query(
        self,
        query: Text,
        options: QueryOptions | None = None,
        settings: Settings | None = None,
        *,
        id: str | int | None = None,
    ) -> ExpandedQuery:
        """What to search for beside the query's own words: phrases of it and of similar documents, with weights."""
        return self._expand(single_item(query, id), options or QueryOptions(), settings or self.settings)

    @checked
    def expand_queries(
        self,
        items: Iterable[ItemT],
        options: QueryOptions | None = None,
        settings: Settings | None = None,
        *,
        threads: int | None = None,
    ) -> Iterator[Answer[ItemT, ExpandedQuery]]:
        """`expand_query` for each item, as `stream`."""
        chosen, used = options or QueryOptions(), settings or self.settings

        def expand(item: ItemT) -> ExpandedQuery:
            return self._expand(item, chosen, used)

        return self._runner.map(partial(attempt, expand), check_items(items), threads)

    def _expand(self, item: object, options: QueryOptions, settings: Settings) -> ExpandedQuery:
        given, chosen = as_item(item), settings.for_search()
        prepared = self.prepare(item, chosen, more_terms=self._new_words.terms if options.terms else None)
        encoding = self.backend.encode(prepared.pieces, prepared.terms)
        found = self.complete(prepared, encoding, max(options.present, options.absent), chosen)
        terms = self._new_words.best(given.text, prepared, encoding, options.terms) if options.terms else ()
        return weigh_query(given.text, found, terms, options)

    @cached_property
    def _new_words(self) -> NewWords:
        return NewWords(self.backend, self._glossary)

    @checked
    def encode(
        self, text: Text, terms: int = TERMS, *, idf: TermCounts | None = None, id: str | int | None = None
    ) -> SparseVector:
        """The text as a sparse vector: its `terms` largest term weights, for engines that search such vectors.

        With `idf`, counted over the vectors of the documents, the weights are multiplied by it: for queries.
        """
        chosen = checked_count(terms, "terms")
        return self._encoder.encode(single_item(text, id), chosen, self._encoder.idf(idf), self.language_of)

    @checked
    def encode_stream(
        self,
        items: Iterable[ItemT],
        terms: int = TERMS,
        *,
        idf: TermCounts | None = None,
        threads: int | None = None,
    ) -> Iterator[Answer[ItemT, SparseVector]]:
        """`encode` for each item, as `stream`."""
        chosen, encoder = checked_count(terms, "terms"), self._encoder
        factors = encoder.idf(idf)

        @checked
        def encode(item: ItemT) -> SparseVector:
            return encoder.encode(item, chosen, factors, self.language_of)

        return self._runner.map(partial(attempt, encode), check_items(items), threads)

    @cached_property
    def _encoder(self) -> SparseEncoder:
        return SparseEncoder(self.backend)

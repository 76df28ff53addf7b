"""How queries are made longer: by RM3, by weighted phrases and words, by both, or by phrases behind their text."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import Any

from erukg.collection.analysis import stems
from erukg.core.query_expansion import ExpandedQuery, QueryOptions
from erukg.research.evaluation.generator_system import GeneratorSystem
from erukg.research.evaluation.retrieval.context import SetContext
from erukg.research.evaluation.retrieval.index import Index, query_weights
from erukg.research.evaluation.retrieval.own_corpus import InCorpus, OwnCorpus
from erukg.research.evaluation.retrieval.phrases import BestPhrases, describe_system
from erukg.research.evaluation.retrieval.rm3 import RM3, mixed

__all__ = ["PLAIN", "QueryPlan", "fused", "weighted"]

#: What the parts of a fused query sum up to: its own words, RM3's, and what the model adds.
_MASSES = {"query": 0.35, "feedback": 0.3, "present": 0.2, "absent": 0.05, "term": 0.1}


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """What is done to a query before it is searched; nothing, unless told.

    feedback  terms of the first results
    expander  weighs phrases, with `options`; with `feedback` too, both are fused
    appended  phrases that are put behind the query's text, as the paper does
    """

    feedback: RM3 | None = None
    expander: GeneratorSystem | OwnCorpus | InCorpus | None = None
    options: QueryOptions | None = None
    appended: BestPhrases | None = None

    def for_set(self, context: SetContext) -> QueryPlan:
        """The plan with the expander that belongs to this set."""
        if not isinstance(self.expander, OwnCorpus):
            return self
        return replace(self, expander=self.expander.for_set(context))

    def weights(
        self, text: str, index: Index, more: str = "", expanded: ExpandedQuery | None = None
    ) -> dict[str, float]:
        """The stems to search for; `more` is what is appended, `expanded` what the expander made of the query."""
        if expanded is not None:
            return weighted(expanded) if self.feedback is None else fused(expanded, self.feedback, index)
        query = query_weights(f"{text}\n{more}")
        return query if self.feedback is None else self.feedback.expand(query, index)

    def describe(self) -> dict[str, Any]:
        expanding = self.expander is not None
        return {
            "rm3": None if self.feedback is None else dataclasses.asdict(self.feedback),
            "query_expansion": describe_system(self.expander or self.appended),
            "query_options": dataclasses.asdict(self.options or QueryOptions()) if expanding else None,
            "masses": _MASSES if expanding and self.feedback is not None else None,
        }


PLAIN = QueryPlan()


def weighted(expanded: ExpandedQuery) -> dict[str, float]:
    """The stems of the query's own words at weight 1 each, and those of its phrases at theirs."""
    out = query_weights(expanded.text)
    for phrase in expanded.phrases:
        for stem in stems(phrase.phrase):
            out[stem] = out.get(stem, 0.0) + phrase.weight
    return out


def fused(expanded: ExpandedQuery, feedback: RM3, index: Index) -> dict[str, float]:
    """The query, its relevance model and its phrases by kind, each kind with a mass of its own."""
    query = query_weights(expanded.text)
    parts: dict[str, dict[str, float]] = {kind: {} for kind in _MASSES}
    parts |= {"query": query, "feedback": feedback.relevance_model(query, index)}
    for phrase in expanded.phrases:
        for stem in stems(phrase.phrase):
            part = parts[phrase.kind]
            part[stem] = part.get(stem, 0.0) + phrase.weight
    return mixed((_MASSES[kind], part) for kind, part in parts.items())

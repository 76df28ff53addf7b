"""BERTopic: topics named by the keyphrases of their documents.

>>> BERTopic(representation_model=KeyphraseRepresentation()).fit(texts)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from erukg.core.arguments import checked
from erukg.core.folding import fold
from erukg.core.inputs import checked_count
from erukg.errors import require
from erukg.generator import KeyphraseGenerator
from erukg.integrations.columns import Kind, chosen, results_of

__all__ = ["KeyphraseRepresentation"]

_base: Any = require("bertopic.representation._base", "bertopic", "The BERTopic representation")


class KeyphraseRepresentation(_base.BaseRepresentation):  # type: ignore[misc]
    """The `top_n_words` phrases that the `nr_docs` most typical documents of a topic share, and other topics do not.

    A phrase weighs the sum of its confidence over the documents, less if it is among those of many topics. `top_k` is
    how many present and absent phrases of each document count; `kind`, `exclude` and `generator` are as of
    `KeyphraseVectorizer`.
    """

    @checked
    def __init__(
        self,
        top_n_words: int = 10,
        *,
        nr_docs: int = 10,
        top_k: int = 10,
        kind: Kind = "both",
        exclude: Collection[str] | None = None,
        generator: KeyphraseGenerator | None = None,
    ) -> None:
        # Before texts are embedded and put into topics, which takes long.
        self.top_n_words = checked_count(top_n_words, "top_n_words")
        self.nr_docs, self.top_k = checked_count(nr_docs, "nr_docs"), checked_count(top_k)
        self.kind, self.exclude, self.generator = kind, exclude, generator

    def extract_topics(
        self, topic_model: Any, documents: Any, c_tf_idf: Any, topics: Mapping[int, list[tuple[str, float]]]
    ) -> Mapping[int, list[tuple[str, float]]]:
        """The phrases of each topic with their weights; the topic's own words where it has no phrases."""
        samples = max(500, self.nr_docs)
        typical, _, _, _ = topic_model._extract_representative_docs(c_tf_idf, documents, topics, samples, self.nr_docs)
        names: dict[str, str] = {}
        weights = {topic: self._weigh(texts, names) for topic, texts in typical.items()}
        spread = Counter(key for found in weights.values() for key in found)
        out = {}
        for topic, words in topics.items():
            found = weights.get(topic, {})
            rarity = {key: math.log1p(len(weights) / spread[key]) for key in found}
            best = sorted(((found[key] * rarity[key], key) for key in found), reverse=True)[: self.top_n_words]
            out[topic] = [(names[key], weight) for weight, key in best] or words
        return out

    def _weigh(self, texts: list[str], names: dict[str, str]) -> dict[str, float]:
        """The weight of each folded phrase; `names` learns how it is written."""
        weights: dict[str, float] = {}
        for result in results_of(texts, self.top_k, self.generator, exclude=self.exclude):
            for each in chosen(result, self.kind) if result is not None else ():
                key = fold(each.phrase)
                names.setdefault(key, each.phrase)
                weights[key] = weights.get(key, 0.0) + (each.score if each.confidence is None else each.confidence)
        return weights

"""KeyBERT (Grootendorst 2020) as its author's package computes it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from erukg.errors import require
from erukg.research.baselines.embedders import SentenceModel

__all__ = ["KeyBert"]


@dataclass(frozen=True)
class KeyBert:
    """n-grams of up to `max_words` words, English stop words taken out before, by cosine to the document."""

    embedder: SentenceModel
    packages: ClassVar[tuple[str, ...]] = ("keybert", "scikit-learn", "sentence-transformers")
    max_words: int = 3

    @cached_property
    def _keybert(self) -> Any:
        with warnings.catch_warnings():  # the package silences warnings of the whole process when imported
            keybert = require("keybert", "eval", "KeyBERT")
        return keybert.KeyBERT(self.embedder.model)

    def extract(self, text: str, top_k: int = 10) -> list[tuple[str, float]]:
        if not text.strip() or top_k < 1:
            return []
        found = self._keybert.extract_keywords(text, keyphrase_ngram_range=(1, self.max_words), top_n=top_k)
        return [(phrase, (1 + float(cosine)) / 2) for phrase, cosine in found]

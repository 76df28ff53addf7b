"""EmbedRank (Bennani-Smires et al. 2018): the noun phrases whose vectors are nearest to the document's."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from erukg.research.baselines.base import best
from erukg.research.baselines.embedders import Embedder
from erukg.research.baselines.tagged import Reader

__all__ = ["EmbedRank"]


@dataclass(frozen=True)
class EmbedRank:
    """EmbedRank without the re-ranking for diversity (the paper's EmbedRank++).

    Word vectors see only the nouns and adjectives of the document, as in the paper; a sentence model, which
    was trained on sentences, reads it whole.
    """

    embedder: Embedder
    reader: Reader = field(default_factory=Reader)
    max_words: int = 5

    def extract(self, text: str, top_k: int = 10) -> list[tuple[str, float]]:
        tagged = self.reader.read(text)
        forms = [phrase.form for phrase in tagged.phrases(self.max_words)]
        if not forms:
            return []
        whole = text
        if not self.embedder.ordered:
            whole = " ".join(tagged.document.words[i] for i in np.flatnonzero(tagged.content).tolist())
        # Not in one batch: the phrases would be padded to the length of the text.
        document = self.embedder.embed([whole])[0].astype(np.float64)
        vectors = self.embedder.embed(forms).astype(np.float64)
        lengths = np.linalg.norm(vectors, axis=1) * np.linalg.norm(document)
        cosines = vectors @ document / np.maximum(lengths, 1e-12)
        return best(forms, (1 + cosines) / 2, top_k)

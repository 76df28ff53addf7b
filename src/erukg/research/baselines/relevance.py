"""AutoKeyGen's measure of how well a phrase fits a text: the weight of its words there and its nearness in meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from erukg.research.baselines.latent import LatentVectors
from erukg.research.baselines.phrase_bank import LONGEST, PhraseBank

__all__ = ["Relevance", "TextStems"]

_SEMANTIC = 1.4  # how much meaning counts beside frequency


@dataclass(frozen=True)
class TextStems:
    """The stems of a text's words."""

    stems: tuple[str, ...]

    @cached_property
    def counts(self) -> Counter[str]:
        return Counter(self.stems)

    def count(self, phrase: tuple[str, ...]) -> int:
        """How often the stems of a phrase stand in the text one after the other."""
        return self._runs[phrase]

    @cached_property
    def _runs(self) -> Counter[tuple[str, ...]]:
        """All runs of as many words as a phrase may have."""
        shifted = [self.stems[n:] for n in range(LONGEST)]
        return Counter(run for n in range(LONGEST) for run in zip(*shifted[: n + 1], strict=False))


@dataclass(frozen=True, eq=False)
class Relevance:
    """The geometric mean of a lexical and a semantic score, for phrases of a text and for others.

    Lexical is TF-IDF, with documents counted by the bank; how often a phrase that does not stand in the text would
    stand there is the mean of how often its words do. Semantic is (1 + cosine) / 2 of phrase and text to the power of
    1.4, as the authors of UOKG have it in their version of AutoKeyGen: with the cosine alone, long phrases win.
    """

    bank: PhraseBank
    vectors: LatentVectors

    def scores(self, text: TextStems, phrases: Sequence[tuple[str, ...]]) -> NDArray[np.float64]:
        """The score of each phrase, given as stems."""
        if not phrases:
            return np.zeros(0)
        counts = text.counts
        times = [text.count(phrase) or sum([counts[stem] for stem in phrase]) / len(phrase) for phrase in phrases]
        numbers = np.array([self.bank.number(phrase) for phrase in phrases], np.int64)
        documents = np.where(numbers >= 0, self.bank.counts[numbers], 1) if len(self.bank) else 1
        lexical = np.array(times) / max(1, len(text.stems)) * np.log(self.bank.total / documents)
        cosines = self._embed(phrases, numbers) @ self.vectors.embed([text.stems])[0]
        semantic = ((1 + np.clip(cosines.astype(np.float64), -1, 1)) / 2) ** _SEMANTIC
        return np.asarray(np.sqrt(np.maximum(lexical, 0) * semantic), np.float64)

    def _embed(self, phrases: Sequence[tuple[str, ...]], numbers: NDArray[np.int64]) -> NDArray[np.float32]:
        if not len(self.bank):
            return self.vectors.embed(phrases)
        out = self._known[numbers]
        others = np.flatnonzero(numbers < 0)
        out[others] = self.vectors.embed([phrases[i] for i in others.tolist()])
        return out

    @cached_property
    def _known(self) -> NDArray[np.float32]:
        """The vectors of all phrases in the bank."""
        return self.vectors.embed(self.bank.stems)

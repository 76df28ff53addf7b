"""Terms that describe a text and that a vocabulary lacks: its keyphrases, less what a label says already."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from erukg.core.folding import fold
from erukg.core.hashing import among, hash_phrases, hash_runs
from erukg.core.results import Keyphrase, Keyphrases
from erukg.subjects.concepts import matching_form
from erukg.subjects.results import NewTerm
from erukg.subjects.vocabulary import Vocabulary

__all__ = ["NewTerms"]

# No phrase has more words.
_LONGEST = 6
# Stands between two labels and in none.
_BETWEEN = "\x00"


class NewTerms:
    """Chooses new terms for a vocabulary. Thread-safe."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def choose(self, keyphrases: Keyphrases, found: Collection[str], most: int) -> tuple[NewTerm, ...]:
        """The keyphrases that no label says, best first: neither is one a label, nor does it lie in one.

        `found` are the folds of what stands for labels in the text: acronyms of them are among these.
        """
        chosen: list[NewTerm] = []
        for keyphrase in sorted(keyphrases, key=lambda each: -(each.confidence or 0.0)):
            if len(chosen) == most:
                break
            if fold(keyphrase.phrase) not in found and not self._is_said(keyphrase):
                chosen.append(NewTerm(keyphrase.phrase, keyphrase.confidence, bool(keyphrase.spans), keyphrase.spans))
        return tuple(chosen)

    def _is_said(self, keyphrase: Keyphrase) -> bool:
        if any(self._vocabulary.find_label(form) >= 0 for form in (keyphrase.phrase, *keyphrase.variants)):
            return True
        return bool(among(hash_phrases([fold(keyphrase.phrase)]), self._parts)[0])

    @cached_property
    def _parts(self) -> NDArray[np.uint64]:
        """The hashes of all runs of words in the labels."""
        words: list[str] = []
        for label in range(self._vocabulary.label_count):
            words += [*matching_form(self._vocabulary.label_text(label)).split(), _BETWEEN]
        return np.unique(hash_runs(words, _LONGEST))

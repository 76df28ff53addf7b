"""Tags for a large corpus in little time: a table of words, learned from documents that a real tagger has read."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from erukg.core.document import Document
from erukg.core.word_classes import NOUN, OTHER
from erukg.research.baselines.tagged import TaggedText

__all__ = ["QuickTagger"]

_ENDING = 3
_SURE = 3  # how often a word must have been seen after a class before that says more than the word alone


@dataclass(frozen=True, eq=False)
class QuickTagger:
    """Gives each word the tag class it mostly has after the class of the word before it, else mostly has at all.

    A word that was never seen goes by its last three letters, and is a noun where these are unknown too.
    """

    pairs: Mapping[tuple[int, str], int]
    words: Mapping[str, int]
    endings: Mapping[str, int]

    @classmethod
    def learn(cls, texts: Iterable[TaggedText]) -> QuickTagger:
        """Count the tag classes of words in tagged texts."""
        pairs: dict[tuple[int, str], Counter[int]] = defaultdict(Counter)
        words: dict[str, Counter[int]] = defaultdict(Counter)
        endings: dict[str, Counter[int]] = defaultdict(Counter)
        for text in texts:
            before = OTHER
            for word, tag in zip(text.document.words, text.classes.tolist(), strict=True):
                lowered = word.lower()
                pairs[before, lowered][tag] += 1
                words[lowered][tag] += 1
                if lowered.isalpha():
                    endings[lowered[-_ENDING:]][tag] += 1
                before = tag
        usual = {word: _most(counts) for word, counts in words.items()}
        return cls(
            {
                pair: tag
                for pair, counts in pairs.items()
                if counts.total() >= _SURE and (tag := _most(counts)) != usual[pair[1]]
            },
            usual,
            {ending: _most(counts) for ending, counts in endings.items()},
        )

    def read(self, text: str) -> TaggedText:
        """A text with quick tags."""
        document = Document.parse(text)
        return TaggedText(document, self.classes(document))

    def classes(self, document: Document) -> NDArray[np.int8]:
        """The tag class of each word of a document."""
        pairs, words = self.pairs, self.words
        before = OTHER
        out = []
        for word in document.words:
            lowered = word.lower()
            tag = pairs.get((before, lowered))
            if tag is None:
                tag = words.get(lowered)
            if tag is None:
                tag = self.endings.get(lowered[-_ENDING:], NOUN) if lowered.isalpha() else NOUN
            out.append(tag)
            before = tag
        return np.array(out, np.int8)


def _most(counts: Counter[int]) -> int:
    return max(sorted(counts), key=counts.__getitem__)

"""What UOKG's phraseness network learns from: texts with some of their phrases taken out, and noun phrases to write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from erukg.research.baselines.banked import save_bank
from erukg.research.baselines.neural.vocabulary import words
from erukg.research.baselines.phrase_bank import stemmed
from erukg.research.baselines.references import References, with_references
from erukg.research.baselines.relevance import Relevance
from erukg.research.baselines.uokg import REFERENCES
from erukg.training.baselines.autokeygen import absent_labels
from erukg.training.baselines.corpus_phrases import PhrasedCorpus, PhrasedDocument, corpus_texts
from erukg.training.baselines.packing import Example

__all__ = ["Phraseness", "corrupted", "examples"]

_PRESENT, _TAKEN_OUT, _ABSENT = 5, 2, 2  # targets of a document, by kind, at most
_BORROWED, _NEARNESS = 15, 0.5
_GAP = r"[-\s\u2010\u2011]+"
_AT_ONCE = 512  # documents whose references are looked for together


@dataclass(frozen=True, eq=False)
class Phraseness:
    """The examples of a corpus, and what the trained network needs beside it.

    Targets are noun phrases of the text, some of them taken out of it beforehand, and phrases of the bank whose words
    all stand in the text. The source is what is left of the text and the reference phrases that do not stand there.
    """

    corpus: PhrasedCorpus
    references: References
    seed: int = 0

    @classmethod
    def of(cls, corpus: PhrasedCorpus, seed: int = 0) -> Phraseness:
        """With the references found in the corpus itself."""
        bank = corpus.bank
        vectors = corpus.vectors.embed(document.stems for document in corpus.documents)
        numbers = ({bank.number(stemmed(phrase)) for phrase in document.phrases} for document in corpus.documents)
        return cls(corpus, References.of(bank, map(sorted, numbers), vectors), seed)

    def __iter__(self) -> Iterator[Example]:
        random = Random(self.seed)
        documents, bank = self.corpus.documents, self.corpus.bank
        relevance = Relevance(bank, self.corpus.vectors)
        for at in range(0, len(documents), _AT_ONCE):
            batch = documents[at : at + _AT_ONCE]
            vectors = self.corpus.vectors.embed(document.stems for document in batch)
            nearest = self.references.nearest(vectors, 4 * _BORROWED, _NEARNESS)
            for document, numbers in zip(batch, nearest, strict=True):
                if document.phrases:
                    yield self._example(document, [bank.phrases[n] for n in numbers], relevance, random)

    def _example(
        self, document: PhrasedDocument, near: Sequence[tuple[str, ...]], relevance: Relevance, random: Random
    ) -> Example:
        chosen = random.sample(document.phrases, min(len(document.phrases), _PRESENT + _TAKEN_OUT))
        known = [phrase for phrase in chosen if len(phrase) > 1 and self.corpus.bank.number(stemmed(phrase)) >= 0]
        taken = known[:_TAKEN_OUT]
        text = corrupted(document.text, taken)
        line = f" {' '.join(words(text))} "
        borrowed = [phrase for phrase in near if f" {' '.join(phrase)} " not in line][:_BORROWED]
        absent = absent_labels(document, relevance, _ABSENT)
        kept = [phrase for phrase in chosen if phrase not in taken][:_PRESENT]
        targets = tuple(" ".join(phrase) for phrase in [*kept, *taken, *absent])
        return Example(with_references(text, borrowed), targets)

    def save_companions(self, folder: Path) -> None:
        """Put the bank, the vectors and the references beside the trained network."""
        save_bank(folder, self.corpus.bank, self.corpus.vectors)
        self.references.save(folder / REFERENCES)


def corrupted(text: str, phrases: Iterable[Sequence[str]]) -> str:
    """The text without the phrases, given as words."""
    for phrase in phrases:
        text = re.sub(rf"(?<!\w){_GAP.join(map(re.escape, phrase))}(?!\w)", "", text, flags=re.IGNORECASE)
    return text


def examples(files: Sequence[Path], seed: int = 0) -> Iterable[Example]:
    """Texts with noun phrases to write; `seed` decides which phrases are taken out."""
    return Phraseness.of(PhrasedCorpus.read(corpus_texts(files, seed), seed=seed), seed)

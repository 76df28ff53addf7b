"""AutoKeyGen's silver labels: the phrases of a text and of the bank that fit it best."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from erukg.research.baselines.banked import save_bank
from erukg.research.baselines.phrase_bank import stemmed
from erukg.research.baselines.relevance import Relevance, TextStems
from erukg.training.baselines.corpus_phrases import PhrasedCorpus, PhrasedDocument, corpus_texts
from erukg.training.baselines.packing import Example

__all__ = ["Silver", "absent_labels", "best_apart", "examples"]

_LABELS = 5  # of a document, of each kind


@dataclass(frozen=True, eq=False)
class Silver:
    """The examples of a corpus, and what the trained network needs beside it."""

    corpus: PhrasedCorpus

    def __iter__(self) -> Iterator[Example]:
        relevance = Relevance(self.corpus.bank, self.corpus.vectors)
        for document in self.corpus.documents:
            labels = present_labels(document, relevance) + absent_labels(document, relevance)
            yield Example(document.text, tuple(map(" ".join, labels)))

    def save_companions(self, folder: Path) -> None:
        """Put the bank and the vectors beside the trained network."""
        save_bank(folder, self.corpus.bank, self.corpus.vectors)


def examples(files: Sequence[Path], seed: int = 0) -> Iterable[Example]:
    """Documents with the five phrases of the text and the five of the bank that fit each best."""
    return Silver(PhrasedCorpus.read(corpus_texts(files, seed), seed=seed))


def present_labels(document: PhrasedDocument, relevance: Relevance, most: int = _LABELS) -> list[tuple[str, ...]]:
    """The noun phrases of a document that fit it best."""
    return _best({stemmed(phrase): phrase for phrase in document.phrases}, document, relevance, most)


def absent_labels(document: PhrasedDocument, relevance: Relevance, most: int = _LABELS) -> list[tuple[str, ...]]:
    """The phrases of the bank that fit a document best: its words make them up, but do not stand there like that."""
    bank, text = relevance.bank, TextStems(document.stems)
    numbers = bank.matching(document.stems).tolist()
    absent = {bank.stems[n]: bank.phrases[n] for n in numbers if not text.count(bank.stems[n])}
    return _best(absent, document, relevance, most)


def _best(
    phrases: Mapping[tuple[str, ...], tuple[str, ...]], document: PhrasedDocument, relevance: Relevance, most: int
) -> list[tuple[str, ...]]:
    scores = relevance.scores(TextStems(document.stems), list(phrases))
    forms = list(phrases.values())
    return best_apart((forms[i] for i in np.argsort(-scores, kind="stable").tolist()), most)


def best_apart(ranked: Iterable[tuple[str, ...]], most: int) -> list[tuple[str, ...]]:
    """The first phrases of a ranking that neither hold one before them nor are part of one."""
    out: list[tuple[str, ...]] = []
    lines: list[str] = []
    for phrase in ranked:
        line = f" {' '.join(phrase)} "
        if not any(line in other or other in line for other in lines):
            out.append(phrase)
            lines.append(line)
        if len(out) == most:
            break
    return out

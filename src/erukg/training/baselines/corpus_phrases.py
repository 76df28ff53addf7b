"""What the unsupervised baselines learn from: the documents of a corpus with their noun phrases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from erukg.core.search_words import STOP_WORDS
from erukg.errors import TrainingError
from erukg.research.baselines.latent import LatentVectors
from erukg.research.baselines.neural.vocabulary import SPECIALS, words
from erukg.research.baselines.phrase_bank import LONGEST, PhraseBank, stemmed
from erukg.research.baselines.tagged import Reader, TaggedText
from erukg.training.baselines.quick_tags import QuickTagger
from erukg.training.references.base import paper_of
from erukg.training.references.rows import Problems, parse_rows

__all__ = ["PhrasedCorpus", "PhrasedDocument", "corpus_texts", "phrases_of"]

_LEAST_WORDS = 40  # of an abstract that is worth learning from


@dataclass(frozen=True, slots=True)
class PhrasedDocument:
    """A text, its words with their stems, and its noun phrases as words, each once and in order."""

    text: str
    words: tuple[str, ...]
    stems: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, text: str, phrases: tuple[tuple[str, ...], ...]) -> PhrasedDocument:
        found = tuple(words(text))
        return cls(text, found, stemmed(found), phrases)


@dataclass(frozen=True, eq=False)
class PhrasedCorpus:
    """The documents of a corpus, the bank of their phrases, and vectors of their words."""

    documents: Sequence[PhrasedDocument]
    bank: PhraseBank
    vectors: LatentVectors

    @classmethod
    def read(
        cls, texts: Iterable[str], reader: Reader | None = None, tagged: int = 3000, least: int = 3, seed: int = 0
    ) -> PhrasedCorpus:
        """Read a corpus; `reader` tags its first documents, and what these teach tags the others.

        Tagging takes most of the time of reading a text; a table of words is quick, and few of the phrases it finds
        are wrong in enough documents to come into the bank.
        """
        documents = list(_phrased(iter(texts), reader or Reader(), tagged))
        counts = Counter(phrase for document in documents for phrase in document.phrases)
        vectors = LatentVectors.learn([document.stems for document in documents], seed=seed)
        return cls(documents, PhraseBank.of(counts, len(documents), least), vectors)


def corpus_texts(files: Sequence[Path], seed: int = 0, most: int = 150_000) -> list[str]:
    """Title and abstract of the papers in the files, of `most` drawn at random where there are more, in random order.

    Papers with an abstract of fewer than forty words are left out.
    """
    random = Random(seed)
    drawn: list[str] = []
    seen = 0
    for paper in parse_rows(files, Problems(), paper_of):
        if len(paper.abstract.split()) < _LEAST_WORDS:
            continue
        seen += 1
        if len(drawn) < most:
            drawn.append(f"{paper.title}\n{paper.abstract}")
        elif (place := random.randrange(seen)) < most:
            drawn[place] = f"{paper.title}\n{paper.abstract}"
    if not drawn:
        raise TrainingError("No document has an abstract of forty words or more; give a corpus of papers.")
    random.shuffle(drawn)
    return drawn


def _phrased(texts: Iterator[str], reader: Reader, tagged: int) -> Iterator[PhrasedDocument]:
    first = [reader.read(text) for text in islice(texts, tagged)]
    quick = QuickTagger.learn(first)
    for text in first:
        yield _document(text)
    for more in texts:
        yield _document(quick.read(more))


def _document(tagged: TaggedText) -> PhrasedDocument:
    return PhrasedDocument.of(tagged.document.text, tuple(dict.fromkeys(phrases_of(tagged))))


def phrases_of(tagged: TaggedText) -> Iterator[tuple[str, ...]]:
    """The noun phrases of a text that can be written: of words alone, and not too long."""
    for phrase in tagged.phrases(LONGEST):
        written = tuple(words(phrase.form))
        if (
            0 < len(written) <= LONGEST
            and all(word.isalnum() and word not in SPECIALS for word in written)
            and any(len(word) > 1 for word in written)
            and not {written[0], written[-1]} & STOP_WORDS
        ):
            yield written

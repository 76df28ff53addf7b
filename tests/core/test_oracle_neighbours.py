"""With a real model and a real collection: neighbours, their shares and all scores are those of the oracle's BM25."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import numpy as np
import pytest
from nltk.stem.snowball import EnglishStemmer

import oracle
from core.oracle_cases import check_with, random_case, text_of
from erukg import KeyphraseGenerator
from erukg.backends import OnnxBackend
from erukg.collection import Collection
from erukg.collection.reader import Hits
from tiny import ADJECTIVES, NOUNS

PLURALS: dict[str, oracle.Phrase] = {word: (word[:-1],) for word in NOUNS if word.endswith("s") and word[:-1] in NOUNS}
FOLDS = PLURALS | {word.capitalize(): PLURALS.get(word, (word,)) for word in NOUNS}
# Lucene's stop words that the corpus has.
STOP = set("a an and are as at be by for in is it not of on or that the this to with".split())
STEMMER = EnglishStemmer()


def stemmed(text: str) -> list[str]:
    return [STEMMER.stem(word) for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in STOP]


class Real:
    """The tiny model and collection, and the documents that the collection was built from."""

    def __init__(self, encoder: OnnxBackend, collection: Path, corpus: Path) -> None:
        self.encoder = encoder
        self.collection = Collection.open(collection)
        self.generator = KeyphraseGenerator(encoder, self.collection)
        rows = [json.loads(line) for line in corpus.read_text().splitlines()]
        self.texts = {row["id"]: f"{row['title']}\n{row['abstract']}" for row in rows}
        self.stems = {id: stemmed(text) for id, text in self.texts.items()}
        self._numbers = {id: number for number, id in enumerate(self.collection.ids(np.arange(len(self.texts))))}
        ids = np.arange(len(self.collection.glossary))
        self.glossary = [tuple(phrase.split()) for phrase in self.collection.glossary.phrases(ids)]
        self.counts = dict(zip(self.glossary, self.collection.glossary.counts(ids).tolist(), strict=True))
        self._tokens = encoder.tokens(range(encoder.vocab_size))

    def nearest(self, text: str, n: int) -> list[tuple[str, float]]:
        k1, b = self.collection.manifest.k1, self.collection.manifest.b
        return oracle.bm25(self.stems, stemmed(text), n, k1, b)

    def neighbour(self, id: str, similarity: float) -> oracle.Neighbour:
        """What the collection has stored of one document, by itself."""
        stored = self.collection.gather(Hits(np.array([self._numbers[id]]), np.ones(1, np.float32)))
        weights = zip(self.encoder.tokens(stored.term_ids.tolist()), stored.term_weights.tolist(), strict=True)
        return oracle.Neighbour(similarity, [self.glossary[i] for i in stored.phrase_ids.tolist()], dict(weights))

    def weights(self, text: str) -> dict[str, float]:
        every = np.arange(self.encoder.vocab_size, dtype=np.int32)
        encoding = self.encoder.encode(self.encoder.pieces(text.split()), every)
        return dict(zip(self._tokens, encoding.weights.tolist(), strict=True))


@pytest.fixture(scope="module")
def real(tiny_encoder: OnnxBackend, tiny_collection: Path, tiny_corpus: Path) -> Real:
    return Real(tiny_encoder, tiny_collection, tiny_corpus)


def real_case(real: Real, r: Random) -> oracle.Case:
    """A text in the model's words, some of them next to one another as in the corpus, and random settings."""
    case = random_case(r)
    words = [*NOUNS, *ADJECTIVES, *(word for phrase in real.glossary for word in phrase)]
    case.clauses = []
    for _ in range(r.randint(1, 5)):
        clause = [r.choice(words) for _ in range(r.randint(1, 8))]
        clause += r.choice(real.glossary) if r.random() < 0.7 else ()
        clause = [word.capitalize() if word in NOUNS and r.random() < 0.1 else word for word in clause]
        clause.insert(r.randint(0, len(clause)), r.choice(["the", "of", "is"]))
        kinds = {"the": "O", "of": "O", "is": "O"} | dict.fromkeys(ADJECTIVES, "J")
        case.clauses.append([(word, kinds.get(word, "N")) for word in clause])
    case.pieces = {word: [word] for word in {*words, "the", "of", "is"}}
    case.folds, case.stems, case.glossary, case.counts = FOLDS, {}, real.glossary, real.counts
    case.weights = real.weights(text_of(case))
    case.neighbour_candidates = r.choice([0, 5, 1000])
    return case


@pytest.mark.parametrize("seed", range(30))
def test_real_neighbours_give_the_scores_of_the_oracle(real: Real, seed: int) -> None:
    r = Random(seed)
    case = real_case(real, r)
    nearest = real.nearest(text_of(case), len(real.texts))
    n = r.choice([1, 3, 10, len(nearest)])
    # Not where the last neighbour and the first that is none are equally similar.
    while n < len(nearest) and nearest[n - 1][1] - nearest[n][1] < 1e-5:
        n += 1
    case.neighbours = [real.neighbour(id, similarity) for id, similarity in nearest[:n]]
    case.affinity = case.absent_affinity = 0  # which the real model has not learned
    check_with(case, real.generator, n)


def test_shares_are_those_of_bm25_and_sum_to_one(real: Real) -> None:
    for id, text in list(real.texts.items())[:8]:
        found = real.collection.neighbourhood(text, 15)
        nearest = real.nearest(text, 15)
        shares = oracle.shares(oracle.Case([], {}, {}, neighbours=[oracle.Neighbour(s, [], {}) for _, s in nearest]))
        assert found.shares.tolist() == pytest.approx(shares, rel=1e-5)
        assert sum(shares) == pytest.approx(1)
        ours, theirs = real.collection.ids(found.documents), [id for id, _ in nearest]
        assert id not in ours, "a text is no neighbour of its own"
        # Equally similar ones may stand either way round.
        for a, b, share in zip(ours, theirs, shares, strict=True):
            assert a == b or sum(abs(share - other) < 1e-6 for other in shares) > 1 or share == shares[-1]

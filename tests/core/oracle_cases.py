"""Cases for the oracle: random documents, collections and settings, and the generator run on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

import oracle
from erukg import KeyphraseGenerator, Settings
from erukg.core.affinity import Affinity
from erukg.core.backend import INNER, WORD, Encoding, Pieces
from erukg.core.hashing import hash_phrases
from erukg.core.neighbours import Neighbourhood, Source, Terms, WeightedTerms
from erukg.core.word_classes import ADJECTIVE, NOUN, NUMBER, OTHER

# The last two are also how others begin.
WORDS = ["alpha", "beta", "gamma", "delta", "omega", "kappa", "sigma", "theta", "theory", "box", "index", "om", "ka"]
# Further words, and what they fold to: plurals, capitals, a hyphen; the last plural keeps its e.
FOLDS: dict[str, oracle.Phrase] = {
    **{plural: (plural[:-1],) for plural in ("alphas", "betas", "gammas", "thetas")},
    "theories": ("theory",),
    "boxes": ("box",),
    "indexes": ("index",),
    "om-ka": ("om", "ka"),
    "bus": ("bus",),
    "buses": ("buse",),
    "indexing": ("indexing",),
    "indexed": ("indexed",),
}
FOLDS |= {word.capitalize(): FOLDS.get(word, (word,)) for word in ("alpha", "betas", "theories", "kappa", "index")}
FOLDS |= {"OMEGA": ("omega",), "Om-Ka": ("om", "ka")}
STEMS = {"indexing": "index", "indexed": "index"}
SURFACES = [*WORDS, *WORDS, *FOLDS]
LOWER = [word for word in dict.fromkeys(SURFACES) if word.islower() and "-" not in word]
CLASSES = {"N": NOUN, "J": ADJECTIVE, "C": NUMBER, "O": OTHER}


class TableAffinity(Affinity):
    """How near a case's terms are to its text, whatever the vectors."""

    def __init__(self, nearness: Sequence[float]) -> None:
        self.nearness = np.array(nearness)

    def to(self, vector: NDArray[np.float32], phrases: Terms) -> NDArray[np.float64]:
        bounds = pairwise(phrases.indptr.tolist())
        return np.array([self.nearness[phrases.ids[a:b]].mean() for a, b in bounds], np.float64)


class TableBackend:
    """Weights, pieces and tags straight from a case's tables."""

    name = fingerprint = term_space = "table"
    ranker = None

    def __init__(self, case: oracle.Case) -> None:
        self.case = case
        self.terms = sorted({t for pieces in case.pieces.values() for t in pieces})
        self.ids = {term: i for i, term in enumerate(self.terms)}
        self.vocab_size = len(self.terms)
        self.affinity = TableAffinity([case.nearness.get(term, 0.0) for term in self.terms])
        self.term_kinds = np.array([INNER if term.startswith("##") else WORD for term in self.terms], np.int8)

    def pieces(self, words: Sequence[str]) -> Pieces:
        rows = [[self.ids[t] for t in self.case.pieces.get(word.lower(), [])] for word in words]
        starts = np.concatenate(([0], np.cumsum([len(r) for r in rows]))).astype(np.int64)
        return Pieces(np.array([i for r in rows for i in r], np.int32), starts)

    def phrase_terms(self, phrases: Sequence[str]) -> Terms:
        rows = [[self.ids[t] for word in p.split() for t in self.case.terms(word)] for p in phrases]
        indptr = np.concatenate(([0], np.cumsum([len(r) for r in rows]))).astype(np.int64)
        return Terms(indptr, np.array([i for r in rows for i in r], np.int32))

    def tokens(self, ids: Iterable[int]) -> list[str]:
        return [self.terms[i] for i in ids]

    def encode(self, pieces: Pieces, terms: NDArray[np.int32]) -> Encoding:
        weights = np.array([self.case.weights.get(self.terms[t], 0.0) for t in terms], np.float32)
        tags = [CLASSES[tag] for clause in self.case.clauses for _, tag in [*clause, (".", "O")]]
        return Encoding(weights, np.array(tags, np.int8), np.zeros(1, np.float32))

    def encode_batch(self, texts: Sequence[tuple[Pieces, NDArray[np.int32]]]) -> list[Encoding]:
        return [self.encode(pieces, terms) for pieces, terms in texts]


class TableBackground:
    """A collection whose neighbours are a case's, whatever the text."""

    fingerprint = "table"

    def __init__(self, case: oracle.Case, encoder: TableBackend) -> None:
        self.case, self.encoder = case, encoder
        self.listed = [" ".join(p) for p in case.glossary]
        self._hashes = hash_phrases([" ".join(case.fold(p)) for p in case.glossary])

    @property
    def glossary(self) -> TableBackground:
        return self

    def __len__(self) -> int:
        return len(self.listed)

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        table = {int(h): i for i, h in enumerate(self._hashes)}
        return np.array([table.get(int(h), -1) for h in hashes], np.int64)

    def hashes(self, ids: NDArray[np.int64]) -> NDArray[np.uint64]:
        found: NDArray[np.uint64] = self._hashes[ids]
        return found

    def phrases(self, ids: NDArray[np.int64]) -> list[str]:
        return [self.listed[i] for i in ids]

    def terms(self, ids: NDArray[np.int64]) -> Terms:
        return self.encoder.phrase_terms(self.phrases(ids))

    def counts(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.array([self.case.counts[self.case.glossary[i]] for i in ids], np.int64)

    def titled(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.zeros(len(ids), np.int64)

    def neighbourhood(self, text: str, n: int, *, exclude: str | None = None, words: int = 0) -> Neighbourhood:
        shares = oracle.shares(self.case)
        phrases: dict[int, float] = {}
        weights: dict[int, float] = {}
        for share, neighbour in zip(shares, self.case.neighbours, strict=True):
            for phrase in neighbour.phrases:
                i = self.case.glossary.index(phrase)
                phrases[i] = phrases.get(i, 0.0) + share * (1 / len(neighbour.phrases))
            for term, weight in neighbour.weights.items():
                j = self.encoder.ids[term]
                weights[j] = weights.get(j, 0.0) + share * weight
        return Neighbourhood(
            np.arange(len(shares)),
            np.array(shares, np.float32),
            np.array(sorted(phrases), np.int64),
            np.array([phrases[i] for i in sorted(phrases)], np.float32),
            WeightedTerms(
                np.array(sorted(weights), np.int32), np.array([weights[i] for i in sorted(weights)], np.float32)
            ),
            phrase_holders=np.array([self._holders(i) for i in sorted(phrases)], np.int64),
        )

    def _holders(self, phrase: int) -> int:
        return sum(self.case.glossary[phrase] in neighbour.phrases for neighbour in self.case.neighbours)

    def sources(self, neighbourhood: Neighbourhood, phrase_ids: NDArray[np.int64]) -> list[tuple[Source, ...]]:
        return [() for _ in phrase_ids]


def number(r: Random) -> float:
    return r.choice([0.0, r.uniform(2**-10, 4)])


def share(r: Random) -> float:
    return r.choice([0.0, 0.25, 0.5, 0.8, 1.0, r.random()])


_VARIED = {word: ["index", "indexing", "indexed"] for word in ("index", "indexing", "indexed")}


def _splits(word: str) -> list[list[str]]:
    first, rest = word[:2], word[2:]
    return [[word], [first, f"##{rest}"], [first, f"##{rest[:1]}", f"##{rest[1:]}"]]


def random_case(r: Random) -> oracle.Case:
    """A document, a collection and settings, with α and β at 0, 1 and between, and every list possibly empty."""
    clauses = [
        [(r.choice(SURFACES), r.choice("NNNJJCO")) for _ in range(r.randint(1, 9))] for _ in range(r.randint(1, 6))
    ]
    pieces = {w: [w] if len(w) == 2 else r.choice(_splits(w)) for w in LOWER} | {"om-ka": ["om", "ka"]}
    terms = sorted({t for p in pieces.values() for t in p})

    def table() -> dict[str, float]:
        return {t: number(r) for t in r.sample(terms, r.randint(0, len(terms)))}

    drawn = [tuple(r.choices(LOWER, k=r.randint(1, 4))) for _ in range(r.randint(0, 12))]
    # Some that the text may have, and variants of some.
    starts = [(clause, r.randrange(len(clause))) for clause in clauses if drawn]
    drawn += [tuple(word.lower() for word, _ in clause[i : i + r.randint(1, 3)]) for clause, i in starts]
    drawn += [tuple(r.choice(_VARIED.get(word, [word])) for word in phrase) for phrase in drawn]
    fold = oracle.Case([], {}, {}, FOLDS).fold
    glossary = list({fold(phrase): phrase for phrase in drawn if "om-ka" not in phrase}.values())
    r.shuffle(glossary)
    neighbours = []
    for _ in range(r.randint(0, 6) if glossary else 0):
        # One, two or four phrases and similarities in 64ths: exact binary fractions, so that equal phraseness is
        # equal in any order of summation.
        k = min(r.choice([0, 1, 2, 4]), 1 << (len(glossary).bit_length() - 1))
        neighbours.append(oracle.Neighbour(0.0, r.sample(glossary, k), table()))
    cuts = sorted(r.randint(0, 64) for _ in neighbours[1:])
    for neighbour, a, b in zip(neighbours, [0, *cuts], [*cuts, 64], strict=False):
        neighbour.similarity = (b - a) / 64
    return oracle.Case(
        clauses=clauses,
        weights=table(),
        pieces=pieces,
        folds=FOLDS,
        stems=STEMS,
        neighbours=neighbours,
        glossary=glossary,
        alpha=share(r),
        beta=share(r),
        lam=r.choice([0.0, 0.25, 1.5, r.uniform(0, 3)]),
        gamma=r.uniform(-4, 0.5),
        power=r.choice([0.0, 1.0, 2.0]),
        single_word=r.choice([1.0, 0.0, r.random()]),
        absent_alpha=share(r),
        absent_commonness=r.choice([0.0, 0.1, r.uniform(0, 2)]),
        absent_single_word=share(r),
        absent_parts=share(r),
        absent_cover=r.choice([0.0, 0.5, r.uniform(0, 2)]),
        absent_agreement=r.choice([0.0, 0.15, r.uniform(0, 2)]),
        counts={phrase: r.randint(3, 400) for phrase in glossary},
        absent_lam=r.choice([0.0, 1.5, r.uniform(0, 3)]),
        absent_gamma=r.uniform(-4, 0.5),
        neighbour_candidates=r.randint(0, 12),
        frequency=r.random() < 0.5,
        max_words=r.randint(1, 6),
        drop_contained=r.random() < 0.5,
        nearness={t: r.uniform(-1, 1) for t in r.sample(terms, r.randint(0, len(terms)))},
        affinity=r.choice([0.0, 1.0, r.uniform(0, 3)]),
        absent_affinity=r.choice([0.0, 2.0, r.uniform(0, 3)]),
    )


def settings_of(case: oracle.Case) -> Settings:
    """A case's settings, and none of what the oracle does not know."""
    return Settings(
        alpha=case.alpha,
        beta=case.beta,
        phraseness=case.lam,
        length_penalty=case.gamma,
        position=case.power,
        single_word=case.single_word,
        absent_alpha=case.absent_alpha,
        absent_commonness=case.absent_commonness,
        absent_single_word=case.absent_single_word,
        absent_parts=case.absent_parts,
        absent_cover=case.absent_cover,
        absent_agreement=case.absent_agreement,
        affinity=case.affinity,
        absent_affinity=case.absent_affinity,
        absent_phraseness=case.absent_lam,
        absent_length_penalty=case.absent_gamma,
        neighbour_candidates=case.neighbour_candidates,
        frequency=case.frequency,
        drop_contained=case.drop_contained,
        abstain=False,
        min_confidence=0,
        whole_phrases=False,
        merge=False,
        known=1,
        balance=0,
        diversity=0,
        max_words=case.max_words,
    )


def text_of(case: oracle.Case) -> str:
    return " ".join(f"{' '.join(word for word, _ in clause)} ." for clause in case.clauses)


def check(case: oracle.Case) -> None:
    encoder = TableBackend(case)
    check_with(case, KeyphraseGenerator(encoder, TableBackground(case, encoder)))


def check_with(case: oracle.Case, generator: KeyphraseGenerator, neighbours: int = 400) -> None:
    """The generator says of the case's text what the oracle says."""
    # Which of two phrases is dropped must not hang on the last digits of their scores.
    case.drop_contained = case.drop_contained and not oracle.is_ambiguous(case)
    text = text_of(case)
    chosen = settings_of(case).replace(neighbours=neighbours)
    result = generator.generate(text, top_k=1000, settings=chosen, explain=True)
    if case.alpha == 1 and case.beta == 1:
        case.neighbours = []
    for got, expected in zip((result.present, result.absent), oracle.rank(case), strict=True):
        wanted = {" ".join(phrase): score for phrase, score in expected}
        assert {k.phrase for k in got} == set(wanted)
        for k in got:
            assert k.score == pytest.approx(wanted[k.phrase], rel=1e-5)
            assert k.explanation is not None
            assert k.score == pytest.approx(np.prod(list(k.explanation.factors.values())), rel=1e-9)
        order = [wanted[k.phrase] for k in got]
        # The same order, except that scores equal to the last digits may stand either way round.
        assert all(b <= a * (1 + 1e-6) for a, b in pairwise(order))
    for k in result.present:
        folded = case.fold(tuple(k.phrase.split()))
        assert all(case.fold(tuple(text[a:b].split())) == folded for a, b in k.spans)
        assert len(k.spans) == len(oracle.occurrences(case, folded))

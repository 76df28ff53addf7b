"""The paper in plain Python dicts: slow, obvious, and what the fast path is held to.

Every function is one equation or one sentence of the paper. A document is a list of clauses, each a list of
(word, tag class); phrases are tuples of words; nothing here is shared with the package.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

Phrase = tuple[str, ...]


@dataclass
class Neighbour:
    """x' ∈ N(x): its BM25 similarity to x, its pruned candidates C̃_x' and its term weights w^x'."""

    similarity: float
    phrases: list[Phrase]
    weights: dict[str, float]


@dataclass
class Case:
    """All that the scores depend on."""

    clauses: list[list[tuple[str, str]]]  # tag classes: N, J, C, O
    weights: dict[str, float]  # w^x
    pieces: dict[str, list[str]]  # word -> its terms
    neighbours: list[Neighbour] = field(default_factory=list)
    glossary: list[Phrase] = field(default_factory=list)
    alpha: float = 0.8
    beta: float = 0.8
    lam: float = 1.5
    gamma: float = -0.25
    power: float = 1.0
    single_word: float = 1.0
    absent_alpha: float = 0.8
    absent_commonness: float = 0.0
    absent_single_word: float = 1.0
    absent_parts: float = 1.0
    absent_cover: float = 0.0
    absent_agreement: float = 0.0
    counts: dict[Phrase, int] = field(default_factory=dict)  # glossary phrase -> documents it describes
    absent_lam: float = 1.5
    absent_gamma: float = -0.25
    neighbour_candidates: int = 100
    frequency: bool = False
    max_words: int = 5


def chunk(classes: str) -> list[tuple[int, int]]:
    """(<NN.*|JJ.*>+<NN.*|CD>)|<NN.*>, leftmost and longest, as a parser with backtracking finds it."""
    found, i = [], 0
    while i < len(classes):
        run = i
        while run < len(classes) and classes[run] in "NJ":
            run += 1
        # [NJ]+ takes as much as it can and gives back until what follows is a noun or a number.
        for middle in range(run, i, -1):
            if middle < len(classes) and classes[middle] in "NC":
                found.append((i, middle + 1))
                i = middle + 1
                break
        else:
            if classes[i] == "N":
                found.append((i, i + 1))
            i += 1
    return found


def noun_phrases(case: Case) -> list[Phrase]:
    """C_x: the distinct noun phrases in order of appearance."""
    out: list[Phrase] = []
    for clause in case.clauses:
        classes = "".join(tag for _, tag in clause)
        for start, stop in chunk(classes):
            start = max(start, stop - case.max_words)  # a head is final in English: keep the last words
            if not chunk(classes[start:stop]):
                continue  # what is left, a number alone, is no phrase any more
            phrase = tuple(word for word, _ in clause[start:stop])
            if phrase not in out:
                out.append(phrase)
    return out


def occurrences(case: Case, phrase: Phrase) -> list[int]:
    """For each place where the phrase stands in x, whole words within one clause, how many words precede it."""
    found, before = [], 0
    for clause in case.clauses:
        words = [word for word, _ in clause]
        for i in range(len(words) - len(phrase) + 1):
            if tuple(words[i : i + len(phrase)]) == phrase:
                found.append(before + i)
        before += len(clause)
    return found


def shares(case: Case) -> list[float]:
    """s̃: similarities normalised over N(x)."""
    total = sum(n.similarity for n in case.neighbours)
    return [n.similarity / total for n in case.neighbours]


def mixed_weight(case: Case, term: str, alpha: float) -> float:
    """ŵ_c = α w^x_c + (1 - α) Σ s̃ w^x'_c."""
    around = sum(s * n.weights.get(term, 0.0) for s, n in zip(shares(case), case.neighbours, strict=True))
    return alpha * case.weights.get(term, 0.0) + (1 - alpha) * around


def informativeness(case: Case, phrase: Phrase, gamma: float, alpha: float) -> float:
    """f̂(c, x) = Σ ŵ_{c_i} / (|c| - γ)."""
    terms = [term for word in phrase for term in case.pieces[word]]
    if not terms:
        return 0.0
    return sum(mixed_weight(case, term, alpha) for term in terms) / (len(terms) - gamma)


def only_inside(case: Case, word: str) -> bool:
    """Whether the word, which is one piece, stands in x only as a part of other words."""
    if len(case.pieces[word]) > 1:
        return False
    words = [w for clause in case.clauses for w, _ in clause]
    parts = {piece for w in words if len(case.pieces[w]) > 1 for piece in case.pieces[w]}
    return case.pieces[word][0] in parts and word not in words


def whole_words(case: Case, phrase: Phrase) -> float:
    """The share of a phrase's weight that is left when a word that x has only inside others counts less."""
    weight = {w: sum(mixed_weight(case, t, case.absent_alpha) for t in case.pieces[w]) for w in phrase}
    total = sum(weight[w] for w in phrase)
    if total == 0:
        return 1.0
    return sum(weight[w] * (case.absent_parts if only_inside(case, w) else 1) for w in phrase) / total


def cover(case: Case, phrase: Phrase) -> float:
    """The share of a phrase's words that have any weight."""
    weighty = [any(mixed_weight(case, t, case.absent_alpha) > 0 for t in case.pieces[w]) for w in phrase]
    return sum(weighty) / len(weighty)


def agreement(case: Case, phrase: Phrase) -> int:
    """How many neighbours have the phrase."""
    return sum(phrase in n.phrases for n in case.neighbours)


def phraseness(case: Case, own: list[Phrase], phrase: Phrase) -> float:
    """P_pn(c | x) = β P(c | C_x) + (1 - β) Σ s̃ P(c | C̃_x')."""
    in_document = 0.0
    if phrase in own:
        in_document = 1 / len(own)
        if case.frequency:
            in_document = len(occurrences(case, phrase)) / sum(len(occurrences(case, c)) for c in own)
    around = 0.0
    for share, neighbour in zip(shares(case), case.neighbours, strict=True):
        if phrase in neighbour.phrases:
            around += share * (1 / len(neighbour.phrases))
    return case.beta * in_document + (1 - case.beta) * around


def position(words_before: int) -> float:
    """ω = 1 + 1 / log2(P + 2); absent phrases have P = ∞ and so ω = 1."""
    return 1 + 1 / math.log2(words_before + 2)


def rank(case: Case) -> tuple[list[tuple[Phrase, float]], list[tuple[Phrase, float]]]:
    """Algorithm 1: present and absent candidates with score > 0, best first."""
    own = noun_phrases(case)
    around = [g for g in case.glossary if any(g in n.phrases for n in case.neighbours)]
    around.sort(key=lambda c: -phraseness(case, own, c))  # stable: equal ones in the glossary's order
    candidates = own + [c for c in around[: case.neighbour_candidates] if c not in own]
    present, absent = [], []
    for c in candidates:
        p = phraseness(case, own, c)
        if p <= 0:
            continue
        places = occurrences(case, c)
        if places:
            s = position(places[0]) ** case.power * p**case.lam * informativeness(case, c, case.gamma, case.alpha)
            if len(c) == 1:
                s *= case.single_word
            present.append((c, s))
        else:
            s = p**case.absent_lam * informativeness(case, c, case.absent_gamma, case.absent_alpha)
            s *= whole_words(case, c) * cover(case, c) ** case.absent_cover
            if len(c) == 1:
                s *= case.absent_single_word
            s *= agreement(case, c) ** case.absent_agreement
            absent.append((c, s * case.counts.get(c, 1) ** case.absent_commonness))
    present = sorted((x for x in present if x[1] > 0), key=lambda x: -x[1])
    absent = sorted((x for x in absent if x[1] > 0), key=lambda x: -x[1])
    return present, absent

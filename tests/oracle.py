"""The paper in plain Python dicts: slow, obvious, and what the fast path is held to.

Every function is one equation or one sentence of the paper. A document is a list of clauses, each a list of
(word, tag class); phrases are tuples of words as they are written, and two of them are one phrase if their words fold
to the same; nothing here is shared with the package.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

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
    pieces: dict[str, list[str]]  # word in lower case -> its terms
    folds: dict[str, Phrase] = field(default_factory=dict)  # word -> what it folds to, itself if not listed
    stems: dict[str, str] = field(default_factory=dict)  # folded word -> its stem, itself if not listed
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
    drop_contained: bool = False
    nearness: dict[str, float] = field(default_factory=dict)  # term -> how near it is to the text, 0 if not listed
    affinity: float = 0.0
    absent_affinity: float = 0.0

    def fold(self, phrase: Phrase) -> Phrase:
        """What makes a phrase itself, however it is written."""
        return tuple(part for word in phrase for part in self.folds.get(word, (word,)))

    def terms(self, word: str) -> list[str]:
        return self.pieces[word.lower()]


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
    """C_x: the distinct noun phrases, folded, in order of appearance."""
    out: list[Phrase] = []
    for clause in case.clauses:
        classes = "".join(tag for _, tag in clause)
        for start, stop in chunk(classes):
            start = max(start, stop - case.max_words)  # a head is final in English: keep the last words
            if not chunk(classes[start:stop]):
                continue  # what is left, a number alone, is no phrase any more
            phrase = case.fold(tuple(word for word, _ in clause[start:stop]))
            if phrase not in out:
                out.append(phrase)
    return out


def occurrences(case: Case, folded: Phrase) -> list[tuple[int, Phrase]]:
    """Each place where the phrase stands in x, whole words within one clause: how many words precede it, its form."""
    found, before = [], 0
    for clause in case.clauses:
        words = tuple(word for word, _ in clause)
        for i in range(len(words)):
            for j in range(i + 1, min(i + len(folded), len(words)) + 1):
                if case.fold(words[i:j]) == folded:
                    found.append((before + i, words[i:j]))
        before += len(clause)
    return found


def written(case: Case, folded: Phrase) -> Phrase:
    """The form in which x has the phrase most often, the first of those equally often."""
    return Counter(form for _, form in occurrences(case, folded)).most_common(1)[0][0]


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
    terms = [term for word in phrase for term in case.terms(word)]
    if not terms:
        return 0.0
    return sum(mixed_weight(case, term, alpha) for term in terms) / (len(terms) - gamma)


def split(pieces: Sequence[str]) -> list[list[str]]:
    """Pieces laid end to end, by the words they are of: what goes on a word begins with ##."""
    out: list[list[str]] = []
    for piece in pieces:
        if piece.startswith("##"):
            out[-1].append(piece)
        else:
            out.append([piece])
    return out


def only_inside(case: Case, word: str) -> bool:
    """Whether the word, which is one piece, stands in x only as a part of other words."""
    pieces = case.terms(word)
    if len(pieces) > 1:
        return False
    words = [part for clause in case.clauses for w, _ in clause for part in split(case.terms(w))]
    return pieces not in words and any(pieces[0] in other for other in words)


def whole_words(case: Case, phrase: Phrase) -> float:
    """The share of a phrase's weight that is left when a word that x has only inside others counts less."""
    weight = {w: sum(mixed_weight(case, t, case.absent_alpha) for t in case.terms(w)) for w in phrase}
    total = sum(weight[w] for w in phrase)
    if total == 0:
        return 1.0
    return sum(weight[w] * (case.absent_parts if only_inside(case, w) else 1) for w in phrase) / total


def cover(case: Case, phrase: Phrase) -> float:
    """The share of a phrase's words that have any weight."""
    weighty = [any(mixed_weight(case, t, case.absent_alpha) > 0 for t in case.terms(w)) for w in phrase]
    return sum(weighty) / len(weighty)


def candidates(case: Case, neighbour: Neighbour) -> list[Phrase]:
    """C̃_x' of a neighbour, folded."""
    return [case.fold(phrase) for phrase in neighbour.phrases]


def agreement(case: Case, folded: Phrase) -> int:
    """How many neighbours have the phrase."""
    return sum(folded in candidates(case, n) for n in case.neighbours)


def phraseness(case: Case, own: list[Phrase], phrase: Phrase) -> float:
    """P_pn(c | x) = β P(c | C_x) + (1 - β) Σ s̃ P(c | C̃_x')."""
    in_document = 0.0
    if phrase in own:
        in_document = 1 / len(own)
        if case.frequency:
            in_document = len(occurrences(case, phrase)) / sum(len(occurrences(case, c)) for c in own)
    around = 0.0
    for share, neighbour in zip(shares(case), case.neighbours, strict=True):
        if phrase in candidates(case, neighbour):
            around += share * (1 / len(neighbour.phrases))
    return case.beta * in_document + (1 - case.beta) * around


def near(case: Case, phrase: Phrase) -> float:
    """How near a phrase comes to the text, beside what is usual: the mean of its terms."""
    terms = [t for word in phrase for t in case.terms(word)]
    return sum(case.nearness.get(t, 0.0) for t in terms) / len(terms) - 0.3


def position(words_before: int) -> float:
    """ω = 1 + 1 / log2(P + 2); absent phrases have P = ∞ and so ω = 1."""
    return 1 + 1 / math.log2(words_before + 2)


def rank(case: Case) -> tuple[list[tuple[Phrase, float]], list[tuple[Phrase, float]]]:
    """Algorithm 1: present and absent candidates with score > 0 as they are written, best first."""
    own = noun_phrases(case)
    glossary = {case.fold(phrase): phrase for phrase in case.glossary}
    around = [g for g in glossary if agreement(case, g)]
    around.sort(key=lambda c: -phraseness(case, own, c))  # stable: equal ones in the glossary's order
    present, absent = [], []
    for c in own + [c for c in around[: case.neighbour_candidates] if c not in own]:
        p = phraseness(case, own, c)
        if p <= 0:
            continue
        places = occurrences(case, c)
        if places:
            form = written(case, c)
            # The pieces of what only neighbours hold to be a phrase are those that the glossary has.
            known = form if c in own else glossary[c]
            s = position(places[0][0]) ** case.power * p**case.lam
            s *= informativeness(case, known, case.gamma, case.alpha)
            s *= math.exp(case.affinity * min(near(case, known), 0))
            if len(c) == 1:
                s *= case.single_word
            present.append((form, s))
        else:
            form = glossary[c]
            s = p**case.absent_lam * informativeness(case, form, case.absent_gamma, case.absent_alpha)
            s *= whole_words(case, form) * cover(case, form) ** case.absent_cover
            if len(c) == 1:
                s *= case.absent_single_word
            s *= agreement(case, c) ** case.absent_agreement
            s *= math.exp(case.absent_affinity * near(case, form))
            absent.append((form, s * case.counts.get(form, 1) ** case.absent_commonness))
    present = sorted((x for x in present if x[1] > 0), key=lambda x: -x[1])
    absent = sorted((x for x in absent if x[1] > 0), key=lambda x: -x[1])
    if case.drop_contained:
        return without_parts(case, present), without_variants(case, present, absent)
    return present, absent


def without_parts(case: Case, present: Sequence[tuple[Phrase, float]]) -> list[tuple[Phrase, float]]:
    """Single words go that are a word of a better phrase; that a plural has kept its e is no difference."""
    kept: list[tuple[Phrase, float]] = []
    for phrase, s in present:
        words = [word.removesuffix("e") for word in case.fold(phrase)]
        better = [[word.removesuffix("e") for word in case.fold(other)] for other, _ in kept]
        if len(words) > 1 or not any(words[0] in other for other in better if len(other) > 1):
            kept.append((phrase, s))
    return kept


def without_variants(
    case: Case, present: Sequence[tuple[Phrase, float]], absent: Sequence[tuple[Phrase, float]], compared: int = 10
) -> list[tuple[Phrase, float]]:
    """Absent phrases go that have the stems of one of the ten best present ones or of a better absent one."""

    def stems(phrase: Phrase) -> Phrase:
        return tuple(case.stems.get(word, word) for word in case.fold(phrase))

    seen = {stems(phrase) for phrase, _ in without_parts(case, present)[:compared]}
    kept = []
    for phrase, s in absent:
        if stems(phrase) not in seen:
            seen.add(stems(phrase))
            kept.append((phrase, s))
    return kept


def is_ambiguous(case: Case) -> bool:
    """Whether scores are so near one another that rounding decides which phrase is the better one."""
    for ranked in rank(replace(case, drop_contained=False)):
        scores = [s for _, s in ranked]
        if any(a <= b * (1 + 1e-6) for a, b in pairwise(scores)):
            return True
    return False


def bm25(
    documents: Mapping[str, Sequence[str]], query: Sequence[str], n: int, k1: float, b: float
) -> list[tuple[str, float]]:
    """N(x): the `n` documents with the highest score above 0, and their scores, best first; x itself is not among them.

    Documents, by id, and the query are lists of stemmed words without stop words. The score is Lucene's:
    Σ over the words of the query of ln(1 + (|D| - df + ½) / (df + ½)) · tf / (tf + k1 (1 - b + b · |d| / average)).
    """
    average = sum(map(len, documents.values())) / len(documents)
    holders = {term: sum(term in words for words in documents.values()) for term in query}
    scores = {}
    for id, words in documents.items():
        if list(words) == list(query):
            continue
        score = 0.0
        for term in query:
            df, tf = holders[term], words.count(term)
            if tf:
                rarity = math.log(1 + (len(documents) - df + 0.5) / (df + 0.5))
                score += rarity * tf / (tf + k1 * (1 - b + b * len(words) / average))
        if score > 0:
            scores[id] = score
    return sorted(scores.items(), key=lambda item: -item[1])[:n]

"""Every feature of the learned ranking against its definition in plain Python, over made-up pools."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from erukg.core.absent_features import FEATURES, GROUPS, TextProfile, absent_features
from erukg.core.backend import INNER, WORD
from erukg.core.factors import FACTORS
from erukg.core.neighbours import Support, Terms
from erukg.core.pool import Pool
from erukg.core.stems import stem_classes

VOCABULARY, KNOWN, COMPARED = 160, 60, 40


class Titles:
    """As much of a glossary as the features ask for."""

    def __init__(self, counts: list[int]) -> None:
        self.counted = counts

    def titled(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.array([self.counted[i] for i in ids], np.int64)


@dataclass
class World:
    """A text with its present phrases, best first, and absent ones; `left_out` are neither."""

    classes: list[int]
    begins: list[bool]
    text: list[int]
    present: list[list[int]]
    scores: list[float]
    absent: list[list[int]]
    ids: list[int]
    left_out: set[int]
    weights: list[float]
    support: list[dict[str, float]]
    shares: list[float]
    holders: list[int]
    counts: list[int]
    titled: list[int]
    composed: list[int]
    paired: list[float]


def make_world(r: Random) -> World:
    def phrase() -> list[int]:
        return [r.randrange(VOCABULARY) for _ in range(r.randint(1, 4))]

    n = r.randint(1, 30)
    counts = [r.randint(3, 400) for _ in range(KNOWN)]
    present = [phrase() for _ in range(r.choice([0, 1, 5, 60]))]
    classes = r.choice([15, 100])
    return World(
        classes=[r.randrange(classes) for _ in range(VOCABULARY)],
        begins=[r.random() < 0.7 for _ in range(VOCABULARY)],
        text=[r.randrange(VOCABULARY) for _ in range(r.choice([1, 2, 30]))],
        present=present,
        scores=sorted((r.uniform(0.01, 5) for _ in present), reverse=True),
        # Some have the words of present ones, about the last that are compared.
        absent=[r.choice([phrase(), *present[37:43]]) for _ in range(n)],
        ids=r.sample(range(KNOWN), n),
        left_out=set(r.sample(range(n), r.randint(0, n - 1))),
        weights=[r.choice([0.0, r.uniform(0, 3)]) for _ in range(VOCABULARY)],
        support=[{name: r.choice([0.0, r.random(), 7.0]) for name in Support._fields} for _ in range(n)],
        shares=[r.random() for _ in range(n)],
        holders=[r.randint(0, 30) for _ in range(n)],
        counts=counts,
        titled=[r.randint(0, c) for c in counts],
        composed=[r.choice([0, 0, 1, 4]) for _ in range(n)],
        paired=[r.choice([0.0, 1.0, 300.0]) for _ in range(n)],
    )


def oracle(world: World, i: int) -> dict[str, float]:
    """The features of the i-th absent phrase."""

    def log(value: float) -> float:
        return math.log(max(value, 1e-9))

    phrase, support, glossary = world.absent[i], world.support[i], world.ids[i]
    classes = [world.classes[piece] for piece in phrase]
    text = [world.classes[piece] for piece in world.text]
    beside = set(itertools.pairwise(text))
    standing = [0.0] * len(phrase)
    head = 0.0
    for other, score in list(zip(world.present, world.scores, strict=True))[:COMPARED]:
        share, pieces = score / world.scores[0], [world.classes[piece] for piece in other]
        standing = [max(a, share) if c in pieces else a for a, c in zip(standing, classes, strict=True)]
        head = max(head, share) if pieces[-1] == classes[-1] else head
    weights = [world.weights[piece] for piece in phrase]
    pairs = sum(pair in beside for pair in itertools.pairwise(classes))
    return {
        "few": log(support["few"]),
        "more": log(support["more"]),
        # What no neighbour has, has no share of theirs.
        "all": log(world.shares[i] if world.holders[i] else 0),
        "few_holders": support["few_holders"],
        "more_holders": support["more_holders"],
        "all_holders": world.holders[i],
        "best": support["best"],
        "likeness": support["likeness"],
        "near": log(support["near"]),
        "titled": log(support["titled"]),
        "in_titles": math.log(1 + world.titled[glossary]),
        "title_share": (world.titled[glossary] + 0.5) / (world.counts[glossary] + 2),
        "count": math.log(world.counts[glossary]),
        "weight": log(sum(weights) / len(weights)),
        "least_weight": min(weights),
        "most_weight": max(weights),
        "first_weight": weights[0],
        "last_weight": weights[-1],
        "shared": sum(c in text for c in classes) / len(classes),
        "shared_pairs": pairs / max(len(classes) - 1, 1),
        "mean_standing": sum(standing) / len(standing),
        "least_standing": min(standing),
        "most_standing": max(standing),
        "head_standing": head,
        "words": sum(world.begins[piece] for piece in phrase),
        "composed": world.composed[i],
        "paired": math.log(1 + world.paired[i]),
    }


def terms_of(phrases: list[list[int]]) -> Terms:
    indptr = np.cumsum([0, *map(len, phrases)])
    return Terms(indptr, np.array([piece for phrase in phrases for piece in phrase], np.int32))


def pool_of(world: World) -> Pool:
    own, n = len(world.present), len(world.absent)
    columns = (np.array([row[name] for row in world.support], np.float32) for name in Support._fields)
    pool = Pool.of(
        terms_of(world.present + world.absent),
        glossary_ids=np.array([-1] * own + world.ids),
        phraseness_neighbours=np.array([0.0] * own + world.shares),
        commonness=np.array([1.0] * own + [float(world.counts[i]) for i in world.ids]),
        holders=np.array([1.0] * own + [float(h) for h in world.holders]),
        support=Support(*columns),
    )
    before = np.array([1.0] * own + [np.nan if i in world.left_out else np.inf for i in range(n)])
    kinds = np.where(world.begins, WORD, INNER).astype(np.int8)
    nothing = [0] * own
    composed, paired = np.array(nothing + world.composed, np.int8), np.array(nothing + world.paired)
    pool = replace(pool, words_before=before, composed=composed, paired=paired)
    return pool.with_words(np.array(world.text, np.int32), kinds)


def features_of(world: World, chosen: list[int]) -> NDArray[np.float32]:
    pool = pool_of(world)
    rows = len(world.present) + np.array(chosen, np.int64)
    terms = pool.terms.take(rows)
    profile = TextProfile.of(
        np.array(world.text, np.int32),
        np.array(world.classes, np.int32),
        pool.terms,
        np.arange(len(world.present)),
        np.array(world.scores),
    )
    glossary = Titles(world.titled)
    return absent_features(pool, rows, terms, np.array(world.weights)[terms.ids], profile, glossary)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(40))
def test_features_equal_their_definitions(seed: int) -> None:
    world = make_world(Random(seed))
    chosen = [i for i in range(len(world.absent)) if i not in world.left_out]
    got = features_of(world, chosen)
    assert got.dtype == np.float32
    for row, i in zip(got, chosen, strict=True):
        expected = oracle(world, i)
        assert list(expected) == list(FEATURES)
        assert dict(zip(FEATURES, row.tolist(), strict=True)) == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_features_of_no_phrase() -> None:
    assert features_of(make_world(Random(1)), []).shape == (0, len(FEATURES))


def test_every_group_is_a_factor_with_words_for_it() -> None:
    learned = [factor for factor in FACTORS if factor.needs == "learned"]
    assert [factor.name for factor in learned] == [f"learned_{group}" for group in GROUPS]
    assert all(factor.label and factor.help and factor.absent and not factor.present for factor in learned)
    assert len({factor.label for factor in FACTORS}) == len(FACTORS)


def test_pieces_that_differ_in_their_ending_are_of_one_class() -> None:
    classes = stem_classes(["learning", "learned", "##learns", "graph", "##s", "#", "graphs", "the"])
    assert classes.tolist() == [0, 0, 0, 1, 2, 3, 1, 4]

"""The trees of a ranking: LightGBM's own predictions, and samples that teach nothing."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pytest
from numpy.typing import NDArray

from erukg.core.absent_features import FEATURES, GROUPS
from erukg.errors import TrainingError
from erukg.training.ranking.fitting import FitOptions, fit_ranker
from erukg.training.ranking.samples import Samples
from erukg.training.trees import flatten

N = len(FEATURES)


def make_samples(documents: int = 60, seed: int = 0) -> Samples:
    """Right is what has a high first and a low fourteenth feature, more or less."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 30, documents)
    features = rng.normal(0, 2, (int(sizes.sum()), N)).astype(np.float32)
    features[:, 3] = rng.integers(0, 5, len(features))
    right = features[:, 0] - features[:, 13] + rng.normal(0, 1, len(features)) > 2
    return Samples(features, right, sizes)


def crowded(rng: np.random.Generator, rows: int) -> NDArray[np.float32]:
    """Numbers that are neighbours among single numbers, so that thresholds lie between them."""
    first = np.float32(1.7)
    steps = [first]
    for _ in range(6):
        steps.append(np.nextafter(steps[-1], np.float32(np.inf)))
    return np.array(steps, np.float32)[rng.integers(0, len(steps), (rows, N))]


@pytest.mark.parametrize("kind", ["spread", "crowded", "counts"])
@pytest.mark.parametrize("objective", ["regression", "lambdarank"])
def test_contributions_sum_up_to_the_predictions_of_lightgbm(kind: str, objective: str) -> None:
    rng = np.random.default_rng(4)
    features = {
        "spread": rng.normal(0, 3, (600, N)).astype(np.float32),
        "crowded": crowded(rng, 600),
        "counts": rng.integers(0, 4, (600, N)).astype(np.float32),
    }[kind]
    exact = features.astype(np.float64)
    wanted = (exact - exact.mean(axis=0)) / exact.std(axis=0) @ rng.normal(0, 1, N) > 1
    parameters: dict[str, Any] = {"objective": objective, "num_leaves": 12, "min_data_in_leaf": 5, "verbose": -1}
    parameters |= {"num_threads": 1, "max_bin": 1023, "feature_fraction": 0.5}
    data = lightgbm.Dataset(features, wanted.astype(np.int32), group=[20] * 30 if objective == "lambdarank" else None)
    booster = lightgbm.train(parameters, data, 40)
    trees = flatten(booster.dump_model()["tree_info"])
    trees.check(N)
    assert len(trees.roots) == booster.num_trees() == 40
    groups = (np.arange(N) % 3).astype(np.int32)
    parts = trees.contributions(features, groups, 3)
    raw = np.asarray(booster.predict(features, raw_score=True))
    assert np.ptp(raw) > 0.5
    # What all rows share is what the trees say before their first split.
    shared = trees.value[trees.roots].sum(dtype=np.float64)
    assert parts.sum(axis=1) + shared == pytest.approx(raw, abs=1e-4)
    assert np.ptp(parts, axis=0).min() > 0


def test_a_ranking_learns_what_is_right() -> None:
    samples = make_samples(200)
    ranker = fit_ranker(samples, FitOptions(trees=40, least=10))
    scores = ranker.contributions(samples.features).sum(axis=1)
    ends = np.cumsum(samples.sizes)
    better = [
        scores[a:b][samples.right[a:b]].mean() > scores[a:b][~samples.right[a:b]].mean()
        for a, b in zip(ends - samples.sizes, ends, strict=True)
        if 0 < samples.right[a:b].sum() < b - a
    ]
    assert np.mean(better) > 0.9
    of = dict(zip(GROUPS, np.ptp(ranker.contributions(samples.features), axis=0), strict=True))
    # The first feature is about neighbours and the fourteenth about weights; nothing else matters.
    assert min(of["neighbours"], of["weights"]) > 2 * max(of["titles"], of["wording"])


def test_the_same_seed_gives_the_same_trees() -> None:
    samples = make_samples()
    one, same, other = (
        fit_ranker(samples, FitOptions(trees=15, least=5, seed=seed), fewest=10).trees for seed in (1, 1, 2)
    )
    assert np.array_equal(one.threshold, same.threshold)
    assert np.array_equal(one.value, same.value)
    assert not np.array_equal(one.value, other.value)


def test_samples_without_a_split_give_a_ranking_that_says_nothing() -> None:
    samples = make_samples(20)
    ranker = fit_ranker(samples, FitOptions(trees=5, least=10_000), fewest=10)
    assert not ranker.contributions(samples.features).any()
    assert len(flatten([]).roots) == 0


def test_too_few_documents_are_refused() -> None:
    with pytest.raises(TrainingError, match=r"Only 60 documents .* at least 100"):
        fit_ranker(make_samples(60), FitOptions())

"""From samples to a ranking of absent phrases."""

from __future__ import annotations

from dataclasses import dataclass

from erukg.core.absent_features import FEATURES
from erukg.core.ranker import Ranker
from erukg.errors import TrainingError
from erukg.training.ranking.samples import Samples
from erukg.training.trees import grow_trees

__all__ = ["FitOptions", "fit_ranker"]

# With fewer documents the trees learn those by heart.
_FEWEST = 100


@dataclass(frozen=True, slots=True)
class FitOptions:
    """How the trees are grown; `least` is how many candidates a leaf has at least."""

    trees: int = 150
    leaves: int = 16
    rate: float = 0.05
    least: int = 200
    seed: int = 0


def fit_ranker(samples: Samples, options: FitOptions, *, fewest: int = _FEWEST) -> Ranker:
    """The ranking whose score is the logarithm of the odds that a candidate is right; deterministic."""
    if len(samples) < fewest:
        raise TrainingError(
            f"Only {len(samples)} documents have a title with phrases of their neighbours, at least {fewest} are "
            "needed; give more documents, or a collection that is more like them."
        )
    trees = grow_trees(
        samples.features,
        samples.right,
        trees=options.trees,
        leaves=options.leaves,
        rate=options.rate,
        least=options.least,
        seed=options.seed,
        features_of_tree=0.4,
    )
    return Ranker.checked(trees, list(FEATURES))

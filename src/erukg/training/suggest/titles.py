"""The package's ranking of labels, learned from hidden titles: no tag of an indexer is needed, only texts.

A writer puts into the title what a text is about. So the title is hidden, and concepts whose labels stand in it are
taken for right: the trees learn how a text without its title speaks for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from erukg.core.document import Document
from erukg.subjects.evidence import LABELS, Gatherer
from erukg.subjects.learned import SubjectRanking
from erukg.subjects.matching import find_labels
from erukg.subjects.vocabulary import Vocabulary
from erukg.training.trees import grow_trees

__all__ = ["HiddenTitles", "TitledText", "fit_labels", "read_titles"]

# A text without its title says nothing of these.
_HIDDEN = frozenset(("title_alone", "title"))
# Evidence that can only speak for a concept (1) or against it (-1). Trees that know this learn less of the
# vocabularies at hand by heart, which is wanted of those that are to serve others.
_DIRECTIONS = {
    **dict.fromkeys(("alone", "part", "preferred", "labels", "titled", "lent", "lent_nearest"), 1),
    **dict.fromkeys(("before", "shared", "frequency"), -1),
}
_TREES, _LEAVES, _RATE, _LEAST = 200, 15, 0.05, 50
# "Patients" stands in many titles and describes none of them: what a title says counts by how rarely titles say it.
_RARITY = 2.0


@dataclass(frozen=True, slots=True)
class TitledText:
    """A text without its title, and the title."""

    id: str
    text: str
    title: str


@dataclass(frozen=True, slots=True, eq=False)
class HiddenTitles:
    """The evidence of texts (`LABELS`), what of it their titles say, and how much that counts."""

    features: NDArray[np.float32]
    right: NDArray[np.bool_]
    weights: NDArray[np.float32]
    documents: int


def read_titles(texts: Iterable[TitledText], vocabulary: Vocabulary, gather: Gatherer) -> HiddenTitles:
    """What texts teach of labels; `gather` gathers evidence for the same vocabulary, without votes."""
    features, right, concepts = [], [], []
    said: Counter[int] = Counter()
    documents = 0
    for each in texts:
        documents += 1
        evidence = gather(Document.parse(each.text), each.id)
        found = find_labels(Document.parse(each.title), vocabulary)
        titled = np.unique(found.concepts[~found.nested & ~found.part])
        said.update(titled.tolist())
        known = evidence.present | (evidence.column("lent") > 0)
        features.append(evidence.features[known, : len(LABELS)])
        right.append(np.isin(evidence.concepts[known], titled))
        concepts.append(evidence.concepts[known])
    flat, every = np.concatenate(concepts), np.concatenate(right)
    rarity = np.log((documents + 1) / (np.array([said[concept] for concept in flat.tolist()]) + 1)) ** _RARITY
    return HiddenTitles(np.concatenate(features), every, np.where(every, rarity, 1).astype(np.float32), documents)


def fit_labels(taught: list[HiddenTitles], learned_from: str) -> SubjectRanking:
    """The ranking in `assets/subjects/labels`, from texts of several kinds with several vocabularies; deterministic."""
    names = tuple(name for name in LABELS if name not in _HIDDEN)
    right = np.concatenate([each.right for each in taught])
    weights = np.concatenate([each.weights for each in taught])
    weights[right] /= weights[right].mean()
    trees = grow_trees(
        np.concatenate([each.features for each in taught])[:, [LABELS.index(name) for name in names]],
        right,
        trees=_TREES,
        leaves=_LEAVES,
        rate=_RATE,
        least=_LEAST,
        seed=0,
        features_of_tree=0.5,
        directions=[_DIRECTIONS.get(name, 0) for name in names],
        weights=weights,
    )
    facts = {"learned_from": learned_from, "documents": sum(each.documents for each in taught)}
    return SubjectRanking(trees, names, facts=facts)

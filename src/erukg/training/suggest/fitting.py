"""From lessons to a ranking: trees over evidence, and what the archive knows of each concept.

What an archive knows of a concept is learned from the same documents that teach the trees how far to trust it. So that
none of them is asked about itself, the documents are dealt into parts, and each is judged by what the others know.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.errors import TrainingError
from erukg.subjects.associations import Associations
from erukg.subjects.evidence import ARCHIVE, LABELS, VOTES, archive_features
from erukg.subjects.learned import LEARNED, ArchiveKnowledge, ConceptStatistics, SubjectRanking
from erukg.training.suggest.profiles import TextSpace, fit_profiles, text_space
from erukg.training.suggest.samples import Lesson
from erukg.training.trees import grow_trees

__all__ = ["SubjectFit", "fit_archive"]

_PARTS = 5
# A concept is given with another if so many documents show it; and their share counts as if so many more did not.
_TOGETHER, _DOUBT = 2, 3
_FEWEST = 50


@dataclass(frozen=True, slots=True)
class SubjectFit:
    """How the trees are grown; `least` is how many candidates a leaf has at least, `width` that of the profiles."""

    trees: int = 300
    leaves: int = 31
    rate: float = 0.05
    least: int = 50
    width: int = 400
    seed: int = 0


def fit_archive(lessons: list[Lesson], vocabulary: str, concepts: int, fit: SubjectFit) -> SubjectRanking:
    """The ranking that an archive teaches for a vocabulary of so many concepts; deterministic."""
    taught = [n for n, lesson in enumerate(lessons) if lesson.seen is not None and len(lesson.seen)]
    if len(taught) < _FEWEST:
        raise TrainingError(
            f"Only {len(taught)} documents can teach a ranking, at least {_FEWEST} are needed; give the files that the "
            "collection was built from, and the vocabulary that its tags are of."
        )
    space = text_space([lesson.terms for lesson in lessons], fit.width, fit.seed)
    part = np.arange(len(lessons)) % _PARTS
    features: list[NDArray[np.float32]] = [np.empty((0, 0), np.float32)] * len(lessons)
    for each in range(_PARTS):
        others = np.flatnonzero(part != each)
        known = _know(lessons, others, space, concepts)
        for n in taught:
            if part[n] == each:
                features[n] = _features(lessons[n], known, len(lessons))
    right = [
        np.isin(lesson.seen, lesson.concepts) for lesson in map(lessons.__getitem__, taught) if lesson.seen is not None
    ]
    names = (*LABELS, *VOTES, *ARCHIVE, *LEARNED)
    trees = grow_trees(
        np.concatenate([features[n] for n in taught]),
        np.concatenate(right),
        trees=fit.trees,
        leaves=fit.leaves,
        rate=fit.rate,
        least=fit.least,
        seed=fit.seed,
        features_of_tree=0.5,
    )
    known = _know(lessons, np.arange(len(lessons)), space, concepts)
    facts = {"documents": len(lessons), "taught": len(taught), **asdict(fit)}
    return SubjectRanking(trees, names, vocabulary, known, facts)


def _statistics(lessons: list[Lesson], concepts: int, scale: float) -> ConceptStatistics:
    """What the documents know of each concept, as if there were `scale` times as many."""
    occurs, right, used = (np.zeros(concepts, np.float32) for _ in range(3))
    for lesson in lessons:
        used[lesson.concepts] += 1
        occurs[lesson.named] += 1
        right[np.intersect1d(lesson.named, lesson.concepts)] += 1
    return ConceptStatistics(occurs * np.float32(scale), right * np.float32(scale), used * np.float32(scale))


def _know(lessons: list[Lesson], rows: NDArray[np.int64], space: TextSpace, concepts: int) -> ArchiveKnowledge:
    """What the documents in these rows know of each concept, as if there were as many as there are in all."""
    chosen = [lessons[n] for n in rows.tolist()]
    return ArchiveKnowledge(
        _statistics(chosen, concepts, len(lessons) / len(chosen)),
        fit_profiles(space, rows, [lesson.concepts for lesson in lessons], concepts),
        _associations(chosen, concepts),
    )


def _associations(lessons: list[Lesson], concepts: int) -> Associations:
    import scipy.sparse

    def table(lists: list[NDArray[np.int64]]) -> Any:
        flat, starts = np.concatenate([np.empty(0, np.int64), *lists]), np.cumsum([0, *map(len, lists)])
        return scipy.sparse.csr_matrix((np.ones(len(flat), np.float32), flat, starts), (len(lists), concepts))

    named, carried = table([lesson.named for lesson in lessons]), table([lesson.concepts for lesson in lessons])
    both = (named.T @ carried).tocsr()
    both.data[both.data < _TOGETHER] = 0
    both.eliminate_zeros()
    both.sort_indices()
    documents = np.repeat(np.asarray(named.sum(0)).ravel(), np.diff(both.indptr))
    shares = (both.data / (documents + _DOUBT)).astype(np.float16)
    return Associations(both.indptr.astype(np.int64), both.indices.astype(np.int32), shares)


def _features(lesson: Lesson, known: ArchiveKnowledge, documents: int) -> NDArray[np.float32]:
    assert lesson.seen is not None
    assert lesson.features is not None
    votes = lesson.features[:, len(LABELS) :].astype(np.float64)
    present = lesson.features[:, LABELS.index("words")] > 0
    used = known.statistics.used[lesson.seen].astype(np.float64)
    learned = known.features(lesson.seen, present, lesson.named, lesson.terms)
    return np.concatenate((lesson.features, archive_features(votes, used, documents), learned), 1).astype(np.float32)

"""Semantic matching in the spirit of KPEval: how near predictions come to the gold phrases, in vectors of a model.

Exact match counts a paraphrase as wrong. Here every predicted phrase is worth its cosine to the nearest gold phrase
(SemP@k is their mean), every gold phrase its cosine to the nearest prediction (SemR@k), and SemF@k is the harmonic
mean of both in each document. A cosine below 0 counts as 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from erukg.errors import InputError
from erukg.research.baselines.embedders import Embedder, embedder
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.ground_truth import Gold, Protocol
from erukg.research.evaluation.metrics import CUTOFFS, DEPTH, KindScores, Prediction, Scores, aligned_truth
from erukg.research.evaluation.stemming import Variant, phrase_key

__all__ = ["SEMANTIC_KINDS", "SEMANTIC_METRICS", "PhraseVectors", "match", "semantic_score"]

_T = TypeVar("_T")
SEMANTIC_KINDS = ("present", "absent", "all")
SEMANTIC_METRICS = tuple(f"Sem{m}@{k}" for k in CUTOFFS for m in "FPR")


class PhraseVectors:
    """Phrases as vectors of length one, each made once; a phrase the embedder does not know is all zeros."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}

    @classmethod
    def load(cls, path: str) -> PhraseVectors:
        """Of a sentence-transformers folder, or of a file of word vectors; tried at once, not after a long run."""
        if not Path(path).exists():
            raise InputError(
                f"There is no '{path}'; semantic matching needs a sentence-transformers folder or a file of word "
                "vectors."
            )
        out = cls(embedder(path))
        out.of(["keyphrase"])
        return out

    def of(self, phrases: Sequence[str]) -> NDArray[np.float32]:
        """One row per phrase, whatever its case."""
        lower = [phrase.lower() for phrase in phrases]
        # Sorted: what shares a batch may change a last digit, and must be the same in every run.
        missing = sorted({phrase for phrase in lower if phrase not in self._known})
        if missing:
            rows = np.asarray(self._embedder.embed(missing), np.float32)
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            self._known.update(zip(missing, rows / np.where(norms > 0, norms, 1), strict=True))
        return np.stack([self._known[phrase] for phrase in lower])

    def describe(self) -> Mapping[str, Any]:
        return self._embedder.describe()


def semantic_score(
    predictions: Sequence[Prediction], dataset: Dataset, vectors: PhraseVectors, protocol: Protocol = "paper"
) -> Scores:
    """Compare predictions, one per record and in the same order, with the gold of a set.

    The protocol says which gold phrases are present. "all" compares the best k present and the best k absent
    predictions with all gold phrases. As in `metrics.score`, predictions are de-duplicated by their stems and the
    mean is over documents with gold of the kind; unlike there, a system that names fewer than k is judged by those
    it names (by 0 where it names none).
    """
    truth = aligned_truth(predictions, dataset, protocol)
    documents = [_document(*parts) for parts in zip(predictions, dataset.records, truth, strict=True)]
    needed = [p for gold, named in documents for p in [*chain(*gold["all"]), *named[CUTOFFS[-1]]["all"]]]
    if needed:
        vectors.of(needed)  # in one go: an embedder is far faster on many
    kinds = {kind: _kind([d for d in documents if d[0][kind]], kind, vectors) for kind in SEMANTIC_KINDS}
    return Scores(dataset.name, protocol, kinds)


def match(
    predicted: NDArray[np.float32], gold: NDArray[np.float32], groups: NDArray[np.int64]
) -> tuple[float, float, float]:
    """SemF, SemP and SemR of vectors of length one; `groups` numbers the gold phrase each gold row is a form of."""
    if not len(predicted):
        return 0.0, 0.0, 0.0
    cosines = np.clip(predicted.astype(np.float64) @ gold.astype(np.float64).T, 0.0, 1.0)
    precision = float(cosines.max(axis=1).mean())
    nearest = np.zeros(int(groups.max()) + 1)
    np.maximum.at(nearest, groups, cosines.max(axis=0))
    recall = float(nearest.mean())
    total = precision + recall
    return (2 * precision * recall / total if total else 0.0), precision, recall


_Document: TypeAlias = tuple[dict[str, list[list[str]]], dict[int, dict[str, list[str]]]]
"""By kind the gold phrases, each with its accepted forms; and by k and kind the distinct predictions, best first."""


def _document(prediction: Prediction, record: Record, gold: Gold) -> _Document:
    forms: dict[str, str] = {}
    for phrase in record.keyphrases:
        forms.setdefault(phrase_key(phrase, gold.variant), phrase)
    given = _forms(gold.present, gold.n_present, forms), _forms(gold.absent, gold.n_absent, forms)
    present, absent = (_distinct(phrases, gold.variant) for phrases in prediction)
    return _by_kind(*given), {k: _by_kind(present[:k], absent[:k]) for k in CUTOFFS}


def _by_kind(present: list[_T], absent: list[_T]) -> dict[str, list[_T]]:
    return {"present": present, "absent": absent, "all": present + absent}


def _forms(keys: Mapping[str, int], n: int, forms: Mapping[str, str]) -> list[list[str]]:
    """The written forms of each gold phrase; its stems only where nobody wrote it out."""
    alternatives: list[list[str]] = [[] for _ in range(n)]
    for key, number in keys.items():
        alternatives[number].append(key)
    return [[forms[key] for key in keys if key in forms] or keys for keys in alternatives]


def _distinct(phrases: Sequence[str], variant: Variant) -> list[str]:
    first: dict[str, str] = {}
    for phrase in phrases[:DEPTH]:
        if key := phrase_key(phrase, variant):
            first.setdefault(key, phrase)
    return list(first.values())[: CUTOFFS[-1]]


def _kind(documents: Sequence[_Document], kind: str, vectors: PhraseVectors) -> KindScores:
    out: dict[str, list[float]] = {metric: [] for metric in SEMANTIC_METRICS}
    for by_kind, named in documents:
        gold = by_kind[kind]
        rows = vectors.of(list(chain(*gold)))
        groups = np.repeat(np.arange(len(gold)), [len(forms) for forms in gold])
        for k in CUTOFFS:
            predicted = named[k][kind]
            found = vectors.of(predicted) if predicted else rows[:0]
            for letter, value in zip("FPR", match(found, rows, groups), strict=True):
                out[f"Sem{letter}@{k}"].append(value)
    return KindScores(len(documents), {metric: np.array(values) for metric, values in out.items()})

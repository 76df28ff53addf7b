"""Extraction quality during training: F@5 and F@10 on prepared development documents."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erukg.errors import TrainingError

__all__ = ["DevDocument", "DevScores", "dev_f", "load_dev", "score_documents"]


@dataclass(frozen=True, slots=True)
class DevDocument:
    """A document with its candidates; `terms` are flat, candidate i has terms[starts[i]:starts[i+1]]."""

    ids: NDArray[np.int32]
    terms: NDArray[np.int64]
    starts: NDArray[np.int64]
    positions: NDArray[np.float64]
    counts: NDArray[np.float64]
    keys: NDArray[np.int64]
    gold: frozenset[int]


@dataclass(frozen=True, slots=True)
class DevScores:
    """F@5 and F@10 in percent by set, with the paper's settings and with the tuned ones."""

    paper: dict[str, tuple[float, float]]
    tuned: dict[str, tuple[float, float]]
    terms: float
    documents: int

    @property
    def best(self) -> float:
        """Mean of tuned F@5 and F@10 over the sets: what a run's best model is chosen by."""
        return float(np.mean([np.mean(pair) for pair in self.tuned.values()])) if self.tuned else 0.0

    @property
    def paper_mean(self) -> float:
        return float(np.mean([np.mean(pair) for pair in self.paper.values()])) if self.paper else 0.0


def load_dev(folder: str | Path, limit: int, vocab_size: int) -> dict[str, list[DevDocument]]:
    """The first `limit` documents (0: all) with gold phrases of every dev/<set>.jsonl."""
    sets: dict[str, list[DevDocument]] = {}
    for path in sorted(Path(folder).glob("*.jsonl")):
        documents: list[DevDocument] = []
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if limit and len(documents) >= limit:
                    break
                try:
                    document = _parse(json.loads(line), vocab_size)
                except (KeyError, TypeError, ValueError) as error:
                    raise TrainingError(
                        f"Line {number} of {path} is not a development document ({error}); prepare the folder again."
                    ) from error
                if document is not None:
                    documents.append(document)
        if documents:
            sets[path.stem] = documents
    return sets


def _parse(row: dict[str, object], vocab_size: int) -> DevDocument | None:
    gold, candidates, ids = row["gold"], row["candidates"], row["ids"]
    if not (isinstance(gold, list) and isinstance(candidates, list) and isinstance(ids, list)):
        raise ValueError("gold, candidates and ids must be lists")
    candidates = [c for c in candidates if c["terms"]]
    if not gold:
        return None
    terms = np.array([t for c in candidates for t in c["terms"]], np.int64)
    pieces = np.array(ids, np.int32)
    for array in (terms, pieces):
        if array.size and (array.min() < 0 or array.max() >= vocab_size):
            raise ValueError("a piece number lies outside the vocabulary")
    return DevDocument(
        ids=pieces,
        terms=terms,
        starts=np.cumsum([0] + [len(c["terms"]) for c in candidates]).astype(np.int64),
        positions=np.array([c["position"] for c in candidates], np.float64),
        counts=np.array([c["count"] for c in candidates], np.float64),
        keys=np.array([c["key"] for c in candidates], np.int64),
        gold=frozenset(int(g) for g in gold),
    )


def dev_f(document: DevDocument, weights: NDArray[np.float32], tuned: bool) -> tuple[float, float]:
    """F@5 and F@10 of extraction (α = β = 1) from the weights of `document.terms`, protocol `paper`."""
    if not len(document.keys):
        return 0.0, 0.0
    sizes = np.diff(document.starts)
    sums = np.add.reduceat(weights.astype(np.float64), document.starts[:-1])
    omega = 1.0 + 1.0 / np.log2(document.positions + 2.0)
    if tuned:
        share = document.counts / document.counts.sum()
        scores = omega**2 * share**0.25 * sums / (sizes + 2.0)
    else:
        scores = omega * len(sizes) ** -1.5 * sums / (sizes + 0.25)
    ranking: list[int] = []
    seen: set[int] = set()
    for i in np.argsort(-scores, kind="stable"):
        key = int(document.keys[i])
        if scores[i] > 0 and key not in seen:
            seen.add(key)
            ranking.append(key)
            if len(ranking) == 10:
                break
    return _f(ranking[:5], document.gold, 5), _f(ranking, document.gold, 10)


def _f(ranking: list[int], gold: frozenset[int], k: int) -> float:
    hits = sum(key in gold for key in ranking)
    return 2.0 * hits / (k + len(gold))


def score_documents(
    sets: dict[str, list[DevDocument]],
    term_weights: Callable[[list[NDArray[np.int32]]], tuple[NDArray[np.float32], NDArray[np.int64]]],
    batch: int,
) -> DevScores:
    """Score every set; `term_weights` gives [n, V] weights and non-zero counts of up to `batch` texts."""
    paper: dict[str, tuple[float, float]] = {}
    tuned: dict[str, tuple[float, float]] = {}
    terms, total = 0.0, 0
    for name, documents in sets.items():
        order = sorted(range(len(documents)), key=lambda i: len(documents[i].ids))
        figures = np.zeros((len(documents), 4))
        for start in range(0, len(order), batch):
            part = [documents[i] for i in order[start : start + batch]]
            weights, counts = term_weights([d.ids for d in part])
            terms += float(counts.sum())
            for row, i in enumerate(order[start : start + batch]):
                chosen = weights[row][documents[i].terms]
                figures[i] = (*dev_f(documents[i], chosen, False), *dev_f(documents[i], chosen, True))
        total += len(documents)
        mean = 100.0 * figures.mean(0)
        paper[name], tuned[name] = (float(mean[0]), float(mean[1])), (float(mean[2]), float(mean[3]))
    return DevScores(paper, tuned, terms / max(1, total), total)

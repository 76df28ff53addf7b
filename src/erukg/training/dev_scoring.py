"""Extraction quality during training: the product's own ranking on prepared development documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.backends.vocabulary import Vocabulary
from erukg.core.backend import Pieces
from erukg.core.candidates import find_candidates
from erukg.core.document import Document
from erukg.core.locating import Located
from erukg.core.merging import rank_present
from erukg.core.neighbours import Neighbourhood
from erukg.core.pool import Pool, build_pool
from erukg.core.ranking import Weights
from erukg.core.settings import Settings
from erukg.errors import TrainingError
from erukg.io.objects import read_objects
from erukg.research.evaluation.metrics import CUTOFFS, DEPTH

__all__ = ["DevDocument", "DevScores", "f_scores", "load_dev", "score_documents"]

SETTINGS = {"paper": Settings.paper().extraction(), "tuned": Settings().extraction()}
"""By their name in the log: what a score is made with. The best model is chosen by the product's, "tuned"."""

TermWeights = Callable[[list[NDArray[np.int32]]], NDArray[np.float32]]
"""Gives the term weights [n, V] of n texts that are given as word pieces."""


@dataclass(frozen=True, slots=True)
class DevDocument:
    """A document ready to be ranked by any term weights.

    document    its words
    pieces      their pieces
    terms       the terms whose weights count, ascending
    candidates  under each of `SETTINGS`
    pools       the same, ready to be ranked
    stems       of candidates, by fold
    gold        every accepted stem with the number of its gold phrase
    """

    document: Document
    pieces: Pieces
    terms: NDArray[np.int32]
    candidates: dict[str, list[Located]]
    pools: dict[str, Pool]
    stems: Mapping[str, str]
    gold: dict[str, int]

    @classmethod
    def build(
        cls,
        document: Document,
        classes: NDArray[np.int8],
        stems: Mapping[str, str],
        gold: dict[str, int],
        vocabulary: Vocabulary,
    ) -> DevDocument:
        """Everything about a document and its candidates, whose `stems` are given by fold, but the weights."""
        candidates, pools = {}, {}
        pieces = vocabulary.pieces(document.words)
        wanted = [pieces.ids]
        for name, settings in SETTINGS.items():
            found = find_candidates(document, classes, settings.max_words, whole=settings.whole_phrases)
            terms = vocabulary.phrase_terms([candidate.form for candidate in found])
            candidates[name], pools[name] = found, build_pool(found, terms, Neighbourhood.empty(), None, settings)
            wanted.append(terms.ids)
        ids = np.unique(np.concatenate(wanted)).astype(np.int32)
        return cls(document, pieces, ids, candidates, pools, stems, gold)

    def ranked(self, weights: NDArray[np.float32], name: str) -> list[str]:
        """The stems of the phrases that `KeyphraseGenerator.extract` gives with term weights [V], best first."""
        pool, settings, candidates = self.pools[name], SETTINGS[name], self.candidates[name]
        nothing = Neighbourhood.empty()
        combined = Weights.combine(self.terms, weights[self.terms], nothing, self.document.words, self.pieces)
        best = rank_present(pool, combined, settings, self.document, dict(enumerate(candidates)), DEPTH)
        folds = [candidates[i].fold for i in best.ranked.pool.tolist()]
        return [self.stems.get(folded, folded) for folded in folds]


@dataclass(frozen=True, slots=True)
class DevScores:
    """F@5 and F@10 in percent by set, with the paper's settings and with the product's."""

    paper: dict[str, tuple[float, ...]]
    tuned: dict[str, tuple[float, ...]]
    terms: float
    documents: int

    @property
    def best(self) -> float:
        """Mean of tuned F@5 and F@10 over the sets: what a run's best model is chosen by."""
        return float(np.mean(list(self.tuned.values())))

    @property
    def paper_mean(self) -> float:
        return float(np.mean(list(self.paper.values())))


def load_dev(folder: str | Path, limit: int, vocabulary: Vocabulary) -> dict[str, list[DevDocument]]:
    """The first `limit` documents (0: all) with gold phrases of every dev/<set>.jsonl."""
    sets: dict[str, list[DevDocument]] = {}
    for path in sorted(Path(folder).glob("*.jsonl")):
        documents: list[DevDocument] = []
        for number, row in read_objects(path):
            if limit and len(documents) >= limit:
                break
            try:
                if row["gold"]:
                    documents.append(_parse(row, vocabulary))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise TrainingError(
                    f"Line {number} of {path} is not a development document ({error}); prepare the folder again."
                ) from error
        if documents:
            sets[path.stem] = documents
    return sets


def _parse(row: dict[str, Any], vocabulary: Vocabulary) -> DevDocument:
    if "text" not in row:
        raise ValueError("it has no text")
    document = Document.parse(row["text"])
    classes = np.array(list(map(int, row["tags"])), np.int8)
    return DevDocument.build(document, classes, row["stems"], row["gold"], vocabulary)


def f_scores(stems: Iterable[str], gold: Mapping[str, int]) -> tuple[float, ...]:
    """F@5 and F@10 of phrases given by their stems, as `erukg.research.evaluation.metrics.score` has them."""
    found: dict[int, int] = {}
    for rank, stem in enumerate(dict.fromkeys(filter(None, stems)), 1):
        if stem in gold:
            found.setdefault(gold[stem], rank)
    wanted = len(set(gold.values()))
    return tuple(2.0 * sum(rank <= k for rank in found.values()) / (k + wanted) for k in CUTOFFS)


def score_documents(sets: dict[str, list[DevDocument]], term_weights: TermWeights, batch: int) -> DevScores:
    """Score every set, `batch` documents of similar length at a time."""
    means: dict[str, dict[str, tuple[float, ...]]] = {name: {} for name in SETTINGS}
    terms = 0
    for name, documents in sets.items():
        order = sorted(range(len(documents)), key=lambda i: len(documents[i].pieces.ids))
        figures = np.zeros((len(documents), len(SETTINGS), len(CUTOFFS)))
        for start in range(0, len(order), batch):
            part = order[start : start + batch]
            weights = term_weights([documents[i].pieces.ids for i in part])
            terms += int((weights > 0).sum())
            for i, row in zip(part, weights, strict=True):
                document = documents[i]
                figures[i] = [f_scores(document.ranked(row, settings), document.gold) for settings in SETTINGS]
        for settings, pair in zip(SETTINGS, 100 * figures.mean(0), strict=True):
            means[settings][name] = tuple(pair.tolist())
    total = sum(map(len, sets.values()))
    return DevScores(means["paper"], means["tuned"], terms / max(1, total), total)

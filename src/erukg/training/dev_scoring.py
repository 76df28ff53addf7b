"""Extraction quality during training: the product's own ranking on prepared development documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.backends.vocabulary import Vocabulary
from erukg.core.candidates import find_candidates
from erukg.core.document import Document
from erukg.core.folding import fold
from erukg.core.locating import Located
from erukg.core.neighbours import Neighbourhood
from erukg.core.pool import Pool, build_pool
from erukg.core.ranking import Weights, drop_contained, rank_pool
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

    pieces  its word pieces
    terms   the terms whose weights count, ascending
    folds   of its candidates
    stems   of its candidates
    pools   its candidates under each of `SETTINGS`
    gold    every accepted stem with the number of its gold phrase
    """

    pieces: NDArray[np.int32]
    terms: NDArray[np.int32]
    folds: tuple[str, ...]
    stems: tuple[str, ...]
    pools: dict[str, Pool]
    gold: dict[str, int]

    @classmethod
    def build(
        cls,
        pieces: NDArray[np.int32],
        candidates: Sequence[Located],
        stems: Mapping[str, str],
        gold: dict[str, int],
        vocabulary: Vocabulary,
    ) -> DevDocument:
        """Everything about a document and its candidates, whose `stems` are given by fold, but the weights."""
        terms = vocabulary.phrase_terms([candidate.form for candidate in candidates])
        pools = {
            name: build_pool(candidates, terms, Neighbourhood.empty(), None, settings)
            for name, settings in SETTINGS.items()
        }
        wanted = np.unique(np.concatenate((pieces, terms.ids))).astype(np.int32)
        folds = tuple(candidate.fold for candidate in candidates)
        return cls(pieces, wanted, folds, tuple(stems.get(folded, folded) for folded in folds), pools, gold)

    def ranked(self, weights: NDArray[np.float32], name: str) -> list[str]:
        """The stems of the phrases that `KeyphraseGenerator.extract` gives with term weights [V], best first."""
        pool, settings = self.pools[name], SETTINGS[name]
        combined = Weights.combine(self.terms, weights[self.terms], Neighbourhood.empty())
        # How many of them are parts of better ones is not known before they are ranked.
        limit = len(pool) if settings.drop_contained else DEPTH
        best = rank_pool(pool, combined, settings, present=True, limit=limit)
        if settings.drop_contained:
            best = drop_contained(best, (self.folds[i] for i in best.pool.tolist()), DEPTH)
        return [self.stems[i] for i in best.pool.tolist()]


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
        return _parse_without_text(row, vocabulary)
    document = Document.parse(row["text"])
    classes = np.array(list(map(int, row["tags"])), np.int8)
    candidates = find_candidates(document, classes, SETTINGS["tuned"].max_words)
    pieces = vocabulary.pieces(document.words).ids
    return DevDocument.build(pieces, candidates, row["stems"], row["gold"], vocabulary)


def _parse_without_text(row: dict[str, Any], vocabulary: Vocabulary) -> DevDocument:
    """A row of a folder prepared before texts were kept: word pieces, and candidates with the number of their stems.

    They were counted and placed as noun phrases only, so scores differ a little from the product's; preparing the
    development sets again makes them equal.
    """
    pieces, rows = np.array(row["ids"], np.int32), [c for c in row["candidates"] if c["terms"]]
    if len(pieces) and not 0 <= pieces.min() <= pieces.max() < vocabulary.size:
        raise ValueError("a piece number lies outside the vocabulary")
    forms = [" ".join(vocabulary.tokens(c["terms"])).replace(" ##", "") for c in rows]
    # Only how many spans there are counts, and where they are is not known.
    candidates = [
        Located(fold(form), form, ((0, 0),) * int(c["count"]), int(c["position"]))
        for form, c in zip(forms, rows, strict=True)
    ]
    stems = {candidate.fold: str(c["key"]) for candidate, c in zip(candidates, rows, strict=True)}
    gold = {str(number): int(number) for number in row["gold"]}
    return DevDocument.build(pieces, candidates, stems, gold, vocabulary)


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
        order = sorted(range(len(documents)), key=lambda i: len(documents[i].pieces))
        figures = np.zeros((len(documents), len(SETTINGS), len(CUTOFFS)))
        for start in range(0, len(order), batch):
            part = order[start : start + batch]
            weights = term_weights([documents[i].pieces for i in part])
            terms += int((weights > 0).sum())
            for i, row in zip(part, weights, strict=True):
                document = documents[i]
                figures[i] = [f_scores(document.ranked(row, settings), document.gold) for settings in SETTINGS]
        for settings, pair in zip(SETTINGS, 100 * figures.mean(0), strict=True):
            means[settings][name] = tuple(pair.tolist())
    total = sum(map(len, sets.values()))
    return DevScores(means["paper"], means["tuned"], terms / max(1, total), total)

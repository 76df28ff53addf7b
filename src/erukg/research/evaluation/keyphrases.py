"""Running systems over test sets and scoring what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from erukg.errors import InputError
from erukg.research.evaluation.bootstrap import Difference, differences_by_set
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.ground_truth import PROTOCOLS, Protocol
from erukg.research.evaluation.metrics import Prediction, Scores, score
from erukg.research.evaluation.semantic import PhraseVectors, semantic_score
from erukg.research.evaluation.store import PredictionStore
from erukg.research.evaluation.systems import NotAvailableError, System

__all__ = ["COMPARED", "Comparison", "Progress", "SystemResult", "compare", "evaluate", "predict"]

Progress = Callable[[str, str, int, int], None]
"""Called with system, set, documents done and documents in all."""

COMPARED = {"present": ("F@5", "F@10"), "absent": ("R@5", "R@10")}


@dataclass(frozen=True, slots=True)
class SystemResult:
    """One system's scores, by protocol a list with one entry per set, in the order of the sets."""

    name: str
    description: Mapping[str, Any]
    scores: Mapping[Protocol, Sequence[Scores]]
    predictions: Mapping[str, str]
    """By set the key of the stored predictions."""
    not_run: str | None = None
    """Why there are no scores, where the system could not be run."""
    semantic: Mapping[Protocol, Sequence[Scores]] = field(default_factory=dict)
    """As `scores`, by semantic matching; empty where none was asked for."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first system against the second on one set ("average": all of them) in one figure."""

    first: str
    second: str
    protocol: Protocol
    dataset: str
    kind: str
    metric: str
    result: Difference


def predict(
    system: System,
    dataset: Dataset,
    store: PredictionStore | None = None,
    progress: Progress | None = None,
    *,
    fresh: bool = False,
) -> list[Prediction]:
    """The system's predictions for every record; those that `store` has are not made again unless `fresh`."""
    done: dict[str, Prediction] = dict(store.load()) if store is not None and not fresh else {}
    missing = [record for record in dataset.records if record.id not in done]
    total = len(dataset)
    tell = progress or (lambda *_: None)
    tell(system.name, dataset.name, total - len(missing), total)
    with store if store is not None and missing else nullcontext():
        for number, (record, prediction) in enumerate(_run(system, missing), 1):
            done[record.id] = prediction
            if store is not None:
                store.add(record.id, list(prediction[0]), list(prediction[1]))
            tell(system.name, dataset.name, total - len(missing) + number, total)
    return [done[record.id] for record in dataset.records]


def _run(system: System, records: Sequence[Record]) -> Iterator[tuple[Record, Prediction]]:
    predictions = iter(system.predict(records) if records else ())
    for record in records:
        prediction = next(predictions, None)
        if prediction is None:
            raise InputError(f"The system '{system.name}' gave no prediction for the document '{record.id}'.")
        yield record, (list(prediction[0]), list(prediction[1]))


def evaluate(
    systems: Sequence[System],
    datasets: Sequence[Dataset],
    store: Path | None = None,
    progress: Progress | None = None,
    *,
    fresh: bool = False,
    semantic: PhraseVectors | None = None,
) -> list[SystemResult]:
    """Run every system over every set and score it under both protocols, with `semantic` vectors by meaning too.

    With a `store` folder an interrupted run, or one over more documents, goes on where the last one stopped.
    """
    results = []
    for system in systems:
        try:
            description = system.describe()
        except NotAvailableError as error:
            results.append(SystemResult(system.name, {}, {}, {}, not_run=str(error)))
            continue
        scores: dict[Protocol, list[Scores]] = {protocol: [] for protocol in PROTOCOLS}
        nearness: dict[Protocol, list[Scores]] = {} if semantic is None else {p: [] for p in PROTOCOLS}
        keys: dict[str, str] = {}
        for dataset in datasets:
            stored = None if store is None else PredictionStore(store, system.name, description, dataset)
            predictions = predict(system, dataset, stored, progress, fresh=fresh)
            for protocol in PROTOCOLS:
                scores[protocol].append(score(predictions, dataset, protocol))
                if semantic is not None:
                    nearness[protocol].append(semantic_score(predictions, dataset, semantic, protocol))
            if stored is not None:
                keys[dataset.name] = stored.key
        results.append(SystemResult(system.name, description, scores, keys, semantic=nearness))
    return results


def compare(first: SystemResult, second: SystemResult, samples: int = 10_000, seed: int = 0) -> list[Comparison]:
    """`first` minus `second` with paired-bootstrap intervals: by protocol, set and figure, and on average.

    Nothing is compared with a system that was not run.
    """
    out: list[Comparison] = []
    if first.not_run is not None or second.not_run is not None:
        return out
    for protocol in PROTOCOLS:
        pairs = list(zip(first.scores[protocol], second.scores[protocol], strict=True))
        for kind, metrics in COMPARED.items():
            for metric in metrics:
                counted = [(a.dataset, a.kinds[kind], b.kinds[kind]) for a, b in pairs if a.kinds[kind].documents]
                ours = {name: a.by_document[metric] for name, a, _ in counted}
                theirs = {name: b.by_document[metric] for name, _, b in counted}
                out += [
                    Comparison(first.name, second.name, protocol, name, kind, metric, result)
                    for name, result in differences_by_set(ours, theirs, samples, seed)
                ]
    return out

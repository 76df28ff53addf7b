"""Running systems over test sets and scoring what they say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from erukg.errors import InputError
from erukg.research.evaluation.all_gold import ALL_GOLD, all_gold_score
from erukg.research.evaluation.bootstrap import Difference, differences_by_set
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.ground_truth import PROTOCOLS, Protocol
from erukg.research.evaluation.kpeval import FileSystem, GivenPredictions, write_predictions
from erukg.research.evaluation.measures import measure
from erukg.research.evaluation.metrics import DEPTH, METRICS, Prediction, Scores, score
from erukg.research.evaluation.prmu import prmu_score
from erukg.research.evaluation.semantic import PhraseVectors, semantic_score
from erukg.research.evaluation.store import PredictionStore, safe_name
from erukg.research.evaluation.systems import NotAvailableError, System

__all__ = [
    "COMPARED",
    "Comparison",
    "Progress",
    "Scoring",
    "SystemResult",
    "compare",
    "compared",
    "evaluate",
    "predict",
]

Progress = Callable[[str, str, int, int], None]
"""Called with system, set, documents done and documents in all."""

COMPARED = {"present": ("F@5", "F@10"), "absent": ("R@5", "R@10")}


@dataclass(frozen=True, slots=True)
class Scoring:
    """What predictions are measured by.

    measures  by name
    top_k     how many phrases of each kind are looked at
    semantic  vectors for matching by meaning, where that is wanted too
    wider     also recall by category of gold, and one list against all gold
    """

    measures: Sequence[str] = METRICS
    top_k: int = DEPTH
    semantic: PhraseVectors | None = None
    wider: bool = False


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
    prmu: Sequence[Scores] = ()
    """Recall by category of gold, one entry per set; empty where it was not asked for."""
    all_gold: Mapping[str, Sequence[Scores]] = field(default_factory=dict)
    """By convention one entry per set; likewise."""


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
    scoring: Scoring | None = None,
    written: Path | None = None,
) -> list[SystemResult]:
    """Run every system over every set and score it under both protocols.

    With a `store` folder an interrupted run, or one over more documents, goes on where the last one stopped. To the
    folder `written` predictions go in KPEval's form.
    """
    given = _given(systems, datasets)
    if written is not None:
        _check_names([system.name for system in systems])
    results = []
    for system in systems:
        try:
            description = system.describe()
        except NotAvailableError as error:
            results.append(SystemResult(system.name, {}, {}, {}, not_run=str(error)))
            continue
        scored = _Scored(scoring or Scoring())
        keys: dict[str, str] = {}
        for dataset in datasets:
            found = given.get((system.name, dataset.name))
            if found is not None:
                predictions, keys[dataset.name] = found.predictions, found.sha256
            else:
                stored = None if store is None else PredictionStore(store, system.name, description, dataset)
                predictions = predict(system, dataset, stored, progress, fresh=fresh)
                if stored is not None:
                    keys[dataset.name] = stored.key
            scored.add(dataset, predictions, None if found is None else found.lists)
            if written is not None:
                write_predictions(written, system.name, dataset, scored.cut(predictions))
        results.append(scored.result(system.name, description, keys))
    return results


def _given(systems: Sequence[System], datasets: Sequence[Dataset]) -> dict[tuple[str, str], GivenPredictions]:
    """What files say, by system and set: read before anything is run, so that a bad file costs nobody's time."""
    files = [system for system in systems if isinstance(system, FileSystem)]
    return {(system.name, dataset.name): system.for_set(dataset) for system in files for dataset in datasets}


def _check_names(names: Sequence[str]) -> None:
    folders: dict[str, str] = {}
    for name in names:
        other = folders.setdefault(safe_name(name), name)
        if other != name:
            raise InputError(f"The predictions of '{other}' and '{name}' would be one file; write them in two runs.")


class _Scored:
    """The figures of one system, set after set."""

    def __init__(self, scoring: Scoring) -> None:
        self._scoring = scoring
        self._scores: dict[Protocol, list[Scores]] = {protocol: [] for protocol in PROTOCOLS}
        self._semantic: dict[Protocol, list[Scores]] = {} if scoring.semantic is None else {p: [] for p in PROTOCOLS}
        self._prmu: list[Scores] = []
        self._all_gold: dict[str, list[Scores]] = {convention: [] for convention in ALL_GOLD} if scoring.wider else {}

    def cut(self, predictions: Sequence[Prediction]) -> list[Prediction]:
        k = self._scoring.top_k
        return [(present[:k], absent[:k]) for present, absent in predictions]

    def add(
        self, dataset: Dataset, predictions: Sequence[Prediction], lists: Sequence[Sequence[str]] | None = None
    ) -> None:
        """Score predictions for a set; `lists` are the same without kinds, else present phrases come first."""
        how = self._scoring
        for protocol in PROTOCOLS:
            self._scores[protocol].append(score(predictions, dataset, protocol, how.measures, how.top_k))
            if how.semantic is not None:
                found = semantic_score(self.cut(predictions), dataset, how.semantic, protocol)
                self._semantic[protocol].append(found)
        if not how.wider:
            return
        self._prmu.append(prmu_score(predictions, dataset, how.top_k))
        if lists is None:
            whole = [[*present, *absent] for present, absent in self.cut(predictions)]
        else:
            whole = [list(phrases[: how.top_k]) for phrases in lists]
        for convention, scores in self._all_gold.items():
            scores.append(all_gold_score(whole, dataset, convention))

    def result(self, name: str, description: Mapping[str, Any], keys: Mapping[str, str]) -> SystemResult:
        return SystemResult(
            name,
            description,
            self._scores,
            keys,
            semantic=self._semantic,
            prmu=self._prmu,
            all_gold=self._all_gold,
        )


def compared(measures: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """By kind those of the measures that single documents have, so that two systems can be compared in them."""
    single = tuple(name for name in measures if measure(name).average is None)
    return dict.fromkeys(COMPARED, single) if single else COMPARED


def compare(
    first: SystemResult,
    second: SystemResult,
    samples: int = 10_000,
    seed: int = 0,
    measures: Mapping[str, Sequence[str]] = COMPARED,
) -> list[Comparison]:
    """`first` minus `second` with paired-bootstrap intervals: by protocol, set and figure, and on average.

    Nothing is compared with a system that was not run.
    """
    out: list[Comparison] = []
    if first.not_run is not None or second.not_run is not None:
        return out
    for protocol in PROTOCOLS:
        pairs = list(zip(first.scores[protocol], second.scores[protocol], strict=True))
        for kind, metrics in measures.items():
            for metric in metrics:
                counted = [(a.dataset, a.kinds[kind], b.kinds[kind]) for a, b in pairs if a.kinds[kind].documents]
                ours = {name: a.by_document[metric] for name, a, _ in counted}
                theirs = {name: b.by_document[metric] for name, _, b in counted}
                out += [
                    Comparison(first.name, second.name, protocol, name, kind, metric, result)
                    for name, result in differences_by_set(ours, theirs, samples, seed)
                ]
    return out

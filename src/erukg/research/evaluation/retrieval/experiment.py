"""Running retrieval methods over test sets and scoring what they find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from erukg.research.evaluation.bootstrap import Difference, differences_by_set
from erukg.research.evaluation.keyphrases import Progress
from erukg.research.evaluation.retrieval.beir import SetFiles, load_retrieval_set
from erukg.research.evaluation.retrieval.context import SetContext
from erukg.research.evaluation.retrieval.measures import MEASURES, QueryScores, score
from erukg.research.evaluation.retrieval.methods import REFERENCES, Method
from erukg.research.evaluation.retrieval.runner import SetRunner

__all__ = ["Comparison", "MethodResult", "SetSummary", "compare", "compare_all", "evaluate"]


@dataclass(frozen=True, slots=True)
class SetSummary:
    """What a report says about a set."""

    name: str
    documents: int
    queries: int
    relevant: int
    sha256: Mapping[str, str]
    notes: tuple[str, ...]


@dataclass(slots=True)
class MethodResult:
    """One method's scores, one entry per set and in their order; none where `not_run` says why."""

    name: str
    description: Mapping[str, Any]
    scores: list[QueryScores]
    runs: dict[str, str]
    """By set the key of the stored run."""
    not_run: str = ""
    expanded: dict[str, Any] = field(default_factory=dict)
    """By set what was made of its documents, where that is not as in `description`."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first method against the second on one set ("average": all of them) in one measure."""

    first: str
    second: str
    dataset: str
    measure: str
    result: Difference


def evaluate(
    methods: Sequence[Method],
    sets: Sequence[SetFiles],
    store: Path | None = None,
    progress: Progress | None = None,
    *,
    limit: int | None = None,
    fresh: bool = False,
) -> tuple[list[SetSummary], list[MethodResult]]:
    """Run every method on every set, one set in memory at a time, and score it by query.

    With a `store` folder an interrupted run goes on where it stopped: phrases are kept by document, results by
    query, and a run that is complete is not made again unless `fresh`.
    """
    summaries = []
    results = [MethodResult(m.name, {} if m.not_run else m.describe(), [], {}, m.not_run) for m in methods]
    for files in sets:
        data = load_retrieval_set(files).first(limit)
        relevant = sum(grade > 0 for grades in data.qrels.values() for grade in grades.values())
        sizes = (len(data.documents), len(data.queries), relevant)
        summaries.append(SetSummary(data.name, *sizes, data.sha256, data.notes))
        context = SetContext(files, data, store, progress or (lambda *_: None))
        runner = SetRunner(context, fresh)
        queries, documents = [query.id for query in data.queries], {document.id for document in data.documents}
        for method, result in zip(methods, results, strict=True):
            if not method.not_run:
                here = method.for_set(context)
                if here.documents != method.documents:
                    result.expanded[data.name] = here.documents
                run, key = runner.run(here)
                result.scores.append(score(data.name, queries, data.qrels, run, documents))
                if key:
                    result.runs[data.name] = key
    return summaries, results


def compare(first: MethodResult, second: MethodResult, samples: int = 10_000, seed: int = 0) -> list[Comparison]:
    """`first` minus `second` with paired-bootstrap intervals over queries, by set and measure, and on average."""
    out = []
    for measure in MEASURES:
        ours, theirs = ({s.dataset: s.by_query[measure] for s in result.scores} for result in (first, second))
        out += [
            Comparison(first.name, second.name, name, measure, result)
            for name, result in differences_by_set(ours, theirs, samples, seed)
        ]
    return out


def compare_all(
    results: Sequence[MethodResult],
    more: Sequence[tuple[str, str]] = (),
    samples: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Comparison]:
    """Every method against each of the references that were run, and `more` pairs by their names."""
    run = {result.name: result for result in results if not result.not_run}
    pairs = [(name, other) for other in REFERENCES if other in run for name in run if name != other]
    pairs = list(dict.fromkeys([*pairs, *more]))
    out: list[Comparison] = []
    for number, (first, second) in enumerate(pairs, 1):
        out += compare(run[first], run[second], samples, seed)
        if progress is not None:
            progress("comparing", "all sets", number, len(pairs))
    return out

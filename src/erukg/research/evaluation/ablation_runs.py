"""Running studies: scores of every variant, how sure their differences are, and what their phrases do for search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from erukg.errors import InputError
from erukg.research.evaluation.ablations import SEARCHED, CheckedSystem, Studies, Variant
from erukg.research.evaluation.bootstrap import Difference, paired_bootstrap
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.ground_truth import PROTOCOLS, Protocol
from erukg.research.evaluation.keyphrases import COMPARED, Progress, SystemResult, evaluate
from erukg.research.evaluation.systems import System

if TYPE_CHECKING:
    from erukg.research.evaluation.retrieval.beir import SetFiles
    from erukg.research.evaluation.retrieval.experiment import MethodResult, SetSummary

__all__ = ["ADDED_PHRASES", "EXPANSION", "Figure", "Found", "StudyResults", "run_studies"]

EXPANSION = "query-appended"
"""How a variant's phrases are searched with: behind the query's text, as in the paper."""
ADDED_PHRASES = 10
"""So many present ones and as many absent ones."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure by protocol and kind of phrases, or a measure of search, as the average over the sets."""

    metric: str
    protocol: Protocol | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a variant; `differences` are the variant minus the one that it is compared with."""

    variant: Variant
    result: SystemResult
    differences: Mapping[Figure, Difference] = field(default_factory=dict)
    search: MethodResult | None = None


@dataclass(frozen=True, slots=True)
class StudyResults:
    """By study what came of its variants; the sets that were searched, and what BM25 finds in them by itself."""

    found: Sequence[Sequence[Found]]
    samples: int
    seed: int
    searched: Sequence[SetSummary] = ()
    plain: MethodResult | None = None


def run_studies(
    given: Studies,
    datasets: Sequence[Dataset],
    store: Path | None = None,
    progress: Progress | None = None,
    *,
    fresh: bool = False,
    retrieval: Sequence[SetFiles] = (),
    samples: int = 10_000,
    seed: int = 0,
) -> StudyResults:
    """The results of every variant of each study over all sets; one that stands in several studies is run once.

    The variants of some studies are also searched with on the sets of `retrieval`.
    """
    systems = list(dict.fromkeys(variant.system for study in given.studies for variant in study.variants))
    results = dict(zip(systems, evaluate(systems, datasets, store, progress, fresh=fresh), strict=True))
    _check_collections(given, results)
    wanted = [v.system for study in given.studies if study.name in SEARCHED for v in study.variants]
    ready = [system for system in dict.fromkeys(wanted) if results[system].not_run is None]
    searched, plain, by_system = _search(ready if retrieval else (), retrieval, store, progress, fresh)
    tell = progress or (lambda *_: None)
    total = sum(len(study.variants) for study in given.studies)
    done, out = 0, []
    for study in given.studies:
        rows = []
        for variant in study.variants:
            result, search = results[variant.system], None
            differences: dict[Figure, Difference] = {}
            other = study.reference(variant)
            if study.name in SEARCHED:
                search = by_system.get(variant.system)
            if other is not None:
                differences = _differences(result, results[other.system], samples, seed)
                if search is not None and (beside := by_system.get(other.system)) is not None:
                    differences |= _search_differences(search, beside, samples, seed)
            rows.append(Found(variant, result, differences, search))
            done += 1
            tell("comparing", study.name, done, total)
        out.append(rows)
    return StudyResults(out, samples, seed, searched, plain)


def _check_collections(given: Studies, results: Mapping[System, SystemResult]) -> None:
    """Refuse variants that were not run over the collection of the studies, nor over one that they name."""
    for study in given.studies:
        for variant in study.variants:
            made_of = results[variant.system].description.get("collection")
            if made_of is None or variant.collection is not None or given.collection is None:
                continue
            if (found := made_of.get("manifest")) != (wanted := given.collection.get("manifest")):
                raise InputError(
                    f"The collection '{given.collection['name']}' changed while the study '{study.name}' was run: its "
                    f"manifest was {str(wanted)[:12]}, and {str(found)[:12]} for the variant '{variant.label}'; run it "
                    "again over a collection that nobody writes to."
                )


def _differences(first: SystemResult, second: SystemResult, samples: int, seed: int) -> dict[Figure, Difference]:
    """`first` minus `second`, averages over the sets with paired-bootstrap intervals, by protocol and figure."""
    out: dict[Figure, Difference] = {}
    if first.not_run is not None or second.not_run is not None:
        return out
    for protocol in PROTOCOLS:
        pairs = list(zip(first.scores[protocol], second.scores[protocol], strict=True))
        for kind, metrics in COMPARED.items():
            counted = [(a.kinds[kind], b.kinds[kind]) for a, b in pairs if a.kinds[kind].documents]
            for metric in metrics if counted else ():
                ours, theirs = ([part.by_document[metric] for part in side] for side in zip(*counted, strict=True))
                out[Figure(metric, protocol, kind)] = paired_bootstrap(ours, theirs, samples, seed)
    return out


def _search_differences(first: MethodResult, second: MethodResult, samples: int, seed: int) -> dict[Figure, Difference]:
    """Likewise over queries, by measure of search."""
    from erukg.research.evaluation.retrieval.measures import MEASURES

    out: dict[Figure, Difference] = {}
    for measure in MEASURES:
        ours, theirs = ([s.by_query[measure] for s in result.scores] for result in (first, second))
        out[Figure(measure)] = paired_bootstrap(ours, theirs, samples, seed)
    return out


def _search(
    systems: Sequence[System],
    sets: Sequence[SetFiles],
    store: Path | None,
    progress: Progress | None,
    fresh: bool,
) -> tuple[Sequence[SetSummary], MethodResult | None, dict[System, MethodResult]]:
    """What is found with the phrases of each system behind the queries, and without any."""
    if not systems:
        return (), None, {}
    from erukg.research.evaluation.retrieval import evaluate as search
    from erukg.research.evaluation.retrieval import make_methods

    inner = [system.system if isinstance(system, CheckedSystem) else system for system in systems]
    methods = make_methods(["bm25", EXPANSION], inner, top_k=ADDED_PHRASES)
    summaries, (plain, *found) = search(methods, sets, store, progress, fresh=fresh)
    return summaries, plain, dict(zip(systems, found, strict=True))

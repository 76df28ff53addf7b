"""What a step does: the functions behind `erukg evaluate` and `erukg benchmark`, with what the plan says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from erukg.errors import InputError
from erukg.research.benchmark import Plan, run_benchmark
from erukg.research.evaluation import load_sets
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.keyphrases import Progress
from erukg.research.evaluation.retrieval.beir import SetFiles, find_sets
from erukg.research.evaluation.systems import System, SystemOptions, make_system
from erukg.research.reproduce.parts import Parts, corpus_files
from erukg.research.reproduce.plan import Step
from erukg.research.reproduce.small import QUICK, build_sizes, quick_sets

__all__ = ["TASKS", "Work"]

_SAMPLES, _QUICK_SAMPLES = 10_000, 500
_TIMED = ("semeval", "inspec", "nus", "krapivin")  # the sets that the paper times
_TIMED_EACH, _TIMED_SLOW, _TIMED_QUICK = 75, 25, 5  # documents of each
_CONTROL = "control"  # the model that learned from every type of reference, as the others did from what they had
_TYPES = {
    "no-query": "without queries",
    "no-citation": "without citations",
    "no-title": "without titles",
}
# Rows of the subjects that are compared.
_COMPARED = (
    ("labels", "Annif MLLM"),
    ("both", "Annif Omikuji"),
    ("learned", "Annif Omikuji"),
    ("learned", "both"),
    ("both", "fused"),
    ("both", "neighbours"),
    ("labels", "label match"),
)


@dataclass(frozen=True)
class Work:
    """A step with what it works with; `rows` are its systems, their parts filled in."""

    step: Step
    parts: Parts
    rows: Sequence[str]
    store: Path
    quick: bool
    threads: int | None
    progress: Progress

    @property
    def limit(self) -> int | None:
        return QUICK if self.quick else None

    @property
    def samples(self) -> int:
        return _QUICK_SAMPLES if self.quick else _SAMPLES

    @property
    def options(self) -> SystemOptions:
        given = self.parts.given
        collection = given.collection
        if self.step.paper and "paper-collection" in self.parts:
            collection = str(self.parts.path("paper-collection"))
        return SystemOptions(given.model, collection, "paper" if self.step.paper else "balanced", self.threads)

    def systems(self) -> list[System]:
        return [make_system(row, self.options) for row in self.rows]

    def datasets(self) -> list[Dataset]:
        """The sets of keyphrases that the step is about; all where there are none of the names it has."""
        part = "dev" if "dev" in self.step.needs else "test"
        found = load_sets([self.parts.path(part)])
        chosen = [dataset for dataset in found if dataset.name.lower().startswith(self.step.sets or "")] or found
        return [dataset.first(self.limit) for dataset in chosen]

    def searched(self) -> list[SetFiles]:
        """The retrieval sets, cut down for a quick run."""
        folder = self.parts.path("retrieval")
        return find_sets(quick_sets(folder, self.store / "quick") if self.quick else [folder])


def _keyphrases(work: Work) -> Mapping[str, Any]:
    from erukg.research.evaluation.keyphrase_report import to_json
    from erukg.research.evaluation.keyphrases import evaluate

    datasets = work.datasets()
    return to_json(datasets, evaluate(work.systems(), datasets, work.store / "keyphrases", work.progress))


def _retrieval(work: Work) -> Mapping[str, Any]:
    from erukg.research.evaluation.retrieval import METHODS, compare_all, evaluate, make_methods
    from erukg.research.evaluation.retrieval.retrieval_report import to_json

    t5 = work.parts.path("doct5query") if "doct5query" in work.step.needs else None
    systems = work.systems()
    methods = make_methods(work.step.methods or list(METHODS), systems, t5=t5)
    if work.step.methods and len(systems) == 1:  # beside those of other steps on one page
        own = f" {systems[0].name}"
        plain = {method.name for method in make_methods([n for n in work.step.methods if n in ("bm25", "rm3-30")])}
        methods = [m if m.name in plain else replace(m, name=f"{m.name}{own}") for m in methods]
    summaries, results = evaluate(methods, work.searched(), work.store / "retrieval", work.progress)
    return to_json(summaries, results, compare_all(results, (), work.samples, 0, work.progress))


def _ablations(work: Work) -> Mapping[str, Any]:
    from erukg.research.evaluation.ablation_report import to_json
    from erukg.research.evaluation.ablation_runs import run_studies
    from erukg.research.evaluation.ablations import StudyInputs, make_studies

    parts, used = work.parts, [name for name in work.step.uses if name in work.parts]
    models: dict[str, str] = {}
    collections: dict[str, str] = {}
    options = work.options
    if "variants" in used or "variants" in work.step.needs:
        folder = parts.path("variants")
        models = {_TYPES.get(path.name, path.name): str(path) for path in sorted(folder.iterdir()) if path.is_dir()}
        beside = folder.parent / "collections"
        inside = sorted(path for path in beside.iterdir() if path.is_dir()) if beside.is_dir() else []
        collections = {_TYPES.get(path.name, path.name): str(path) for path in inside}
    if "references" in work.step.studies:
        # What the others are compared with is the model that was trained as they were, over its own collection.
        options = replace(options, model=models.pop(_CONTROL, None), collection=collections.pop(_CONTROL, None))
        if options.model is None:
            raise InputError(f"{parts.path('variants')} has no folder '{_CONTROL}', the model that saw every type.")
    if "corpus" in used and "collection" in work.step.studies:
        where = work.store / "collections" / parts.content_hash("corpus")[:16]
        collections |= build_sizes(
            corpus_files(parts.path("corpus")),
            where,
            parts.given.model,
            quick=work.quick,
            threads=work.threads,
            progress=work.progress,
        )
    tagger = parts.given.tagger if "tagger" in (*used, *work.step.needs) else None
    fp32 = str(parts.path("fp32")) if "fp32" in used else None
    datasets = work.datasets()
    studies = make_studies(work.step.studies, StudyInputs(options, models, collections, tagger, fp32))
    searched = work.searched() if "retrieval" in used else []
    results = run_studies(
        studies, datasets, work.store / "keyphrases", work.progress, retrieval=searched, samples=work.samples
    )
    return to_json(datasets, studies, results, work.limit)


def _case(work: Work) -> Mapping[str, Any]:
    from erukg.research.evaluation.case import run_case

    return run_case(work.parts.path("case"), work.systems())


def _readers(work: Work) -> Mapping[str, Any]:
    from erukg.research.evaluation.readers import load_readers, run_readers
    from erukg.research.evaluation.readers_report import to_json

    readers = load_readers([work.parts.path("readers")])
    readers = replace(readers, texts=readers.texts[: work.limit])
    return to_json(readers, run_readers(work.systems(), readers, work.progress, samples=work.samples))


def _calibration(work: Work) -> Mapping[str, Any]:
    from erukg.research.evaluation.calibration import run_calibration, to_json
    from erukg.research.evaluation.generator_system import make

    system, datasets = make(work.rows[0], work.options), work.datasets()
    return to_json(system, datasets, run_calibration(system, datasets, work.progress))


def _speed(work: Work) -> Mapping[str, Any]:
    if not work.rows:
        raise InputError("there is no system to time beside erukg.")
    each = _TIMED_SLOW if work.step.name == "speed-trained" else _TIMED_EACH
    return _timed(work, "against", each, tuple(work.rows))


def _throughput(work: Work) -> Mapping[str, Any]:
    return _timed(work, "throughput", _TIMED_EACH)


def _subjects(work: Work) -> Mapping[str, Any]:
    from erukg.collection import Collection
    from erukg.generator import KeyphraseGenerator
    from erukg.research.evaluation import subjects as wing
    from erukg.research.evaluation.subjects.report import to_json
    from erukg.subjects.learned import SubjectRanking

    parts = work.parts
    documents = wing.load_tagged(parts.path("subjects"), "subjects", work.limit)
    tagged, vocabulary = Collection.open(parts.path("tagged")), wing.load_mesh(parts.path("mesh"))
    ranking = SubjectRanking.load(parts.path("subject-ranking")) if "subject-ranking" in parts else None
    given = wing.Parts(
        lambda: KeyphraseGenerator.from_pretrained(parts.given.model), vocabulary, tagged, ranking, work.threads
    )
    others = sorted(parts.path("annif").glob("*.jsonl")) if "annif" in parts else []
    names = [name for name in wing.ROWS if name != "learned" or ranking is not None]
    rows = wing.make_rows(names, given, [f"Annif {path.stem}={path}" for path in others])
    known = {row.name for row in rows}
    pairs = [pair for pair in _COMPARED if known.issuperset(pair)]
    counts, left = tagged.tag_counts(), wing.CHECK_TAGS["mesh"]
    results = wing.evaluate(
        rows, documents, counts, left, work.store / "subjects", lambda row, *done: work.progress(row, "", *done)
    )
    archive = {"documents": len(tagged), "tags": len(counts)}
    return to_json(documents, archive, left, results, wing.compare(results, pairs, work.samples, 0), work.samples, 0)


def _timed(work: Work, part: str, each: int, against: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """A part of the benchmark, over the first documents of the four sets that the paper times."""
    given = work.parts.given
    sets = load_sets([work.parts.path("test")])
    chosen = [dataset for dataset in sets if dataset.name.lower().startswith(_TIMED)] or sets
    count = _TIMED_QUICK if work.quick else each
    texts = {dataset.name: [record.text for record in dataset.first(count).records] for dataset in chosen}
    plan = (Plan.quick() if work.quick else Plan.full()).with_changes(
        model=given.model, collection=given.collection, against=against, tagger=given.tagger, documents=count
    )
    report = run_benchmark(
        plan.with_parts([part]), texts, lambda what, done, total: work.progress(what, "", done, total)
    )
    return {**report, "sets": [{"name": s.name, "sha256": s.sha256, "documents": count} for s in chosen]}


Task: TypeAlias = Callable[[Work], Mapping[str, Any]]
TASKS: Mapping[str, Task] = {
    "keyphrases": _keyphrases,
    "retrieval": _retrieval,
    "ablations": _ablations,
    "case": _case,
    "readers": _readers,
    "calibration": _calibration,
    "speed": _speed,
    "throughput": _throughput,
    "subjects": _subjects,
}
"""By task what a step's run is made by: plain data, as the commands write it with -o."""

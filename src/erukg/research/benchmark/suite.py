"""One run of the benchmark, from a plan to its report as plain data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from erukg.backends.threads import cores
from erukg.collection import Collection
from erukg.core.settings import Settings
from erukg.errors import InputError
from erukg.generator import KeyphraseGenerator
from erukg.research.benchmark import timing
from erukg.research.benchmark.competitors import load_competitors
from erukg.research.benchmark.machine import pinned, report_head
from erukg.research.benchmark.plan import Plan
from erukg.research.benchmark.processes import cold_start, peak_memory
from erukg.research.benchmark.scaling import time_scaling
from erukg.research.benchmark.texts import document, documents
from erukg.research.benchmark.timing import Progress, Stream, System

__all__ = ["compare", "faster", "run_benchmark"]

_NO_COLLECTION = "not run: no collection"
# Of long texts a few are enough, and all there is time for.
_WORDS_A_LENGTH = 4_000
# Documents that systems take turns on where they have several cores.
_BLOCK = 20
# Seconds until the thread pools of torch and ONNX Runtime have stopped spinning.
_SETTLE = 0.25


def run_benchmark(
    plan: Plan, texts: Mapping[str, Sequence[str]] | None = None, progress: Progress | None = None
) -> dict[str, Any]:
    """Measure what the plan asks for on `texts`, by set (None: built-in ones); the report is ready to be written as
    JSON.
    """
    tell: Progress = progress or (lambda what, done, total: None)
    if not 1 <= plan.cores <= cores():
        raise InputError(f"There are {cores()} cores to measure on, not {plan.cores}; ask for 1 to {cores()}.")
    sets = texts if texts is not None else {"built-in": documents(plan.documents, plan.words)}
    given = [text for part in sets.values() for text in part]
    if not given:
        raise InputError("There are no documents to measure with; give some, or none at all for the built-in ones.")
    generator = _load(plan, 1)
    folder = generator.background.folder if isinstance(generator.background, Collection) else None
    wanted = timing.tasks(generator, plan.neighbours)
    report: dict[str, Any] = {
        **report_head("erukg-benchmark"),
        "settings": _described(plan, generator, given, built_in=texts is None),
        "not_run": {} if generator.background is not None else {"generation": _NO_COLLECTION},
    }

    few = {name: wanted[name] for name in (timing.EXTRACT, list(wanted)[-1])}
    if "throughput" in plan.parts:
        generators = {timing.ONE: generator} | ({timing.ALL: _load(plan, cores())} if cores() > 1 else {})
        report["single"] = timing.time_single(generators, wanted, given, plan.top_k, tell)
        report["stream"] = timing.time_streams(generator, wanted, given, plan.rounds, plan.top_k, tell)
    if "stages" in plan.parts:
        with pinned(1):
            report["stages"] = {
                name: timing.time_stages(generator, given, settings, plan.top_k, timing.steps(tell, f"stages, {name}"))
                for name, settings in few.items()
            }
    if "cold" in plan.parts:
        report["cold_start"] = {
            command: cold_start(command, options, plan.cold_runs, timing.steps(tell, f"cold start, {command}"))
            for command, options in _commands(plan, folder).items()
        }
    if "memory" in plan.parts:
        tell("memory", 0, 1)
        where = str(folder) if folder is not None else None
        report["memory"] = peak_memory(plan.model, where, plan.streamed, plan.words, plan.paths)
        tell("memory", 1, 1)
    if "length" in plan.parts:
        chosen = {n: [document(n, k) for k in range(max(1, min(5, _WORDS_A_LENGTH // n)))] for n in plan.lengths}
        report["length"] = timing.time_lengths(timing.systems(generator, few, plan.top_k), chosen, tell)
    if "cores" in plan.parts:
        report["cores"] = time_scaling(generator, given, plan.streamed, plan.top_k, tell)
    if "against" in plan.parts and plan.against:
        report["against"] = compare(plan, wanted, sets, folder, tell)
    return report


def compare(
    plan: Plan,
    wanted: Mapping[str, Settings],
    sets: Mapping[str, Sequence[str]],
    folder: Path | None,
    progress: Progress,
) -> dict[str, Any]:
    """This package and its competitors in turn on the same documents and cores, in all and by set.

    On one core, document by document. On several, in blocks of documents: this package works on as many documents as
    there are cores, others on one after the other, with as many threads as their libraries take.
    """
    generator = _load(plan, 1)
    ours = {f"erukg, {name}": settings for name, settings in wanted.items()}
    texts = [text for part in sets.values() for text in part]
    competitors = load_competitors(
        plan, texts[0], folder, timing.steps(progress, "loading the collection for the paper's pipeline")
    )
    step = timing.steps(progress, "against others")
    try:
        with pinned(plan.cores):
            if plan.cores == 1:
                seconds = timing.interleave(
                    {**timing.systems(generator, ours, plan.top_k), **competitors.systems}, texts, step
                )
            else:
                blocks = [block for part in sets.values() for block in _blocks(part)]
                streams = {name: timing.stream(generator, each, plan.top_k, plan.cores) for name, each in ours.items()}
                streams |= {name: _one_by_one(system) for name, system in competitors.systems.items()}
                streams |= competitors.streams
                seconds = timing.interleave(streams, blocks, step, _SETTLE)
    finally:
        competitors.close()
    # The times of blocks say nothing about how long a document takes.
    described = {
        name: timing.summary(times) if plan.cores == 1 else timing.rate(times, len(texts))
        for name, times in seconds.items()
    }
    return {
        "cores": plan.cores,
        "documents": len(texts),
        "tagger": plan.tagger,
        "systems": described,
        "sets": _by_set(seconds, sets, plan.cores),
        "ratios": faster(seconds, list(ours)),
        "not_run": dict(competitors.not_run),
    }


def _blocks(texts: Sequence[str]) -> list[Sequence[str]]:
    return [texts[i : i + _BLOCK] for i in range(0, len(texts), _BLOCK)]


def _by_set(
    seconds: Mapping[str, Sequence[float]], sets: Mapping[str, Sequence[str]], cores: int
) -> dict[str, dict[str, Any]]:
    """The rate of every system on each set; times are of documents on one core, else of blocks of them."""
    out: dict[str, dict[str, Any]] = {}
    start = 0
    for name, texts in sets.items():
        stop = start + (len(texts) if cores == 1 else len(_blocks(texts)))
        if stop > start:
            out[name] = {system: timing.rate(times[start:stop], len(texts)) for system, times in seconds.items()}
        start = stop
    return out


def _one_by_one(system: System) -> Stream:
    return lambda texts: [system(text) for text in texts]


def faster(seconds: Mapping[str, Sequence[float]], ours: Sequence[str]) -> dict[str, dict[str, float]]:
    """For every other system how many times as fast as it each of `ours` is."""
    totals = {name: sum(times) for name, times in seconds.items()}
    others = [name for name in totals if name not in ours]
    return {other: {name: totals[other] / totals[name] for name in ours} for other in others}


def _load(plan: Plan, threads: int) -> KeyphraseGenerator:
    return KeyphraseGenerator.from_pretrained(
        plan.model, False if plan.no_collection else plan.collection, threads=threads
    )


def _commands(plan: Plan, folder: Path | None) -> dict[str, list[str]]:
    model = ["--model", plan.model] if plan.model is not None else []
    generate = {"generate": [*model, "--collection", str(folder)]} if folder is not None else {}
    return {"extract": model, **generate}


def _described(plan: Plan, generator: KeyphraseGenerator, texts: Sequence[str], *, built_in: bool) -> dict[str, Any]:
    plain = {name: str(value) if isinstance(value, Path) else value for name, value in dataclasses.asdict(plan).items()}
    background = generator.background
    words = [len(text.split()) for text in texts]
    return {
        **plain,
        "texts": {"built_in": built_in, "documents": len(texts), "mean_words": sum(words) / len(words)},
        "model_fingerprint": generator.backend.fingerprint,
        "collection_documents": len(background) if background is not None else None,
        "generator": generator.settings.to_dict(),
    }

"""Taking times so that they can be compared: systems in turn on every document, and ratios of the totals.

Documents per second one at a time and as a stream, on one core and on all; and where the time of one document goes.
"""

from __future__ import annotations

import gc
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from erukg.backends.threads import cores
from erukg.core.candidates import find_candidates
from erukg.core.document import Document
from erukg.core.settings import Settings
from erukg.generator import KeyphraseGenerator
from erukg.research.benchmark.machine import pinned
from erukg.research.benchmark.plan import Step, no_step

__all__ = ["Progress", "Stream", "System", "interleave", "rate", "steps", "stream", "summary", "systems", "tasks"]
__all__ += ["time_lengths", "time_single", "time_stages", "time_streams"]

EXTRACT = "extract"
ONE, ALL = "one core", "all cores"
# Binding threads to cores takes a while itself, so it is not done for every document.
_BLOCK = 10
STAGES = ("parse", "tokenise", "neighbours", "encode", "tags and phrases", "score")

_BACKEND = {"pieces": "tokenise", "phrase_terms": "tokenise", "encode": "encode"}
_BACKGROUND = {"neighbourhood": "neighbours"}

System: TypeAlias = Callable[[str], object]
"""Does its work on one text; what it returns is not looked at."""
Stream: TypeAlias = Callable[[Sequence[str]], object]
"""Does its work on several texts, as many at once as it likes."""
Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is being measured, how much of it is done, and how much there is."""
_Work = TypeVar("_Work", str, Sequence[str])


def interleave(
    systems: Mapping[str, Callable[[_Work], object]], texts: Sequence[_Work], step: Step = no_step, pause: float = 0.0
) -> dict[str, list[float]]:
    """Seconds each system takes for each text, or block of texts: one after the other, every system on it in turn.

    Whatever else the machine does meets all systems alike. Which one goes first changes from text to text. Each has
    seen one text before, untimed, so that loading and compiling are over. `pause` is how many seconds to wait before
    every one: idle threads of the pool that one system used go on asking for work for a while, at the next one's cost.
    """
    names = list(systems)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for name in names:
        systems[name](texts[0])
    # What systems have loaded must not make Python's search for garbage dearer for the others.
    gc.collect()
    gc.freeze()
    try:
        for i, text in enumerate(texts):
            turn = i % len(names) if names else 0
            for name in names[turn:] + names[:turn]:
                if pause:
                    time.sleep(pause)
                start = time.perf_counter()
                systems[name](text)
                seconds[name].append(time.perf_counter() - start)
            step(i + 1, len(texts))
    finally:
        gc.unfreeze()
    return seconds


def rate(seconds: Sequence[float], documents: int) -> dict[str, Any]:
    """Documents per second of so many that took these seconds."""
    total = float(sum(seconds))
    return {"documents": documents, "seconds": total, "documents_per_second": documents / total}


def summary(seconds: Sequence[float]) -> dict[str, Any]:
    """Documents per second and the milliseconds that 50, 95 and 99 % of the documents stay under."""
    p50, p95, p99 = (float(value) * 1e3 for value in np.percentile(seconds, (50, 95, 99)))
    return {**rate(seconds, len(seconds)), "p50_ms": p50, "p95_ms": p95, "p99_ms": p99}


def steps(progress: Progress, what: str) -> Step:
    """Progress of one thing that is measured."""
    return lambda done, total: progress(what, done, total)


def tasks(generator: KeyphraseGenerator, neighbours: Sequence[int]) -> dict[str, Settings]:
    """What is timed, by name: extraction, and generation with each N where there is a collection."""
    found = {EXTRACT: generator.settings.extraction()}
    if generator.background is not None:
        found |= {f"generate N={n}": generator.settings.replace(neighbours=n) for n in neighbours}
    return found


def systems(generator: KeyphraseGenerator, wanted: Mapping[str, Settings], top_k: int) -> dict[str, System]:
    """The tasks as functions of one text."""

    def one(settings: Settings) -> System:
        return lambda text: generator.generate(text, top_k, settings)

    return {name: one(settings) for name, settings in wanted.items()}


def stream(generator: KeyphraseGenerator, settings: Settings, top_k: int, threads: int) -> Stream:
    """A task as a function of several texts, one document per thread."""
    return lambda texts: deque(generator.generate_batch(texts, top_k, settings, threads=threads), maxlen=0)


def time_single(
    generators: Mapping[str, KeyphraseGenerator],
    wanted: Mapping[str, Settings],
    texts: Sequence[str],
    top_k: int,
    progress: Progress,
) -> dict[str, Any]:
    """One document at a time: rate and latency of every task; `generators` by the cores that one document may use.

    Tasks take turns on every document, the generators every few documents.
    """
    seconds: dict[str, dict[str, list[float]]] = {where: {name: [] for name in wanted} for where in generators}
    step = steps(progress, "one at a time")
    for first in range(0, len(texts), _BLOCK):
        block = texts[first : first + _BLOCK]
        for where, generator in generators.items():
            with pinned(1 if where == ONE else cores()):
                for name, times in interleave(systems(generator, wanted, top_k), block).items():
                    seconds[where][name] += times
        step(first + len(block), len(texts))
    return _by_place(seconds, summary)


def _by_place(
    seconds: Mapping[str, Mapping[str, Sequence[float]]], describe: Callable[[Sequence[float]], dict[str, Any]]
) -> dict[str, Any]:
    """By cores and task its figures, its time relative to extraction there, and its speed relative to one core."""
    out: dict[str, Any] = {where: {} for where in seconds}
    for where, by_task in seconds.items():
        for name, times in by_task.items():
            times_extract, times_one_core = sum(times) / sum(by_task[EXTRACT]), sum(seconds[ONE][name]) / sum(times)
            relative = {"times_extract": times_extract, "times_one_core": times_one_core}
            out[where][name] = {**describe(times), **relative}
    return out


def time_streams(
    generator: KeyphraseGenerator,
    wanted: Mapping[str, Settings],
    texts: Sequence[str],
    rounds: int,
    top_k: int,
    progress: Progress,
) -> dict[str, Any]:
    """`generate_batch` over all texts, the tasks and numbers of cores taking turns for some rounds."""
    places = [(ONE, 1)] if cores() == 1 else [(ONE, 1), (ALL, cores())]
    seconds: dict[str, dict[str, list[float]]] = {where: {name: [] for name in wanted} for where, _ in places}
    done = 0
    for _ in range(rounds):
        for name, settings in wanted.items():
            for where, count in places:
                run = stream(generator, settings, top_k, count)
                with pinned(count):
                    start = time.perf_counter()
                    run(texts)
                    seconds[where][name].append(time.perf_counter() - start)
                done += 1
                progress("streams", done, rounds * len(places) * len(wanted))
    return _by_place(seconds, lambda times: rate(times, len(texts) * len(times)))


def time_lengths(
    wanted: Mapping[str, System], texts: Mapping[int, Sequence[str]], progress: Progress
) -> list[dict[str, Any]]:
    """Milliseconds per document of each length, and per thousand words, relative to the shortest."""
    out: list[dict[str, Any]] = []
    for done, (words, documents) in enumerate(texts.items(), 1):
        with pinned(1):
            seconds = interleave(wanted, documents)
        actual = sum(len(text.split()) for text in documents)
        row: dict[str, Any] = {"words": words, "documents": len(documents), "ms": {}, "ms_per_1000_words": {}}
        for name, times in seconds.items():
            row["ms"][name] = sum(times) / len(times) * 1e3
            row["ms_per_1000_words"][name] = sum(times) / actual * 1e6
        base = out[0] if out else row
        row["times_first_per_word"] = {
            name: value / base["ms_per_1000_words"][name] for name, value in row["ms_per_1000_words"].items()
        }
        out.append(row)
        progress("document length", done, len(texts))
    return out


class _Clock:
    """Stands in for an object and adds up how long some of its methods take, by stage."""

    def __init__(self, inner: Any, stages: dict[str, str], spent: dict[str, float]) -> None:
        self._inner = inner
        self._stages = stages
        self._spent = spent
        self.last: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self._inner)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        stage = self._stages.get(name)
        if stage is None:
            return found

        def timed(*arguments: Any, **options: Any) -> Any:
            start = time.perf_counter()
            result = found(*arguments, **options)
            self._spent[stage] += time.perf_counter() - start
            self.last[name] = result
            return result

        return timed


def time_stages(
    generator: KeyphraseGenerator, texts: Sequence[str], settings: Settings, top_k: int = 10, step: Step = no_step
) -> dict[str, Any]:
    """Milliseconds per document and share of the whole of each stage, over all texts.

    The generator itself is not touched: its back end and its collection are given to it inside wrappers that keep the
    time, parsing and phrase finding are timed by doing them once more, and what is then left of the whole is scoring.
    """
    spent = dict.fromkeys(STAGES, 0.0)
    backend = _Clock(generator.backend, _BACKEND, spent)
    background = None if generator.background is None else _Clock(generator.background, _BACKGROUND, spent)
    timed = KeyphraseGenerator(backend, background, settings=settings)
    timed.generate(texts[0], top_k)
    spent.update(dict.fromkeys(STAGES, 0.0))
    whole = 0.0
    for i, text in enumerate(texts):
        start = time.perf_counter()
        timed.generate(text, top_k)
        end = time.perf_counter()
        document = Document.parse(text)
        parsed = time.perf_counter()
        find_candidates(document, backend.last["encode"].tags, settings.max_words)
        whole += end - start
        spent["parse"] += parsed - end
        spent["tags and phrases"] += time.perf_counter() - parsed
        step(i + 1, len(texts))
    # Noise in what was done twice may exceed the little that scoring takes.
    spent["score"] = max(0.0, whole - sum(spent.values()))
    total = sum(spent.values())
    per_document = {
        stage: {"ms": value / len(texts) * 1e3, "share": value / total if total else 0.0}
        for stage, value in spent.items()
    }
    return {"documents": len(texts), "ms": whole / len(texts) * 1e3, "stages": per_document}

"""Documents per second: one at a time and as a stream, on one core and on all."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from erukg.backends.threads import cores
from erukg.core.settings import Settings
from erukg.generator import KeyphraseGenerator
from erukg.research.benchmark.machine import pinned
from erukg.research.benchmark.timing import Progress, Stream, System, interleave, rate, steps, summary

__all__ = ["ALL", "EXTRACT", "ONE", "stream", "systems", "tasks", "time_lengths", "time_single", "time_streams"]

EXTRACT = "extract"
ONE, ALL = "one core", "all cores"
# Binding threads to cores takes a while itself, so it is not done for every document.
_BLOCK = 10


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
    """A task as a function of several texts, a document a thread."""
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
    return {
        where: {name: {**summary(times), **_relative(seconds, where, name)} for name, times in by_task.items()}
        for where, by_task in seconds.items()
    }


def _relative(seconds: Mapping[str, Mapping[str, Sequence[float]]], where: str, name: str) -> dict[str, float]:
    """The time of a task relative to extraction on the same cores, and its speed relative to one core."""
    total = sum(seconds[where][name])
    return {"times_extract": total / sum(seconds[where][EXTRACT]), "times_one_core": sum(seconds[ONE][name]) / total}


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
    return {
        where: {
            name: {**rate(times, len(texts) * len(times)), **_relative(seconds, where, name)}
            for name, times in by_task.items()
        }
        for where, by_task in seconds.items()
    }


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

"""How fast a GPU is, and how near its results are to the CPU's.

`python -m erukg.research.benchmark.gpu --model DIR --collection DIR --texts FILE.jsonl --out REPORT.json` runs it
without the command line's own dependencies.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import resource
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from erukg.backends import OnnxBackend, find_device, find_model
from erukg.backends.batch import join, pack
from erukg.backends.threads import cores
from erukg.collection import Collection
from erukg.collection.bundled import bundled_collection
from erukg.core.document import Document
from erukg.core.results import Keyphrases
from erukg.core.runner import Request
from erukg.core.settings import Settings
from erukg.errors import ErukgError, InputError
from erukg.generator import KeyphraseGenerator
from erukg.gpu import DeviceRunner, DeviceStream
from erukg.research.benchmark.gpu_search import measure_search
from erukg.research.benchmark.machine import report_head
from erukg.research.benchmark.texts import documents, read_texts
from erukg.research.benchmark.timing import Progress, summary

if TYPE_CHECKING:
    from erukg.backends.torch.backend import TorchBackend

__all__ = ["GpuPlan", "agreement", "measure_gpu", "overlap", "rank_correlation"]

# Rankings are compared over the best ten, whose places are looked up in lists of this length.
_DEEP = 100
_PASS_TEXTS = 512
# The parts of a report that is written to a file which are shown as well.
_SHOWN = ("network", "search", "stream", "host", "single", "agreement")


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuPlan:
    """What is measured, and on how much.

    streamed    documents of each stream; the texts are taken again and again
    single      documents generated one at a time on the device
    compared    documents whose results are compared with the CPU's
    workers     processes beside the model's; None for the cores less one
    arithmetic  of the network on the device; None for what the model's folder suggests
    """

    model: str | None = None
    collection: str | None = None
    no_collection: bool = False
    device: str = "cuda"
    arithmetic: str | None = None
    compiled: bool = False
    workers: int | None = None
    streamed: int = 30_000
    single: int = 50
    compared: int = 300
    neighbours: int = 400
    top_k: int = 10


def measure_gpu(plan: GpuPlan, texts: Sequence[str] | None = None, progress: Progress | None = None) -> dict[str, Any]:
    """Measure streams, single documents and agreement; the report is ready to be written as JSON."""
    tell: Progress = progress or (lambda what, done, total: None)
    given = list(texts) if texts is not None else documents(300)
    if not given:
        raise InputError("There are no documents to measure with; give some, or none at all for the built-in ones.")
    from erukg.backends.torch.backend import TorchBackend

    device = "cpu" if plan.device == "cpu" else find_device(plan.device)
    if device is None:
        raise InputError("torch sees no CUDA device here, so there is nothing to measure on it.")
    folder = find_model(plan.model)
    backend = TorchBackend.load(folder, device=device, arithmetic=plan.arithmetic, compiled=plan.compiled)
    background = _open(plan, backend.term_space)
    runner = DeviceRunner(backend, background)
    on_device = KeyphraseGenerator(backend, background, runner=runner)
    on_cpu = KeyphraseGenerator(OnnxBackend.load(folder), background)
    settings = on_cpu.settings.replace(neighbours=plan.neighbours)
    tasks = {"extract": settings.extraction()}
    if background is not None:
        tasks[f"generate N={plan.neighbours}"] = settings
    words = sum(len(text.split()) for text in given) / len(given)
    report: dict[str, Any] = {
        **report_head("erukg-benchmark-gpu"),
        "device": _described(device),
        "settings": {
            **dataclasses.asdict(plan),
            "model": str(folder),
            "arithmetic": backend.arithmetic,
            "workers": plan.workers or max(1, cores() - 1),
            "texts": {"documents": len(given), "mean_words": words},
            "collection_documents": len(background) if background is not None else None,
            "generator": settings.to_dict(),
        },
        **{part: {} for part in ("single", "stream", "host", "cpu", "agreement")},
    }
    # Compiled kernels are stored by whoever needs them first; workers would all do so at once.
    on_cpu.generate(given[0], plan.top_k, settings)
    tell("network", 0, 1)
    report["network"] = _network(backend, given, plan.compiled)
    if background is not None:
        tell("search", 0, 1)
        report["search"] = measure_search(background, given, plan.neighbours, plan.compared, device)
    for number, (name, wanted) in enumerate(tasks.items()):
        tell("streams", number, len(tasks))
        report["stream"][name] = _stream(runner.open(on_device, Request(plan.top_k, wanted), plan.workers), given, plan)
        report["single"][name] = _single(on_device, given, wanted, plan)
        report["host"][name] = _host(on_device, given, wanted, plan)
        some = given[: plan.compared]
        start = time.perf_counter()
        ours = list(on_cpu.generate_batch(some, _DEEP, wanted))
        seconds = time.perf_counter() - start
        report["cpu"][name] = {"documents": len(some), "documents_per_second": len(some) / seconds}
        theirs = list(on_device.generate_batch(some, _DEEP, wanted, threads=plan.workers))
        report["agreement"][name] = _agreement_by_kind(ours, theirs, plan.top_k)
    report["memory"] = {
        "largest_process_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e3,
        "this_process_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    }
    return report


def _open(plan: GpuPlan, term_space: str) -> Collection | None:
    if plan.no_collection:
        return None
    path = Path(plan.collection) if plan.collection is not None else bundled_collection(term_space)
    return Collection.open(path) if path is not None else None


def _described(device: str) -> dict[str, Any]:
    import torch

    found: dict[str, Any] = {"name": device, "torch": torch.__version__}
    if device != "cpu":
        properties = torch.cuda.get_device_properties(device)
        found |= {"gpu": properties.name, "memory_gb": properties.total_memory / 1e9}
    return found


def _network(backend: TorchBackend, texts: Sequence[str], compiled: bool) -> dict[str, Any]:
    """The network alone on prepared texts: documents per second without and with the whole vocabulary."""
    start = time.perf_counter()
    is_compiled = backend.warm_up(compiled=compiled)
    loaded = time.perf_counter() - start
    on_gpu = backend.device.type == "cuda"
    some = list(islice(cycle(texts), _PASS_TEXTS if on_gpu else 16))
    pieces = [backend.pieces(Document.parse(text).words) for text in some]
    packed = join([pack([(p, np.unique(p.ids))], backend.window) for p in pieces])
    rates = {}
    for name, top in (("candidate terms", 0), ("whole vocabulary", 256)):
        backend.encode_packed(packed, top)
        rounds = 10 if on_gpu else 1
        start = time.perf_counter()
        for _ in range(rounds):
            backend.encode_packed(packed, top)
        rates[name] = rounds * len(some) / (time.perf_counter() - start)
    return {
        "seconds_to_load": loaded,
        "compiled": is_compiled,
        "documents": len(some),
        "mean_pieces": sum(len(p.ids) for p in pieces) / len(pieces),
        "documents_per_second": rates,
    }


def _stream(stream: DeviceStream[Keyphrases], texts: Sequence[str], plan: GpuPlan) -> dict[str, Any]:
    """Documents per second, from the call on and while all processes are at work, and what each kind of them does."""
    given = 0

    def source() -> Iterator[str]:
        nonlocal given
        for text in islice(cycle(texts), plan.streamed):
            given += 1
            yield text

    begin = end = None
    head = min(plan.streamed // 4, 10_000)
    with stream:
        start = first = time.perf_counter()
        for number, _ in enumerate(stream.run(source()), 1):
            # From when the first part is done to when the last text is handed out as many are on the way: what was
            # worked on before the clock starts makes up for what is when it stops.
            if number == 1:
                first = time.perf_counter()
            elif number == head and given < plan.streamed:
                begin = number, _spent(stream)
            elif end is None and given == plan.streamed and begin is not None:
                end = number, _spent(stream)
        seconds = time.perf_counter() - start
    report: dict[str, Any] = {
        "documents": plan.streamed,
        "seconds": seconds,
        "seconds_to_first": first - start,
        "documents_per_second": None,
        "documents_per_second_with_start": plan.streamed / seconds,
    }
    if begin is not None and end is not None:
        report |= _rates(begin[1], end[1], end[0] - begin[0])
    return report


def _spent(stream: DeviceStream[Keyphrases]) -> dict[str, float]:
    """What the processes of a stream have done and taken up to now."""
    stats, (server, *workers) = stream.stats()
    taken = {"caller": time.process_time(), "server": server, "workers": sum(workers)}
    return {"clock": time.perf_counter(), "processes": len(workers), **taken, **dataclasses.asdict(stats)}


def _rates(before: Mapping[str, float], after: Mapping[str, float], documents: int) -> dict[str, Any]:
    done = {name: value - before[name] for name, value in after.items()}
    seconds = done["clock"]
    taken = {name: done[name] for name in ("caller", "server", "workers")}
    return {
        "documents_per_second": documents / seconds,
        "cpu_ms": {name: value / documents * 1e3 for name, value in taken.items()},
        "busy": {
            "caller": taken["caller"] / seconds,
            "server": taken["server"] / seconds,
            "worker": taken["workers"] / after["processes"] / seconds,
            "encoding": done["encode_seconds"] / seconds,
            "searching": done["search_seconds"] / seconds,
        },
        "texts_a_pass": done["encoded_texts"] / max(done["passes"], 1),
        "texts_a_search": done["searched_texts"] / max(done["searches"], 1),
        "searched_on_device": after["on_device"],
    }


def _single(generator: KeyphraseGenerator, texts: Sequence[str], settings: Settings, plan: GpuPlan) -> dict[str, Any]:
    """One document at a time, the model on the device and everything else in this process."""
    generator.generate(texts[0], plan.top_k, settings)
    seconds = []
    for text in islice(cycle(texts), plan.single):
        start = time.perf_counter()
        generator.generate(text, plan.top_k, settings)
        seconds.append(time.perf_counter() - start)
    return summary(seconds)


def _host(generator: KeyphraseGenerator, texts: Sequence[str], settings: Settings, plan: GpuPlan) -> dict[str, Any]:
    """Milliseconds of one core that a document takes beside the model, before and after it."""
    some = list(islice(cycle(texts), min(200, max(plan.single, 1))))
    ms: dict[str, float] = {}
    with _timed(ms, "read"):
        prepared = [generator.prepare(text, settings) for text in some]
    with _timed(ms, "encode one"):
        encodings = [generator.backend.encode(each.pieces, each.terms) for each in prepared]
    with _timed(ms, "finish"):
        for each, encoding in zip(prepared, encodings, strict=True):
            generator.complete(each, encoding, plan.top_k, settings)
    background = generator.background
    if isinstance(background, Collection) and settings.uses_neighbours:
        hits = [background.search(text, settings.neighbours) for text in some]
        with _timed(ms, "read but search"):
            for text, hit in zip(some, hits, strict=True):
                generator.prepare(text, settings, neighbourhood=background.gather(hit))
    return {"documents": len(some), "ms": {name: seconds / len(some) * 1e3 for name, seconds in ms.items()}}


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start


def _agreement_by_kind(ours: Iterable[Keyphrases], theirs: Iterable[Keyphrases], k: int) -> dict[str, Any]:
    pairs = list(zip(ours, theirs, strict=True))
    kinds = ("present", "absent") if any(a.absent for a, _ in pairs) else ("present",)

    def phrases(result: Keyphrases, kind: str) -> list[str]:
        return [phrase.phrase.lower() for phrase in getattr(result, kind)]

    return {kind: agreement([(phrases(a, kind), phrases(b, kind)) for a, b in pairs], k) for kind in kinds}


def rank_correlation(first: Sequence[str], second: Sequence[str], k: int = 10) -> float:
    """Spearman's ρ of the places in two whole lists, over the phrases in the best `k` of either.

    A phrase that one list does not hold has the place after its last.
    """
    chosen = list(dict.fromkeys((*first[:k], *second[:k])))
    if len(chosen) < 2:
        return 1.0 if list(first[:k]) == list(second[:k]) else 0.0
    a, b = (_ranks(chosen, phrases) for phrases in (first, second))
    return float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) and np.ptp(b) else 0.0


def overlap(first: Sequence[str], second: Sequence[str], k: int = 10) -> float:
    """The share of the best `k` that both lists have."""
    a, b = set(first[:k]), set(second[:k])
    return len(a & b) / max(len(a), len(b)) if a or b else 1.0


def agreement(pairs: Iterable[tuple[Sequence[str], Sequence[str]]], k: int = 10) -> dict[str, float | int]:
    """Both figures over many documents: means, and the lowest tenth of correlations."""
    both = [(rank_correlation(a, b, k), overlap(a, b, k), list(a[:k]) == list(b[:k])) for a, b in pairs]
    if not both:
        return {"documents": 0}
    correlations, overlaps, same = (np.array(column, float) for column in zip(*both, strict=True))
    return {
        "documents": len(both),
        "rank_correlation": float(correlations.mean()),
        "rank_correlation_p10": float(np.percentile(correlations, 10)),
        "overlap": float(overlaps.mean()),
        "identical": float(same.mean()),
    }


def _ranks(chosen: Sequence[str], phrases: Sequence[str]) -> NDArray[np.float64]:
    """The places of the chosen in a whole list as ranks, ties at their mean."""
    where = {phrase: place for place, phrase in reversed(list(enumerate(phrases)))}
    places = np.array([where.get(phrase, len(phrases)) for phrase in chosen])
    ordered = np.sort(places)
    return (np.searchsorted(ordered, places, "left") + np.searchsorted(ordered, places, "right") - 1) / 2


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m erukg.research.benchmark.gpu", description=__doc__)
    parser.add_argument("--model", help="model folder (default: the bundled one)")
    parser.add_argument("--collection", help="collection folder (default: the bundled one)")
    parser.add_argument("--no-collection", action="store_true", help="extraction only")
    parser.add_argument("--texts", type=Path, help="documents, one JSON object per line (default: built-in ones)")
    parser.add_argument("--limit", type=int, default=5000, help="texts read at most")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--arithmetic", help="int8, fp32, bf16 or fp16 (default: as the model's folder)")
    parser.add_argument("--compile", dest="compiled", action="store_true", help="let torch compile parts first")
    parser.add_argument("--workers", type=int)
    for name in ("streamed", "single", "compared", "neighbours"):
        parser.add_argument(f"--{name}", type=int, default=getattr(GpuPlan(), name))
    parser.add_argument("--out", type=Path, help="where to write the report (default: standard output)")
    given = vars(parser.parse_args(arguments))
    path, limit, out = given.pop("texts"), given.pop("limit"), given.pop("out")
    try:
        report = measure_gpu(
            GpuPlan(**given), list(islice(read_texts([path]), limit)) if path is not None else None, _tell
        )
    except ErukgError as error:
        print(f"erukg: {error}", file=sys.stderr)
        return 1
    text = json.dumps(report, indent=1)
    if out is not None:
        out.write_text(text + "\n", "utf-8")
    print(text if out is None else json.dumps({k: report[k] for k in _SHOWN if k in report}, indent=1))
    return 0


def _tell(what: str, done: int, total: int) -> None:
    print(f"{what}: {done} of {total}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

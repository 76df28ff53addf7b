"""Other systems, and the paper's own pipeline, timed beside this package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from erukg.errors import CollectionError, ErukgError, InputError, did_you_mean
from erukg.research.benchmark.plan import Plan, Step, no_step, split_names
from erukg.research.benchmark.timing import Stream, System, stream
from erukg.research.evaluation.systems import SYSTEMS, SystemOptions, make_system

if TYPE_CHECKING:
    from erukg.research.benchmark.paper_pipeline import PaperPipeline

__all__ = ["Competitors", "competitor_names", "load_competitors"]

_PAPER = "paper"
_TAGGED = ("textrank", "multipartiterank", "positionrank", "tfidf", "embedrank", "promptrank")


@dataclass(frozen=True)
class Competitors:
    """The competitors that can be run, and why the others cannot.

    `streams` are those that work on several documents at once by themselves.
    """

    systems: dict[str, System] = field(default_factory=dict)
    streams: dict[str, Stream] = field(default_factory=dict)
    not_run: dict[str, str] = field(default_factory=dict)
    closing: list[Callable[[], None]] = field(default_factory=list)

    def close(self) -> None:
        """End the processes that competitors have started."""
        for close in self.closing:
            close()


def competitor_names(names: str | None) -> tuple[str, ...]:
    """The competitors named with commas between them; one that does not exist is refused."""
    out = split_names(names or "")
    known = [_PAPER, *SYSTEMS]
    for spec in out:
        name, colon, _ = spec.partition(":")
        # This package itself is always there: only another variant of it (erukg-extract:model=small) adds something.
        if name not in known or (name.startswith("erukg") and not colon):
            known = [_PAPER, *(name for name in SYSTEMS if not name.startswith("erukg"))]
            raise InputError(f"There is no competitor '{name}'; {did_you_mean(name, known, 'there are: {known}.')}")
    return out


def load_competitors(plan: Plan, text: str, collection: Path | None, step: Step = no_step) -> Competitors:
    """Load every competitor of the plan and let it work on `text` once."""
    competitors = Competitors()
    for spec in plan.against:
        try:
            if spec == _PAPER:
                loaded = _paper(plan, collection, competitors, step)
            else:
                # Under the name with its tagger, so that its quality with another one is not put beside its speed.
                named = _with_tagger(spec, plan)
                loaded = {named: _baseline(named, plan, competitors)}
            for system in loaded.values():
                system(text)
        except (ErukgError, OSError) as error:
            competitors.not_run[spec] = f"not run: {error}"
        else:
            competitors.systems.update(loaded)
    return competitors


def _with_tagger(spec: str, plan: Plan) -> str:
    """The system with the tagger of the plan: by itself it takes tags from this package's model, at no cost."""
    name, _, rest = spec.partition(":")
    if name not in _TAGGED or "tagger=" in rest:
        return spec
    return f"{name}:{','.join(filter(None, (rest, f'tagger={plan.tagger}')))}"


def _baseline(spec: str, plan: Plan, competitors: Competitors) -> System:
    from erukg.research.evaluation.baseline_system import BaselineSystem
    from erukg.research.evaluation.generator_system import GeneratorSystem

    system = make_system(spec, SystemOptions(plan.model, plan.collection))
    if isinstance(system, GeneratorSystem):
        generator, settings = system.generator, system.settings
        if settings.uses_neighbours and generator.background is None:
            raise InputError("no collection.")
        competitors.streams[spec] = stream(generator, settings, plan.top_k, plan.cores)
        return lambda text: generator.generate(text, plan.top_k, settings)
    if not isinstance(system, BaselineSystem):
        system.describe()  # which says what it lacks
        raise InputError(f"the system '{spec}' is no baseline.")
    return lambda text: system.phrases(text, plan.top_k)


def _paper(plan: Plan, folder: Path | None, competitors: Competitors, step: Step) -> dict[str, System]:
    if plan.weights is None:
        raise InputError("give --weights FOLDER, the same weights for torch (the layout of a SparseEncoder).")
    from erukg.research.benchmark.lucene import LuceneProgram
    from erukg.research.benchmark.paper_pipeline import PaperPipeline, PlainCollection

    most = max(plan.neighbours)
    lucene = LuceneProgram.check(plan.lucene) if plan.lucene is not None else None
    collection: PlainCollection | None = None
    try:
        if folder is not None:
            collection = PlainCollection(folder, step, lucene, most)
            competitors.closing.append(collection.close)
    except (CollectionError, ImportError) as error:
        competitors.not_run["paper, generation"] = f"not run: {error}"
    pipeline = PaperPipeline(plan.weights, plan.tagger, collection)
    systems: dict[str, System] = {"paper, extract": lambda text: pipeline.generate(text, plan.top_k, 0)}
    if collection is None:
        competitors.not_run.setdefault("paper, generation", "not run: no collection")
    else:
        systems |= {f"paper, generate N={n}": _generation(pipeline, plan.top_k, n) for n in plan.neighbours}
    return systems


def _generation(pipeline: PaperPipeline, top_k: int, neighbours: int) -> System:
    return lambda text: pipeline.generate(text, top_k, neighbours)

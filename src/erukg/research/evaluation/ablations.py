"""What each part of the method is worth: the generator with one thing changed at a time.

Every variant is a system as `evaluate keyphrases` runs it, so predictions are stored and found again, also by that
command. What a study lacks (a collection, a folder, a tagger) is said in its place; the rest goes on. All variants have
the same collection but for those that name another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from erukg.core.settings import Settings
from erukg.errors import ErukgError, InputError, did_you_mean
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.generator_system import GeneratorSystem
from erukg.research.evaluation.provenance import describe_collection, describe_model
from erukg.research.evaluation.systems import NotAvailableError, System, SystemOptions, UnavailableSystem

__all__ = ["BUNDLED", "SEARCHED", "STUDIES", "UNPRUNED", "CheckedSystem", "Studies", "Study", "StudyInputs", "Variant"]
__all__ += ["make_studies", "named"]

STUDIES = {
    "alpha-beta": "α = β, the document's own share",
    "neighbours": "N, the neighbours consulted",
    "pruning": "with and without pruning",
    "position": "exponent of the position factor",
    "tags": "tag head against another tagger",
    "precision": "8-bit against 32-bit weights",
    "references": "a type of reference left out of training",
    "collection": "documents in the collection D",
}
UNPRUNED = "unpruned"
"""The name among the given collections of the one whose glossary was not pruned."""
SEARCHED = ("neighbours", "references")
"""The studies for which the paper says what they do to search."""
BUNDLED = "bundled"
"""What the collection is called that comes with the package."""

_ALL_CANDIDATES = 100_000


@dataclass(frozen=True, slots=True)
class StudyInputs:
    """What the studies can work with. A collection named as one of the `models` is the one made with that model."""

    options: SystemOptions = field(default_factory=SystemOptions)
    models: Mapping[str, str] = field(default_factory=dict)
    collections: Mapping[str, str] = field(default_factory=dict)
    tagger: str | None = None
    fp32: str | None = None


@dataclass(frozen=True, slots=True)
class Variant:
    """One row of a study.

    value       its place on the axis of a curve, where there is one
    collection  the name of its own collection, where that is not the one of the studies
    against     the label of the variant that it is compared with: the method as it is, in the same task
    """

    label: str
    system: System
    value: float | None = None
    collection: str | None = None
    against: str | None = None


@dataclass(frozen=True, slots=True)
class Study:
    """The variants that are compared, the method as it is among them."""

    name: str
    variants: Sequence[Variant]

    def reference(self, variant: Variant) -> Variant | None:
        """What a variant is compared with."""
        return next((other for other in self.variants if other.label == variant.against), None)


@dataclass(frozen=True, slots=True)
class Studies:
    """Studies of one method: whether it has the paper's settings, and its collection by name and hash, if any."""

    studies: Sequence[Study]
    paper: bool
    collection: Mapping[str, Any] | None


def named(pairs: Iterable[str], option: str) -> dict[str, str]:
    """`["a=folder"]` as `{"a": "folder"}`."""
    out: dict[str, str] = {}
    for pair in pairs:
        name, _, path = map(str.strip, pair.partition("="))
        if not name or not path:
            raise InputError(f"'{pair}' is not of the form NAME=FOLDER, which {option} needs.")
        if name in out:
            raise InputError(f"{option} names '{name}' twice; give every folder a name of its own.")
        out[name] = path
    return out


def make_studies(names: Sequence[str], inputs: StudyInputs) -> Studies:
    """The studies called so ("all": every one), in the order of `STUDIES`."""
    for name in names:
        if name != "all" and name not in STUDIES:
            hint = did_you_mean(name, STUDIES, "there are: {known} and all.")
            raise InputError(f"There is no study '{name}'; {hint}")
    maker = _StudyBuilder(inputs)
    wanted = STUDIES if "all" in names else [name for name in STUDIES if name in names]
    return Studies([Study(name, maker.make(name)) for name in wanted], maker.paper, maker.collection)


class CheckedSystem:
    """A system that is reported as not run, with the reason, where it cannot be loaded or is not what it should be."""

    def __init__(self, system: GeneratorSystem, expected: Mapping[tuple[str, str], Any]) -> None:
        self.name = system.name
        self.system = system
        self._expected = expected

    def describe(self) -> Mapping[str, Any]:
        try:
            description = self.system.describe()
        except (ErukgError, OSError) as error:
            raise NotAvailableError(str(error)) from error
        for (what, part), value in self._expected.items():
            found = (description[what.partition(" ")[0]] or {}).get(part)
            if found != value:
                raise NotAvailableError(f"the {what} has {part} {str(found)[:12]} where {str(value)[:12]} is needed")
        return description

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        return self.system.predict(records)


class _StudyBuilder:
    """Makes the variants of each study; those whose parts were not given say so instead of being run."""

    def __init__(self, inputs: StudyInputs) -> None:
        self._inputs = inputs
        self._systems: dict[str, System] = {}
        base = GeneratorSystem("erukg-generate", inputs.options, extract=False)
        # Loaded first: where the method itself cannot be run there is nothing to study.
        self._model = describe_model(base.generator)
        self._settings = base.settings
        self.paper = inputs.options.style == "paper"
        described, folder = describe_collection(base.generator), inputs.options.collection
        name = BUNDLED if folder is None else Path(folder).resolve().name
        self.collection = None if described is None else {"name": name, **described}
        self._has_collection = self.collection is not None
        self._documents = None if described is None else described.get("documents")

    def make(self, study: str) -> list[Variant]:
        if study in ("alpha-beta", "neighbours", "pruning") and not self._has_collection:
            return [_missing("all", "no collection (give --collection FOLDER)")]
        variants: list[Variant] = list(getattr(self, f"_{study.replace('-', '_')}")())
        if study == "references":
            return variants
        as_it_is = next((variant.label for variant in variants if variant.system is self._system()), None)
        return [v if v.label == as_it_is else replace(v, against=as_it_is) for v in variants]

    def _alpha_beta(self) -> Iterator[Variant]:
        now = self._settings
        # Absent phrases have the same α in the paper; where the settings give them one of their own, it stays.
        names = ["alpha", "beta", *(["absent_alpha"] if now.absent_alpha == now.alpha else [])]
        values = [step / 5 for step in range(6)]
        for value in values:
            yield Variant(f"{value:g}", self._system(settings=dict.fromkeys(names, value)), value)
        if now.alpha != now.beta or now.beta not in values:
            yield Variant(f"as given: α = {now.alpha:g}, β = {now.beta:g}", self._system())

    def _neighbours(self) -> Iterator[Variant]:
        for n in sorted({10, 50, 100, self._settings.neighbours}):
            yield Variant(f"{n}", self._system(settings={"neighbours": n}), n)
        if self.paper:
            own = Settings(**self._inputs.options.settings).neighbours
            yield Variant(f"erukg's own settings, N = {own}", self._system(style="balanced"))

    def _pruning(self) -> Iterator[Variant]:
        everything = {"neighbour_candidates": _ALL_CANDIDATES}
        yield Variant(f"best {self._settings.neighbour_candidates} of the neighbours' phrases", self._system())
        yield Variant("all of the neighbours' phrases", self._system(settings=everything))
        folder = self._inputs.collections.get(UNPRUNED)
        if folder is None:
            yield _missing("glossary not pruned", f"no such collection (--collections {UNPRUNED}=FOLDER)")
        else:
            unpruned = self._system(collection=folder), self._system(collection=folder, settings=everything)
            for label, system in zip(("glossary not pruned", "neither pruned"), unpruned, strict=True):
                yield Variant(label, system, collection=UNPRUNED)

    def _position(self) -> Iterator[Variant]:
        for value in sorted({0.0, 1.0, self._settings.position}):
            yield Variant(f"{value:g}", self._system(settings={"position": value}), value)

    def _tags(self) -> Iterator[Variant]:
        yield Variant("tag head", self._system())
        if (tagger := self._inputs.tagger) is not None:
            yield Variant(tagger, self._system(tagger=tagger))
        else:
            yield _missing("spaCy", "no tagger (give --tagger spacy:NAME)")

    def _precision(self) -> Iterator[Variant]:
        yield Variant(self._model.get("precision", "as given"), self._system())
        if self._inputs.fp32 is None:
            yield _missing("fp32", "no 32-bit folder (give --fp32 FOLDER)")
        else:
            expected = {("model folder", "weights"): self._model["weights"], ("model folder", "precision"): "fp32"}
            yield Variant("fp32 folder", self._system(model=self._inputs.fp32, expected=expected))

    def _references(self) -> Iterator[Variant]:
        models, collections = self._inputs.models, self._inputs.collections
        if not models:
            yield _missing("all", "no model folders (give --models NAME=FOLDER for each)")
            return
        whole = [f"all types, {task}" for task in ("extraction", "generation")]
        yield Variant(whole[0], self._system(extract=True))
        for name, folder in models.items():
            yield Variant(f"{name}, extraction", self._system(model=folder, extract=True), against=whole[0])
        # Term weights in a collection are those of the model that made it, so each model needs its own.
        if not models.keys() & collections.keys():
            yield _missing("generation", "no collection with the name of a model (--collections NAME=FOLDER)")
            return
        if self._has_collection:
            yield Variant(whole[1], self._system())
        for name in models:
            if name in collections:
                system = self._system(model=models[name], collection=collections[name], expected=self._same_documents)
                yield Variant(f"{name}, generation", system, collection=name, against=whole[1])

    @property
    def _same_documents(self) -> dict[tuple[str, str], Any]:
        """What a collection for another model must have in common with that of the method itself, if it has one."""
        if self.collection is None:
            return {}
        return {("collection", part): self.collection.get(part) for part in ("documents", "paper")}

    def _collection(self) -> list[Variant]:
        from erukg.collection import Collection

        known = (UNPRUNED, *self._inputs.models)
        others = {name: folder for name, folder in self._inputs.collections.items() if name not in known}
        if not others:
            return [_missing("all", "no collection folders (give --collections NAME=FOLDER for each size)")]
        out = [Variant("none, extraction", self._system(extract=True), 0)]
        if self._has_collection:
            label = "as given" if self._documents is None else f"as given, {self._documents:,} documents"
            out.append(Variant(label, self._system(), self._documents))
        for name, folder in others.items():
            try:
                size = len(Collection.open(folder))
            except (ErukgError, OSError) as error:
                out.append(_missing(name, str(error)))
            else:
                system = self._system(collection=folder)
                out.append(Variant(f"{name}, {size:,} documents", system, size, collection=name))
        return sorted(out, key=lambda variant: (variant.value is None, variant.value or 0))

    def _system(
        self,
        *,
        settings: Mapping[str, float] | None = None,
        extract: bool | None = None,
        expected: Mapping[tuple[str, str], Any] | None = None,
        **parts: Any,
    ) -> System:
        """The method with other `settings` or `parts` (model, collection, tagger, style); the same one for the same
        change.

        Without a collection it can only extract.
        """
        if extract is None:
            extract = not self._has_collection and "collection" not in parts
        options = self._inputs.options
        changed = replace(options, settings={**options.settings, **(settings or {})}, **parts)
        # A change to the value that is there already is no change: one system under one name, run once.
        known = self._settings.to_dict()
        changes = [f"{name}={value:g}" for name, value in (settings or {}).items() if value != known[name]]
        changes += [value if name == "style" else f"{name}={value}" for name, value in parts.items()]
        base = "erukg-extract" if extract else "erukg-generate"
        system = GeneratorSystem(f"{base}:{','.join(changes)}" if changes else base, changed, extract=extract)
        key = repr((system.settings, changed.model, changed.collection, changed.tagger, extract, expected))
        return self._systems.setdefault(key, CheckedSystem(system, expected or {}))


def _missing(label: str, reason: str) -> Variant:
    return Variant(label, UnavailableSystem("erukg-generate", reason))

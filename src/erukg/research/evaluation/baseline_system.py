"""Baselines as systems to evaluate: `name`, `name:folder` or `name:folder,setting=value`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from importlib.metadata import version
from itertools import islice
from typing import Any

from erukg.errors import InputError, did_you_mean
from erukg.research.baselines.autokeygen import AutoKeyGen
from erukg.research.baselines.banked import BankedModel
from erukg.research.baselines.base import Baseline, GenerativeBaseline
from erukg.research.baselines.copyrnn import CopyRnn
from erukg.research.baselines.embedders import SentenceModel, embedder
from erukg.research.baselines.embedrank import EmbedRank
from erukg.research.baselines.keybert import KeyBert
from erukg.research.baselines.llm import LanguageModel, Llm
from erukg.research.baselines.multipartiterank import MultipartiteRank
from erukg.research.baselines.neural.model import CopyModel
from erukg.research.baselines.positionrank import PositionRank
from erukg.research.baselines.promptkp import Filler, PromptKp
from erukg.research.baselines.promptrank import EncoderDecoder, PromptRank
from erukg.research.baselines.tagged import TAGGED_BY, Reader
from erukg.research.baselines.textrank import TextRank
from erukg.research.baselines.tfidf import FrequencyCorpus, TfIdf
from erukg.research.baselines.tpg import Tpg
from erukg.research.baselines.uokg import Uokg, UokgModel
from erukg.research.baselines.yake import Yake
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.metrics import DEPTH
from erukg.research.evaluation.provenance import source_hash
from erukg.research.evaluation.systems import System, SystemOptions, UnavailableSystem, parse_setting

__all__ = ["BaselineSystem", "make"]

#: Everything that decides a baseline's phrases besides its weights and settings, which describe themselves.
SOURCES = ("core", "backends", "io", "taggers.py", "research/baselines")


@dataclass(frozen=True)
class _Recipe:
    """How a baseline is made: of what stands at the path given with its name, and of tags where it uses any."""

    make: Callable[..., Baseline | GenerativeBaseline]
    part: str | None = None
    load: Callable[[str], Any] | None = None
    wants: str = ""
    tags: bool = True


_VECTORS = "weights not available (give {}:FOLDER, a sentence-transformers model)"
_BATCH = 32  # texts given to a baseline that works on many at once


def _trained(
    make: Callable[..., GenerativeBaseline], load: Callable[[str], Any] = CopyModel.load, tags: bool = False
) -> _Recipe:
    """A baseline of a folder that `erukg train baseline` wrote."""
    wants = "weights not available (give {0}:FOLDER, written by erukg train baseline {0})"
    return _Recipe(make, "model", load, wants, tags)


_RECIPES: dict[str, _Recipe] = {
    "textrank": _Recipe(TextRank),
    "multipartiterank": _Recipe(MultipartiteRank),
    "positionrank": _Recipe(PositionRank),
    "tfidf": _Recipe(TfIdf, "corpus", FrequencyCorpus, "document frequencies not available (give {}:FILE, a corpus)"),
    "yake": _Recipe(Yake, tags=False),
    "keybert": _Recipe(KeyBert, "embedder", SentenceModel, _VECTORS, tags=False),
    "embedrank": _Recipe(EmbedRank, "embedder", embedder, f"{_VECTORS[:-1]} or a file of word vectors)"),
    "promptrank": _Recipe(
        PromptRank, "model", EncoderDecoder, "weights not available (give {}:FOLDER, a T5 model or another one)"
    ),
    "copyrnn": _trained(CopyRnn),
    "tpg": _trained(Tpg),
    "autokeygen": _trained(AutoKeyGen, BankedModel.load, tags=True),
    "uokg": _trained(Uokg, UokgModel.load),
    "promptkp": _trained(PromptKp, Filler),
    "llm": _Recipe(Llm, "model", LanguageModel, "weights not available (give {0}:FOLDER or {0}:FILE.gguf)", tags=False),
}


class BaselineSystem:
    """A baseline as `evaluate` runs it. All that a `Baseline` finds stands in the text, so nothing is absent."""

    def __init__(self, name: str, baseline: Baseline | GenerativeBaseline) -> None:
        self.name = name
        self.baseline = baseline

    def describe(self) -> Mapping[str, Any]:
        parts = _fields(self.baseline)
        described = {name: part.describe() for name, part in parts.items() if hasattr(part, "describe")}
        packages = getattr(self.baseline, "packages", ())
        return {
            "settings": {name: value for name, value in parts.items() if name not in described},
            **described,
            "versions": {package: version(package) for package in packages},
            "top_k": DEPTH,
            "code": source_hash(*SOURCES),
        }

    def phrases(self, text: str, top_k: int = DEPTH) -> tuple[list[str], list[str]]:
        """The present and absent phrases of one text, best first."""
        if isinstance(self.baseline, GenerativeBaseline):
            return self.baseline.phrases(text, top_k)
        return [phrase for phrase, score in self.baseline.extract(text, top_k) if score > 0], []

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        many = getattr(self.baseline, "phrases_of", None)
        if many is None:
            yield from (self.phrases(record.text) for record in records)
            return
        waiting = iter(records)
        while texts := [record.text for record in islice(waiting, _BATCH)]:
            yield from many(texts, DEPTH)


def make(spec: str, options: SystemOptions) -> System:
    """The baseline called `spec`. Settings of other systems (`options.settings`) are not its own."""
    name = spec.partition(":")[0].strip()
    recipe = _RECIPES[name]
    path: str | None = None
    tagger: str | None = None
    model = options.model
    changes: dict[str, Any] = {}
    for argument in options.arguments:
        key, equals, value = argument.partition("=")
        if not equals:
            if recipe.part is None or path is not None:
                raise InputError(f"In the system '{spec}', '{argument}' is not of the form name=value.")
            path = argument
        elif key == "tagger" and recipe.tags:
            tagger = value
        elif key == "model" and recipe.tags:
            model = value
        else:
            changes.update([parse_setting(argument)])
    parts: dict[str, Any] = {"reader": Reader(tagger, model or TAGGED_BY)} if recipe.tags else {}
    if recipe.part is not None:
        if path is None:
            return UnavailableSystem(spec, recipe.wants.format(name))
        assert recipe.load is not None
        parts[recipe.part] = recipe.load(path)
    return BaselineSystem(spec, _changed(recipe.make(**parts), changes, spec))


def _changed(baseline: Any, changes: Mapping[str, Any], spec: str) -> Baseline | GenerativeBaseline:
    known = {name: value for name, value in _fields(baseline).items() if isinstance(value, bool | int | float)}
    for name, value in changes.items():
        if name not in known:
            hint = did_you_mean(name, known, "it has: {known}." if known else "it has none.")
            raise InputError(f"In the system '{spec}' there is no setting '{name}'; {hint}")
        wanted = type(known[name])
        least = 1 if wanted is int else 0
        if isinstance(value, bool) != (wanted is bool) or (wanted is int and not isinstance(value, int)):
            raise InputError(f"In the system '{spec}', '{name}' must be of type {wanted.__name__}, not {value!r}.")
        if wanted is not bool and not (isinstance(value, int | float) and least <= value < 1e12):
            raise InputError(f"In the system '{spec}', '{name}' must be a number from {least} up, not {value!r}.")
    made: Baseline | GenerativeBaseline = dataclasses.replace(
        baseline, **{k: type(known[k])(v) for k, v in changes.items()}
    )
    return made


def _fields(baseline: Any) -> dict[str, Any]:
    return {field.name: getattr(baseline, field.name) for field in fields(baseline)}

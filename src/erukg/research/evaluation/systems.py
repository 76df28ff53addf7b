"""The systems that can be evaluated, asked for as `name` or `name:option,option=value`."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Protocol

from erukg.errors import ErukgError, InputError
from erukg.research.evaluation.records import Record

__all__ = [
    "SYSTEMS",
    "NotAvailableError",
    "Options",
    "System",
    "Unavailable",
    "changed",
    "make_system",
    "parse_setting",
]


class NotAvailableError(ErukgError):
    """A system cannot be run because something it is made of, such as its weights, was not given."""


class System(Protocol):
    """Anything that predicts keyphrases. A prediction may depend on no other document of the set."""

    @property
    def name(self) -> str:
        """How reports call it."""

    def describe(self) -> Mapping[str, Any]:
        """Everything its predictions depend on (settings, hashes of models and data), as plain JSON data.

        Raises NotAvailableError where the system cannot be run; reports then say so instead of a figure.
        """

    def predict(self, records: Iterable[Record]) -> Iterable[tuple[Sequence[str], Sequence[str]]]:
        """For each record its present and absent phrases, best first, up to 50 each, score > 0."""


class Unavailable:
    """A system that cannot be run, because what it is made of was not given: reports say so."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self._reason = reason

    def describe(self) -> Mapping[str, Any]:
        raise NotAvailableError(self._reason)

    def predict(self, records: Iterable[Record]) -> Iterable[tuple[Sequence[str], Sequence[str]]]:
        raise NotAvailableError(self._reason)


@dataclass(frozen=True, slots=True)
class Options:
    """What a system is made with. A baseline takes what concerns it and ignores the rest.

    `settings` are those of this package's own systems; `arguments` is what followed the system's own name. `tagger`
    ("spacy", "spacy:NAME", "nltk") takes the place of the tag head in this package's own systems.
    """

    model: str | None = None
    collection: str | None = None
    paper: bool = False
    threads: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    tagger: str | None = None


# name -> "module:callable"; the callable takes (name, Options) and returns a System. Imported when asked for.
SYSTEMS: dict[str, str] = {
    "erukg-generate": "erukg.research.evaluation.ours:generating",
    "erukg-extract": "erukg.research.evaluation.ours:extracting",
    "textrank": "erukg.research.baselines.system:make",
    "multipartiterank": "erukg.research.baselines.system:make",
    "positionrank": "erukg.research.baselines.system:make",
    "tfidf": "erukg.research.baselines.system:make",
    "yake": "erukg.research.baselines.system:make",
    "keybert": "erukg.research.baselines.system:make",
    "embedrank": "erukg.research.baselines.system:make",
    "promptrank": "erukg.research.baselines.system:make",
}


def make_system(spec: str, options: Options | None = None) -> System:
    """The system called `spec`; what follows the colon changes `options` for this one.

    `erukg-generate:paper`, `erukg-generate:alpha=1,beta=0.6`, `erukg-extract:model=folder` and
    `erukg-extract:tagger=spacy:en_core_web_sm` are variants that can be compared in one run; a variant's name is
    the whole of `spec`. A baseline that needs weights has their path there: `embedrank:folder`.
    """
    name, _, rest = spec.partition(":")
    name = name.strip()
    if name not in SYSTEMS:
        near = difflib.get_close_matches(name.lower(), SYSTEMS, 1, 0.4)
        hint = f"did you mean '{near[0]}'?" if near else f"known systems: {', '.join(SYSTEMS)}."
        raise InputError(f"There is no system '{name}'; {hint}")
    module, _, attribute = SYSTEMS[name].partition(":")
    make: Callable[[str, Options], System] = getattr(import_module(module), attribute)
    arguments = tuple(filter(None, (part.strip() for part in rest.split(","))))
    return make(spec.strip(), replace(options or Options(), arguments=arguments))


def changed(options: Options, spec: str) -> Options:
    """The options with those of `arguments` that one of this package's own systems takes put in."""
    model, collection, paper, tagger = options.model, options.collection, options.paper, options.tagger
    settings = dict(options.settings)
    for change in options.arguments:
        name, equals, value = change.partition("=")
        if change == "paper":
            paper = True
        elif not equals:
            raise InputError(f"In the system '{spec}', '{change}' is neither 'paper' nor of the form name=value.")
        elif name == "model":
            model = value
        elif name == "collection":
            collection = value
        elif name == "tagger":
            tagger = None if value == "model" else value
        else:
            settings.update([parse_setting(change)])
    return Options(model, collection, paper, options.threads, settings, tagger=tagger)


def parse_setting(text: str) -> tuple[str, Any]:
    """`"alpha=0.6"` as `("alpha", 0.6)`; whether there is such a setting is for the settings to say."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value.strip():
        raise InputError(f"'{text}' is not a setting; write it as name=value, for instance alpha=0.6.")
    try:
        return name.strip(), json.loads(value.strip().lower())
    except ValueError:
        raise InputError(
            f"The setting '{name.strip()}' needs a number, true or false, not '{value.strip()}'."
        ) from None

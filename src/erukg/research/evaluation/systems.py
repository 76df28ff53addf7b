"""The systems that can be evaluated, asked for as `name` or `name:option,option=value`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Protocol

from erukg.errors import ErukgError, InputError, did_you_mean
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.metrics import DEPTH

__all__ = [
    "SYSTEMS",
    "NotAvailableError",
    "System",
    "SystemOptions",
    "UnavailableSystem",
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


class UnavailableSystem:
    """A system that cannot be run, because what it is made of was not given: reports say so."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self._reason = reason

    def describe(self) -> Mapping[str, Any]:
        raise NotAvailableError(self._reason)

    def predict(self, records: Iterable[Record]) -> Iterable[tuple[Sequence[str], Sequence[str]]]:
        raise NotAvailableError(self._reason)


@dataclass(frozen=True, slots=True)
class SystemOptions:
    """What a system is made with. A baseline takes what concerns it and ignores the rest.

    `settings` are those of this package's own systems; `arguments` is what followed the system's own name. `tagger`
    ("spacy", "spacy:NAME", "nltk") takes the place of the tag head in this package's own systems. `top_k`: how many
    phrases of each kind these are asked for, where the length of a list may decide what is in it.
    """

    model: str | None = None
    collection: str | None = None
    style: str = "balanced"
    threads: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    tagger: str | None = None
    top_k: int = DEPTH


_GENERATOR = "erukg.research.evaluation.generator_system"
_BASELINE = "erukg.research.evaluation.baseline_system"

#: By name the module whose `make(name, SystemOptions)` returns the system; imported when asked for.
SYSTEMS: dict[str, str] = {
    **dict.fromkeys(("erukg-generate", "erukg-extract"), _GENERATOR),
    **dict.fromkeys(("textrank", "multipartiterank", "positionrank", "tfidf"), _BASELINE),
    **dict.fromkeys(("yake", "keybert", "embedrank", "promptrank"), _BASELINE),
    **dict.fromkeys(("copyrnn", "tpg", "autokeygen", "uokg", "promptkp", "llm"), _BASELINE),
    "file": "erukg.research.evaluation.kpeval",
}


def make_system(spec: str, options: SystemOptions | None = None) -> System:
    """The system called `spec`; what follows the colon changes `options` for this one.

    `erukg-generate:paper`, `erukg-generate:alpha=1,beta=0.6`, `erukg-extract:model=folder` and
    `erukg-extract:tagger=spacy:en_core_web_sm` are variants that can be compared in one run; a variant's name is
    the whole of `spec`. A baseline that needs weights has their path there: `embedrank:folder`. `file:PATH` has the
    predictions that stand in a file.
    """
    name, _, rest = map(str.strip, spec.partition(":"))
    if name not in SYSTEMS:
        raise InputError(f"There is no system '{name}'; {did_you_mean(name, SYSTEMS, 'known systems: {known}.')}")
    make: Callable[[str, SystemOptions], System] = import_module(SYSTEMS[name]).make
    arguments = tuple(filter(None, (part.strip() for part in rest.split(","))))
    return make(spec.strip(), replace(options or SystemOptions(), arguments=arguments))


def parse_setting(text: str) -> tuple[str, Any]:
    """`"alpha=0.6"` as `("alpha", 0.6)`; whether there is such a setting is for the settings to say."""
    name, _, value = map(str.strip, text.partition("="))
    if not name or not value:
        raise InputError(f"'{text}' is not a setting; write it as name=value, for instance alpha=0.6.")
    try:
        return name, json.loads(value.lower())
    except ValueError:
        raise InputError(f"The setting '{name}' needs a number, true or false, not '{value}'.") from None

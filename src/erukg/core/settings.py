"""All numbers a user can turn, in one frozen, validated place."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from erukg.core.arguments import checked
from erukg.errors import SettingsError, did_you_mean

__all__ = ["STYLES", "Settings"]


def _number(default: float, low: float, high: float, help: str, paper: float | None = None) -> Any:
    """A number and its range; `paper` is the paper's value where that is another one."""
    metadata = {"low": low, "high": high, "help": help, "paper": default if paper is None else paper}
    return field(default=default, metadata=metadata)


def _switch(default: bool, help: str, paper: bool) -> Any:
    return field(default=default, metadata={"help": help, "paper": paper})


#: Lists for different readers: what each style is made with, where that differs from the defaults. `complete` keeps
#: phrases that contain one another, as authors' keywords do; `paper` is `Settings.paper()`.
STYLES: dict[str, dict[str, Any]] = {
    "balanced": {},
    "complete": {
        "merge": False,
        "coined": True,
        "phraseness": 0.45,
        "length_penalty": -1.5,
        "known": 1.1,
        "generic": 0.4,
        # Who wants all that fits can wait for a wider search.
        "search_words": 64,
        "neighbour_candidates": 1000,
        "absent_composed": 0.05,
        # Nor does confidence hold back what is all but nothing to readers.
        "min_confidence": 0.001,
    },
    "short": {"length_penalty": -0.5, "single_word": 1.0},
    "long": {"length_penalty": -5.0, "single_word": 0.5},
    "paper": {},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How candidates are found and scored: score = ω^p · P_pn^λ · f̂, less for single words, more for absent phrases
    that describe many documents of the collection.

    Plain `Settings()` holds the values that did best on the development sets; `Settings.paper()` has the paper's values
    and none of the factors that it does not have. `settings.replace(alpha=1, beta=1)` makes a changed copy. Fields
    whose name starts with `absent_` apply to phrases that do not occur in the text, their namesakes to phrases that do.
    """

    alpha: float = _number(1.0, 0, 1, "α: the document's share of term weights; the rest is its neighbours'", paper=0.8)
    beta: float = _number(0.5, 0, 1, "β: the document's share of phraseness; the rest is its neighbours'", paper=0.8)
    phraseness: float = _number(0.38, 0, 10, "λ: exponent of P_pn", paper=1.5)
    length_penalty: float = _number(
        -2.0, -20, 0.9, "γ: f̂ divides by |c| - γ, so lower values favour longer phrases", paper=-0.25
    )
    position: float = _number(2.0, 0, 10, "exponent of the position factor ω", paper=1.0)
    single_word: float = _number(0.8, 0, 1, "factor for phrases of one word", paper=1.0)
    generic: float = _number(
        0.0, 0, 1, "factor for words that say little alone: 'result', 'people'; 0 leaves them out", paper=1.0
    )
    loose: float = _number(
        0.8, 0, 1, "factor for phrases with 'of' that neither the text nor the collection repeats", paper=1.0
    )
    part: float = _number(0.9, 0, 1, "factor for phrases that stand in the text only as part of longer ones", paper=1.0)
    embedded: float = _number(
        0.7, 0, 1, "factor for phrases of the collection that are no phrases of their own in the text", paper=1.0
    )
    known: float = _number(1.05, 1, 10, "factor for phrases that the collection knows", paper=1.0)
    balance: float = _number(0.2, 0, 10, "exponent of how much a phrase's first word weighs beside the rest", paper=0.0)
    affinity: float = _number(
        2.0, 0, 10, "how much it counts against a phrase that it is far from the text in meaning", paper=0.0
    )
    absent_alpha: float = _number(1.0, 0, 1, "α for absent phrases", paper=0.8)
    absent_phraseness: float = _number(0.35, 0, 10, "λ for absent phrases", paper=1.5)
    absent_length_penalty: float = _number(-0.25, -20, 0.9, "γ for absent phrases")
    absent_commonness: float = _number(
        0.1, 0, 10, "exponent of how many documents of the collection an absent phrase describes", paper=0.0
    )
    absent_single_word: float = _number(0.33, 0, 1, "factor for absent phrases of one word", paper=1.0)
    absent_parts: float = _number(
        0.5, 0, 1, "how much a word of an absent phrase counts that is in the text only inside other words", paper=1.0
    )
    absent_cover: float = _number(
        0.5, 0, 10, "exponent of the share of an absent phrase's words that say something about the text", paper=0.0
    )
    absent_agreement: float = _number(
        0.3, 0, 10, "exponent of how many of the neighbours have an absent phrase", paper=0.0
    )
    absent_affinity: float = _number(
        2.0, 0, 10, "how much it counts how near an absent phrase comes to the text in meaning", paper=0.0
    )
    absent_learned: float = _number(
        1.0, 0, 10, "exponent of the learned ranking of absent phrases, in models that have one", paper=0.0
    )
    absent_composed: float = _number(
        0.03,
        0,
        1,
        "phraseness of absent phrases made of the text's words: 'image classification' for 'classification of images'",
        paper=0.0,
    )
    neighbours: int = _number(
        400, 0, 10_000, "N: how many similar documents of the collection are consulted", paper=100
    )
    search_words: int = _number(
        32, 0, 100_000, "how many words of the text look for similar documents, the weightiest; 0 for all", paper=0
    )
    neighbour_candidates: int = _number(
        400, 0, 100_000, "how many of the neighbours' phrases are considered", paper=100
    )
    frequency: bool = _switch(
        True, "P(c|C_x) in proportion to how often c stands in the text, instead of 1/|C_x|", paper=False
    )
    whole_phrases: bool = _switch(
        True,
        "find names, participles, phrases with 'of' and 'and', not the paper's noun phrases",
        paper=False,
    )
    drop_contained: bool = _switch(
        True,
        "leave out a single word that is part of a better phrase, and an absent phrase that varies another",
        paper=False,
    )
    merge: bool = _switch(True, "list phrases that contain one another, and acronyms, only once", paper=False)
    coined: bool = _switch(
        False, "make absent phrases of the text's words also where the collection knows no such phrase", paper=False
    )
    abstain: bool = _switch(
        True,
        "give no absent phrases for texts unlike the collection, and only agreed ones for short texts",
        paper=False,
    )
    min_confidence: float = _number(0.006, 0, 1, "leave out phrases with a lower confidence", paper=0.0)
    diversity: float = _number(0.0, 0, 1, "push down phrases that repeat the terms of better ones")
    max_words: int = _number(5, 1, 10, "longest phrase, in words")

    def __post_init__(self) -> None:
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if f.type == "bool":
                if not isinstance(value, bool):
                    raise SettingsError(f"Setting '{f.name}' must be true or false, not {value!r}.")
                continue
            low, high = f.metadata["low"], f.metadata["high"]
            kind = int if f.type == "int" else float
            number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
            if not number or (kind is int and value != int(value)) or not low <= value <= high:
                what = "a whole number" if kind is int else "a number"
                raise SettingsError(f"Setting '{f.name}' must be {what} from {low} to {high}, not {value!r}.")
            object.__setattr__(self, f.name, kind(value))

    @classmethod
    def paper(cls, **changes: Any) -> Settings:
        """The paper's settings: α = β = 0.8, λ = 1.5, γ = -0.25, N = 100, 100 neighbour candidates.

        They rank as the paper does over a collection that is made as the paper's is (`paper_collection`); where they
        still differ from it is listed in docs/decisions.md.
        """
        return cls.from_mapping({**{f.name: f.metadata["paper"] for f in dataclasses.fields(cls)}, **changes})

    @classmethod
    def paper_collection(cls) -> Settings:
        """How the paper chooses the phrases that a document of the collection lends: by f(c, x') alone (Eqs. 3, 9)."""
        return cls.paper(phraseness=0.0, position=0.0)

    @classmethod
    @checked
    def styled(cls, style: str, **changes: Any) -> Settings:
        """The settings of a style by its name: one of `STYLES`."""
        if style not in STYLES:
            raise SettingsError(f"There is no style '{style}'; {did_you_mean(style, list(STYLES), 'use {known}.')}")
        return (cls.paper() if style == "paper" else cls(**STYLES[style])).replace(**changes)

    @classmethod
    @checked
    def from_mapping(cls, values: Mapping[str, Any]) -> Settings:
        """Settings from plain data; a name that does not exist is refused with the nearest one that does."""
        known = [f.name for f in dataclasses.fields(cls)]
        for name in values:
            if name not in known:
                hint = did_you_mean(name, known, "known settings: {known}.")
                raise SettingsError(f"There is no setting '{name}'; {hint}")
        return cls(**values)

    def replace(self, **changes: Any) -> Settings:
        """A copy with some values changed."""
        return Settings.from_mapping({**self.to_dict(), **changes})

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def extraction(self) -> Settings:
        """A copy with α = β = 1: only what the text itself holds."""
        return self.replace(alpha=1.0, beta=1.0)

    def for_search(self) -> Settings:
        """A copy that keeps weak phrases: as search terms, those that no reader would sign find documents too."""
        return self.replace(min_confidence=0.0, generic=max(self.generic, STYLES["complete"]["generic"]))

    def for_own_corpus(self) -> Settings:
        """A copy of `for_search` for when the collection is the corpus that is searched.

        The nearest of its documents are about the same, and no text is foreign to it. The learned ranking was made for
        larger collections.
        """
        return self.for_search().replace(neighbours=10, search_words=0, absent_learned=0.0, abstain=False)

    def calibrated(self, *, present: bool) -> bool:
        """Whether scores of this kind are on the scale that confidence was calibrated for: that of plain settings."""
        return all(getattr(self, name) == value for name, value in _SCALES[present].items())

    @property
    def uses_neighbours(self) -> bool:
        """False when α = β = 1 (extraction) or N = 0: then the collection is not touched at all."""
        return self.neighbours > 0 and (self.alpha < 1 or self.beta < 1)


_DEFAULTS = {f.name: f.default for f in dataclasses.fields(Settings)}
# How much phrases that the text's own words make count moves no others.
_OF_NO_SCALE = ("absent_composed",)
_SCALES = {
    True: {n: _DEFAULTS[n] for n in ("alpha", "phraseness", "length_penalty", "position", "single_word", "frequency")}
    | {
        n: _DEFAULTS[n]
        for n in ("generic", "loose", "part", "embedded", "known", "balance", "affinity", "whole_phrases")
    },
    False: {n: v for n, v in _DEFAULTS.items() if (n == "beta" or n.startswith("absent_")) and n not in _OF_NO_SCALE},
}

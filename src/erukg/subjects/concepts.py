"""Concepts, and the form in which their labels are looked for in a text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from erukg.core.folding import fold
from erukg.core.phrase_list import natural_order
from erukg.errors import InputError

__all__ = ["Concept", "Entry", "VocabularyLimits", "checked", "matching_form"]

_QUALIFIER = re.compile(r"(?<=\S)\s+(?:\([^()]*\)|\[[^\[\]]*\])\s*$")
# Halves of surrogate pairs too: no file can hold them, so they would not be found again.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Concept:
    """One entry of a vocabulary.

    uri                 what it is known by; a tag without one is its own
    label               the preferred label, for show
    notation            its number or code in the scheme, if any
    alternatives        other labels that mean it: synonyms, spellings, abbreviations
    broader             URIs of the concepts right above it
    labels_by_language  preferred labels in other languages, where they were asked for
    """

    uri: str
    label: str
    notation: str = ""
    alternatives: tuple[str, ...] = ()
    broader: tuple[str, ...] = ()
    labels_by_language: Mapping[str, str] = field(default_factory=dict)


Entry: TypeAlias = tuple[str, Concept | str]
"""Where a concept was found, for messages, and the concept, or the label of one that has nothing else."""


@dataclass(frozen=True, slots=True)
class VocabularyLimits:
    """The largest vocabulary that is accepted, so that a hostile or mistaken file costs bounded memory and time.

    concepts      in the vocabulary
    labels        of one concept
    label_length  of one label, URI or notation, in characters
    bytes         of a file of RDF, after decompression
    """

    concepts: int = 2_000_000
    labels: int = 10_000
    label_length: int = 2_000
    bytes: int = 300_000_000


def matching_form(label: str) -> str:
    """What stands in a text where the label is meant, folded: inverted headings as they are read, qualifiers left out.

    >>> matching_form("Fractures, Hip") == matching_form("hip fracture")
    True
    >>> matching_form("Mercury (planet)")
    'mercury'
    """
    while (bare := _QUALIFIER.sub("", label)) != label:
        label = bare
    return fold(natural_order(label))


def checked(entries: Iterable[Entry], limits: VocabularyLimits) -> Iterator[Concept]:
    """The concepts with white space made even and repeated labels dropped; a string is URI and label of a tag.

    Raises an `InputError` for what cannot be a concept, and for two with one URI. Tags given twice are kept once.
    """
    seen: dict[str, str] = {}
    for place, concept in entries:
        one = _clean(concept, limits, place)
        if one.uri in seen:
            if not isinstance(concept, str):
                raise InputError(
                    f"{place}: The URI {_short(one.uri)} is that of another concept too ({seen[one.uri]})."
                )
            continue
        if len(seen) == limits.concepts:
            raise InputError(
                f"{place}: There are more than {limits.concepts:,} concepts, the most that a vocabulary may have; "
                "leave out what is not needed."
            )
        seen[one.uri] = place
        yield one


def _clean(concept: Concept | str, limits: VocabularyLimits, place: str) -> Concept:
    if isinstance(concept, str):
        label = _line(concept, "label", limits, place)
        return Concept(label, label)
    if not isinstance(concept, Concept):
        raise InputError(f"{place}: A concept must be a Concept or a string, not {type(concept).__name__}.")
    uri, label = _line(concept.uri, "URI", limits, place), _line(concept.label, "label", limits, place)
    if 1 + len(concept.alternatives) > limits.labels:
        raise InputError(f"{place}: {_short(uri)} has more than {limits.labels:,} labels.")
    alternatives = dict.fromkeys(
        _line(alternative, "label", limits, place, empty=True) for alternative in concept.alternatives
    )
    return Concept(
        uri=uri,
        label=label,
        notation=_line(concept.notation, "notation", limits, place, empty=True),
        alternatives=tuple(alternative for alternative in alternatives if alternative not in ("", label)),
        broader=tuple(dict.fromkeys(_line(above, "URI", limits, place, empty=True) for above in concept.broader)),
        labels_by_language={
            language: _line(text, "label", limits, place) for language, text in concept.labels_by_language.items()
        },
    )


def _line(text: object, what: str, limits: VocabularyLimits, place: str, *, empty: bool = False) -> str:
    if not isinstance(text, str):
        raise InputError(f"{place}: The {what} is not a string but {type(text).__name__}.")
    line = " ".join(text.split())
    if not line and not empty:
        raise InputError(f"{place}: The {what} is empty.")
    if len(line) > limits.label_length:
        raise InputError(
            f"{place}: The {what} has {len(line):,} characters, more than {limits.label_length:,}; "
            "is this a list of concepts?"
        )
    if not line.isprintable() and _CONTROL.search(line):
        raise InputError(f"{place}: The {what} has control characters in it, so this is no text.")
    return line


def _short(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")

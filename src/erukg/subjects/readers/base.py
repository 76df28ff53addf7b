"""What a reader is asked for, and how the cells of a row or the fields of an object become a concept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from erukg.errors import InputError
from erukg.subjects.concepts import Concept, VocabularyLimits

__all__ = ["Columns", "Fields", "Report", "Wanted", "bare", "listed", "missing_language"]

_URI = ("uri", "iri", "@id", "id", "url", "concept", "identifier", "subject")
_LABEL = ("label", "preflabel", "pref_label", "preferred_label", "preferred label", "name", "term", "heading", "tag")
_ALTERNATIVES = ("alternatives", "altlabel", "altlabels", "alt_label", "alt_labels", "synonyms", "synonym", "aliases")
_NOTATION = ("notation", "code")
_BROADER = ("broader", "parent", "parents")
_IN_LANGUAGE = re.compile(r"(.+?)[_@]([a-z]{2,3}(?:-[a-z0-9]+)*)")
_LANGUAGES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Columns:
    """Where a table or JSON Lines have what: the names of columns or fields, or numbers of columns from 1.

    Those that are not given go by the usual names, "uri", "label", "alternatives", "notation" and "broader" among them.
    `separator` stands between several labels or URIs in one cell.
    """

    uri: str | None = None
    label: str | None = None
    alternatives: str | None = None
    notation: str | None = None
    broader: str | None = None
    separator: str = "|"

    @property
    def given(self) -> dict[str, str]:
        """Those that are."""
        names = ("uri", "label", "alternatives", "notation", "broader")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


@dataclass(slots=True)
class Report:
    """What a reader left out: concepts that are deprecated, or have no label in the language, or no URI."""

    deprecated: int = 0
    unlabelled: int = 0
    unnamed: int = 0

    @property
    def left_out(self) -> dict[str, int]:
        """How many of which kind, if any."""
        counts = {
            "deprecated": self.deprecated,
            "without a label in the language": self.unlabelled,
            "without a URI": self.unnamed,
        }
        return {kind: count for kind, count in counts.items() if count}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a reader: the labels' language, languages of translations, the columns of a table, the limits;
    and where it says what it left out.
    """

    language: str = "en"
    translations: tuple[str, ...] = ()
    columns: Columns = field(default_factory=Columns)
    limits: VocabularyLimits = field(default_factory=VocabularyLimits)
    report: Report = field(default_factory=Report)


@dataclass(frozen=True, slots=True)
class Fields:
    """Which of a table's columns or an object's fields make a concept."""

    uri: str
    label: str
    alternatives: str | None
    notation: str | None
    broader: str | None
    translations: Mapping[str, str]
    separator: str

    @classmethod
    def find(cls, names: Sequence[str], wanted: Wanted, place: str) -> Fields:
        """Found among the names, which are in lower case; an `InputError` for what there is none of."""
        given = {what: _column(name, names, place) for what, name in wanted.columns.given.items()}
        by_language = {
            found[2]: name
            for name in names
            if (found := _IN_LANGUAGE.fullmatch(name)) is not None and found[1] in _LABEL
        }
        label = given.get("label") or by_language.get(wanted.language.lower()) or _first(_LABEL, names)
        uri = given.get("uri") or _first(_URI, names)
        if label is None and by_language:
            raise missing_language(place, wanted.language, by_language)
        for what, found_name in (("label", label), ("uri", uri)):
            if found_name is None:
                shown = ", ".join(repr(name[:40]) for name in names[:8]) or "nothing"
                meant = "label" if what == "label" else "URI"
                raise InputError(
                    f"{place}: There is no column '{what}' (but {shown}); name the one that has the {meant} "
                    f"with --{what}-column."
                )
        assert uri is not None
        assert label is not None
        alternatives = [f"{name}{mark}{wanted.language.lower()}" for name in _ALTERNATIVES for mark in "_@"]
        return cls(
            uri=uri,
            label=label,
            alternatives=given.get("alternatives") or _first((*alternatives, *_ALTERNATIVES), names),
            notation=given.get("notation") or _first(_NOTATION, names),
            broader=given.get("broader") or _first(_BROADER, names),
            translations={
                each: by_language[each.lower()] for each in wanted.translations if each.lower() in by_language
            },
            separator=wanted.columns.separator,
        )

    def concept(self, row: Mapping[str, object]) -> Concept:
        """The concept in a row; whether its values make sense is for `concepts.checked` to say."""
        return Concept(
            uri=bare(row.get(self.uri)),
            label=_text(row.get(self.label)),
            notation=_text(row.get(self.notation)) if self.notation else "",
            alternatives=listed(row.get(self.alternatives), self.separator) if self.alternatives else (),
            broader=tuple(map(bare, listed(row.get(self.broader), self.separator))) if self.broader else (),
            labels_by_language={
                language: text for language, name in self.translations.items() if (text := _text(row.get(name)))
            },
        )


def _column(name: str, names: Sequence[str], place: str) -> str:
    if name.lower() in names:
        return name.lower()
    if name.isdecimal() and 1 <= int(name) <= len(names):
        return names[int(name) - 1]
    shown = ", ".join(repr(each[:40]) for each in names[:8])
    raise InputError(f"{place}: There is no column {name[:40]!r} (but {shown}).")


def _first(wanted: Iterable[str], names: Sequence[str]) -> str | None:
    return next((name for name in wanted if name in names), None)


def _text(value: object) -> str:
    """A cell's text; what is none is left for `concepts.checked` to refuse."""
    return "" if value is None else str(value) if type(value) is int else cast("str", value)


def bare(value: object) -> str:
    """A URI without the angle brackets that Annif's files put it in."""
    text = _text(value)
    if not isinstance(text, str):
        return text
    text = text.strip()
    return text[1:-1] if text.startswith("<") and text.endswith(">") else text


def listed(value: object, separator: str) -> tuple[str, ...]:
    """The labels or URIs in a cell or a list."""
    if isinstance(value, list):
        return tuple(value)
    return tuple(value.split(separator)) if isinstance(value, str) else ()


def missing_language(place: str, language: str, known: Iterable[str]) -> InputError:
    """The error for a vocabulary that has no labels in the language asked for."""
    found = sorted(set(known))
    shown = ", ".join(found[:_LANGUAGES_SHOWN]) + (", …" if len(found) > _LANGUAGES_SHOWN else "")
    return InputError(f"{place} has no labels in '{language}', but in {shown}; choose one of these with --language.")

"""SKOS in Turtle, RDF/XML and N-Triples, parsed by rdflib; of the triples only what makes concepts is kept."""

from __future__ import annotations

import io
import logging
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from erukg.errors import InputError, require
from erukg.io.streams import decode, open_bytes, read_all
from erukg.subjects.concepts import Concept, Entry
from erukg.subjects.readers.base import Wanted, missing_language

__all__ = ["read_ntriples", "read_rdfxml", "read_turtle"]

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_XL = "http://www.w3.org/2008/05/skos-xl#"
_ISO_THES = "http://purl.org/iso25964/skos-thes#"
_LABELS = {"prefLabel": "preferred", "altLabel": "alternative", "hiddenLabel": "alternative"}
_BROADER = {f"{_SKOS}broader", *(f"{_ISO_THES}broader{kind}" for kind in ("Generic", "Partitive", "Instantial"))}
_NARROWER = {f"{_SKOS}narrower", *(f"{_ISO_THES}narrower{kind}" for kind in ("Generic", "Partitive", "Instantial"))}
# What has a preferred label too, and is no concept.
_GROUPS = {f"{_SKOS}ConceptScheme", f"{_SKOS}Collection", f"{_SKOS}OrderedCollection"}
_LOCAL = re.compile(r"[^#/]*$")
_STATUSES = {"status", "term_status", "hasStatus"}
_GONE = re.compile(r"(?:deprecated|obsolete|withdrawn|retired|archaic)", re.IGNORECASE)
_GONE_NOTE = re.compile(r"\s*(?:deprecated|obsolete|withdrawn)\s*(?:$|[.,;:(])", re.IGNORECASE)
_LONGEST_REASON = 120

Text: TypeAlias = tuple[str, str]
"""A language, or nothing, and a label."""


def read_turtle(path: Path, wanted: Wanted) -> Iterator[Entry]:
    """Turtle: the concepts in the order in which the file first names them."""
    return _read(path, wanted, "turtle", "Turtle")


def read_rdfxml(path: Path, wanted: Wanted) -> Iterator[Entry]:
    """RDF/XML, likewise."""
    return _read(path, wanted, "xml", "RDF/XML")


def read_ntriples(path: Path, wanted: Wanted) -> Iterator[Entry]:
    """N-Triples, likewise."""
    return _read(path, wanted, "nt11", "N-Triples")


@dataclass(slots=True)
class _Found:
    """What the triples say of one thing."""

    types: set[str] = field(default_factory=set)
    preferred: list[Text] = field(default_factory=list)
    alternative: list[Text] = field(default_factory=list)
    xl: list[tuple[str, Any]] = field(default_factory=list)
    literal: list[Text] = field(default_factory=list)
    notation: str = ""
    broader: list[Any] = field(default_factory=list)
    gone: bool = False


class _Things(defaultdict[Any, _Found]):
    """Everything that the triples speak of; `add` takes one triple of rdflib's."""

    def __init__(self) -> None:
        super().__init__(_Found)

    def add(self, subject: Any, predicate: Any, value: Any) -> None:
        name = str(predicate)
        local = name[len(_SKOS) :] if name.startswith(_SKOS) else ""
        if local in _LABELS:
            getattr(self[subject], _LABELS[local]).append(_text(value))
        elif local == "notation":
            self[subject].notation = self[subject].notation or str(value)
        elif name in _BROADER:
            self[subject].broader.append(value)
        elif name in _NARROWER:
            self[value].broader.append(subject)
        elif name == f"{_RDF}type":
            self[subject].types.add(str(value))
            self[subject].gone |= _local(value).startswith("Deprecated")
        elif name.startswith(_XL) and (local := name[len(_XL) :]) in _LABELS:
            self[subject].xl.append((_LABELS[local], value))
        elif name == f"{_XL}literalForm":
            self[subject].literal.append(_text(value))
        elif _says_gone(name, local, value):
            self[subject].gone = True

    def concepts(self) -> Iterator[tuple[Any, _Found]]:
        """The things that are concepts, with labels of SKOS-XL beside plain ones."""
        concept = f"{_SKOS}Concept"
        typed = any(concept in found.types for found in self.values())
        for node, found in list(self.items()):
            for kind, label in found.xl:
                getattr(found, kind).extend(self[label].literal if label in self else ())
            if concept in found.types or (not typed and found.preferred and not found.types & _GROUPS):
                yield node, found


def _text(value: Any) -> Text:
    return (getattr(value, "language", None) or "").lower(), str(value)


def _local(uri: Any) -> str:
    found = _LOCAL.search(str(uri).rstrip("#/"))
    return found[0] if found else ""


def _says_gone(predicate: str, skos: str, value: Any) -> bool:
    """Whether a triple says that its subject is deprecated, in one of the ways in use."""
    if skos:
        return skos == "historyNote" and _GONE_NOTE.match(str(value)) is not None
    local = _local(predicate)
    if local == "deprecated":
        return str(value).lower() in ("true", "1")
    return local == "isReplacedBy" or (local in _STATUSES and _GONE.fullmatch(_local(value)) is not None)


def _read(path: Path, wanted: Wanted, syntax: str, form: str) -> Iterator[Entry]:
    rdflib = require("rdflib", "skos", "Reading SKOS")
    with open_bytes(path) as stream:
        try:
            data = read_all(stream, wanted.limits.bytes)
            # XML says itself how it is encoded.
            data = data if syntax == "xml" else decode(data).encode()
        except InputError as error:
            raise InputError(f"{path} cannot be read: {error}") from error
    things = _Things()
    with _quiet():
        graph = rdflib.Graph(_store(things), bind_namespaces="none")
        try:
            graph.parse(io.BytesIO(data), format=syntax, publicID=path.absolute().as_uri())
        # rdflib's parsers raise whatever their inner parts do.
        except Exception as error:
            raise InputError(f"{path} is not {form} that can be read: {_reason(error)}.") from error
    return _entries(things, wanted, path)


def _store(things: _Things) -> Any:
    """A store for rdflib's parsers that hands the triples on and keeps none."""
    memory = require("rdflib.plugins.stores.memory", "skos", "Reading SKOS")

    class Store(memory.SimpleMemory):  # type: ignore[misc,name-defined]
        def add(self, triple: Sequence[Any], context: Any, quoted: bool = False) -> None:
            things.add(*triple)

    return Store()


@contextmanager
def _quiet() -> Iterator[None]:
    """Without rdflib's log of every date and URI that it finds odd: none of these matters here."""
    logger = logging.getLogger("rdflib")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def _reason(error: Exception) -> str:
    """The first line of what a parser says, with the number of the line where it has one."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, IndexError):
        return "it ends too soon"
    number = getattr(error, "lines", None)
    said = str(getattr(error, "_why", "") or getattr(error, "message", "") or error or type(error).__name__)
    if callable(getattr(error, "getLineNumber", None)):
        number, said = error.getLineNumber() - 1, error.getMessage()  # type: ignore[attr-defined]
    reason = " ".join(said.split())[:_LONGEST_REASON].rstrip(".: ")
    return f"line {number + 1}, {reason}" if isinstance(number, int) else reason


def _entries(things: _Things, wanted: Wanted, path: Path) -> Iterator[Entry]:
    language = wanted.language.lower()
    languages: set[str] = set()
    number = 0
    report = wanted.report
    nameless = require("rdflib", "skos", "Reading SKOS").BNode
    for node, found in things.concepts():
        if found.gone:
            report.deprecated += 1
            continue
        if isinstance(node, nameless):
            report.unnamed += 1
            continue
        labels = _chosen(found.preferred, language)
        languages.update(tag for tag, _ in found.preferred)
        if not labels:
            report.unlabelled += 1
            continue
        number += 1
        translations = {
            each: others[0]
            for each in wanted.translations
            if (others := _chosen([text for text in found.preferred if text[0]], each.lower()))
        }
        yield (
            f"{path}, <{node}>",
            Concept(
                uri=str(node),
                label=labels[0],
                notation=found.notation,
                alternatives=(*labels[1:], *_chosen(found.alternative, language)),
                broader=tuple(str(node) for node in found.broader),
                labels_by_language=translations,
            ),
        )
    if not number and languages:
        raise missing_language(str(path), wanted.language, languages)
    if not number:
        raise InputError(f"There is no concept with a label in {path}; is it SKOS?")


def _chosen(texts: Iterable[Text], language: str) -> list[str]:
    """The labels in a language, those of just this tag first; for want of any, those without a language."""
    family = language.split("-")[0]
    exact = [text for tag, text in texts if tag == language]
    near = [text for tag, text in texts if tag != language and tag.split("-")[0] == family]
    return exact + near or [text for tag, text in texts if not tag]

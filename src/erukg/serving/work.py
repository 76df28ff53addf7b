"""What is done for a document: from a checked request to jobs that give JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from erukg.core.expansion import FIELDS, expand_row
from erukg.core.inputs import TEXT_FIELDS, document_from, given_id
from erukg.core.results import Keyphrase
from erukg.core.settings import Settings
from erukg.errors import InputError
from erukg.generator import KeyphraseGenerator
from erukg.research.baselines.base import Baseline
from erukg.serving.checking import check, shown
from erukg.serving.jobs import Job
from erukg.serving.problems import Problem
from erukg.serving.readings import RecentReadings
from erukg.serving.schemas import Schema

__all__ = ["document_error", "document_id", "dump", "expand_jobs", "keyphrase_jobs", "run_baseline", "run_rank"]


def dump(value: Any) -> bytes:
    """JSON in UTF-8; raises ValueError for what neither can hold."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def request_settings(request: Mapping[str, Any], base: Settings) -> Settings:
    """The service's settings with those of the request put in."""
    changes: Mapping[str, Any] = request["settings"]
    return base.replace(**changes) if changes else base


def keyphrase_jobs(
    request: Mapping[str, Any], generator: KeyphraseGenerator, recent: RecentReadings, document: Schema
) -> list[Job]:
    """A job a document for `/v1/keyphrases`; a text that comes alone is remembered for a while."""
    settings = request_settings(request, generator.settings)
    if request["mode"] == "extract":
        settings = settings.extraction()

    many = "documents" in request
    # Someone who looks at one text turns its controls next; of a stream of documents none comes again.
    generate = generator.generate if many else recent.generate

    def work(given: Any) -> bytes:
        checked = check(given, document, "document") if many else given
        id, top_k = checked.get("id"), request["top_k"]
        return dump(generate(checked["text"], top_k, settings, explain=request["explain"], id=id).to_dict())

    return [partial(work, given) for given in request.get("documents") or [{"text": request["text"]}]]


def expand_jobs(request: Mapping[str, Any], generator: KeyphraseGenerator, characters: int) -> list[Job]:
    """A job a document for `/v1/expand`."""
    settings = request_settings(request, generator.settings)

    def work(number: int, given: Any) -> bytes:
        if not isinstance(given, dict):
            raise InputError(f"A document must be an object, not {shown(given)}.")
        document = document_from(given, "documents", number)
        if len(document.text) > characters:
            raise InputError(f"The document is longer than {characters} characters; split it.")
        _sendable(expand_row(given, (), ()))  # refuses those expanded already, before any work on them
        found = generator.generate(document.text, request["top_k"], settings, id=given_id(given))
        kinds = {
            kind: [k.phrase for k in phrases if k.score > 0] if kind in request["fields"] else []
            for kind, phrases in zip(FIELDS, (found.present, found.absent), strict=True)
        }
        row = expand_row(given, kinds["present"], kinds["absent"], append=request["append"])
        return dump({name: value for name, value in row.items() if name not in FIELDS or name in request["fields"]})

    rows = request.get("documents") or [{TEXT_FIELDS[-1]: request["text"]}]
    return [partial(work, number, given) for number, given in enumerate(rows)]


def _sendable(row: Mapping[str, Any]) -> None:
    try:
        dump(row)
    except (ValueError, RecursionError):
        raise InputError(
            "The document holds what cannot be sent back: half of a surrogate pair, an infinite number, or too deep a "
            "nesting."
        ) from None


def run_rank(request: Mapping[str, Any], generator: KeyphraseGenerator) -> Job:
    """The one job of `/v1/rank`."""
    settings = request_settings(request, generator.settings)
    text, phrases = request["text"], request["phrases"]

    def work() -> bytes:
        found = generator.rank(text, phrases, settings, top_k=request["top_k"], explain=request["explain"])
        return dump([_ranked(k) for k in found])

    return work


def _ranked(keyphrase: Keyphrase) -> dict[str, Any]:
    return {**keyphrase.to_dict(), "spans": [list(span) for span in keyphrase.spans]}


def run_baseline(baseline: Baseline, text: str, top_k: int) -> Job:
    """The one job of `/v1/baseline`."""

    def work() -> bytes:
        return dump([{"phrase": phrase, "score": score} for phrase, score in baseline.extract(text, top_k)])

    return work


def document_error(given: Any, error: BaseException) -> tuple[bytes, bool]:
    """The result of one document among many that could not be worked on; and whether that was its own fault."""
    own = isinstance(error, Problem | InputError)
    sentence = str(error) if own else "The service failed on this document; its log says more."
    # Escaped, as the sentence may quote what cannot be encoded.
    return json.dumps({"id": document_id(given), "error": sentence}).encode(), own


def document_id(given: Any) -> str | None:
    """The document's id, as far as it has a usable one."""
    if not isinstance(given, dict):
        return None
    try:
        id = given_id(given)
    except InputError:
        return None
    return id[:1000] if id is not None else None

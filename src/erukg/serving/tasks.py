"""From a checked request to tasks for the queue: each processes one document and returns its result as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from erukg.core.expansion import FIELDS, best_phrases, expand_query_row, expand_row
from erukg.core.inputs import TEXT_FIELDS, document_from, given_id
from erukg.core.query_expansion import ExpandedQuery, QueryOptions
from erukg.core.settings import Settings
from erukg.errors import InputError
from erukg.generator import KeyphraseGenerator
from erukg.io.engines import search_query
from erukg.serving.document_queue import Task
from erukg.serving.encoding_cache import EncodingCache
from erukg.serving.problems import Problem, code_of
from erukg.serving.request_models import (
    DocumentBody,
    DocumentsRequest,
    ExpandRequest,
    KeyphrasesRequest,
    RankRequest,
    SuggestRequest,
    check,
    shown,
)
from erukg.serving.subjects import Subjects

__all__ = ["document_error", "dump", "expand_tasks", "keyphrase_tasks", "rank_task", "suggest_tasks"]


def dump(value: Any) -> bytes:
    """JSON in UTF-8; raises ValueError for what neither can hold."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def keyphrase_tasks(
    generator: KeyphraseGenerator, cache: EncodingCache, model: type[DocumentBody], request: KeyphrasesRequest
) -> list[Task]:
    """One task per document for `/v1/keyphrases`; the encoding of a document that comes alone is cached."""
    settings = request.settings.apply(generator.settings)
    if request.mode == "extract":
        settings = settings.extraction()
    # Whoever looks at one text changes its settings next; documents of a stream do not come again.
    generate = generator.generate if len(request.given) > 1 else cache.generate

    def work(text: str, id: str | None) -> bytes:
        return dump(generate(text, request.top_k, settings, explain=request.explain, id=id).to_dict())

    return _text_tasks(work, model, request)


def suggest_tasks(subjects: Subjects, model: type[DocumentBody], request: SuggestRequest) -> list[Task]:
    """One task per document for `/v1/suggest`."""

    def work(text: str, id: str | None) -> bytes:
        found = subjects.suggester.suggest(
            text, request.top_k, min_confidence=request.min_confidence, new_terms=request.new_terms, id=id
        )
        return dump(found.to_dict())

    return _text_tasks(work, model, request)


def _text_tasks(
    work: Callable[[str, str | None], bytes], model: type[DocumentBody], request: DocumentsRequest
) -> list[Task]:
    """`work` on the only text, or on each document once it is checked."""

    def check_and_work(given: Any) -> bytes:
        document = check(model, given, "document")
        return work(document.text, document.id)

    if not request.many:
        return [partial(work, request.text, None)]
    return [partial(check_and_work, given) for given in request.documents]


def expand_tasks(generator: KeyphraseGenerator, characters: int, request: ExpandRequest) -> list[Task]:
    """One task per document or query for `/v1/expand`."""
    expand = _expand_query if request.kind == "query" else _expand_document
    settings = _for_search(request, generator.settings)

    def work(number: int, given: Any) -> bytes:
        if not isinstance(given, dict):
            raise InputError(f"A document must be an object, not {shown(given)}.")
        document = document_from(given, "documents", number)
        if len(document.text) > characters:
            raise InputError(f"The document is longer than {characters} characters; split it.")
        return dump(expand(generator, given, document.text, settings, request))

    rows = request.documents if request.many else [{TEXT_FIELDS[-1]: request.text}]
    return [partial(work, number, given) for number, given in enumerate(rows)]


def _for_search(request: ExpandRequest, own: Settings) -> Settings:
    """Weak phrases are not withheld from a search engine, unless the request says so."""
    chosen, named = request.settings.apply(own), request.settings.model_fields_set - {"style"}
    return chosen.for_search().replace(**{name: getattr(chosen, name) for name in named})


def _expand_document(
    generator: KeyphraseGenerator, given: dict[str, Any], text: str, settings: Settings, request: ExpandRequest
) -> dict[str, Any]:
    _check_sendable(expand_row(given, (), ()))  # also refuses expanded ones, before any work on them
    most = request.most
    found = generator.generate(text, max(most), settings, id=given_id(given))
    lists = zip(FIELDS, best_phrases(found, *most), strict=True)
    kinds = {kind: phrases if kind in request.fields else [] for kind, phrases in lists}
    row = expand_row(given, kinds["present"], kinds["absent"], append=request.append)
    return {name: value for name, value in row.items() if name not in FIELDS or name in request.fields}


def _expand_query(
    generator: KeyphraseGenerator, given: dict[str, Any], text: str, settings: Settings, request: ExpandRequest
) -> dict[str, Any]:
    id = given_id(given)
    _check_sendable(expand_query_row(given, ExpandedQuery(text)))
    if request.format is not None and "query" in given:
        raise InputError("It has a field 'query' already, which is where the query for the engine goes; rename it.")
    found = generator.expand_query(text, QueryOptions(request.weight, *request.most, request.terms), settings, id=id)
    row = expand_query_row(given, found, append=request.append)
    if request.format is not None:
        row["query"] = search_query(found, request.format, request.search_fields)
    return row


def _check_sendable(row: Mapping[str, Any]) -> None:
    try:
        dump(row)
    except (ValueError, RecursionError):
        raise InputError(
            "The document cannot be returned as JSON: it has half of a surrogate pair, an infinite number, or too deep "
            "a nesting."
        ) from None


def rank_task(generator: KeyphraseGenerator, request: RankRequest) -> Task:
    """The task of `/v1/rank`."""
    settings = request.settings.apply(generator.settings)

    def work() -> bytes:
        ranked = generator.rank(request.text, request.phrases, settings, top_k=request.top_k, explain=request.explain)
        return dump([keyphrase.to_dict("spans") for keyphrase in ranked])

    return work


def document_error(given: Any, error: BaseException) -> bytes:
    """The result of one document among many that failed."""
    code, sentence = code_of(error), str(error)
    if not isinstance(error, Problem | InputError):
        sentence = "The service failed on this document; its log says more."
    try:
        id = given_id(given) if isinstance(given, dict) else None
    except InputError:
        id = None
    # Escaped, as the sentence may quote what cannot be encoded.
    return json.dumps({"id": id and id[:1000], "error": sentence, "code": code}, separators=(",", ":")).encode()

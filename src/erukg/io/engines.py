"""What search engines take as it is: expanded queries and documents for Lucene, Elasticsearch, OpenSearch and Solr.

Phrases go into a field of their own, `keyphrases`, so that its words have statistics of their own, and both fields are
searched with their scores added. Elasticsearch and OpenSearch take the same requests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from erukg.core.expansion import distinct
from erukg.core.inputs import TEXT_FIELDS, given_id, text_of
from erukg.core.query_expansion import ExpandedQuery
from erukg.core.search_words import every_word
from erukg.errors import InputError
from erukg.io.lucene import SearchField, lucene_query, number, parse_fields
from erukg.io.objects import parse_object
from erukg.io.outputs import Records

__all__ = [
    "ENGINES",
    "KEYPHRASES",
    "SEARCH_FIELDS",
    "Engine",
    "check_document",
    "check_query",
    "document_lines",
    "index_schema",
    "query_lines",
    "records",
    "search_query",
]

Engine: TypeAlias = Literal["lucene", "elasticsearch", "opensearch", "solr"]
ENGINES: tuple[Engine, ...] = get_args(Engine)
#: The field of a document that all its phrases are in.
KEYPHRASES = "keyphrases"
#: What is searched unless one says otherwise: a word among the phrases counts 0.4 times one in the text.
SEARCH_FIELDS = f"text,{KEYPHRASES}^0.4"

# A longer id is refused by Elasticsearch and OpenSearch.
_LONGEST_ID = 512
# The numbers that the default weights were chosen with, for the length of documents and of lists of phrases.
_BM25 = {"type": "BM25", "k1": 0.9, "b": 0.4}
_QUERY_ID = "query.id"


def search_query(
    query: ExpandedQuery, engine: Engine, fields: str | Sequence[str] | None = None
) -> str | dict[str, Any] | None:
    """The query as the engine takes it: a string for Lucene, the body of a request for the others.

    `fields` are those to search with their weights, as in "text,keyphrases^0.4", which is the default but for Lucene,
    whose parser has a default field of its own. None for a query without words: there is nothing to search for.
    """
    if not every_word(query.text):
        return None
    chosen = parse_fields(fields) if fields else () if engine == "lucene" else parse_fields(SEARCH_FIELDS)
    if engine == "lucene":
        return lucene_query(query, chosen)
    return _solr_query(query, chosen) if engine == "solr" else _elasticsearch_query(query, chosen)


def _elasticsearch_query(query: ExpandedQuery, fields: Sequence[SearchField]) -> dict[str, Any]:
    clauses = [_match(query.text, 1.0, fields)]
    clauses += [_match(p.phrase, p.weight, fields) for p in query.phrases if every_word(p.phrase)]
    name = {} if query.id is None else {"_name": query.id}
    return {"query": {"bool": {**name, "should": clauses}}}


def _match(text: str, weight: float, fields: Sequence[SearchField]) -> dict[str, Any]:
    """Any of the words, in any of the fields; of several, the scores are added."""
    if len(fields) == 1:
        ((name, boost),) = fields
        return {"match": {name: {"query": text, "boost": float(number(weight * boost))}}}
    return {"multi_match": {"query": text, "type": "most_fields", "fields": _written(fields), "boost": weight}}


def _written(fields: Sequence[SearchField]) -> list[str]:
    return [name if boost == 1 else f"{name}^{number(boost)}" for name, boost in fields]


def _solr_query(query: ExpandedQuery, fields: Sequence[SearchField]) -> dict[str, Any]:
    params = {
        "defType": "edismax",
        "qf": " ".join(_written(fields)),
        "tie": "1.0",  # the scores of the fields are added
        "mm": "1",
        "q.op": "OR",
        "lowercaseOperators": "false",
    }
    name = {} if query.id is None else {_QUERY_ID: query.id}
    return {"query": lucene_query(query), "params": {**params, **name}}


def check_query(id: str, text: str, engine: Engine) -> None:
    """Refuse a query that cannot be written for the engine."""
    if not every_word(text):
        raise InputError("It has no words to search for.")
    if engine == "lucene" and id.split() != [id]:
        raise InputError(f"Its id {id[:40]!r} has white space in it, which divides the columns of topics and runs.")


def check_document(row: Mapping[str, Any], engine: Engine) -> None:
    """Refuse a document that cannot be written for the engine."""
    if KEYPHRASES in row and engine != "lucene":
        raise InputError(f"It has a field '{KEYPHRASES}' already, which is where its phrases go; rename that field.")
    if (
        engine in ("elasticsearch", "opensearch")
        and len((given_id(row) or "").encode("utf-8", "replace")) > _LONGEST_ID
    ):
        raise InputError(f"Its id is longer than the {_LONGEST_ID} bytes that {engine.capitalize()} takes.")


def query_lines(
    query: ExpandedQuery, engine: Engine, fields: str | Sequence[str] | None = None, index: str | None = None
) -> tuple[str, ...]:
    """The lines of a file of queries: topics (`id<TAB>query`) for Lucene, `_msearch` for Elasticsearch and OpenSearch,
    one request a line for Solr.
    """
    body = search_query(query, engine, fields)
    if body is None:
        raise InputError("It has no words to search for.")
    if isinstance(body, str):
        return (f"{query.id}\t{body}",)
    return (_json(body),) if engine == "solr" else (_json({} if index is None else {"index": index}), _json(body))


def document_lines(
    row: Mapping[str, Any],
    present: Sequence[str],
    absent: Sequence[str],
    engine: Engine,
    index: str | None = None,
) -> tuple[str, ...]:
    """The lines of a file of documents: Anserini's JsonCollection for Lucene, `_bulk` for Elasticsearch and OpenSearch,
    one document a line for Solr's `/update/json/docs`.
    """
    id, phrases = given_id(row), distinct([*present, *absent])
    if engine == "lucene":
        # Anserini indexes a field that is a string; of a list it would index nothing.
        return (_json({"id": id, "contents": text_of(row), KEYPHRASES: ", ".join(phrases)}),)
    found = {"present": list(present), "absent": list(absent), KEYPHRASES: phrases}
    fields = {name: value for name, value in row.items() if name != "_id"} | found
    if engine == "solr":
        return (_json({**fields, "id": id}),)
    return _json({"index": {"_id": id} | ({} if index is None else {"_index": index})}), _json(fields)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def records(engine: Engine, *, queries: bool) -> Records:
    """How the lines of a file written before, of queries or of documents, are read back."""
    if engine in ("elasticsearch", "opensearch"):
        if queries:
            return Records(2, lambda lines: _at(lines[1], "query", "bool", "_name"))
        return Records(2, lambda lines: _at(lines[0], "index", "_id"))
    if not queries:
        return Records()
    if engine == "solr":
        return Records(1, lambda lines: _at(lines[0], "params", _QUERY_ID))
    return Records(1, lambda lines: lines[0].split("\t")[-2])


def _at(line: str, *names: str) -> object:
    value: Any = parse_object(line)
    for name in names:
        value = value[name]
    return value


def index_schema(engine: Engine) -> dict[str, Any]:
    """How to make the index that such documents go into: the body of `PUT /index` for Elasticsearch and OpenSearch,
    commands of the Schema API for Solr.

    Title and abstract are copied into `text`, phrases have a field of their own.
    """
    if engine == "lucene":
        raise InputError("Lucene has no schema to be told of; Elasticsearch, OpenSearch and Solr have.")
    parts = TEXT_FIELDS[:-1]
    if engine == "solr":
        fields: list[dict[str, Any]] = [{"name": name, "type": "text_en"} for name in parts]
        fields += [{"name": name, "type": "text_en", "multiValued": True} for name in ("text", KEYPHRASES)]
        fields += [{"name": name, "type": "string", "multiValued": True} for name in ("present", "absent")]
        return {"add-field": fields, "add-copy-field": [{"source": name, "dest": "text"} for name in parts]}
    text = {"type": "text", "analyzer": "english"}
    properties: dict[str, Any] = {name: {**text, "copy_to": "text"} for name in parts}
    properties |= dict.fromkeys(("text", KEYPHRASES), text)
    properties |= {name: {"type": "keyword", "ignore_above": 256} for name in ("present", "absent")}
    return {"settings": {"similarity": {"default": _BM25}}, "mappings": {"properties": properties}}

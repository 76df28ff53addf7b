"""What search engines are given: Lucene's syntax, requests of Elasticsearch, OpenSearch and Solr, and documents."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erukg.core.query_expansion import ExpandedQuery, SearchPhrase
from erukg.core.search_words import every_word
from erukg.errors import InputError
from erukg.io.engines import ENGINES, Engine, check_document, document_lines, index_schema, query_lines, search_query
from erukg.io.lucene import escape_lucene, lucene_query, parse_fields

QUERY = ExpandedQuery(
    "touch keyboards (on-screen)",
    (
        SearchPhrase("virtual keypad", "absent", 0.3),
        SearchPhrase("!?", "present", 0.2),
        SearchPhrase("pens", "term", 1e-5),
    ),
    "q1",
)
NASTY = '+ - & | ! ( ) { } [ ] ^ " ~ * ? : \\ / AND OR NOT a:b [x TO y] "p" f~2 w* {!func}z \\u00e9\tt\nl'


def body(query: ExpandedQuery, engine: Engine, fields: str | None = None) -> Any:
    return search_query(query, engine, fields)


def test_lucene_has_the_words_of_the_query_and_a_group_for_each_phrase() -> None:
    plain = r"touch keyboards \(on\-screen\) (virtual keypad)^0.3 (pens)^0.00001"
    assert search_query(QUERY, "lucene") == plain
    assert query_lines(QUERY, "lucene") == (f"q1\t{plain}",)
    assert search_query(QUERY, "lucene", "text, keyphrases^0.4") == f"text:({plain}) keyphrases:({plain})^0.4"
    assert search_query(ExpandedQuery("sea AND ice OR NOT"), "lucene") == "sea and ice or not"


def test_nothing_of_lucenes_syntax_is_left_in_a_text() -> None:
    escaped = escape_lucene(NASTY)
    assert not re.search(r"[\t\n\r]", escaped)
    assert not {"AND", "OR", "NOT"} & set(escaped.split())
    assert not re.search(r'[+\-&|!(){}\[\]^"~*?:\\/]', re.sub(r"\\.", "", escaped))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30), st.text(max_size=20), st.floats(0, 50))
def test_any_text_makes_one_line_that_reads_as_groups_of_words(text: str, phrase: str, weight: float) -> None:
    query = ExpandedQuery(text, (SearchPhrase(phrase, "absent", weight),), "q")
    found = lucene_query(query)
    if not every_word(text):
        assert found == ""
        assert all(search_query(query, engine) is None for engine in ENGINES)
        return
    assert len(found.splitlines()) == 1
    bare = re.sub(r"\\.", "x", found)
    assert re.fullmatch(r"[^+\-&|!(){}\[\]^\"~*?:\\/]+(\([^+\-&|!(){}\[\]^\"~*?:\\/]+\)\^[0-9]+(\.[0-9]+)?)?", bare)


def test_elasticsearch_adds_up_the_fields() -> None:
    should = body(QUERY, "elasticsearch")["query"]["bool"]["should"]
    fields = {"type": "most_fields", "fields": ["text", "keyphrases^0.4"]}
    assert should == [
        {"multi_match": {"query": QUERY.text, **fields, "boost": 1.0}},
        {"multi_match": {"query": "virtual keypad", **fields, "boost": 0.3}},
        {"multi_match": {"query": "pens", **fields, "boost": 1e-5}},
    ]
    assert body(QUERY, "elasticsearch")["query"]["bool"]["_name"] == "q1"
    assert body(QUERY, "opensearch") == body(QUERY, "elasticsearch")
    single = body(QUERY, "opensearch", "all^0.5")["query"]["bool"]["should"]
    assert single[1] == {"match": {"all": {"query": "virtual keypad", "boost": 0.15}}}
    assert query_lines(QUERY, "elasticsearch")[0] == "{}"
    assert query_lines(QUERY, "elasticsearch", index="papers")[0] == '{"index": "papers"}'


def test_solr_searches_both_fields_and_knows_the_query_by_its_id() -> None:
    found = body(QUERY, "solr")
    assert found["query"] == search_query(QUERY, "lucene")
    wanted = {
        "defType": "edismax",
        "qf": "text keyphrases^0.4",
        "tie": "1.0",
        "mm": "1",
        "q.op": "OR",
        "query.id": "q1",
    }
    assert wanted.items() <= found["params"].items()


@pytest.mark.parametrize("module", ["elasticsearch.dsl", "opensearchpy"])
def test_clients_read_the_requests(module: str) -> None:
    """The bodies go through the query classes of the engines' own clients and come out the same."""
    client = pytest.importorskip(module, reason=f"the client {module} is not installed: its classes are not asked")
    for fields in (None, "all", "title^2,text,keyphrases^0.4"):
        query = body(QUERY, "elasticsearch", fields)
        search = client.Search.from_dict(query)
        assert search.to_dict() == query
        read = client.Q(query["query"])
        assert type(read).__name__ == "Bool"
        assert [type(clause).__name__ for clause in read.should] == ["Match" if fields == "all" else "MultiMatch"] * 3


@pytest.mark.parametrize("module", ["elasticsearch.dsl", "opensearchpy"])
def test_clients_read_the_schema(module: str) -> None:
    client = pytest.importorskip(module, reason=f"the client {module} is not installed: its classes are not asked")
    properties = index_schema("opensearch")["mappings"]["properties"]
    mapping = client.Mapping()
    for name, definition in properties.items():
        options = {key: value for key, value in definition.items() if key != "type"}
        mapping.field(name, definition["type"], **options)
    assert mapping.to_dict()["properties"] == properties


def test_documents_have_their_phrases_in_a_field_of_their_own() -> None:
    row = {"_id": 7, "title": "Sea ice", "text": "Thin ice.", "year": 2020}
    present, absent = ["sea-ice", "thin ice"], ["Sea ice", "remote sensing"]
    rest = {"title": "Sea ice", "text": "Thin ice.", "year": 2020, "present": present, "absent": absent}
    expected = {**rest, "keyphrases": ["sea-ice", "thin ice", "remote sensing"]}
    for engine in ("elasticsearch", "opensearch"):
        action, source = map(json.loads, document_lines(row, present, absent, engine, "papers"))
        assert action == {"index": {"_id": "7", "_index": "papers"}}
        assert source == expected  # the engines refuse an _id in here
    (line,) = document_lines(row, present, absent, "solr")
    assert json.loads(line) == {**expected, "id": "7"}
    (line,) = document_lines(row, present, absent, "lucene")
    assert json.loads(line) == {
        "id": "7",
        "contents": "Sea ice\nThin ice.",
        "keyphrases": "sea-ice, thin ice, remote sensing",
    }
    assert json.loads(document_lines(row, [], [], "elasticsearch")[0]) == {"index": {"_id": "7"}}


def test_schemas_copy_title_and_abstract_into_the_text_that_is_searched() -> None:
    made = index_schema("elasticsearch")
    assert made == index_schema("opensearch")
    properties = made["mappings"]["properties"]
    assert properties["title"]["copy_to"] == properties["abstract"]["copy_to"] == "text"
    assert properties["keyphrases"] == {"type": "text", "analyzer": "english"}
    assert properties["absent"]["type"] == "keyword"
    solr = index_schema("solr")
    assert {"name": "keyphrases", "type": "text_en", "multiValued": True} in solr["add-field"]
    assert solr["add-copy-field"] == [{"source": name, "dest": "text"} for name in ("title", "abstract")]
    with pytest.raises(InputError, match="no schema"):
        index_schema("lucene")


def test_what_cannot_be_written_is_refused() -> None:
    assert parse_fields("a, b^2") == (("a", 1.0), ("b", 2.0))
    for wrong in ("", "a b", "a^", "a^-1", "a^1e3", "a:b", "a,,b", "x" * 300):
        with pytest.raises(InputError, match="A field to search"):
            parse_fields(wrong)
    with pytest.raises(InputError, match="'keyphrases' already"):
        check_document({"_id": "1", "keyphrases": []}, "solr")
    with pytest.raises(InputError, match="512 bytes"):
        check_document({"_id": "ü" * 300}, "elasticsearch")
    with pytest.raises(InputError, match="no words"):
        query_lines(ExpandedQuery("?!", (), "q"), "lucene")

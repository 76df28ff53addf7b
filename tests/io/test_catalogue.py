"""Suggested concepts as catalogues take them."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from erukg.core.neighbours import Source
from erukg.io.catalogue import JsonLdWriter, SubjectCsvWriter, TsvWriter
from erukg.subjects import Match, NewTerm, Suggestion, Suggestions

FOUND = Suggestions(
    (
        Suggestion(
            "http://example.org/c/7",
            "Sea ice",
            2.5,
            0.75,
            notation="G7",
            matches=(Match("sea ice", 3, 10), Match("ice cover", 20, 29)),
            votes=(Source("d1", 0.25, "=HYPERLINK(1)"),),
        ),
        Suggestion("to read", "to read", 1.0, 0.25),
    ),
    (NewTerm("passive radar", 0.4, True, ((0, 5),)),),
    id="papers/a.txt",
)


def written(writer: type[Any], *rows: Suggestions, **options: Any) -> str:
    stream = io.BytesIO()
    made = writer(stream, **options)
    for row in rows:
        made.write(row.to_dict())
    made.close()
    return stream.getvalue().decode()


def test_tsv_is_annifs() -> None:
    assert written(TsvWriter, FOUND, ids=False) == (
        "<http://example.org/c/7>\tSea ice\t0.7500\n<to read>\tto read\t0.2500\n"
    )
    assert written(TsvWriter, FOUND, ids=True).splitlines()[0].split("\t")[3] == "papers/a.txt"


def test_tsv_keeps_its_columns_whatever_a_label_holds() -> None:
    odd = Suggestions((Suggestion("u:1", "two\tparts\nand lines", 1.0, 0.5),), id="a\tb")
    assert written(TsvWriter, odd, ids=True) == "<u:1>\ttwo parts and lines\t0.5000\ta b\n"


def test_csv_has_concepts_then_new_terms() -> None:
    rows = list(csv.DictReader(io.StringIO(written(SubjectCsvWriter, FOUND))))
    assert [(row["kind"], row["rank"], row["label"]) for row in rows] == [
        ("concept", "1", "Sea ice"),
        ("concept", "2", "to read"),
        ("new term", "1", "passive radar"),
    ]
    first, _, term = rows
    assert (first["uri"], first["notation"], first["confidence"]) == ("http://example.org/c/7", "G7", "0.75")
    assert (first["matches"], first["votes"], first["titles"]) == ("3-10 20-29", "d1=0.25", "'=HYPERLINK(1)")
    assert (term["uri"], term["confidence"], term["matches"]) == ("", "0.4", "0-5")


def test_json_ld_is_one_document() -> None:
    found = json.loads(written(JsonLdWriter, FOUND, Suggestions(id="https://example.org/b"), language="en"))
    first, second = found["@graph"]
    assert first == {
        "dcterms:identifier": "papers/a.txt",
        "dcterms:subject": [
            {
                "@id": "http://example.org/c/7",
                "@type": "skos:Concept",
                "skos:prefLabel": "Sea ice",
                "skos:notation": "G7",
            },
            {"@type": "skos:Concept", "skos:prefLabel": "to read"},
        ],
        "dc:subject": ["passive radar"],
    }
    assert second == {
        "@id": "https://example.org/b",
        "dcterms:identifier": "https://example.org/b",
        "dcterms:subject": [],
    }
    assert json.loads(written(JsonLdWriter))["@graph"] == []


def test_json_ld_means_what_it_says() -> None:
    rdflib = pytest.importorskip("rdflib")
    graph = rdflib.Graph().parse(data=written(JsonLdWriter, FOUND, language="en"), format="json-ld")
    concept, skos = rdflib.URIRef("http://example.org/c/7"), rdflib.Namespace("http://www.w3.org/2004/02/skos/core#")
    assert graph.value(concept, skos.prefLabel) == rdflib.Literal("Sea ice", lang="en")
    document = graph.value(None, rdflib.DCTERMS.identifier, rdflib.Literal("papers/a.txt"))
    assert isinstance(document, rdflib.BNode)
    assert concept in set(graph.objects(document, rdflib.DCTERMS.subject))
    assert set(graph.objects(document, rdflib.DC.subject)) == {rdflib.Literal("passive radar")}

"""Annif's REST API as its clients know it. `tests/annif` asks with Annif itself."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from erukg import KeyphraseGenerator
from erukg._version import __version__
from erukg.serving.keys import Keys
from erukg.serving.limits import ServiceLimits
from erukg.serving.service import Service
from erukg.serving.subjects import SubjectsByName, load_subjects
from serving.serving_tools import inside

PROJECT = "/v1/projects/engines"


def ask(generator: KeyphraseGenerator, subjects: SubjectsByName, method: str, path: str, **sent: Any) -> httpx.Response:
    async def scenario(client: httpx.AsyncClient, service: Service) -> httpx.Response:
        response = await client.request(method, path, **sent)
        assert 'path="other"' not in service.metrics.text() or response.status_code == 404
        return response

    return inside(generator, scenario, subjects=subjects, limits=ServiceLimits(characters=1000, top_k=50))


def expected(subjects: SubjectsByName, text: str, *given: Any, **options: Any) -> list[dict[str, Any]]:
    found = subjects["engines"].suggester.suggest(text, *given, **options)
    return [
        {"uri": one.uri, "label": one.label, "notation": one.notation or None, "score": one.confidence} for one in found
    ]


def test_projects_are_vocabularies(
    generator: KeyphraseGenerator, subjects: SubjectsByName, vocabulary_file: Path
) -> None:
    assert ask(generator, subjects, "GET", "/v1/").json()["version"] == __version__
    modified = datetime.fromtimestamp(int(vocabulary_file.stat().st_mtime), UTC)
    vocab = {"vocab_id": "engines", "languages": ["en"], "size": 4, "loaded": True}
    project = {
        "project_id": "engines",
        "name": "vocabulary",
        "language": "en",
        "backend": {"backend_id": "erukg"},
        "vocab": vocab,
        "vocab_language": "en",
        "is_trained": True,
        "modification_time": modified.isoformat(),
    }
    assert ask(generator, subjects, "GET", PROJECT).json() == project
    listed = ask(generator, subjects, "GET", "/v1/projects").json()["projects"]
    assert [each["project_id"] for each in listed] == ["engines", "words"]
    assert listed[0] == project
    assert ask(generator, subjects, "GET", "/v1/vocabs").json()["vocabs"][0] == vocab
    assert ask(generator, {}, "GET", "/v1/projects").json() == {"projects": []}


def test_suggest_takes_a_form(generator: KeyphraseGenerator, subjects: SubjectsByName, text: str) -> None:
    def suggest(**form: str) -> Any:
        # As Annif's http backend sends it, with fields that mean nothing here.
        sent = {"text": text, "project": "x", "metadata_title": "y", **form}
        return ask(generator, subjects, "POST", f"{PROJECT}/suggest", data=sent).json()["results"]

    everything = expected(subjects, text)
    assert len(everything) >= 2
    assert {one["notation"] for one in everything} >= {None}
    assert all(0 < one["score"] <= 1 for one in everything)
    assert suggest() == everything
    assert suggest(limit="1") == everything[:1]
    assert suggest(limit="0") == []
    assert suggest(limit="2000000000", language="en") == everything
    middle = (everything[0]["score"] + everything[-1]["score"]) / 2
    assert suggest(threshold=str(middle)) == expected(subjects, text, min_confidence=middle)
    assert suggest(text="") == []
    accents = "Graph data für 😀 & co + 100 %"
    assert suggest(text=accents) == expected(subjects, accents)


def test_suggest_batch_takes_json(generator: KeyphraseGenerator, subjects: SubjectsByName, text: str) -> None:
    texts = [text, "nothing", f"graph data {text}"]
    documents: list[dict[str, Any]] = [{"text": each, "document_id": f"d{i}"} for i, each in enumerate(texts)]
    del documents[1]["document_id"]
    documents[2]["metadata"] = {"title": "x"}
    path = f"{PROJECT}/suggest-batch?limit=2&threshold=0.01&language=en"
    found = ask(generator, subjects, "POST", path, json={"documents": documents}).json()
    assert found == [
        {"results": expected(subjects, each, 2, min_confidence=0.01), "document_id": document.get("document_id")}
        for each, document in zip(texts, documents, strict=True)
    ]
    assert ask(generator, subjects, "POST", path, json={"documents": []}).json() == []


@pytest.mark.parametrize(
    ("path", "sent", "status", "words"),
    [
        ("/v1/projects/engine", None, 404, "did you mean 'engines'"),
        ("/v1/projects/engine/suggest", {"data": {"text": "a"}}, 404, "did you mean 'engines'"),
        ("/v1/projects/engines/learn", {"json": []}, 404, "nothing at this path"),
        (f"{PROJECT}/suggest", {"data": {"limit": "5"}}, 400, "'text' is missing"),
        (f"{PROJECT}/suggest", {"data": {"text": "a", "limit": "x"}}, 400, "'limit' must be a whole number from 0"),
        (f"{PROJECT}/suggest", {"data": {"text": "a", "limit": "-1"}}, 400, "'limit' must be a whole number from 0"),
        (f"{PROJECT}/suggest", {"data": {"text": "a", "threshold": "2"}}, 400, "'threshold' must be a number"),
        (f"{PROJECT}/suggest", {"data": {"text": "a", "threshold": "nan"}}, 400, "'threshold' must be a number"),
        (f"{PROJECT}/suggest", {"data": {"text": "a", "language": "fi"}}, 400, 'the language "fi"; it has: en.'),
        (f"{PROJECT}/suggest", {"data": {"text": ["a", "b"]}}, 400, '"text" stands twice in the form'),
        (f"{PROJECT}/suggest", {"data": {"text": "a" * 1001}}, 413, "longer than 1000"),
        (f"{PROJECT}/suggest", {"data": {str(i): "a" for i in range(101)}}, 400, "more than 100 fields"),
        (f"{PROJECT}/suggest", {"json": {"text": "a"}}, 415, "must be a form"),
        (f"{PROJECT}/suggest-batch", {"data": {"text": "a"}}, 415, "must be JSON"),
        (f"{PROJECT}/suggest-batch", {"json": {"documents": [{"text": 5}]}}, 400, "'documents[0].text' must be a str"),
        (f"{PROJECT}/suggest-batch", {"json": {"documents": [{"text": "a"}] * 101}}, 413, "more than 100"),
        (f"{PROJECT}/suggest-batch?limit=x", {"json": {"documents": [{"text": "a"}]}}, 400, "'limit' must be"),
        (
            f"{PROJECT}/suggest-batch?limit=1&limit=2",
            {"json": {"documents": []}},
            400,
            '"limit" stands twice',
        ),
    ],
)
def test_errors_are_problems_as_annif_has_them(
    generator: KeyphraseGenerator, subjects: SubjectsByName, path: str, sent: Any, status: int, words: str
) -> None:
    response = ask(generator, subjects, "GET" if sent is None else "POST", path, **(sent or {}))
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    assert list(problem) == ["type", "title", "status", "detail"]
    assert (problem["type"], problem["status"]) == ("about:blank", status)
    assert words in problem["detail"]


def test_bytes_that_are_no_form(generator: KeyphraseGenerator, subjects: SubjectsByName) -> None:
    for content in (b"text=%ff%fe", b"text=\xff"):
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        response = ask(generator, subjects, "POST", f"{PROJECT}/suggest", content=content, headers=headers)
        assert response.status_code == 400
        assert "UTF-8" in response.json()["detail"]


def test_a_key_can_be_the_password_in_an_address(generator: KeyphraseGenerator, subjects: SubjectsByName) -> None:
    async def scenario(client: httpx.AsyncClient, service: Service) -> list[httpx.Response]:
        bad = {"Authorization": "Basic =="}
        return [
            await client.get(PROJECT),
            await client.get(PROJECT, auth=("annif", "wrong-secret-key")),
            await client.get(PROJECT, headers=bad),
            await client.get(PROJECT, auth=("annif", "first-secret-key")),
        ]

    *refused, admitted = inside(generator, scenario, subjects=subjects, keys=Keys(["first-secret-key"]))
    assert [response.status_code for response in refused] == [401] * 3
    assert refused[0].json()["title"] == "Unauthorized"
    assert admitted.json()["project_id"] == "engines"


def test_labels_come_in_the_language_that_is_asked_for(generator: KeyphraseGenerator, tmp_path: Path) -> None:
    from erukg.subjects.concepts import Concept
    from erukg.subjects.vocabulary import Vocabulary

    names = {"http://example.org/1": ("Search engines", "Suchmaschinen"), "http://example.org/2": ("Graph data", "")}
    concepts = [
        Concept(uri, label, labels_by_language={"de": german} if german else {})
        for uri, (label, german) in names.items()
    ]
    Vocabulary.of(concepts).save(tmp_path / "vocabulary")
    subjects = load_subjects(generator, [f"engines={tmp_path / 'vocabulary'}"])
    form = {"text": "A search engine for graph data", "language": "de"}
    found = ask(generator, subjects, "POST", f"{PROJECT}/suggest", data=form).json()["results"]
    assert {one["label"] for one in found} == {"Suchmaschinen", "Graph data"}
    assert ask(generator, subjects, "GET", PROJECT).json()["vocab"]["languages"] == ["en", "de"]

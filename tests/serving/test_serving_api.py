"""What the API answers is what the generator finds."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

from erukg import Collection, KeyphraseGenerator, Settings
from erukg.backends import OnnxBackend
from erukg.core.backend import Encoding, Pieces
from erukg.core.factors import FACTORS
from erukg.core.query_expansion import QueryOptions
from erukg.io.engines import ENGINES, search_query
from erukg.languages import language_of
from erukg.serving.keys import Keys
from erukg.serving.limits import ServiceLimits
from erukg.serving.problems import Problem
from erukg.serving.request_models import RequestModels, check
from erukg.serving.service import Service
from serving.serving_tools import GatedGenerator, ask, inside

CODES = {404: "not_found", 405: "method_not_allowed", 422: "invalid_request"}


def plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def test_one_document_and_many_give_what_the_generator_gives(generator: KeyphraseGenerator, text: str) -> None:
    expected = plain(generator.generate(text, 7).to_dict())
    assert expected["present"]
    assert expected["absent"]
    one = ask(generator, "/v1/keyphrases", {"text": text, "top_k": 7}).json()
    assert one["results"] == [expected]
    assert one["model"] == "tiny"
    assert one["collection"] == {"documents": 120}
    assert one["took_ms"] > 0
    documents = [{"id": f"d{i}", "text": f"{text} {i} archive storage"} for i in range(20)]
    many = ask(generator, "/v1/keyphrases", {"documents": documents}, threads=3).json()["results"]
    assert many == [plain(generator.generate(d["text"], id=d["id"]).to_dict()) for d in documents]


def test_notices_are_in_the_answer_and_in_its_description(tiny_encoder: OnnxBackend, tiny_collection: Path) -> None:
    generator = KeyphraseGenerator(tiny_encoder, Collection.open(tiny_collection), language_of=language_of)
    german = "Die neue graph Suche findet nach wenigen Stunden auch das search network der Stadt."
    body = {"documents": [{"text": german}, {"text": "network"}, {"text": "search network"}]}
    found = ask(generator, "/v1/keyphrases", body).json()["results"]
    assert [[notice["code"] for notice in one.get("notices", ())] for one in found] == [
        ["not-english"],
        ["too-short"],
        [],
    ]
    assert "German" in found[0]["notices"][0]["message"]
    assert found[0]["absent"] == []
    assert ask(generator, "/v1/keyphrases", {"text": german}).json()["results"][0]["notices"] == found[0]["notices"]
    schemas = ask(generator, "/openapi.json").json()["components"]["schemas"]
    assert schemas["Keyphrases"]["properties"]["notices"]["items"] == {"$ref": "#/components/schemas/Notice"}
    assert schemas["Notice"]["required"] == ["code", "message"]


def test_mode_settings_and_explanations(generator: KeyphraseGenerator, text: str) -> None:
    body = {"text": text, "mode": "extract", "settings": {"diversity": 0.5, "max_words": 2.0}, "explain": True}
    found = ask(generator, "/v1/keyphrases", body).json()["results"]
    settings = generator.settings.replace(diversity=0.5, max_words=2)
    assert found == [plain(generator.extract(text, settings=settings, explain=True).to_dict())]
    assert found[0]["present"][0]["explanation"]["factors"]
    assert found[0]["absent"] == []


def test_spans_count_code_points_of_the_text_as_sent(generator: KeyphraseGenerator) -> None:
    text = "😀 and 😀, the neural network\r\n\r\nand 😀😀 graph data"
    present = ask(generator, "/v1/keyphrases", {"text": text}).json()["results"][0]["present"]
    spans = {text[a:b] for phrase in present for a, b in phrase["spans"]}
    assert {"neural network", "graph data"} <= spans


def test_one_bad_document_does_not_harm_the_others(generator: KeyphraseGenerator, text: str) -> None:
    documents = [
        {"id": "good", "text": text},
        5,
        {"id": "b", "text": None},
        {"id": "c", "txt": text},
        {"text": "x" * 300},
    ]
    body = '{"documents": ' + json.dumps(documents)[:-1] + ', {"id": "../e", "text": "\\ud800"}]}'

    async def scenario(client: httpx.AsyncClient, service: Service) -> httpx.Response:
        return await client.post("/v1/keyphrases", content=body, headers={"Content-Type": "application/json"})

    response = inside(generator, scenario, limits=ServiceLimits(characters=200))
    assert response.status_code == 200
    good, *bad = response.json()["results"]
    assert good == plain(generator.generate(text, id="good").to_dict())
    assert [one["id"] for one in bad] == [None, "b", "c", None, "../e"]
    sentences = [one["error"] for one in bad]
    assert all(sentence.endswith((".", "?")) for sentence in sentences)
    assert "did you mean 'text'" in sentences[2]
    assert "longer than 200 characters" in sentences[3]
    assert "surrogate" in sentences[4]


def test_rank_scores_given_phrases(generator: KeyphraseGenerator, text: str) -> None:
    phrases = ["search engine", "machine learning", "Search Engine"]
    found = ask(generator, "/v1/rank", {"text": text, "phrases": phrases, "explain": True}).json()["results"]
    expected = [k.to_dict() for k in generator.rank(text, phrases, top_k=10, explain=True)]
    assert [{"spans": [], **k} for k in plain(expected)] == found
    assert [k["phrase"] for k in found] == ["search engine", "machine learning"]


def test_expand_gives_rows_back_with_their_phrases(generator: KeyphraseGenerator, text: str) -> None:
    rows = [{"_id": "7", "title": "Graph data", "text": text, "year": 1999}, {"present": 1, "text": "a"}, "no"]
    found = ask(generator, "/v1/expand", {"documents": rows, "append": True, "top_k": 3}).json()["results"]
    expected = generator.generate(f"Graph data\n{text}", 3, id="7")
    assert found[0]["present"] == [k.phrase for k in expected.present]
    assert found[0]["absent"] == [k.phrase for k in expected.absent if k.score > 0]
    assert found[0]["year"] == 1999
    assert found[0]["text"].startswith(f"{text}\n")
    assert "already" in found[1]["error"]
    assert "object" in found[2]["error"]
    only = ask(generator, "/v1/expand", {"text": text, "fields": ["absent"]}).json()["results"][0]
    assert set(only) == {"text", "absent"}


def test_documents_get_as_many_phrases_as_are_asked_for(generator: KeyphraseGenerator, text: str) -> None:
    cases: list[tuple[dict[str, int], tuple[int, int]]] = [
        ({}, (10, 20)),
        ({"top_k": 3}, (3, 3)),
        ({"top_k": 3, "absent": 5}, (3, 5)),
        ({"present": 0}, (0, 20)),
    ]
    for asked, most in cases:
        (row,) = ask(generator, "/v1/expand", {"text": text, **asked}).json()["results"]
        found = generator.generate(text, max(most), Settings().for_search())
        assert row["present"] == [k.phrase for k in found.present[: most[0]]]
        assert row["absent"] == [k.phrase for k in found.absent[: most[1]] if k.score > 0]
    strict = {"text": text, "settings": {"min_confidence": 1.0, "style": "complete"}}
    assert ask(generator, "/v1/expand", strict).json()["results"][0]["absent"] == []


def test_queries_come_with_weights_and_as_the_engine_takes_them(generator: KeyphraseGenerator) -> None:
    rows: list[dict[str, Any]] = [
        {"_id": "q1", "text": "sea ice (radar)", "lang": "en"},
        {"_id": "q2", "text": "?"},
        {"text": "a", "expansion": 1},
    ]
    options: dict[str, Any] = {"kind": "query", "weight": 0.5, "present": 2, "absent": 3, "terms": 1}
    weighted = ask(generator, "/v1/expand", {"documents": rows, **options}).json()["results"]
    expected = generator.expand_query(rows[0]["text"], QueryOptions(0.5, 2, 3, 1), id="q1")
    assert weighted[0] == {**rows[0], "expansion": [phrase.to_dict() for phrase in expected.phrases]}
    assert weighted[1] == {**rows[1], "expansion": []}
    assert "'expansion' already" in weighted[2]["error"]
    for engine in ENGINES:
        body = {"documents": rows[:2], **options, "format": engine}
        found = ask(generator, "/v1/expand", body).json()["results"]
        assert found[0] == {**weighted[0], "query": search_query(expected, engine)}
        assert found[1]["query"] is None
        body["search_fields"] = ["title^2", "text"]
        found = ask(generator, "/v1/expand", body).json()["results"]
        assert found[0]["query"] == search_query(expected, engine, "title^2,text")
    (one,) = ask(generator, "/v1/expand", {"text": "sea ice", "kind": "query", "append": True}).json()["results"]
    assert one["text"].startswith("sea ice\nsea ice")
    taken = {"documents": [{"text": "sea ice", "query": "x"}], "kind": "query", "format": "lucene"}
    assert "'query' already" in ask(generator, "/v1/expand", taken).json()["results"][0]["error"]


def test_baselines_are_listed_and_run(generator: KeyphraseGenerator, text: str) -> None:
    listed = ask(generator, "/v1/baselines").json()["results"]
    assert {"name": "textrank", "label": "TextRank"} in listed
    for name in (one["name"] for one in listed):
        found = ask(generator, "/v1/baseline", {"text": text, "system": name, "top_k": 3}).json()["results"]
        assert 0 < len(found) <= 3
        assert all(one["score"] > 0 for one in found)
    wrong = ask(generator, "/v1/baseline", {"text": text, "system": "textrnk"})
    assert wrong.status_code == 404
    assert "did you mean 'textrank'" in wrong.json()["detail"]


def test_other_settings_for_one_document_rank_it_again_without_the_model(
    tiny_model: Path, tiny_collection: Path, text: str
) -> None:
    class Counted(OnnxBackend):
        passes = 0

        def encode(self, pieces: Pieces, terms: NDArray[np.int32]) -> Encoding:
            Counted.passes += 1
            return super().encode(pieces, terms)

    counted = KeyphraseGenerator(Counted.load(tiny_model), Collection.open(tiny_collection))

    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        def passes(before: list[int] = [0]) -> int:  # noqa: B006 (it is to last)
            made, before[0] = Counted.passes - before[0], Counted.passes
            return made

        passes()
        bodies: list[dict[str, Any]] = [
            {"text": text},
            {"documents": [{"id": "a", "text": text}]},
            {"documents": [{"text": f"{text}."}]},
        ]
        for body in bodies:
            found = []
            for settings in ({"diversity": 0.1}, {"diversity": 0.9}, {"beta": 0.3}):
                asked = {**body, "settings": settings, "explain": True}
                found.append((await client.post("/v1/keyphrases", json=asked)).json()["results"])
            assert passes() == 1, body
            given = body.get("documents", [{"text": text}])[0]
            expected = counted.generate(
                given["text"], settings=counted.settings.replace(beta=0.3), explain=True, id=given.get("id")
            )
            assert found[2] == [plain(expected.to_dict())]
            passes()
        many = {"documents": [{"text": f"{text} {i}"} for i in range(20)]}
        for _ in range(2):
            await client.post("/v1/keyphrases", json=many)
            assert passes() == 20  # a stream of documents does not drive out what someone looks at
        await client.post("/v1/keyphrases", json={"text": text})
        assert passes() == 0

    inside(counted, scenario)


def test_documents_are_counted_when_they_are_finished(gated: GatedGenerator) -> None:
    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        def finished() -> str:
            return next(
                line for line in service.metrics.text().splitlines() if line.startswith("erukg_documents_total")
            )

        asked = asyncio.create_task(client.post("/v1/keyphrases", json={"documents": [{"text": "wait"}] * 3}))
        while not gated.begun:
            await asyncio.sleep(0.005)
        assert finished() == "erukg_documents_total 0"
        gated.gate.set()
        await asked
        assert finished() == "erukg_documents_total 3"

    inside(gated, scenario)


def test_info_describes_settings_and_limits(generator: KeyphraseGenerator) -> None:
    info = ask(generator, "/v1/info").json()
    assert info["settings"]["alpha"] == {
        "value": Settings().alpha,
        "low": 0,
        "high": 1,
        "help": "α: the document's share of term weights; the rest is its neighbours'",
        "kind": "number",
    }
    assert info["settings"]["frequency"]["kind"] == "switch"
    assert info["settings"]["neighbours"]["kind"] == "whole"
    assert info["limits"]["documents"] == 100
    assert list(info["factors"]) == [factor.name for factor in FACTORS]
    assert info["factors"]["position"]["label"] == FACTORS[0].label
    assert info["collection"] == {"documents": 120}


def test_the_page_is_served_from_a_fixed_list_under_a_strict_policy(generator: KeyphraseGenerator) -> None:
    index = ask(generator, "/")
    assert index.status_code == 200
    if index.headers["content-type"].startswith("text/html"):
        assert index.headers["content-security-policy"].startswith("default-src 'self';")
    assert index.headers["x-content-type-options"] == "nosniff"
    for name in (
        "../service.py",
        "..%2fservice.py",
        "%2e%2e/service.py",
        "__init__.py",
        "index.html",
        "/etc/passwd",
        "a\0b",
    ):
        response = ask(generator, f"/assets/{name}".replace("\0", "%00"))
        assert response.status_code == 404, name
        assert response.json()["code"] == "not_found"


def test_every_error_is_a_problem_with_a_code_and_one_sentence(generator: KeyphraseGenerator, text: str) -> None:
    cases: list[tuple[str, Any, int]] = [
        ("/v1/keyphrases", {}, 422),
        ("/v1/keyphrases", [], 422),
        ("/v1/keyphrases", {"text": text, "documents": []}, 422),
        ("/v1/keyphrases", {"documents": []}, 422),
        ("/v1/keyphrases", {"text": 5}, 422),
        ("/v1/keyphrases", {"text": text, "top_k": -1}, 422),
        ("/v1/keyphrases", {"text": text, "top_k": True}, 422),
        ("/v1/keyphrases", {"text": text, "top_k": 1.5}, 422),
        ("/v1/keyphrases", {"text": text, "top_k": 10**4000}, 422),
        ("/v1/keyphrases", {"text": text, "mode": "generte"}, 422),
        ("/v1/keyphrases", {"text": text, "settings": {"alpha": 2}}, 422),
        ("/v1/keyphrases", {"text": text, "settings": {"alpha": 10**400}}, 422),
        ("/v1/keyphrases", {"text": text, "settings": {"alhpa": 1}}, 422),
        ("/v1/keyphrases", {"text": text, "setings": {}}, 422),
        ("/v1/rank", {"text": text}, 422),
        ("/v1/rank", {"text": text, "phrases": [1]}, 422),
        ("/v1/expand", {"text": text, "fields": ["presnt"]}, 422),
        ("/v1/expand", {"text": text, "kind": "querry"}, 422),
        ("/v1/expand", {"text": text, "kind": "query", "weight": 0.95}, 422),
        ("/v1/expand", {"text": text, "kind": "query", "terms": 1001}, 422),
        ("/v1/expand", {"text": text, "kind": "query", "format": "sphinx"}, 422),
        ("/v1/expand", {"text": text, "kind": "query", "search_fields": ["a b"]}, 422),
        ("/v1/nothing", None, 404),
        ("/v1/keyphrases", None, 405),
        ("/v1/keyphrases/", {"text": text}, 404),
    ]

    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        for path, body, status in cases:
            response = await (client.get(path) if body is None else client.post(path, json=body))
            assert response.status_code == status, (path, body, response.text)
            assert list(response.json()) == ["type", "title", "status", "detail", "code", "request_id"]
            assert (response.json()["status"], response.json()["code"]) == (status, CODES[status])
            assert response.json()["request_id"] == response.headers["x-request-id"]
            assert response.json()["detail"].endswith((".", "?"))
            assert response.headers["content-type"] == "application/problem+json"

    inside(generator, scenario)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ([], "The body must be an object, not a list."),
        ({}, "The body must have either 'text' or 'documents'; give one of them."),
        ({"text": "a", "setings": {}}, "The body has no field \"setings\"; did you mean 'settings'?"),
        ({"text": "a", "settings": {"alhpa": 1}}, "'settings' has no field \"alhpa\"; did you mean 'alpha'?"),
        ({"text": "a", "settings": {"alpha": 2}}, "'settings.alpha' must be a number from 0 to 1, not 2."),
        ({"text": "a", "settings": {"frequency": 1}}, "'settings.frequency' must be true or false, not 1."),
        ({"text": "a", "settings": []}, "'settings' must be an object, not a list."),
        ({"text": "a", "top_k": True}, "'top_k' must be a whole number from 0 to 1000, not true."),
        ({"text": "a", "top_k": 10**50}, "'top_k' must be a whole number from 0 to 1000, not a number that large."),
        ({"text": None}, "'text' must be a string, not null."),
        ({"text": "a", "mode": "extrct"}, "'mode' cannot be \"extrct\"; did you mean 'extract'?"),
        ({"documents": []}, "'documents' is empty; give at least one entry."),
    ],
)
def test_a_refusal_says_what_is_wrong_and_where(generator: KeyphraseGenerator, body: Any, sentence: str) -> None:
    response = ask(generator, "/v1/keyphrases", body)
    assert response.status_code == 422
    assert response.json()["detail"] == sentence


def test_a_refusal_names_the_entry_of_a_list(generator: KeyphraseGenerator) -> None:
    wrong = ask(generator, "/v1/rank", {"text": "a", "phrases": ["a", 1]})
    assert wrong.json()["detail"] == "'phrases[1]' must be a string, not 1."
    missing = ask(generator, "/v1/rank", {"text": "a"})
    assert missing.json()["detail"] == "'phrases' is missing; give it."
    of_two = ask(generator, "/v1/keyphrases", {"documents": [{"id": 5, "text": "a"}, {"txt": "a"}]})
    assert [one["error"] for one in of_two.json()["results"]] == [
        "'document.id' must be a string, not 5.",
        "The document has no field \"txt\"; did you mean 'text'?",
    ]


def test_many_unknown_fields_cost_little() -> None:
    body = {str(i): 0 for i in range(400_000)}
    begin = time.process_time()
    models = RequestModels(ServiceLimits(), Settings())
    for given in (body, {"text": "a", "settings": body}):
        with pytest.raises(Problem):
            check(models.keyphrases, given)
    assert time.process_time() - begin < 1


def test_cors_is_off_unless_asked_for(generator: KeyphraseGenerator, text: str) -> None:
    origin = {"Origin": "https://pages.example"}

    async def scenario(client: httpx.AsyncClient, service: Service) -> list[httpx.Response]:
        asked = {**origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
        return [
            await client.options("/v1/keyphrases", headers=asked),
            await client.post("/v1/keyphrases", json={"text": text}, headers=origin),
            await client.post("/v1/keyphrases", json={}, headers=origin),
        ]

    for response in inside(generator, scenario):
        assert not [name for name in response.headers if name.startswith("access-control")]
    allowed = inside(generator, scenario, cors=("https://pages.example",))
    assert [r.status_code for r in allowed] == [200, 200, 422]
    assert all(r.headers["access-control-allow-origin"] == "https://pages.example" for r in allowed)
    other = inside(generator, scenario, cors=("https://other.example",))
    assert not any("access-control-allow-origin" in r.headers for r in other)


@pytest.mark.parametrize("header", ["authorization", "x-api-key"])
def test_api_keys_guard_the_api_and_nothing_else(generator: KeyphraseGenerator, text: str, header: str) -> None:
    keys = Keys(["first-secret-key", "second-secret-key"])

    async def scenario(client: httpx.AsyncClient, service: Service) -> None:
        for path in ("/v1/info", "/v1/baselines", "/v1/jobs", "/metrics", "/v1/nothing"):
            assert (await client.get(path)).status_code == 401
        for path in ("/healthz", "/readyz", "/", "/openapi.json", "/docs", "/docs/style.css"):
            assert (await client.get(path)).status_code == 200
        for given, status in (
            ("first-secret-key", 200),
            ("second-secret-key", 200),
            ("first-secret-ke", 401),
            ("first-secret-key2", 401),
            ("", 401),
            ("é" * 5, 401),
        ):
            value = f"Bearer {given}" if header == "authorization" else given
            headers = [(header.encode(), value.encode())]
            response = await client.post("/v1/keyphrases", json={"text": text}, headers=headers)
            assert response.status_code == status, given
        assert response.headers["www-authenticate"] == "Bearer"
        assert 'erukg_rejected_total{reason="api_key"} 9' in service.metrics.text()

    inside(generator, scenario, keys=keys)


def test_a_comparison_of_keys_looks_at_every_key_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    import hmac

    compared: list[tuple[bytes, bytes]] = []
    real = hmac.compare_digest

    def compare(a: bytes, b: bytes) -> bool:
        compared.append((a, b))
        return real(a, b)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    keys = Keys(["first-secret-key", "second-secret-key"])
    for given in ("first-secret-key", "wrong", ""):
        compared.clear()
        assert keys.admit({"x-api-key": given}) is given.startswith("first")
        assert len(compared) == 2
        assert {len(part) for pair in compared for part in pair} == {32}

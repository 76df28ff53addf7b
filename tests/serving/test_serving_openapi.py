"""The OpenAPI document tells the truth: requests made from it are answered as it says, and never with 5xx."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    positive_data_acceptance,
    response_schema_conformance,
    status_code_conformance,
)

from erukg.core.neighbours import Source
from erukg.core.results import Keyphrase, Keyphrases
from erukg.serving import problems
from erukg.subjects.results import NewTerm, Suggestion, Suggestions
from serving.serving_tools import Process

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
    positive_data_acceptance,
)


@pytest.fixture(scope="module")
def server(
    tiny_model: Path, tiny_collection: Path, vocabulary_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Process]:
    limits = ("--max-characters", 5000, "--max-documents", 10, "--max-phrases", 50)
    parts = ("--model", tiny_model, "--collection", tiny_collection, "--vocabulary", f"engines={vocabulary_file}")
    jobs = ("--jobs-folder", tmp_path_factory.mktemp("jobs"), "--max-jobs", 10_000)
    arguments = (*parts, "--no-request-log", *limits, *jobs)
    with Process(*arguments) as process:
        yield process


@pytest.fixture(scope="module")
def described(server: Process) -> dict[str, Any]:
    document: dict[str, Any] = httpx.get(f"{server.url}/openapi.json").json()
    return document


def test_examples_are_answered(server: Process, described: dict[str, Any]) -> None:
    asked = 0
    for path, operations in described["paths"].items():
        for kind, media in operations.get("post", {}).get("requestBody", {}).get("content", {}).items():
            schema = media["schema"]
            if "$ref" in schema:
                schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            for value in schema.get("examples", ()):
                asked += 1
                name = {"application/json": "json", "application/x-www-form-urlencoded": "data"}.get(kind, "content")
                sent: dict[str, Any] = {name: value}
                url = f"{server.url}{path.format(project_id='engines')}"
                response = httpx.post(url, headers={"Content-Type": kind}, **sent)
                assert response.status_code in (200, 202), (path, value, response.text)
    assert asked >= 12


def referred(described: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """The schema as one that stands alone."""
    return {**schema, "components": described["components"]}


def test_examples_of_answers_are_as_described(described: dict[str, Any]) -> None:
    looked_at = 0
    for name, schema in described["components"]["schemas"].items():
        for example in schema.get("examples", ()):
            looked_at += 1
            validator = jsonschema_rs.validator_for(referred(described, schema))
            assert [error.message for error in validator.iter_errors(example)] == [], name
    assert looked_at >= 13


def test_every_operation_has_an_id_a_tag_a_summary_and_its_errors(described: dict[str, Any]) -> None:
    operations = [(m, p, o) for p, methods in described["paths"].items() for m, o in methods.items()]
    ids = [o["operationId"] for _, _, o in operations]
    assert len(ids) == len(set(ids)) >= 21
    assert all(re.fullmatch("[a-z_]+", id) for id in ids)
    tags = {tag["name"] for tag in described["tags"]}
    assert {tag for _, _, o in operations for tag in o["tags"]} == tags
    for method, path, operation in operations:
        assert operation["summary"].endswith(".")
        statuses = set(operation["responses"])
        assert {"400", "421", "431", "500"} <= statuses, path
        assert ("403" in statuses) is (method != "get")
        assert ({"408", "413", "415", "422", "429", "504"} <= statuses) is ("requestBody" in operation)
        for status, answer in operation["responses"].items():
            if "$ref" in answer:
                shape = described["components"]["responses"][answer["$ref"].rpartition("/")[2]]
                assert list(shape["content"]) == ["application/problem+json"], status


def test_what_is_always_there_is_what_results_always_write(described: dict[str, Any]) -> None:
    schemas = described["components"]["schemas"]
    for bare in (
        NewTerm("a", None, False),
        Suggestion("a", "a", 1.0, 1.0),
        Suggestions(),
        Keyphrase("a", 1.0),
        Keyphrases(),
        Source("a", 1.0),
    ):
        schema = schemas[type(bare).__name__]
        assert schema["required"] == list(bare.to_dict())
        left_out = set(schema["properties"]) - set(schema["required"])
        assert not [name for name in left_out if "null" in json.dumps(schema["properties"][name])]
    assert "confidence" not in schemas["NewTerm"]["required"]
    assert schemas["Keyphrase"]["properties"]["confidence"]["description"].startswith("how likely people are")
    # A client would send what it takes for the default, and override what a style or the operator has chosen.
    for name in ("SettingsBody", "KeyphrasesRequest", "ExpandRequest", "SuggestRequest"):
        assert not [field for field, schema in schemas[name]["properties"].items() if "default" in schema]


def test_every_code_is_described(described: dict[str, Any]) -> None:
    about = described["components"]["schemas"]["ProblemDetails"]["properties"]["code"]["description"]
    files = Path(problems.__file__).parent.glob("*.py")
    calls = re.compile(r'Problem\(429, .*"(\w+)"\)$', re.MULTILINE)
    reasons = {reason for file in files for reason in calls.findall(file.read_text())}
    assert {"queue_full", "held_bytes", "pdf_queue_full", "jobs_full"} <= reasons
    for code in {*problems.CODES, *reasons}:
        assert f"`{code}`" in about


def test_the_documentation_page_has_everything_and_needs_nothing(server: Process, described: dict[str, Any]) -> None:
    answer = httpx.get(f"{server.url}/docs")
    page = answer.text
    assert answer.headers["content-security-policy"].startswith("default-src 'self';")
    assert "<script" not in page
    assert "http://" not in page.replace("http://example.org", "").replace("http://localhost", "")
    assert "https://" not in page
    style = httpx.get(f"{server.url}/docs/style.css")
    assert style.headers["content-type"].startswith("text/css")
    assert "url(" not in style.text
    names = {o["operationId"] for methods in described["paths"].values() for o in methods.values()}
    names |= {f"type-{name}" for name in described["components"]["schemas"]}
    assert set(re.findall(r'id="([^"]+)"', page)) == {*names, "types"}
    assert set(re.findall(r'href="#([^"]+)"', page)) <= {*names, "types"}
    assert "curl -s localhost:8000/v1/keyphrases" in page


def test_sources_may_have_titles(described: dict[str, Any]) -> None:
    source = described["components"]["schemas"]["Source"]
    assert set(source["properties"]) == {"id", "share", "title"}
    assert source["required"] == ["id", "share"]


def fuzz(server: Process, described: dict[str, Any], examples: int) -> int:
    """Ask for everything there is with data that fits its schema and with data that does not; how often."""
    refusals = [400, 404, 408, 413, 415, 422]
    config = schemathesis.Config.from_dict({"checks": {"negative_data_rejection": {"expected-statuses": refusals}}})
    schema = schemathesis.openapi.from_dict(described, config=config)
    schema.config.update(base_url=server.url)
    bounded = settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    asked = 0

    def ask(strategy: Any, checks: Any) -> None:
        @bounded
        @given(strategy)
        def one(case: Any) -> None:
            nonlocal asked
            asked += 1
            case.call_and_validate(checks=checks)

        one()

    for result in schema.get_all_operations():
        operation: Any = result.ok()
        # Whether bytes are a PDF or hold documents, and which jobs there are, is more than a schema can say.
        free = operation.path == "/v1/read" or operation.path.startswith("/v1/jobs")
        checks = [check for check in CHECKS if not free or check is not positive_data_acceptance]
        for mode in GenerationMode if operation.method == "post" else (GenerationMode.POSITIVE,):
            ask(operation.as_strategy(generation_mode=mode), checks)
    return asked


def test_requests_made_from_the_description(server: Process, described: dict[str, Any]) -> None:
    assert fuzz(server, described, 15) > 100


@pytest.mark.slow
def test_many_more_requests_made_from_the_description(server: Process, described: dict[str, Any]) -> None:
    assert fuzz(server, described, 400) > 2000

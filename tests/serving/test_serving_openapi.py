"""The OpenAPI document tells the truth: requests made from it are answered as it says, and never with 5xx."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
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
def server(tiny_model: Path, tiny_collection: Path, vocabulary_file: Path) -> Iterator[Process]:
    limits = ("--max-characters", 5000, "--max-documents", 10, "--max-phrases", 50)
    parts = ("--model", tiny_model, "--collection", tiny_collection, "--vocabulary", f"engines={vocabulary_file}")
    arguments = (*parts, "--no-request-log", *limits)
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
                assert response.status_code == 200, (path, value, response.text)
    assert asked >= 11


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
        # Whether bytes are a PDF is more than a schema can say.
        checks = [check for check in CHECKS if operation.path != "/v1/read" or check is not positive_data_acceptance]
        for mode in GenerationMode if operation.method == "post" else (GenerationMode.POSITIVE,):
            ask(operation.as_strategy(generation_mode=mode), checks)
    return asked


def test_requests_made_from_the_description(server: Process, described: dict[str, Any]) -> None:
    assert fuzz(server, described, 15) > 100


@pytest.mark.slow
def test_many_more_requests_made_from_the_description(server: Process, described: dict[str, Any]) -> None:
    assert fuzz(server, described, 400) > 2000

"""reference/http.md: every path of the service, from its OpenAPI document, which comes along as a file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from erukg.serving.reference import name_of, type_in_words

PAGE, DOCUMENT = "reference/http.md", "reference/openapi.json"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    described = _described()
    files.append(File.generated(config, DOCUMENT, content=json.dumps(described, indent=1)))
    files.append(File.generated(config, PAGE, content="\n\n".join(_page(described)) + "\n"))
    return files


def _described() -> dict[str, Any]:
    """What a service answers at /openapi.json."""
    from starlette.testclient import TestClient

    from erukg import KeyphraseGenerator
    from erukg.serving.app import create_app
    from erukg.serving.service import Service

    service = Service(KeyphraseGenerator.from_pretrained("tiny", collection=False))
    answer = TestClient(create_app(service), base_url="http://localhost").get("/openapi.json")
    described: dict[str, Any] = answer.raise_for_status().json()
    return described


def _page(described: Mapping[str, Any]) -> Iterator[str]:
    yield "# HTTP"
    yield (
        f"{described['info']['description']} [The service](../serving.md) explains how to start it, its limits and its "
        "security. A running service shows this page at `/docs`. For tools: [openapi.json](openapi.json)."
    )
    operations = [(m, p, o) for p, methods in described["paths"].items() for m, o in methods.items()]
    for tag in described["tags"]:
        chosen = [each for each in operations if tag["name"] in each[2]["tags"]]
        if chosen:
            yield f"## {tag['name']}"
            yield tag["description"]
        for method, path, operation in chosen:
            yield from _operation(method.upper(), path, operation, described)
    yield "## Types"
    for name, schema in sorted(described["components"]["schemas"].items()):
        yield f"### {name} {{ #type-{name.lower()} }}"
        yield schema.get("description", "")
        required = schema.get("required", ())
        if "properties" in schema:
            yield _fields((field, each, field in required) for field, each in schema["properties"].items())
        else:
            yield _kind(schema)


def _operation(method: str, path: str, operation: Mapping[str, Any], described: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {method} `{path}` {{ #{operation['operationId'].replace('_', '-')} }}"
    yield f"{operation['summary']} {operation.get('description', '')}".strip()
    if parameters := operation.get("parameters"):
        yield "**Parameters**"
        yield _fields((p["name"], p["schema"], p.get("required", False)) for p in parameters)
    bodies = operation.get("requestBody", {}).get("content", {})
    if bodies:
        yield "**Body**"
        yield _contents(bodies)
        kind, example = _example(bodies, described)
        if example is not None:
            yield f"```sh\n{_asking(path, kind, example)}\n```"
    answer = next(iter(operation["responses"].values()))["content"]
    yield "**Answer**"
    yield _contents(answer)
    _, answered = _example(answer, described)
    if answered:
        yield f"```json\n{_written(answered)}\n```"
    errors = [status for status, each in operation["responses"].items() if "$ref" in each]
    yield f"Errors: {', '.join(errors)} ([their codes](../serving.md#requests))."


def _asking(path: str, kind: str, example: Any) -> str:
    if kind.endswith("urlencoded"):
        sent = " ".join(f"--data-urlencode '{name}={value}'" for name, value in example.items())
    else:
        given = example if isinstance(example, str) else _written(example)
        sent = f"-H 'Content-Type: {kind}' --data-binary '{given}'"
    return f"curl -s localhost:8000{path} {sent}"


def _written(value: Any) -> str:
    """JSON with a line for each field, and positions on one."""
    return re.sub(r"\[\s+(\d+),\s+(\d+)\s+\]", r"[\1, \2]", json.dumps(value, indent=1, ensure_ascii=False))


def _contents(contents: Mapping[str, Any]) -> str:
    return "\n".join(f"- `{kind}`: {_kind(content['schema'])}" for kind, content in contents.items())


def _example(contents: Mapping[str, Any], described: Mapping[str, Any]) -> tuple[str, Any]:
    kind, content = next(iter(contents.items()))
    schema = content["schema"]
    schema = described["components"]["schemas"][name_of(schema)] if "$ref" in schema else schema
    return kind, next(iter(schema.get("examples", ())), None)


def _fields(rows: Iterable[tuple[str, Mapping[str, Any], bool]]) -> str:
    lines = ["| field | type | |", "|---|---|---|"]
    for name, schema, needed in rows:
        about = schema.get("description", "").replace("|", "\\|").replace("*", "\\*")
        lines.append(f"| `{name}`{'' if needed else ' *optional*'} | {_kind(schema)} | {about} |")
    return "\n".join(lines)


def _kind(schema: Mapping[str, Any]) -> str:
    return type_in_words(
        schema, link=lambda name: f"[{name}](#type-{name.lower()})", code=lambda value: f"`{value}`", plain=str
    )

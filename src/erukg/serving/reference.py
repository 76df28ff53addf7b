"""The documentation of the API as a page: the OpenAPI document, written out once as HTML without any script."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from html import escape
from importlib.resources import files
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import Response

from erukg.serving.page import HEADERS

__all__ = ["Reference", "name_of", "type_in_words"]

Markup: TypeAlias = Callable[[str], str]

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>erukg: the API</title>
<link rel="icon" href="assets/icon.svg">
<link rel="stylesheet" href="docs/style.css">
</head>
<body>
<nav aria-label="Contents"><a class="home" href="./">erukg</a>{contents}</nav>
<main>
<h1>The API</h1>
<p>Version {version}. {about} As a file for tools: <a href="openapi.json">openapi.json</a>.</p>
{sections}
<h2 id="types">Types</h2>
{types}
</main>
</body>
</html>
"""


class Reference:
    """The page of an OpenAPI document, and its style."""

    def __init__(self, described: Mapping[str, Any]) -> None:
        self._page = _write(described).encode()
        self._style = (files("erukg.serving") / "reference.css").read_bytes()

    async def send(self, request: Request) -> Response:
        return Response(self._page, headers=HEADERS, media_type="text/html")

    async def send_style(self, request: Request) -> Response:
        return Response(self._style, headers=HEADERS, media_type="text/css")


def _write(described: Mapping[str, Any]) -> str:
    schemas = described["components"]["schemas"]
    operations = [
        (method.upper(), path, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    contents, sections = [], []
    for tag in described["tags"]:
        chosen = [each for each in operations if tag["name"] in each[2]["tags"]]
        if not chosen:
            continue
        links = "".join(
            f'<li><a href="#{o["operationId"]}">{escape(path)} <small>{method.lower()}</small></a></li>'
            for method, path, o in chosen
        )
        contents.append(f"<h2>{escape(tag['name'])}</h2><ul>{links}</ul>")
        sections.append(f"<h2>{escape(tag['name'])}</h2><p>{_words(tag['description'])}</p>")
        sections += [_operation(*each, described) for each in chosen]
    contents.append('<h2><a href="#types">Types</a></h2>')
    return _PAGE.format(
        contents="".join(contents),
        version=escape(described["info"]["version"]),
        about=_words(described["info"]["description"]),
        sections="\n".join(sections),
        types="\n".join(_type(name, schema) for name, schema in sorted(schemas.items())),
    )


def _operation(method: str, path: str, operation: Mapping[str, Any], described: Mapping[str, Any]) -> str:
    about = _words(f"{operation['summary']} {operation.get('description', '')}")
    out = [
        f'<section id="{operation["operationId"]}"><h3><b class="{method.lower()}">{method}</b> '
        f"<code>{escape(path)}</code></h3><p>{about}</p>"
    ]
    if parameters := operation.get("parameters"):
        rows = [(p["name"], p["schema"], p.get("required", False)) for p in parameters]
        out.append(f"<h4>Parameters</h4>{_fields(rows)}")
    bodies = operation.get("requestBody", {}).get("content", {})
    if bodies:
        out.append(f"<h4>Body</h4>{_contents(bodies)}{_asking(path, *_example(bodies, described))}")
    answer = next(iter(operation["responses"].values()))["content"]
    _, answered = _example(answer, described)
    shown = f"<pre>{escape(json.dumps(answered, indent=1, ensure_ascii=False))}</pre>" if answered else ""
    out.append(f"<h4>Answer</h4>{_contents(answer)}{shown}")
    errors = [
        f"<li><code>{status}</code> {_words(described['components']['responses'][name_of(each)]['description'])}</li>"
        for status, each in operation["responses"].items()
        if "$ref" in each
    ]
    return "".join([*out, f"<details><summary>Errors</summary><ul>{''.join(errors)}</ul></details></section>"])


def _contents(contents: Mapping[str, Any]) -> str:
    items = (f"<li><code>{kind}</code>: {_kind(content['schema'])}</li>" for kind, content in contents.items())
    return f"<ul>{''.join(items)}</ul>"


def _example(contents: Mapping[str, Any], described: Mapping[str, Any]) -> tuple[str, Any]:
    """The first media type, and the first example of what it holds, if there is one."""
    kind, content = next(iter(contents.items()))
    schema = content["schema"]
    schema = described["components"]["schemas"][name_of(schema)] if "$ref" in schema else schema
    return kind, next(iter(schema.get("examples", ())), None)


def _asking(path: str, kind: str, example: Any) -> str:
    """How to ask with curl."""
    if example is None:
        return ""
    if kind.endswith("urlencoded"):
        sent = " ".join(f"--data-urlencode '{name}={value}'" for name, value in example.items())
    else:
        given = example if isinstance(example, str) else json.dumps(example, indent=1, ensure_ascii=False)
        sent = f"-H 'Content-Type: {kind}' --data-binary '{given}'"
    return f"<pre>{escape(f'curl -s localhost:8000{path} {sent}')}</pre>"


def _type(name: str, schema: Mapping[str, Any]) -> str:
    head = f'<section id="type-{name}"><h3>{name}</h3><p>{_words(schema.get("description", ""))}</p>'
    if "properties" not in schema:
        return f"{head}<p>{_kind(schema)}</p></section>"
    required = schema.get("required", ())
    return (
        f"{head}{_fields((field, each, field in required) for field, each in schema['properties'].items())}</section>"
    )


def _fields(rows: Iterable[tuple[str, Mapping[str, Any], bool]]) -> str:
    cells = (
        f"<tr><th><code>{escape(name)}</code>{'' if needed else ' <i>optional</i>'}</th>"
        f"<td>{_kind(schema)}</td><td>{_words(schema.get('description', ''))}</td></tr>"
        for name, schema, needed in rows
    )
    return f'<div class="wide"><table>{"".join(cells)}</table></div>'


def type_in_words(schema: Mapping[str, Any], link: Markup, code: Markup, plain: Markup) -> str:
    """The type of a value in a few words: named types as links, values as code and the rest in the caller's markup."""
    if "$ref" in schema:
        return link(name_of(schema))
    for joined, word in (("anyOf", " or "), ("allOf", " with ")):
        if joined in schema:
            return word.join(type_in_words(each, link, code, plain) for each in schema[joined] if each != {})
    if "enum" in schema:
        return ", ".join(code(str(value)) for value in schema["enum"])
    kind = schema.get("type", "any")
    if kind == "array" and "items" in schema:
        return f"list of {type_in_words(schema['items'], link, code, plain)}"
    if kind == "object" and isinstance(more := schema.get("additionalProperties"), Mapping):
        return f"object of {type_in_words(more, link, code, plain)}"
    low, high = schema.get("minimum"), schema.get("maximum")
    bounds = f" from {low} to {high}" if low is not None and high is not None else ""
    longest = f", at most {schema['maxLength']} characters" if "maxLength" in schema else ""
    return plain(f"{kind}{bounds}{longest}")


def name_of(reference: Mapping[str, str]) -> str:
    """The name of the type that a schema refers to."""
    return reference["$ref"].rpartition("/")[2]


def _kind(schema: Mapping[str, Any]) -> str:
    return type_in_words(
        schema,
        link=lambda name: f'<a href="#type-{name}">{name}</a>',
        code=lambda value: f"<code>{escape(value)}</code>",
        plain=escape,
    )


def _words(text: str) -> str:
    """Text as HTML; what stands between backquotes is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))

"""Requests to the service and lines of commands, with anything in them."""

from __future__ import annotations

import json
import os
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main
from typer.testing import CliRunner

from campaign.children import in_child
from campaign.inputs import json_value, mutated, text
from campaign.kinds import Batch, Kind, Outcome
from campaign.samples import Samples, has
from erukg.cli import app
from serving import pdf_samples

__all__ = ["Agents", "Commands", "Requests"]

_FIELDS = (
    *("text", "documents", "mode", "top_k", "settings", "explain", "phrases", "fields", "append", "system", "language"),
    *("kind", "weight", "present", "absent", "terms", "format", "search_fields", "id", "title", "limit", "threshold"),
    *("vocabulary", "min_confidence", "new_terms", "name", "idf"),
)
_TYPES = ("application/json", "text/plain", "application/pdf", "application/x-www-form-urlencoded", "", "a/b", "\xff")


class Requests(Kind):
    """Every path with every method and any body: never 5xx, and 4xx with a sentence."""

    size = 250

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)
        from erukg.serving.subjects import load_subjects

        self._subjects = load_subjects(samples.generator, [f"trees={samples.vocabulary_source}"])
        self._files = [b"plain text of sparse graph data", b"# Markdown\n\n`code`", pdf_samples.good()]

    def blow(self, rng: random.Random, number: int, scratch: Path) -> Outcome:
        counts, failures = in_child(lambda: self._ask(rng), 240)
        return Outcome(Counter(counts), failures)

    def _ask(self, rng: random.Random) -> tuple[dict[str, int], list[str]]:
        from erukg.serving.limits import ServiceLimits
        from serving.serving_tools import inside

        counts: Counter[str] = Counter()
        failures: list[str] = []

        async def scenario(client: Any, service: Any) -> None:
            paths = list((await client.get("/openapi.json")).json()["paths"])
            for _ in range(self.size):
                path, body, headers = self._request(rng, paths)
                method = rng.choice(("POST", "POST", "POST", "GET", "PUT", "OPTIONS"))
                answer = await client.request(method, path, content=body, headers=headers)
                what = f"{method} {path!r} {headers} {body[:200]!r}: {answer.status_code} {answer.text[:200]}"
                counts[f"requests: {answer.status_code // 100}xx"] += 1
                if answer.status_code >= 500:
                    failures.append(what)
                elif answer.status_code >= 400 and method != "OPTIONS" and not _has_sentence(answer):
                    failures.append(f"no sentence: {what}")

        limits = ServiceLimits(characters=20_000, pdf_seconds=5, pdf_readers=1)
        inside(self.samples.generator, scenario, limits=limits, subjects=self._subjects, comparisons={})
        return dict(counts), failures[:20]

    def _request(self, rng: random.Random, paths: list[str]) -> tuple[str, bytes, dict[str, str]]:
        path = (
            rng.choice(paths)
            .replace("{project_id}", rng.choice(("trees", "x", "%00")))
            .replace("{", "")
            .replace("}", "")
        )
        if rng.random() < 0.1:
            path += rng.choice(("/", "//", "?a=b", "/..%2f", "?language=xx", "%ff", "?limit=-1"))
        body = {name: json_value(rng) for name in rng.sample(_FIELDS, rng.randint(0, 4))}
        if rng.random() < 0.7:
            body |= rng.choice(({"text": text(rng)}, {"documents": [{"text": text(rng), "id": "a"}]}))
        data = json.dumps(body).encode()
        kind = "application/json"
        if rng.random() < 0.2:
            kind = rng.choice(_TYPES)
        if "read" in path or rng.random() < 0.02:
            # PDF files are parsed by a process that takes its time to start.
            data = rng.choice(self._files[: 3 if rng.random() < 0.02 else 2])
            kind = "application/octet-stream"
        if rng.random() < 0.4:
            data = mutated(rng, [data])
        headers = {"content-type": kind.encode("latin-1").decode("latin-1")} if kind.isascii() else {}
        if rng.random() < 0.05:
            headers[rng.choice(("content-encoding", "x-request-id", "origin", "host", "accept"))] = rng.choice(
                ("gzip", "a", "null", "localhost", "*/*", "x" * 100)
            )
        return path, data, headers


def _has_sentence(answer: Any) -> bool:
    try:
        said = answer.json()
    except ValueError:
        return False
    return isinstance(said, dict) and any(isinstance(said.get(name), str) for name in ("error", "detail", "title"))


class Agents(Kind):
    """Every tool of the MCP server with any arguments: an answer, or an error of one sentence; no file that may not be
    read."""

    size = 150
    _FIELDS = ("text", "path", "top_k", "labels", "vocabulary", "query", "engine", "first_text", "second_path", "x")

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)
        self._suggesters = {"trees": samples.generator.suggester(samples.vocabulary)}

    def blow(self, rng: random.Random, number: int, scratch: Path) -> Outcome:
        counts, failures = in_child(lambda: self._ask(rng, scratch), 240)
        return Outcome(Counter(counts), failures)

    def _ask(self, rng: random.Random, scratch: Path) -> tuple[dict[str, int], list[str]]:
        import anyio
        from mcp import Client

        from erukg.integrations.mcp.files import AllowedFolders, ToolLimits
        from erukg.integrations.mcp.server import make_server
        from erukg.integrations.mcp.tools import Tools

        counts: Counter[str] = Counter()
        failures: list[str] = []
        (scratch / "allowed").mkdir()
        (scratch / "allowed" / "a.txt").write_text("sparse graph data", "utf-8")
        (scratch / "hidden.txt").write_text("unspeakable treasure", "utf-8")
        (scratch / "allowed" / "link.txt").symlink_to(scratch / "hidden.txt")
        limits = ToolLimits(max_mb=0.02, max_seconds=20)
        tools = Tools(self.samples.generator, AllowedFolders([scratch / "allowed"], limits), limits, self._suggesters)

        async def scenario() -> None:
            async with Client(make_server(tools)) as client:
                names = [tool.name for tool in (await client.list_tools()).tools]
                for _ in range(self.size):
                    name, arguments = rng.choice(names), self._arguments(rng)
                    answer = await client.call_tool(name, arguments)
                    said = "".join(part.text for part in answer.content)
                    sentence = not answer.is_error or (said.strip().count("\n") == 0 and said.endswith((".", "?")))
                    if not sentence or "Traceback" in said or "unspeakable treasure" in said:
                        counts["failed"] += 1
                        failures.append(f"{name} {arguments}: {said[:300]}")
                    else:
                        counts[f"agents: {'refused' if answer.is_error else 'answered'}"] += 1

        anyio.run(scenario)
        return dict(counts), failures[:20]

    def _arguments(self, rng: random.Random) -> dict[str, Any]:
        names = (".", "a.txt", "link.txt", "../hidden.txt", "/etc/passwd", "a\0b", "x" * 300, "trees", "lucene", "")
        good: dict[str, Any] = rng.choice(
            ({"text": text(rng)}, {"path": rng.choice(names)}, {"query": text(rng, 6)}, {})
        )
        fields = rng.sample(self._FIELDS, rng.choice((0, 1, 1, 3)))
        given = {name: rng.choice((json_value(rng), rng.choice(names), rng.randrange(-1, 99))) for name in fields}
        # The client cannot send a name with half of a surrogate pair in it.
        sendable = re.sub(r"\\ud[89a-f][0-9a-f]{2}", "?", json.dumps(given))
        return {**good, **json.loads(sendable)}


class Commands(Batch):
    """Every command with any options: an exit code that the help names, and no traceback."""

    size = 40
    seconds = 240.0
    #: They work for long, wait for requests, or change what others read: never with a line that might be right.
    _LONG = ("serve", "train", "evaluate", "reproduce", "benchmark", "mcp", "calibrate", "add", "remove", "merge")
    #: Options that are given anyway, or that start a cluster.
    _UNTOUCHED = ("--model", "--engine", "--workers", "--device")

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)
        self._commands = list(_leaves(typer.main.get_command(app), ()))

    def enter(self, scratch: Path) -> None:
        (scratch / "here").mkdir(exist_ok=True)
        os.chdir(scratch / "here")
        os.environ["HF_HUB_OFFLINE"] = "1"

    def strike(self, rng: random.Random, scratch: Path) -> str:
        names, command = rng.choice(self._commands)
        line = [*names, *(self._right(rng, names) if rng.random() < 0.6 else ())]
        for parameter in rng.sample(command.params, min(len(command.params), rng.choice((0, 0, 1, 1, 2, 5)))):
            if parameter.param_type_name == "option":
                if parameter.opts[0] not in self._UNTOUCHED:
                    line.append(rng.choice(parameter.opts))
                    line += [] if parameter.is_flag else [self._value(rng)]
            else:
                line.append(self._value(rng))
        given = {option for parameter in command.params for option in parameter.opts}
        if "--model" in given:
            line += ["--model", str(self.samples.model)]
        if "--no-collection" in given and "--collection" not in line:
            line.append("--no-collection")
        if any(name in self._LONG for name in names):
            line.append("--nothing-like-it")
        written = text(rng).encode("utf-8", "replace")
        done = CliRunner().invoke(app, [part.replace("\0", "") for part in line], input=written)
        unexpected = done.exception is not None and not isinstance(done.exception, SystemExit)
        assert not unexpected, f"{line}: {done.exception!r}"
        assert done.exit_code in (0, 1, 2, 3), f"{line}: exit code {done.exit_code}: {done.output[-300:]}"
        assert "Traceback (most" not in done.output, f"{line}: {done.output[-500:]}"
        return f"commands: exit code {done.exit_code}"

    def _right(self, rng: random.Random, names: tuple[str, ...]) -> list[str]:
        """What makes a right line of the command, where it is known."""
        samples = self.samples
        base = str(rng.choice((samples.base, samples.worn, samples.collection)))
        known: dict[str, list[str]] = {
            **{name: [str(samples.corpus)] for name in ("generate", "extract", "expand", "encode", "text")},
            "rank": [str(samples.corpus), "--phrase", "sparse graph"],
            "suggest": [str(samples.corpus), "--vocabulary", str(samples.vocabulary)],
            "report": [str(samples.corpus), "--output", "report.html"],
            **{f"collection {name}": [base] for name in ("info", "verify")},
            "collection search": [base, "sparse graph data"],
            "collection build": [f"c{rng.randrange(9)}", str(samples.corpus)],
            "collection slim": [base, f"s{rng.randrange(9)}"],
            "vocabulary build": [str(samples.vocabulary_source), "--output", f"v{rng.randrange(9)}"],
            "vocabulary info": [str(samples.vocabulary)],
            "model verify": [str(samples.model)],
        }
        return known.get(" ".join(names), [])

    def _value(self, rng: random.Random) -> str:
        samples = self.samples
        files = (samples.corpus, samples.old, samples.vocabulary_source, samples.vocabulary, samples.model)
        numbers = ("", "0", "-1", "1", "2", "0.5", "1e999", "nan", "9" * 30)
        names = (
            "x",
            "a,b",
            "/",
            ".",
            "nowhere",
            "out.jsonl",
            "out.csv",
            "out.xlsx",
            "é\0",
            "🙂",
            "-",
            "--",
            text(rng, 4),
        )
        return str(rng.choice((rng.choice(files), rng.choice(numbers), rng.choice(names))))


def _leaves(command: Any, names: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that has no others below it, as far as what it needs is installed."""
    if not hasattr(command, "list_commands"):
        yield names, command
        return
    context = command.context_class(command)
    for name in command.list_commands(context):
        try:
            _, found, _ = command.resolve_command(context, [name])
        except ImportError:
            continue
        if found is not None and (has("torch") or name not in ("train", "evaluate", "reproduce", "benchmark")):
            yield from _leaves(found, (*names, name))

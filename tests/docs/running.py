"""Runs the blocks of a page one after the other, in one folder and one namespace, as a reader would."""

from __future__ import annotations

import contextlib
import glob
import io
import json
import os
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import quote

import typer
from starlette.testclient import TestClient
from typer.testing import CliRunner

from docs.apart import APART, LANGUAGES_APART, ONLY_SLOW, PROGRAMS_APART
from docs.blocks import ROOT, Block, Command, commands_of
from docs.comparing import difference
from erukg.cli import app

__all__ = ["Page", "Wrong", "parses"]

_PLAIN = set("cat printf echo mkdir gzip cp cut head tail ls sort uniq grep sed wc".split())
_EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
_REQUEST = re.compile(r"(?:http://)?(?:localhost|127\.0\.0\.1):8000(/\S*)")


class Wrong(AssertionError):
    """A block of the docs that is not true."""


def parses(words: list[str]) -> None:
    """Raises typer's own error where `erukg` would not understand the command line."""
    command: Any = typer.main.get_command(app)
    context = command.make_context("erukg", list(words))
    while hasattr(command, "resolve_command"):
        rest = [*getattr(context, "_protected_args", ()), *context.args]
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, rest, parent=context)


def _stages(words: list[str]) -> tuple[list[list[str]], str | None]:
    """The programs of a pipe, each with its arguments, and the file that the last one's output goes to."""
    target = None
    if ">" in words:
        at = words.index(">")
        words, target = words[:at], words[at + 1]
    stages: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    return stages, target


def _globbed(words: list[str]) -> list[str]:
    return [one for word in words for one in (sorted(glob.glob(word)) if "*" in word else []) or [word]]  # noqa: PTH207


@dataclass
class Page:
    """What a reader has got so far.

    names    of Python
    printed  by the block or command before; None where there was none, "…" where it was not run
    said     on standard error, by the last command
    lacking  files that a command would have made which was not run
    serve    the last command line that starts the service
    """

    slow: bool = False
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    printed: str | None = None
    said: str = ""
    lacking: set[str] = field(default_factory=set)
    serve: list[str] = field(default_factory=list)

    def write(self, blocks: list[Block]) -> None:
        """The files that the page shows; a folder among them holds nothing else."""
        files = {Path(block.title): block.code for block in blocks if block.title is not None}
        for folder in {path.parts[0] for path in files if len(path.parts) > 1}:
            shutil.rmtree(folder, ignore_errors=True)
        for path, code in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code, "utf-8")

    def run(self, block: Block) -> None:
        if block.title is not None or block.language in LANGUAGES_APART:
            return
        if block.language == "shell":
            for command in commands_of(block.code):
                try:
                    self._command(command)
                except Exception as error:
                    raise Wrong(f"{block.place}: {command.line}\n{error}") from error
            return
        if _apart(block.code):
            self.printed = "…"
            if block.language == "python":
                compile(block.code, block.place, "exec")
            return
        try:
            self._other(block)
        except Exception as error:
            raise Wrong(f"{block.place}: {type(error).__name__}: {error}") from error

    def _other(self, block: Block) -> None:
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile(block.code, block.place, "exec"), self.names)
            self.printed = out.getvalue()
        elif block.language == "json" and not (block.follows and self.printed is not None):
            try:
                json.loads(block.code)
            except ValueError:
                for line in block.code.splitlines():
                    json.loads(line)
        elif self.printed is not None:
            if self.printed != "…":
                _compare(block.code, self.printed)
            self.printed = None
        else:
            raise Wrong("neither code nor the output of any: run it, or give the reason in tests/docs/apart.py")

    def _command(self, command: Command) -> None:
        self.printed = "…"
        words = command.words
        if words[0] == "pip" or words[:3] == ["python", "-m", "pip"]:
            for extras in re.findall(r"erukg\[([^]]*)\]", command.line):
                assert set(extras.split(",")) <= _EXTRAS, f"there is no such extra: {extras}"
            return
        lacking = self.lacking & {word.rstrip("/") for word in words}
        if _apart(command.line) or words[0] in PROGRAMS_APART or lacking:
            self._look_at(command)
            return
        if any(part in command.line for part in ONLY_SLOW) and not self.slow:
            parses(words[1:])
            return
        assert not {"&&", ";", "&"} & set(words), "several commands in a line: one a line, please"
        stages, target = _stages(words)
        data = b""
        for stage in stages:
            data = self._stage(stage, data)
        if target is not None:
            Path(target).write_bytes(data)
            return
        self.printed = data.decode()
        shown = "\n".join(command.shown).strip("\n")
        # On a terminal both come together, in the order of the command.
        if shown and all(difference(shown, text) for text in (self.printed, self.said + self.printed)):
            _compare(shown, self.printed + self.said)

    def _stage(self, words: list[str], data: bytes) -> bytes:
        if words[0] == "erukg":
            done = CliRunner().invoke(app, _globbed(words[1:]), input=data)
            if done.exception is not None and not isinstance(done.exception, SystemExit):
                raise done.exception
            assert done.exit_code == 0, f"exit code {done.exit_code}: {done.stderr}"
            self.said = done.stderr
            return bytes(done.stdout_bytes)
        if words[0] == "curl":
            return self._request(words[1:], data)
        if shutil.which(words[0]) is None and words[0] == "jq":
            return data
        assert words[0] in {*_PLAIN, "jq"}, f"{words[0]} is not run here: give the reason in tests/docs/apart.py"
        return subprocess.run(words, input=data, capture_output=True, check=True, timeout=60).stdout

    def _look_at(self, command: Command) -> None:
        """A command line that is not run must still be one."""
        words = [word for word in command.words if not re.fullmatch(r"[A-Z_]+=\S*", word)]
        if words[0] == "erukg":
            parses(words[1:])
            made = [word for before, word in pairwise(words) if before in ("-o", "--output")]
            self.lacking |= {word.rstrip("/") for word in made}
            if words[1] == "serve":
                self.serve = words
        elif words[0] == "python":
            module = words[2].replace(".", "/") if words[1] == "-m" else words[1].removesuffix(".py")
            places = [ROOT / f"{top}{module}{end}" for top in ("", "src/") for end in (".py", "/__main__.py")]
            (found,) = [place for place in places if place.is_file()]
            source = "".join(path.read_text("utf-8") for path in found.parent.glob("*.py"))
            for option in (word for word in words if word.startswith("--")):
                assert f'"{option}"' in source or f'"{option[2:]}"' in source, f"{words[1:3]} has no option {option}"

    def _request(self, words: list[str], data: bytes) -> bytes:
        """What curl would get from the service that the page started last."""
        from erukg import KeyphraseGenerator
        from erukg.serving.app import create_app
        from erukg.serving.jobs import JobStore
        from erukg.serving.limits import ServiceLimits
        from erukg.serving.service import Service
        from erukg.serving.subjects import load_subjects

        headers, body, method, path, files = {}, b"", None, None, {}
        values = iter(words)
        for word in values:
            if word in ("-H", "--header"):
                name, _, value = next(values).partition(": ")
                headers[name] = value
            elif word in ("-d", "--data-binary", "--data-urlencode", "--data"):
                value = next(values)
                if word == "--data-urlencode":
                    name, _, value = value.partition("=")
                    value = f"{name}={quote(value)}"
                given = data if value == "@-" else Path(value[1:]).read_bytes() if value[:1] == "@" else value.encode()
                body, method = (body + b"&" if body else b"") + given, method or "POST"
            elif word in ("-F", "--form"):
                name, _, value = next(values).partition("=@")
                files[name], method = (value, Path(value).read_bytes()), "POST"
            elif word in ("-X", "--request"):
                method = next(values)
            elif found := _REQUEST.fullmatch(word):
                path = found[1]
        assert path is not None, "no request to the service"
        generator = KeyphraseGenerator.from_pretrained()
        vocabularies = [self.serve[i + 1] for i, word in enumerate(self.serve) if word == "--vocabulary"]
        limits = ServiceLimits()
        jobs = JobStore(Path(os.getcwd()) / "jobs", limits)  # noqa: PTH109
        service = Service(generator, subjects=load_subjects(generator, vocabularies), jobs=jobs, limits=limits)
        if not files:
            headers.setdefault("Content-Type", "application/x-www-form-urlencoded")
        with TestClient(create_app(service), base_url="http://localhost:8000") as client:
            answer = client.request(method or "GET", path, headers=headers, content=body or None, files=files or None)
        assert answer.status_code < 300, answer.text
        return answer.content


def _apart(code: str) -> bool:
    return any(key in code for key in APART)


def _compare(shown: str, printed: str) -> None:
    wrong = difference(shown, printed)
    assert wrong is None, f"{wrong}\nshown:\n{shown}\nprinted:\n{printed}"

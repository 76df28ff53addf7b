"""Two ways to run the command: in this process, and as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from erukg.cli import app

Run = Callable[..., Result]
COMMAND = [sys.executable, "-m", "erukg.cli"]


def parts(command: str, model: Path) -> list[str]:
    """This model, and no collection where there might be one."""
    return ["--model", str(model), *([] if command in ("extract", "encode") else ["--no-collection"])]


@pytest.fixture
def run(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run("generate", "a.txt")` with the tiny model and no collection."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(command: str, *arguments: object, input: str | bytes | None = None) -> Result:
        return CliRunner().invoke(app, [command, *parts(command, tiny_model), *map(str, arguments)], input=input)

    return call


@pytest.fixture
def shell(tiny_model: Path) -> Callable[..., subprocess.Popen[bytes]]:
    """The command as a process of its own."""

    def start(command: str, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
        line = [*COMMAND, command, *parts(command, tiny_model), *map(str, arguments)]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(line, **{**pipes, "env": {**os.environ, "COLUMNS": "200"}, **options})

    return start

"""The examples of docs/documents.md, run as they stand."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from doors import document_samples as samples
from erukg.cli import app

PAGE = (Path(__file__).parents[2] / "docs" / "documents.md").read_text("utf-8")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "report.docx").write_bytes(samples.docx())
    (tmp_path / "page.html").write_bytes(samples.html())
    row = {"key": "k1", "meta": {"headline": "Sea ice"}, "body": "Radar images of sea ice from space."}
    (tmp_path / "news.json").write_text(json.dumps([row]))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL), ids=range(4))
def test_python(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, "documents.md", "exec"), {})
    printed = capsys.readouterr().out
    assert printed
    assert "BadDocument" not in printed


@pytest.mark.parametrize(
    "line", [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
)
def test_commands(line: str) -> None:
    done = CliRunner().invoke(app, shlex.split(line)[1:])
    assert done.exit_code == 0, done.stderr
    assert done.stdout or Path("texts.jsonl").read_text("utf-8").count("\n") == 2

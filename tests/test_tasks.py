"""The start and the tasks do what they show: their files are written, their commands and code run, output compared.

A block with `title="NAME"` is a file. In a block of `console`, lines after `$ ` are commands and the others what they
print; a last line "…" stands for more of it. Each page has a folder of its own, with the texts of examples/. Words are
compared, figures are not, as the last digits of scores depend on the processor. `python tests/test_tasks.py` writes
the output anew.
"""

from __future__ import annotations

import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from erukg.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "docs" / "index.md",
    *(ROOT / "docs" / "tasks" / f"{name}.md" for name in ("agent", "compare", "map", "search", "tag", "thesaurus")),
]
# The commands of this environment first.
PROGRAMS = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
_FILE = re.compile(r'^```\w+ title="([\w./-]+)"\n(.*?)^```', re.MULTILINE | re.DOTALL)
_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_SAME = 0.9


def run(command: str, folder: Path) -> str:
    """What a command prints. Most run in this process, which has the model in memory."""
    if command.startswith("erukg ") and not re.search(r"[|<>;&]", command):
        done = CliRunner().invoke(app, shlex.split(command.replace("\\\n", " "))[1:])
        assert done.exit_code == 0, f"{command}\n{done.output}"
        lines = [line.rstrip() for line in done.output.splitlines() if not line.startswith("erukg: The model runs")]
        return "\n".join(lines) + "\n"
    shell = ["bash", "-ec", command]
    told = subprocess.run(shell, cwd=folder, text=True, capture_output=True, timeout=120, check=False)
    assert told.returncode == 0, f"{command}\n{told.stdout}{told.stderr}"
    return told.stdout + told.stderr


def blocks(text: str, folder: Path) -> Iterator[tuple[re.Match[str], list[tuple[str, str, str]]]]:
    """The blocks of a page, and for each of its commands what the page says that it prints and what it prints."""
    shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
    for name, content in _FILE.findall(text):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, "utf-8")
    for block in _BLOCK.finditer(text):
        if block[1] == "python":
            exec(compile(block[2], "the page", "exec"), {"__name__": "__main__"})
        else:
            yield block, [(line, said, run(line, folder)) for line, said in _COMMAND.findall(block[2])]


def shortened(said: str, printed: str) -> str:
    """What is printed, as much of it as the page shows."""
    lines = printed.rstrip().splitlines()
    shown = said.splitlines()
    return "\n".join([*lines[: len(shown) - 1], "…"] if shown and shown[-1] == "…" else lines)


def likeness(said: str, printed: str) -> float:
    """How much of two outputs is the same, in words."""
    shown, found = (re.findall(r"[^\W\d_]+", text) for text in (said, shortened(said, printed)))
    return difflib.SequenceMatcher(None, shown, found, autojunk=False).ratio()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_print_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", PROGRAMS)
    for _, commands in blocks(page.read_text("utf-8"), tmp_path):
        assert commands
        for line, said, printed in commands:
            assert likeness(said, printed) >= _SAME, f"{line}\n{printed}"


def test_other_words_are_noticed() -> None:
    assert likeness("rare files 0.4\nflooding 0.1\n", "rare files 0.5\nflooding 0.2\n") == 1
    assert likeness("rare files 0.4\nflooding 0.1\n", "rare files 0.4\nrandom walks 0.1\n") < _SAME
    assert likeness("rare files\n…\n", "rare files\nflooding\n") == 1
    assert likeness("", "rare files\n") < _SAME


if __name__ == "__main__":
    import tempfile

    os.environ["PATH"] = PROGRAMS
    for path in [Path(name).resolve() for name in sys.argv[1:]] or PAGES:
        text = path.read_text("utf-8")
        with tempfile.TemporaryDirectory() as temporary:
            os.chdir(temporary)
            made = [
                (block.span(2), "\n".join(f"$ {line}\n{shortened(*both)}".rstrip() for line, *both in commands))
                for block, commands in blocks(text, Path(temporary))
            ]
        for (start, end), console in reversed(made):
            text = f"{text[:start]}{console}\n{text[end:]}"
        path.write_text(text, "utf-8")

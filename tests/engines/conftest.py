"""What all engines are given, and the examples of docs/engines.md, which are what runs."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engines.papers import papers, search_fields
from erukg import KeyphraseGenerator

PAGE = (Path(__file__).parents[2] / "docs" / "engines.md").read_text("utf-8")
Hit = tuple[str, float]


def example(heading: str) -> str:
    """The Python under a heading of the page."""
    section = re.split(r"^#+ ", PAGE.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return str(code)


def run_example(python: object, heading: str, folder: Path, calls: Sequence[str], before: str = "") -> list[Any]:
    """What some expressions give after the example has run, in a process of its own in this folder."""
    last = f"import json\nwith open('answers.json', 'w') as out:\n    json.dump([{', '.join(calls)}], out)\n"
    script = folder / "example.py"
    script.write_text(f"{before}\n{example(heading)}\n{last}", "utf-8")
    done = subprocess.run([str(python), script.name], cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return list(json.loads((folder / "answers.json").read_text()))


@pytest.fixture(scope="session")
def bundled_generator() -> KeyphraseGenerator:
    """The smaller of the bundled models, alone."""
    return KeyphraseGenerator.from_pretrained("tiny", False)


@pytest.fixture(scope="session")
def fields(bundled_generator: KeyphraseGenerator) -> list[dict[str, Any]]:
    return [search_fields(bundled_generator, row) for row in papers()]


@pytest.fixture
def folder(fields: list[dict[str, Any]], tmp_path: Path) -> Path:
    """A folder with the `fields.jsonl` that the examples read."""
    (tmp_path / "fields.jsonl").write_text("".join(json.dumps(row) + "\n" for row in fields), "utf-8")
    return tmp_path

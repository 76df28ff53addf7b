"""The components of docs/pipelines.md and BERTopic, each with its framework in an environment of its own.

pytest tests/doors -m doors
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from doors.examples import example
from doors.own_environment import ROOT, own_environment, run_there

pytestmark = pytest.mark.doors

TOOLS = ("pytest>=8.2", "pandas>=2,<4")
#: What each example prints, among other things.
PRINTED = {
    "spaCy": "Rare files True [0]",
    "Haystack": "['Rare files', 'unstructured peer-to-peer networks', 'flooding']",
    "LangChain": "{'source': 'notes', 'keyphrases': ['Rare files', ",
    "LlamaIndex": "{'keyphrases': 'Rare files, ",
}
DOORS = {
    "spacy": ["erukg[spacy]"],
    "haystack": ["erukg[haystack]"],
    "haystack 2": ["haystack-ai>=2.10,<2.11"],
    "langchain": ["erukg[langchain]"],
    "llamaindex": ["erukg[llamaindex]"],
    "bertopic": ["erukg[bertopic]"],
}


def python_of(door: str) -> Path:
    return own_environment(door.replace(" ", "-"), [*DOORS[door], *TOOLS])


@pytest.mark.parametrize("door", DOORS)
def test_with_the_real_package(door: str) -> None:
    """Runs `inside_NAME.py` there, without the settings and fixtures of other tests, which want more packages."""
    script = ROOT / "tests" / "doors" / f"inside_{door.split()[0]}.py"
    quiet = ("-q", "-c", os.devnull, "--rootdir", script.parent, "--noconftest", "-p", "no:cacheprovider")
    done = subprocess.run(
        [str(part) for part in (python_of(door), "-m", "pytest", *quiet, script)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests"), "PYTHONNOUSERSITE": "1"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


@pytest.mark.parametrize("heading", PRINTED)
def test_the_examples_of_the_page(heading: str, tmp_path: Path) -> None:
    code = example("pipelines.md", heading)
    assert len(code.splitlines()) <= 12
    assert PRINTED[heading] in run_there(python_of(heading.lower()), code, tmp_path)

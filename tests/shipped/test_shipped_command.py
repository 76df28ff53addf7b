"""README's first command does what it says: its last part in this environment and, as a slow test, all of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from shipped.gate import ROOT

# What hatchling needs to make the package, and the example.
NEEDED = ("src", "examples", "pyproject.toml", "README.md", "LICENSE", "NOTICE")


def first_command() -> str:
    found = re.search(r"```sh\n(.*?)\n```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def check_output(lines: str) -> None:
    """JSON Lines, as everything that is no terminal gets: the phrases of the example."""
    (result,) = map(json.loads, lines.splitlines())
    present = [k["phrase"].lower() for k in result["present"]]
    assert len(present) == 10
    assert {"unstructured peer-to-peer networks", "peer-to-peer networks", "rare files"} & set(present[:3])
    assert {"bloom filter", "random walks", "search protocol"} & set(present)
    absent = {k["phrase"] for k in result["absent"]}
    assert {"p2p networks", "peer-to-peer systems", "file sharing", "p2p systems", "distributed hash tables"} & absent
    assert all(k["sources"] for k in result["absent"])
    assert result.get("notices", []) == []


def test_what_it_runs_after_installing() -> None:
    *_, last = first_command().split(" && ")
    program, *arguments = last.split()
    assert program == ".venv/bin/erukg"
    script = Path(sysconfig.get_path("scripts")) / "erukg"
    assert script.is_file(), "erukg is not installed here; run: pip install -e '.[dev]'"
    done = subprocess.run([script, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    check_output(done.stdout)


@pytest.mark.slow
def test_the_whole_line_in_a_bare_checkout(tmp_path: Path) -> None:
    for name in NEEDED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    # `python3` is the one that runs this test, and nothing of it is to be seen in the environment that is made.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PATH"] = os.pathsep.join((str(Path(sys.executable).parent), environment["PATH"]))
    done = subprocess.run(
        ["sh", "-c", first_command()],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    check_output(done.stdout[done.stdout.index('{"id"') :])

"""What the package needs has bounds on both sides, and can be written down: a lock file and a bill of materials."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
RUN_TIME = tuple(
    "gpu serve pdf documents hub parquet ray pandas polars duckdb sklearn bertopic spacy haystack langchain llamaindex "
    "mcp".split()
)
# Tried in environments of their own, so not among what the other tests run with.
APART = {"bertopic", "spacy", "haystack", "langchain", "llamaindex"}


def others(lines: list[str]) -> list[Requirement]:
    return [each for each in map(Requirement, lines) if each.name != PROJECT["name"]]


@pytest.mark.parametrize(
    "needed", [line for lines in (PROJECT["dependencies"], *(EXTRAS[name] for name in RUN_TIME)) for line in lines]
)
def test_bounds(needed: str) -> None:
    for requirement in others([needed]):
        operators = {bound.operator for bound in requirement.specifier}
        assert operators in ({">=", "<"}, {"=="}), f"{needed} has no bound on one side"
        try:
            assert requirement.specifier.contains(version(requirement.name)), "what the tests run with is out of bounds"
        except PackageNotFoundError:  # an extra that is not installed
            assert needed not in PROJECT["dependencies"]


def test_the_lock_file_is_within_the_bounds() -> None:
    lines = (ROOT / ".ci" / "dev.lock").read_text("utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if not line.startswith("#"))
    extras = [line for name, lines in EXTRAS.items() if name not in APART for line in lines]
    for requirement in others([*PROJECT["dependencies"], *extras]):
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), requirement


def test_an_audit_says_what_it_needs() -> None:
    blocked = "import runpy, sys; sys.modules['pip_audit'] = None; sys.argv = sys.argv[1:]"
    script = f"{blocked}; runpy.run_path(sys.argv[0], run_name='__main__')"
    line = [sys.executable, "-c", script, str(ROOT / ".ci" / "dependencies.py"), "audit"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "pip-audit is not installed here; install it with: pip install pip-audit\n"


def test_bill_of_materials() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "dependencies.py", "sbom"], capture_output=True, text=True, check=True
    )
    bill = json.loads(done.stdout)
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "erukg")
    listed = {each["name"]: each["version"] for each in bill["components"]}
    for requirement in others(PROJECT["dependencies"]):
        assert requirement.specifier.contains(listed[canonicalize_name(requirement.name)])
    assert "torch" not in listed

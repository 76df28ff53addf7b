"""What is not installed is said in a sentence before any work is done, and help never needs it.

Every command is tried in a Python that finds no package of any extra.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# Runs commands, given as a JSON list of lists of arguments, where nothing blocked can be imported.
SCRIPT = """
import json, sys, time

blocked, commands = json.load(sys.stdin)

class Finder:
    def __init__(self, other):
        self.other = other

    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in blocked else self.other.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self.other, name)

sys.meta_path[:] = [Finder(each) for each in sys.meta_path]
import click
from typer.main import get_command
from typer.testing import CliRunner
from erukg.cli import app

def walk(command, path):
    yield path
    for name in command.list_commands(None) if hasattr(command, "list_commands") else ():
        _, inner, _ = command.resolve_command(click.Context(command), [name])
        yield from walk(inner, [*path, name])

answers = []
for arguments in commands or [[*path, "--help"] for path in walk(get_command(app), [])]:
    done = CliRunner().invoke(app, arguments)
    loaded = "onnxruntime" in sys.modules
    answers.append([arguments, done.exit_code, done.output, repr(done.exception), loaded])
print(json.dumps(answers))
"""


def needed(names: set[str]) -> set[str]:
    """These packages and all that they need in turn, as far as they are installed here."""
    found: set[str] = set()
    waiting = {canonicalize_name(name) for name in names}
    while waiting:
        name = waiting.pop()
        found.add(name)
        try:
            requires = map(Requirement, distribution(name).requires or ())
        except PackageNotFoundError:
            continue
        there = {
            canonicalize_name(each.name) for each in requires if not each.marker or each.marker.evaluate({"extra": ""})
        }
        waiting |= there - found
    return found


def of_extras() -> list[str]:
    """The modules of all packages that only extras name."""
    lines = [line for lines in PROJECT["optional-dependencies"].values() for line in lines]
    base = needed({Requirement(line).name for line in PROJECT["dependencies"]})
    extra = {canonicalize_name(Requirement(line).name) for line in lines} - base - {"erukg"}
    owners = {top: {canonicalize_name(each) for each in names} for top, names in packages_distributions().items()}
    return sorted(top for top, names in owners.items() if names & extra)


def run_without_extras(commands: list[list[str]]) -> list[tuple[list[str], int, str, str, bool]]:
    blocked = [*of_extras(), "spacy", "nltk", "huggingface_hub"]
    given = json.dumps([blocked, commands])
    done = subprocess.run([sys.executable, "-c", SCRIPT], input=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [tuple(answer) for answer in json.loads(done.stdout)]


def test_help_needs_no_extra() -> None:
    answers = run_without_extras([])
    assert len(answers) > 40
    for arguments, code, output, exception, _ in answers:
        assert (code, exception) == (0, "None"), f"{arguments}: {exception}"
        assert "Usage" in output


def test_each_door_names_its_extra(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Sea ice from radar images.")
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "sea ice"}\n')
    (tmp_path / "v.ttl").write_text("x")
    for ending in ("pdf", "docx", "odt", "pptx", "epub", "parquet"):
        (tmp_path / f"a.{ending}").write_bytes(b"x")
    text, out = str(tmp_path / "a.txt"), str(tmp_path / "out")
    doors: dict[tuple[str, ...], str] = {
        **{("generate", str(tmp_path / f"a.{ending}")): "documents" for ending in ("docx", "odt", "pptx", "epub")},
        ("extract", str(tmp_path / "a.pdf")): "pdf",
        ("rank", str(tmp_path / "a.parquet"), "--phrase", "ice"): "parquet",
        ("text", "s3://bucket/archive"): "parquet",
        ("report", str(tmp_path / "a.docx"), "-o", out): "documents",
        ("collection", "build", out, str(tmp_path / "a.pdf")): "pdf",
        ("encode", str(tmp_path / "a.pdf")): "pdf",
        ("generate", text, "--engine", "ray", "-o", out): "ray",
        ("expand", str(tmp_path / "a.jsonl"), "--engine", "ray", "-o", out): "ray",
        ("generate", text, "--device", "cuda"): "gpu",
        ("generate", text, "--model", "hub:owner/name@v1"): "hub",
        ("serve",): "serve",
        ("train", "ranker", text, "-o", out): "train",
        ("suggest", text, "--vocabulary", str(tmp_path / "v.ttl")): "skos",
        **{
            (*command, "-o", f"{out}.parquet"): "parquet"
            for command in (
                ("generate", text),
                ("rank", text, "--phrase", "ice"),
                ("encode", text),
                ("expand", str(tmp_path / "a.jsonl")),
                ("suggest", text, "--vocabulary", text),
            )
        },
    }
    answers = run_without_extras([list(door) for door in doors])
    for (arguments, code, output, exception, loaded), extra in zip(answers, doors.values(), strict=True):
        assert code == 1, f"{arguments}: {exception}"
        assert not loaded, f"{arguments}: a model was loaded"
        assert f"pip install 'erukg[{extra}]'" in output, arguments
        assert output.count("\n") == 1, output


def test_adapters_are_thin() -> None:
    """What needs more than that belongs into the core; the jobs of a cluster are no adapter."""
    files = [path for path in (ROOT / "src/erukg/integrations").rglob("*.py") if path.parent.name != "ray"]
    assert len(files) > 15
    assert sum(len(path.read_text("utf-8").splitlines()) for path in files) < 1_500


@pytest.mark.parametrize("extra", sorted({"documents", "hub", "pdf"} & set(PROJECT["optional-dependencies"])))
def test_the_packages_of_an_extra_are_known(extra: str) -> None:
    for line in PROJECT["optional-dependencies"][extra]:
        name = Requirement(line).name
        assert name == "erukg" or distribution(name).version

"""What a release says of itself agrees: version, changelog, citation, registry entry, Pythons and workflow."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from packaging.specifiers import SpecifierSet
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = ROOT / ".github" / "workflows"


def version() -> str:
    (found,) = re.findall(r'^__version__ = "(.+)"$', (ROOT / "src/erukg/_version.py").read_text("utf-8"), re.MULTILINE)
    return str(found)


def cited(key: str) -> list[str]:
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    return re.findall(rf'^{key}: "?([^"\n]+)"?$', text, re.MULTILINE)


def test_one_version_everywhere() -> None:
    entry = json.loads((ROOT / "server.json").read_text("utf-8"))
    assert PROJECT["dynamic"] == ["version"]
    assert cited("version") == [version()]
    assert {entry["version"], *(package["version"] for package in entry["packages"])} == {version()}


def test_the_changelog_is_of_versions_newest_first() -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    released = [heading for heading in headings if heading != "Unreleased"]
    assert headings == [*["Unreleased"][: len(headings) - len(released)], *released]
    versions = [Version(each) for each in released]
    assert versions == sorted(set(versions), reverse=True)
    assert released[0] == version()


def test_name_licence_and_addresses() -> None:
    entry = json.loads((ROOT / "server.json").read_text("utf-8"))
    owner, name = entry["name"].removeprefix("io.github.").split("/")
    home = f"https://github.com/{owner}/{name}"
    assert (PROJECT["name"], cited("title")) == (name, [name])
    assert cited("license") == [PROJECT["license"]]
    assert cited("repository-code") == [home]
    assert set(PROJECT["urls"]) == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    for url in PROJECT["urls"].values():
        assert url == home or url.startswith(f"{home}/")
        # What stands behind it in the repository is there.
        if "/main/" in url:
            assert (ROOT / url.split("/main/")[1]).exists()


def test_pythons_are_those_that_are_tried() -> None:
    names = [line.removeprefix("Programming Language :: Python :: ") for line in PROJECT["classifiers"]]
    pythons = [name for name in names if re.fullmatch(r"3\.\d+", name)]
    allowed = SpecifierSet(PROJECT["requires-python"])
    assert pythons == [f"3.{minor}" for minor in range(40) if allowed.contains(f"3.{minor}")]
    assert len(PROJECT["classifiers"]) == len(set(PROJECT["classifiers"]))
    for workflow in ("ci.yml", "release.yml"):
        (matrix,) = re.findall(r"python: (\[.+\])", (WORKFLOWS / workflow).read_text("utf-8"))
        assert json.loads(matrix) == pythons


def test_nothing_is_published_that_was_not_tried() -> None:
    text = (WORKFLOWS / "release.yml").read_text("utf-8")
    build, tried, published = re.split(r"^  (?:try|publish):\n", text, flags=re.MULTILINE)
    assert "needs: build\n" in tried
    assert "needs: try\n" in published
    assert "twine check --strict" in build
    # Only the job that publishes may ask for a token, and none is kept in the repository.
    assert "id-token" not in build + tried
    assert "id-token: write" in published
    assert "secrets." not in text

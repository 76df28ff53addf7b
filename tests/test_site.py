"""The documentation site is built from a checkout by one command, without network; whatever is broken is an error."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from site_build import ROOT, build

_ADDRESS = re.compile(r"""(?:src|href|data-src)=["']?((?:https?:)?//[^"'\s>]+)""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def text_of(page: Path) -> str:
    return re.sub(r"<[^>]+>", "", page.read_text("utf-8"))


def test_every_page_of_the_repository_is_there(site: Path) -> None:
    for source in (ROOT / "docs").rglob("*.md"):
        place = source.relative_to(ROOT / "docs").with_suffix("")
        folder = place.parent if place.name in ("index", "README") else place
        assert (site / folder / "index.html").is_file(), source
    for source in (ROOT / "docs" / "notebooks").glob("*.ipynb"):
        assert (site / "notebooks" / source.stem / "index.html").is_file()
        assert (site / "notebooks" / source.name).is_file()
    for place in ("project/changelog", "project/contributing", "project/security", "repository/models/base"):
        assert (site / place / "index.html").is_file()
    # Links to files that are no pages lead to copies of them.
    assert (site / "repository" / "server.json").read_bytes() == (ROOT / "server.json").read_bytes()


def test_nothing_is_asked_of_other_hosts(site: Path) -> None:
    def fetched() -> Iterator[tuple[str, str]]:
        for page in site.rglob("*.html"):
            for tag in re.findall(r"<(?:script|link|img|iframe|source)\b[^>]*>", page.read_text("utf-8")):
                yield from ((page.name, address) for address in _ADDRESS.findall(tag))

    assert not list(fetched())


def test_references_come_from_the_program(site: Path) -> None:
    commands = text_of(site / "reference" / "commands" / "index.html")
    for said in ("erukg collection build", "--glossary-documents", "--hung-seconds", "erukg train suggest"):
        assert said in commands
    http = text_of(site / "reference" / "http" / "index.html")
    described = json.loads((site / "reference" / "openapi.json").read_text("utf-8"))
    assert "/v1/keyphrases" in described["paths"]
    for path in described["paths"]:
        assert path in http
    for name in described["components"]["schemas"]:
        assert name in http
    api = text_of(site / "reference" / "api" / "index.html")
    for said in ("from_pretrained", "min_confidence", "tag_counts", "InputError", "percutaneous coronary intervention"):
        assert said in api


def test_search_knows_the_words_of_pages(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    places = {entry["location"].partition("#")[0] for entry in index["docs"] if "Bloom filter" in entry["text"]}
    assert {"tasks/thesaurus/", "tasks/tag/", "doors/"} <= places


def test_a_broken_link_or_anchor_is_an_error(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    shutil.copytree(ROOT / "docs" / "hooks", root / "docs" / "hooks")
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    # The same settings, for a page of its own and without what is written from the program.
    settings = re.sub(r"(?s)^nav:.*", "", settings, flags=re.MULTILINE)
    settings = re.sub(r"(?s)^plugins:.*?^hooks:.*?(?=^markdown)", "plugins: [search]\n", settings, flags=re.MULTILINE)
    (root / "mkdocs.yml").write_text(settings, "utf-8")
    page = root / "docs" / "index.md"
    for text, sound in (
        ("# A\n\n## B c\n\n[b](#b-c)\n", True),
        ("# A\n\n[b](#not-there)\n", False),
        ("# A\n\n[b](nowhere.md)\n", False),
        ("# A\n\n![b](nowhere.png)\n", False),
    ):
        page.write_text(text, "utf-8")
        done = build(tmp_path / "site", root=root)
        assert (done.returncode == 0) is sound, done.stdout + done.stderr

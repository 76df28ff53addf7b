"""The documentation site is built from a checkout by one command, without network; whatever is broken is an error."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from site_build import ROOT, build

MODELS = ("src/erukg/assets/models/small", "src/erukg/assets/models/tiny")
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
    for page in ("project/changelog", "project/contributing", "project/security", "repository/models/base"):
        assert (site / page / "index.html").is_file()
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


def test_the_start_has_the_figures_of_readme(site: Path) -> None:
    start = (site / "index.html").read_text("utf-8")
    assert "<strong>erukg generate</strong>" in start
    assert 'src="results/quality-speed.svg"' in start
    assert 'href="repository/tests/readers/"' in start


def test_search_knows_the_words_of_pages(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    places = {entry["location"].partition("#")[0] for entry in index["docs"] if "Bloom filter" in entry["text"]}
    assert {"tasks/thesaurus/", "tasks/tag/", "doors/"} <= places


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A repository with the same settings, for pages of its own and without what is written from the program."""
    root = tmp_path / "repository"
    shutil.copytree(ROOT / "docs" / "hooks", root / "docs" / "hooks")
    for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", *(f"{path}/README.md" for path in MODELS)):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("# Title\n", "utf-8")
    settings = (ROOT / "mkdocs.yml").read_text("utf-8")
    settings = re.sub(r"(?s)^nav:.*", "", settings, flags=re.MULTILINE)
    settings = re.sub(r"(?s)^  - mkdocstrings:.*?(?=^hooks)", "", settings, flags=re.MULTILINE)
    settings = re.sub(r"^  - docs/hooks/(commands|service).py\n", "", settings, flags=re.MULTILINE)
    (root / "mkdocs.yml").write_text(settings, "utf-8")
    return root


@pytest.mark.parametrize(
    ("text", "sound"),
    [
        ("## B c\n\n[b](#b-c) [l](../LICENSE) [c](../CHANGELOG.md#title)", True),
        ("[b](#not-there)", False),
        ("[c](../CHANGELOG.md#not-there)", False),
        ("[b](nowhere.md)", False),
        ("[b](../nowhere.md)", False),
        ("![b](nowhere.png)", False),
    ],
)
def test_a_broken_link_or_anchor_is_an_error(small: Path, tmp_path: Path, text: str, sound: bool) -> None:
    (small / "LICENSE").write_text("Free", "utf-8")
    (small / "docs" / "index.md").write_text(f"# A\n\n{text}\n", "utf-8")
    done = build(tmp_path / "site", root=small)
    assert (done.returncode == 0) is sound, done.stdout + done.stderr
    if sound:
        assert (tmp_path / "site" / "repository" / "LICENSE").read_text("utf-8") == "Free"


def test_notebooks_are_pages_with_their_outputs(small: Path, tmp_path: Path) -> None:
    html = {"text/html": ["<b>bold</b>\n", "\n", "<i>after a blank line</i>"], "text/plain": ["not this"]}
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["a < b\n", "\n", "end\n"]},
        {"output_type": "display_data", "metadata": {}, "data": html},
        {"output_type": "display_data", "metadata": {}, "data": {"image/png": "aGk=\n", "text/plain": ["A plot"]}},
        {"output_type": "execute_result", "metadata": {}, "execution_count": 1, "data": {"text/plain": ["42"]}},
    ]
    code = {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": ["x = 1"], "outputs": outputs}
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# Note\n", "\n", "See [the start](index.md)."]},
        code,
    ]
    (small / "docs" / "note.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}), "utf-8")
    (small / "docs" / "index.md").write_text("# A\n\n[notebook](note.ipynb)\n", "utf-8")
    done = build(tmp_path / "site", root=small)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'href="note/"' in (tmp_path / "site" / "index.html").read_text("utf-8")
    page = (tmp_path / "site" / "note" / "index.html").read_text("utf-8")
    for part in (
        "<b>bold</b>",
        "<i>after a blank line</i>",
        "a &lt; b",
        'src="data:image/png;base64,aGk="',
        ">42</pre>",
    ):
        assert part in page
    assert "not this" not in page
    assert 'href="../note.ipynb"' in page
    assert (tmp_path / "site" / "note.ipynb").is_file()

"""The page in a real browser, against a real service with the bundled model and a collection made here.

They have a command of their own, `pytest tests/browser -m browser`, and need Chromium (found by name, or named in
ERUKG_CHROMIUM) and the extra `browser`. With ERUKG_SCREENSHOTS=FOLDER the pictures of the documentation are made anew.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from browser.browsing import ARGUMENTS, Service, Sheet

HERE = Path(__file__).parent
# Labels of concepts, and the words by which field notes are tagged with them.
CONCEPTS = {
    "Passive acoustic monitoring": ("acoustic monitoring",),
    "Hydrophones": ("hydrophone",),
    "Whales": ("whale",),
    "Marine mammals": ("whale", "porpoise", "seal"),
    "Noise, underwater": ("ship noise",),
    "Camera traps": ("camera trap",),
    "Floods": ("flood",),
    "Template matching": (),
}
CHROMIUM = os.environ.get("ERUKG_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def _missing() -> str | None:
    """Why there are no browser tests here; None when there are."""
    if CHROMIUM is None:
        return "browser tests skipped: there is no chromium (install it, or name it in ERUKG_CHROMIUM)"
    for package in ("playwright", "axe_playwright_python", "PIL"):
        if find_spec(package) is None:
            return f"browser tests skipped: there is no package {package} (pip install -e '.[browser]')"
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = _missing()
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if reason is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    reason = _missing()
    if reason is not None and terminalreporter.stats.get("skipped"):
        terminalreporter.write_line(reason)


@pytest.fixture(scope="session")
def field_notes() -> Path:
    """36 invented abstracts with years, as JSON Lines."""
    return HERE / "field_notes.jsonl"


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vocabulary of the field notes in Annif's TSV."""
    file = tmp_path_factory.mktemp("vocabularies") / "field.tsv"
    file.write_text("".join(f"<http://example.org/field/{i}>\t{label}\n" for i, label in enumerate(CONCEPTS)), "utf-8")
    return file


@pytest.fixture(scope="session")
def hostile_vocabulary(vocabulary: Path) -> Path:
    """A vocabulary whose URIs and labels are code."""
    file = vocabulary.with_name("hostile.tsv")
    file.write_text("<javascript:window.executed=4>\tWhales (<img src=x onerror='window.executed = 2'>)\n", "utf-8")
    return file


@pytest.fixture(scope="session")
def collection(field_notes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The field notes, tagged with the concepts whose words they have."""
    from erukg.backends import OnnxBackend, find_model
    from erukg.collection.analyser import ModelAnalyser
    from erukg.collection.build import build

    folder = tmp_path_factory.mktemp("collections") / "field-notes"
    tagged = folder.with_suffix(".jsonl")
    with tagged.open("w", encoding="utf-8") as out:
        for row in map(json.loads, field_notes.read_text("utf-8").splitlines()):
            text = f"{row['title']} {row['abstract']}".lower()
            found = [i for i, words in enumerate(CONCEPTS.values()) if any(word in text for word in words)]
            out.write(json.dumps({**row, "subjects": [f"http://example.org/field/{i}" for i in found]}) + "\n")
    build(folder, [tagged], ModelAnalyser(OnnxBackend.load(find_model(None))), tags="subjects")
    return folder


@pytest.fixture(scope="session")
def service(collection: Path, vocabulary: Path, hostile_vocabulary: Path) -> Iterator[Service]:
    concepts = ("--vocabulary", f"field={vocabulary}", "--vocabulary", hostile_vocabulary, "--tagged", collection)
    with Service("--collection", collection, "--max-characters", 20_000, *concepts) as running:
        yield running


@pytest.fixture(scope="session")
def shipped() -> Iterator[Service]:
    """The service as it comes, with its model and collection."""
    with Service() as running:
        yield running


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def sheet(browser: Any, service: Service, pictures: Path) -> Iterator[Callable[..., Sheet]]:
    """`sheet(width=390, dark=True)` opens the page; at the end nothing may have gone wrong in any of them."""
    opened: list[Sheet] = []

    def open_(address: str | None = None, **options: Any) -> Sheet:
        opened.append(Sheet(browser, address or service.address, pictures, **options))
        return opened[-1]

    yield open_
    for one in opened:
        one.close()


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("ERUKG_SCREENSHOTS") or tmp_path_factory.mktemp("pictures"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder

"""The documentation site in a real browser: three widths, axe, search, and nothing from elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from browser.browsing import picture
from site_build import build

WIDTHS = {"phone": 390, "tablet": 820, "desktop": 1280}
PAGES = ("", "tasks/tag/", "reference/commands/", "results/", "notebooks/1-first-steps/")


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is said of requests."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def visit(browser: Any, address: str) -> Iterator[Callable[..., Any]]:
    """`visit("tasks/tag/", width=390)` opens a page; at the end nothing may have failed or come from elsewhere."""
    troubles: list[str] = []
    opened: list[Any] = []

    def open_(page: str, width: int = 1280, dark: bool = False) -> Any:
        size = {"width": width, "height": 900}
        tab = browser.new_page(viewport=size, color_scheme="dark" if dark else "light")
        opened.append(tab)
        tab.on("pageerror", lambda error: troubles.append(str(error)))
        tab.on("console", lambda said: troubles.append(said.text) if said.type == "error" else None)
        tab.on("request", lambda asked: troubles.append(asked.url) if not _own(asked.url) else None)
        tab.goto(f"{address}{page}")
        tab.wait_for_load_state("networkidle")
        return tab

    def _own(url: str) -> bool:
        return url.startswith((address, "data:", "blob:"))

    yield open_
    for tab in opened:
        tab.close()
    assert not troubles


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page or "start")
def test_axe_finds_nothing(visit: Callable[..., Any], page: str, dark: bool) -> None:
    tab = visit(page, WIDTHS["phone" if dark else "desktop"], dark)
    found = import_module("axe_playwright_python.sync_playwright").Axe().run(tab).response["violations"]
    assert not [(each["id"], [node["html"][:120] for node in each["nodes"][:3]]) for each in found]


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_fit_the_screen(visit: Callable[..., Any], width: str, pictures: Path) -> None:
    for page in PAGES:
        tab = visit(page, WIDTHS[width])
        assert tab.evaluate("document.documentElement.scrollWidth") <= WIDTHS[width], page
        assert tab.locator("h1").first.is_visible()
        if page == "tasks/tag/":
            picture(tab, pictures / f"site-{width}.png")


def test_search_leads_to_a_page(visit: Callable[..., Any]) -> None:
    tab = visit("")
    tab.keyboard.press("/")
    tab.keyboard.type("hung seconds")
    # Results change with every letter, so the one that is wanted is awaited.
    found = tab.locator(".md-search-result__link[href*='reference/commands/']").first
    found.wait_for(state="visible")
    found.click()
    tab.wait_for_url("**/reference/commands/**")
    assert "hung-seconds" in tab.locator("article").inner_text()


def test_commands_are_copied_without_what_they_print(visit: Callable[..., Any]) -> None:
    tab = visit("tasks/tag/")
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    block = tab.locator(".highlight:has(.gp)").first
    assert "6 documents" in block.inner_text()
    block.hover()
    block.locator("button[data-md-type=copy]").click()
    tab.wait_for_selector(".md-dialog--active, .md-dialog[data-md-state=open]")
    copied = tab.evaluate("navigator.clipboard.readText()")
    assert copied.strip() == "erukg collection build archive notes.jsonl --tags tags"


def test_the_menu_of_a_phone_leads_to_another_task(visit: Callable[..., Any]) -> None:
    tab = visit("tasks/tag/", WIDTHS["phone"])
    tab.locator("label.md-header__button[for=__drawer]").click()
    tab.locator(".md-nav--primary a", has_text="Index with a thesaurus").click()
    tab.wait_for_url("**/tasks/thesaurus/")
    assert tab.locator("h1").inner_text().startswith("Index with a thesaurus")

"""Concepts in a browser: found, shown in the text, explained, accepted and rejected, copied."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from browser.browsing import WHALES, Sheet
from browser.conftest import CONCEPTS

Open = Callable[..., Sheet]


def labels(sheet: Sheet) -> list[str]:
    return [name.strip() for name in sheet.page.locator("#concept-list .name").all_inner_texts()]


def concepts(sheet: Sheet) -> Sheet:
    sheet.whales().page.locator("#view input[value=concepts]").check(force=True)
    sheet.page.wait_for_selector("#concept-list li")
    return sheet


def line(sheet: Sheet, label: str) -> Any:
    page = sheet.page
    return page.locator("#concept-list li", has=page.locator(".name", has_text=label))


def test_concepts_are_explained_judged_and_copied(sheet: Open, field_notes: Path) -> None:
    one = concepts(sheet())
    page = one.page
    found = labels(one)
    assert {"Whales", "Hydrophones", "Template matching"} <= set(found) <= set(CONCEPTS)
    assert not page.locator("#lists").is_visible()
    assert not page.locator("#controls .expert").is_visible()
    assert page.locator("#controls-form [data-slider=fewer]").is_visible()
    marked = {text.lower() for text in page.locator("#reading mark.concept").all_inner_texts()}
    assert {"hydrophones", "hydrophone", "whales", "whale"} <= marked
    shares = [float(text.split()[0]) for text in page.locator("#concept-list .score").all_inner_texts()]
    assert shares == sorted(shares, reverse=True)
    assert 0 < shares[0] <= 100
    assert page.locator("#term-list .name").count() > 0

    whales = line(one, "Whales")
    whales.locator(".phrase").hover()
    assert {text.lower() for text in page.locator("#reading mark.lit").all_inner_texts()} == {"whales", "whale"}
    # In no word of the text, and carried by documents like it.
    line(one, "Marine mammals").locator(".phrase").click()
    card = page.locator("#explanation")
    assert "Not in the text." in card.inner_text()
    assert card.locator(".identifier a").get_attribute("href") == "http://example.org/field/3"
    titles = {json.loads(line)["title"] for line in field_notes.read_text().splitlines()}
    voters = card.locator(".sources a").all_inner_texts()
    assert voters
    assert set(voters) <= titles
    one.check_accessibility("concept")
    one.picture("concepts")
    page.keyboard.press("Escape")
    page.locator("#reading mark.concept", has_text="hydrophones").click()
    assert page.inner_text("#explanation-heading") == "Hydrophones"
    page.keyboard.press("Escape")

    assert page.is_disabled("#copy-uris")
    whales.get_by_role("button", name="Accept Whales").click()
    line(one, "Hydrophones").locator(".phrase").focus()
    page.keyboard.press("a")
    line(one, "Template matching").locator(".phrase").focus()
    page.keyboard.press("r")
    assert page.inner_text("#accepted") == "2 accepted."
    assert "Template matching: rejected." in page.inner_text("#status")
    assert page.locator("#reading mark.concept", has_text="template matching").count() == 0
    for button, expected in (
        ("#copy-uris", "http://example.org/field/2\nhttp://example.org/field/1\n"),
        ("#copy-labels", "Whales\nHydrophones\n"),
    ):
        page.click(button)
        page.wait_for_function("async text => (await navigator.clipboard.readText()) === text", arg=expected)
    # Kept for this text: also after the page was loaded again, and not for another vocabulary.
    page.reload()
    page.wait_for_selector("#concept-list li")
    assert page.inner_text("#accepted") == "2 accepted."
    accept = whales.get_by_role("button", name="Accept Whales")
    assert accept.get_attribute("aria-pressed") == "true"
    accept.click()
    assert page.inner_text("#accepted") == "1 accepted."
    page.select_option("#vocabulary", "hostile")
    page.wait_for_selector("#concept-list li:has-text('onerror')")
    assert page.inner_text("#accepted") == "None accepted."
    page.locator("#concept-list .phrase").first.click()
    assert page.locator("#explanation .identifier").inner_text() == "javascript:window.executed=4"
    one.nothing_ran()
    page.locator("#view input[value=phrases]").check(force=True)
    page.wait_for_selector("#reading mark.present")
    assert one.phrases()
    assert not page.locator("#concepts").is_visible()


def test_concepts_on_a_phone_in_the_dark(sheet: Open) -> None:
    one = sheet(width=390, height=844, dark=True).whales()
    page = one.page
    page.tap("#fresh")
    page.locator("#view input[value=concepts]").check(force=True)
    assert page.inner_text("#find") == "Find concepts"
    assert page.locator("#concept-guide").is_visible()
    one.check_accessibility("guide")
    one.paste(WHALES)
    page.wait_for_selector("#concept-list li")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#concept-list button.verdict.accepted").first.tap()
    assert page.inner_text("#accepted") == "1 accepted."
    one.check_accessibility("phone, dark")

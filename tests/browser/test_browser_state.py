"""Nothing is lost: the address holds what is shown, the browser keeps texts and settings, and a link can be shared."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from browser.browsing import WHALES, Sheet

Open = Callable[..., Sheet]

SHORT = "Camera traps photograph lynx in forests. Camera traps count lynx where nobody has seen them."
LONG = f"{WHALES}\n\n" * 5


def params(sheet: Sheet) -> dict[str, str]:
    view, _, query = urlsplit(sheet.page.url).fragment.partition("?")
    assert view == "document"
    return {name: values[0] for name, values in parse_qs(query).items()}


def seen(sheet: Sheet) -> tuple[object, ...]:
    page = sheet.page
    sliders = page.locator("#controls-form output").all_inner_texts()
    chosen = page.locator("#explanation-heading")
    return (page.inner_text("#reading"), sheet.phrases(), sheet.phrases("absent"), sliders, chosen.all_inner_texts())


def loaded_again(sheet: Sheet) -> Sheet:
    sheet.page.reload()
    sheet.ready().page.wait_for_selector("#reading mark")
    return sheet.settled()


def test_a_reload_and_a_link_bring_everything_back(sheet: Open) -> None:
    one = sheet().ready().paste(SHORT)
    page = one.page
    one.slide("fewer", "ArrowLeft")
    one.slide("shorter", "End")
    page.click(".phrase-list.present button.phrase >> nth=0")
    given = params(one)
    assert given["text"] == SHORT
    assert given["top_k"] == "7"
    assert given["phrase"] == one.phrases()[0]
    before = seen(one)
    assert seen(loaded_again(one)) == before

    page.click("#document-export >> text=Link")
    page.wait_for_selector("text=Link copied.")
    link = page.evaluate("navigator.clipboard.readText()")
    other = sheet(link).ready()  # another browser: nothing is shared with it but the link
    other.page.wait_for_selector("#reading mark")
    assert seen(other.settled()) == before


def test_a_long_text_stays_out_of_the_link_and_is_kept(sheet: Open) -> None:
    one = sheet().ready().paste(LONG)
    page = one.page
    one.slide("own words", "Home")
    assert len(page.url) < 300
    assert set(params(one)) == {"doc", "own"}
    before = seen(one)
    assert seen(loaded_again(one)) == before
    page.click("#document-export >> text=Link")
    page.wait_for_selector("text=Link copied, without the text")
    other = sheet(page.url).ready()
    assert "too long for a link" in other.page.inner_text("[role=alert]")
    assert other.page.locator("#controls-form output").all_inner_texts() == before[3], "its settings are in place"
    other.check_accessibility("a link without its text")
    other.paste(LONG)
    assert seen(other) == before


def test_back_and_forward_and_what_is_being_typed(sheet: Open) -> None:
    one = sheet().example()
    page = one.page
    example = page.inner_text("#reading")
    one.paste(SHORT)
    one.paste(WHALES)
    page.go_back()
    page.wait_for_selector("#reading:has-text('lynx')")
    page.go_back()
    page.wait_for_selector("#sheet-name:has-text('worked example')")
    assert page.inner_text("#reading") == example
    page.go_forward()
    page.wait_for_selector("#reading:has-text('lynx')")
    one.settled()
    page.click("#edit")
    page.fill("#text", "Half a sentence about")
    page.reload()
    one.ready()
    assert page.input_value("#text") == "Half a sentence about"
    page.fill("#text", SHORT)
    page.click("#find")
    page.wait_for_selector("#reading mark")
    loaded_again(one)
    assert page.locator("#entry").is_hidden()


def test_texts_and_what_was_tried_on_them_are_remembered(sheet: Open) -> None:
    one = sheet().ready().paste(SHORT)
    page = one.page
    plain = one.phrases()
    one.slide("shorter", "End")
    longer = one.phrases()
    page.wait_for_selector("#history-list .kept")
    assert page.locator("#history-list .kept").all_inner_texts() == ["as it comes"]
    page.click("#history-list .kept")
    one.settled()
    assert one.phrases() == plain
    assert page.locator("#history-list .kept").all_inner_texts() == ["much longer"]
    page.click("#history-list .kept")
    one.settled()
    assert one.phrases() == longer

    one.paste(WHALES)
    page.wait_for_selector("#history-list .kept-title")
    assert page.inner_text("#history-count") == "2"
    line = page.locator("#history-list li", has_text="Camera traps")
    assert "just now" in line.inner_text()
    one.check_accessibility("history")
    line.locator(".kept").click()
    one.settled()
    assert page.inner_text("#reading") == SHORT
    assert one.phrases() == longer, "with the settings it was last seen with"
    # Another visit, with nothing in the address.
    page.goto(page.url.partition("#")[0] + "?")
    one.example()
    assert page.locator("#history-list .kept-title").count() == 2
    page.locator("#history-list li", has_text="Camera traps").locator("[aria-label^=Forget]").click()
    page.wait_for_function("() => document.querySelectorAll('#history-list .kept-title').length === 1")
    page.click("text=Forget all")
    page.wait_for_selector("#history", state="hidden")
    page.reload()
    one.example()
    assert page.locator("#history").is_hidden()

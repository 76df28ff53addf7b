"""The document view for everyone: hostile texts, the keyboard alone, a phone, the dark, other scripts, and at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

from browser.browsing import HOSTILE, WHALES, Service, Sheet, simple_pdf

Open = Callable[..., Sheet]
LONG_TEXTS = Path(__file__).parents[1] / "readers" / "long.jsonl"


def test_the_first_view_can_be_read_within_a_second(sheet: Open, shipped: Service) -> None:
    # The best of three: other work on the machine may come in between. The clock of a page starts when it is asked for.
    taken = []
    for _ in range(3):
        one = sheet(shipped.address).example()
        taken.append(one.page.evaluate("performance.now()"))
    assert min(taken) < 1000, taken
    one.picture("document")


def test_sliders_answer_within_a_second_for_a_long_text(sheet: Open, shipped: Service) -> None:
    rows = (json.loads(line)["text"] for line in LONG_TEXTS.read_text("utf-8").splitlines())
    text = ("\n\n".join(rows) * 5)[:100_000]
    assert len(text) == 100_000
    one = sheet(shipped.address).example()
    page = one.page
    page.fill("#text", text)
    page.click("#find")
    page.wait_for_selector("#reading mark", timeout=60_000)
    taken = []
    for slider, key in (("shorter", "End"), ("own words", "Home"), ("fewer", "Home")):
        begin = page.inner_text("#taken")
        one.slide(slider, key)
        page.wait_for_function("begin => document.querySelector('#taken').textContent !== begin", arg=begin)
        taken.append(float(page.inner_text("#taken").split()[-2]))
    assert sorted(taken)[1] <= 1, taken  # other work on the machine may come in between once


def test_text_from_right_to_left(sheet: Open) -> None:
    arabic = "تستخدم الشبكات العصبية في ترجمة النصوص.\n\nAn English paragraph follows."
    one = sheet().ready().paste(arabic)
    page = one.page
    sides = page.evaluate(
        """() => { const text = document.querySelector('#reading'); const range = document.createRange();
        const box = (from, to) => { const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT); let at = 0;
          for (let node; (node = walk.nextNode()); at += node.length)
            if (from < at + node.length) { range.setStart(node, from - at);
              range.setEnd(node, Math.min(to - at, node.length)); return range.getBoundingClientRect(); } };
        const own = text.getBoundingClientRect(), all = text.textContent, english = all.indexOf('An English');
        return [own.right - box(0, 3).right, box(english, english + 2).left - own.left]; }"""
    )
    assert all(0 < side < 120 for side in sides), "Arabic begins at the right, English at the left"
    assert page.get_attribute("#text", "dir") == "auto"
    assert set(page.locator(".phrase-list .name").evaluate_all("names => names.map(name => name.dir)")) <= {"auto"}
    page.click("#edit")
    assert page.locator("#text").evaluate("field => getComputedStyle(field).direction") == "rtl"


def test_lines_of_a_page_are_joined(sheet: Open) -> None:
    one = sheet().ready()
    page = one.page
    lines = (
        "Flood forecasting in small rivers",
        "",
        "Rain gauges are sparse in the mountains, and so the discharge of a river is often",
        "known only when the water has reached the valley. We combine radar with soil mois-",
        "ture from satellites, and state-of-the-art models of runoff. The model is state-of-",
        "the-art in three catchments.",
        "",
        "- first item of a list",
        "- second item of a list",
    )
    one.drop(("flood.pdf", simple_pdf(*lines), "application/pdf"))
    page.wait_for_selector("#sheet-name >> text=flood.pdf")
    shown = page.inner_text("#reading")
    assert (
        "is often known only when the water has reached the valley. We combine radar with soil moisture from" in shown
    )
    assert "The model is state-of-the-art in three" in shown
    assert "rivers Rain" not in shown
    # The same lines, copied from a reader of PDF files.
    one.paste("\n".join(lines))
    assert "with soil moisture from satellites" in page.inner_text("#reading")
    assert "list\n- second" in page.inner_text("#reading")
    words = ("Use", "Cost", "Age", "Loss", "Repair")
    titles = "\n".join(f"{word} of rain gauges and radar for floods in small rivers" for word in words)
    one.paste(titles)
    assert page.inner_text("#reading") == titles
    poem = "The sea is calm tonight\nA bell\nand over the water a light\nnobody there to tell\nof it"
    one.paste(poem)
    assert page.inner_text("#reading") == poem


def test_nothing_in_a_document_runs(sheet: Open) -> None:
    one = sheet().ready()
    page = one.page
    one.drop((f"{HOSTILE[:40].replace('/', '')}.txt", f"{HOSTILE} Whale calls and {HOSTILE}".encode(), "text/plain"))
    # The example, which the page opens with, has marks as well.
    page.wait_for_selector("#sheet-name >> text=.txt")
    page.wait_for_selector("#reading mark")
    assert "<script>" in page.inner_text("#reading")
    page.click("#reading mark >> nth=0")
    one.nothing_ran()
    row = {"id": HOSTILE, "title": HOSTILE, "text": f"Whale calls in underwater sound. {HOSTILE}", "year": "2020<b>"}
    lines = "".join(json.dumps({**row, "id": f"{i}{HOSTILE}", "year": 2020 + i}) + "\n" for i in range(3))
    one.drop(("<img src=x onerror=window.executed=5>.jsonl", lines.encode(), "application/json"))
    page.wait_for_selector("#map .node")
    page.click(".tally button >> nth=0")
    page.click(".document-list button >> nth=0")
    page.wait_for_selector("#reading mark")
    one.nothing_ran()


def test_nothing_in_an_address_runs(sheet: Open, service: Service) -> None:
    names = "name phrase view vocabulary compare top_k alpha mode find sort tab docs from".split()
    hostile = urlencode({"text": f"Whale calls. {HOSTILE}", **dict.fromkeys(names, HOSTILE)})
    one = sheet(f"{service.address}#document?{hostile}").example()
    assert "<script>" in one.page.inner_text("#reading")
    assert one.page.locator("#controls-form output").first.inner_text() == "10 of each kind"
    one.nothing_ran()
    other = sheet(f"{service.address}#corpus?{hostile}").ready()
    assert other.page.locator("#corpus-empty").is_visible()
    other.nothing_ran()


def test_by_keyboard_alone(sheet: Open) -> None:
    one = sheet().ready()
    page = one.page
    assert page.evaluate("document.activeElement.id") == "text"
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    for _ in range(60):
        if page.evaluate("document.activeElement.id") == "text":
            break
        page.keyboard.press("Tab")
    page.keyboard.type(WHALES.split("\n")[0])
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#reading mark")
    for _ in range(80):
        if page.evaluate("document.activeElement.matches('button.phrase')"):
            break
        page.keyboard.press("Tab")
    chosen = page.evaluate("document.activeElement.querySelector('.name').textContent")
    assert page.locator("mark.lit").count() > 0
    page.keyboard.press("Enter")
    assert page.inner_text("#explanation-heading") == chosen
    assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#explanation') !== null"), "the explanation comes next"
    page.keyboard.press("Escape")
    assert page.locator("#explanation").is_hidden()
    assert page.evaluate("document.activeElement.querySelector('.name').textContent") == chosen


def test_on_a_phone_phrases_come_first(sheet: Open) -> None:
    one = sheet(width=390, height=844).whales()
    page = one.page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not page.locator("#controls").evaluate("details => details.open")
    phrases, text = (page.locator(place).bounding_box() for place in ("#present-panel", "#reading"))
    assert phrases["y"] < 844 * 0.6, "in the first view"
    assert phrases["y"] + phrases["height"] <= text["y"]
    one.check_accessibility("phone")
    page.tap(".phrase-list.present button.phrase:has-text('whale') >> nth=0")  # said several times
    card = page.locator("#explanation").bounding_box()
    assert card["x"] == 0
    assert card["y"] + card["height"] >= 843
    assert page.evaluate("scrollY") == 0, "the list stays"
    one.check_accessibility("phone, explanation")
    one.picture("phone")
    count = int(page.inner_text("#occurrence-number").split()[-1])
    assert count > 1
    for _ in range(count - 1):
        page.tap("[aria-label='Next occurrence']")
    page.wait_for_function(
        "() => { const box = document.querySelector('mark.here').getBoundingClientRect();"
        " return box.top >= 0 && box.bottom <= document.querySelector('#explanation').getBoundingClientRect().top; }"
    )
    page.click("#explanation >> [aria-label=Close]")
    page.tap("#controls > summary")
    page.tap("#controls .expert > summary")
    assert page.locator("#controls-form input[name=alpha]").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_dark_mode(sheet: Open) -> None:
    one = sheet(dark=True).whales()
    page = one.page
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.click(".phrase-list.absent button.phrase >> nth=0")
    one.check_accessibility("dark")
    one.picture("dark")
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.reload()
    one.ready()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.click("#fresh")
    assert page.locator("#guide").is_visible()
    one.check_accessibility("empty")


def test_the_documentation_of_the_api(sheet: Open, service: Service) -> None:
    one = sheet().example()
    one.page.click("#foot a")
    one.page.wait_for_url("**/docs")
    one.page.locator("nav a", has_text="/v1/suggest").click()
    assert one.page.locator("#suggest").is_visible()
    for width, dark in ((1240, False), (1240, True), (390, False), (390, True)):
        one = sheet(service.address + "docs", width=width, dark=dark)
        one.check_accessibility(f"the documentation, {width} wide, {'dark' if dark else 'light'}")
        assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

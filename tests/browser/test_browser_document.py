"""The document view in a browser: paste, highlight, explain, turn, compare, export, and everything that goes wrong."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

from browser.browsing import HOSTILE, Service, Sheet, simple_pdf
from erukg.core.factors import FACTORS

Open = Callable[..., Sheet]

TEXT = (
    "Passive acoustic monitoring of whale calls 🐋🐋\n"
    "Whale calls are found in underwater sound 🌊 by a convolutional network. The convolutional network learns from "
    "annotated spectrograms, and underwater sound is recorded by hydrophones."
)


def test_paste_highlight_explain_turn_and_export(sheet: Open, field_notes: Path, tmp_path: Path) -> None:
    one = sheet().ready().paste(TEXT)
    page = one.page
    page.wait_for_selector("#reading mark")
    assert page.inner_text("#reading") == TEXT
    present, absent = one.phrases(), one.phrases("absent")
    assert present
    assert absent
    # Emoji before a phrase are two UTF-16 units and one code point each.
    marked = {text.lower() for text in page.locator("#reading mark").all_inner_texts()}
    assert {"underwater sound", "convolutional network"} & marked
    assert all(any(mark in phrase.lower() for phrase in present) or " " not in mark for mark in marked)
    shown = page.locator("#reading mark").first.evaluate("mark => Number(mark.style.getPropertyValue('--strength'))")
    assert 0 < shown <= 1

    page.click("#reading mark >> nth=0")
    card = page.locator("#explanation")
    assert card.is_visible()
    for part in ("Occurs once in the text.", *(factor.label for factor in FACTORS[:3]), "Score", "Words"):
        assert part in card.inner_text()
    assert page.locator(".terms tbody tr").count() >= 1
    page.click(".phrase-list.absent button.phrase >> nth=0")
    assert page.inner_text("#explanation-heading") == absent[0]
    links = page.locator("#explanation .sources a").all()
    hrefs = [link.get_attribute("href") for link in links]
    assert hrefs
    titles = {json.loads(line)["title"] for line in field_notes.read_text().splitlines()}
    for link in links:
        assert link.inner_text() in titles
        assert link.get_attribute("title").endswith(f": {link.inner_text()}")
    assert page.locator(".phrase-list.absent .from a").first.inner_text() in titles
    assert all(href.startswith(("https://arxiv.org/abs/9999.", "https://doi.org/10.5555/field.")) for href in hrefs)

    page.fill("input[type=number][aria-label^='k,']", "3")
    one.settled()
    assert one.phrases() == present[:3]
    assert len(one.phrases("absent")) <= 3
    page.locator("input[name=phraseness]").focus()
    for _ in range(60):
        page.keyboard.press("ArrowRight")
    one.settled()
    assert page.input_value("input[type=number][aria-label^='λ, weight']") == "1.58", "60 steps from 0.38"
    assert len(one.phrases()) == 3
    page.click("text=Back to defaults")
    one.settled()
    assert one.phrases() == present

    for form, check in (("text", _is_text), ("json", _is_json), ("csv", _is_csv), ("bibtex", _is_bibtex)):
        page.select_option("#document-export select", form)
        with page.expect_download() as waiting:
            page.click("#document-export >> text=Download")
        file = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(file)
        check(file, present, absent)
        page.click("#document-export >> text=Copy")
        page.wait_for_selector("text=Copied.")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.splitlines() == file.read_text().splitlines()


def _is_text(file: Path, present: list[str], absent: list[str]) -> None:
    assert file.suffix == ".txt"
    assert file.read_text().splitlines() == present + absent


def _is_json(file: Path, present: list[str], absent: list[str]) -> None:
    result = json.loads(file.read_text())
    assert [k["phrase"] for k in result["present"]] == present
    for found in result["present"]:
        for start, end in found["spans"]:
            assert TEXT[start:end].lower().rstrip("s") in found["phrase"].lower()


def _is_csv(file: Path, present: list[str], absent: list[str]) -> None:
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert [row["phrase"] for row in rows] == present + absent
    assert {row["kind"] for row in rows} == {"present", "absent"}
    assert all(bool(row["titles"]) == (row["kind"] == "absent") for row in rows)


def _is_bibtex(file: Path, present: list[str], absent: list[str]) -> None:
    assert file.read_text() == f"keywords = {{{', '.join(present + absent)}}},\n"


def test_example_modes_and_pictures(sheet: Open) -> None:
    one = sheet().example()
    page = one.page
    one.check_accessibility("document")
    one.picture("document")
    page.click(".phrase-list.absent button.phrase >> nth=0")
    one.check_accessibility("explanation")
    several_words = next(i for i, phrase in enumerate(one.phrases()) if " " in phrase)
    page.click(f".phrase-list.present button.phrase >> nth={several_words}")
    one.picture("explanation")
    page.check("input[value=extract]")
    one.settled()
    assert one.phrases("absent") == []
    assert "looks only at the text" in page.inner_text("#absent-list")
    assert page.locator("input[name=alpha]").is_disabled()
    page.check("input[value=generate]")
    one.settled()
    assert one.phrases("absent")


def test_what_to_know_about_a_text_is_said_above_its_phrases(sheet: Open) -> None:
    german = (
        "Der Höhenweg beginnt am Bahnhof und führt durch den Buchenwald. Nach zwei Stunden erreicht man eine Hütte."
    )
    one = sheet().ready().paste(german)
    page = one.page
    page.wait_for_selector("#remarks li")
    remark = page.locator("#remarks li")
    assert remark.get_attribute("data-code") == "not-english"
    assert "seems to be German" in remark.inner_text()
    assert "seems to be German" in page.inner_text("#status")
    above, below = (page.locator(place).bounding_box() for place in ("#remarks", "#present-panel"))
    assert above["y"] + above["height"] <= below["y"]
    assert one.phrases("absent") == []
    assert "only generated for English" in page.inner_text("#absent-list")
    one.check_accessibility("remarks")
    page.click("#fresh")
    one.paste(TEXT)
    page.wait_for_selector(".phrase-list.absent button.phrase")
    assert page.locator("#remarks").is_hidden()


def test_compare_with_a_baseline(sheet: Open) -> None:
    one = sheet().example()
    page = one.page
    ours = one.phrases()
    page.select_option("#baseline", "textrank")
    page.wait_for_selector("#baseline-list .phrase-list")
    one.settled()  # our own phrases are asked for again, and the lists drawn anew
    assert page.inner_text("#baseline-list h3") == "TextRank"
    assert len(one.phrases("baseline")) == 10
    assert page.locator(".beside .phrase-list.present .phrase").count() == len(ours)
    boxes = [page.locator(f".beside .{kind}").bounding_box() for kind in ("present", "baseline")]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    assert abs(boxes[0]["y"] - boxes[1]["y"]) < 5
    one.check_accessibility("comparison")
    page.select_option("#baseline", "")
    page.wait_for_selector("#baseline-list", state="detached")


def test_drop_text_and_pdf(sheet: Open) -> None:
    one = sheet().ready()
    page = one.page
    one.drop(("notes.pdf", simple_pdf("Flood forecasting uses soil moisture and river discharge."), "application/pdf"))
    page.wait_for_selector("#reading mark")
    assert "soil moisture" in page.inner_text("#reading")
    assert page.inner_text("#sheet-name") == "notes.pdf"
    one.drop(("notes.txt", b"Camera traps count lynx in the forest.", "text/plain"))
    page.wait_for_selector("#sheet-name >> text=notes.txt")
    page.wait_for_selector("#reading mark")
    page.click("#fresh")
    assert page.input_value("#text") == ""
    page.set_input_files("#file", {"name": "a.txt", "mimeType": "text/plain", "buffer": b"Coral bleaching on a reef."})
    page.wait_for_selector("#reading mark")


def test_errors_are_said_and_survived(sheet: Open) -> None:
    one = sheet().ready()
    one.expected = ["status of 4"]
    page = one.page
    page.click("#find")
    assert "There is no text yet" in page.inner_text("[role=alert]")
    one.drop(("broken.pdf", b"%PDF-1.4 and nothing more", "application/pdf"))
    page.wait_for_selector("[role=alert] >> text=broken.pdf")
    one.check_accessibility("error")
    one.drop(("photo.txt", bytes(range(256)) * 8, "text/plain"))
    page.wait_for_selector("[role=alert] >> text=photo.txt")
    page.fill("#text", "whale calls " * 2_000)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("[role=alert] >> text=20")
    page.click("#fresh")
    page.fill("#text", "... !!! ???")
    page.click("#find")
    page.wait_for_selector("text=No phrases were found in this text.")
    page.click("#edit")
    page.fill("#text", TEXT)
    page.click("#find")
    page.wait_for_selector("#reading mark")
    assert page.locator("[role=alert]").count() == 0
    knob = page.locator("input[type=number][aria-label^='α,']")
    knob.fill("7")
    assert knob.get_attribute("aria-invalid") == "true"
    knob.blur()
    assert knob.input_value() == "1"


def test_busy_service_is_asked_again(sheet: Open) -> None:
    one = sheet().ready()
    one.expected = ["status of 429"]
    answers: list[int] = []

    def refuse_once(route: object) -> None:
        answers.append(429 if not answers else 200)
        if answers[-1] == 429:
            route.fulfill(status=429, headers={"Retry-After": "1"}, json={"error": "Too many."})  # type: ignore[attr-defined]
        else:
            route.continue_()  # type: ignore[attr-defined]

    one.page.route("**/v1/keyphrases", refuse_once)
    one.page.click("#example")
    one.page.wait_for_selector("#status:has-text('busy')", state="attached")
    assert one.page.locator("#busy").is_visible()
    assert one.page.locator(".ghosts").first.is_visible()
    one.page.wait_for_selector("#reading mark")
    assert answers == [429, 200]


def test_only_the_latest_answer_counts(sheet: Open) -> None:
    one = sheet().example()
    page = one.page
    number = page.locator("input[type=number][aria-label^='k,']")
    for value in ("9", "2", "7", "4"):
        number.fill(value)
        page.wait_for_timeout(95)
    one.settled()
    assert len(one.phrases()) == 4


def test_key_is_asked_for_and_a_dead_service_is_noticed(sheet: Open) -> None:
    with Service("--no-collection", ERUKG_API_KEY="correct-horse") as guarded:
        one = sheet(guarded.address)
        one.expected = ["status of 401", "ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE"]
        page = one.page
        page.wait_for_selector("#key")
        one.check_accessibility("key")
        page.fill("#key", "wrong-battery")
        page.keyboard.press("Enter")
        page.wait_for_selector("#key")
        page.fill("#key", "correct-horse")
        page.keyboard.press("Enter")
        one.example()
        assert "no collection" in page.inner_text("#absent-list")
        guarded.process.kill()
        guarded.process.wait(10)
        page.locator("input[name=diversity]").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("[role=alert] >> text=does not answer")
        assert page.locator("#reading mark").count() > 0


def test_nothing_in_a_document_runs(sheet: Open) -> None:
    one = sheet().ready()
    page = one.page
    one.drop((f"{HOSTILE[:40].replace('/', '')}.txt", f"{HOSTILE} Whale calls and {HOSTILE}".encode(), "text/plain"))
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


def test_by_keyboard_alone(sheet: Open) -> None:
    one = sheet().ready()
    page = one.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    for _ in range(60):
        if page.evaluate("document.activeElement.id") == "text":
            break
        page.keyboard.press("Tab")
    page.keyboard.type(TEXT.replace("\n", " "))
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#reading mark")
    for _ in range(80):
        if page.evaluate("document.activeElement.matches('button.phrase')"):
            break
        page.keyboard.press("Tab")
    chosen = page.evaluate("document.activeElement.querySelector('.name').textContent")
    assert page.locator("mark.lit").count() > 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "explanation"
    assert page.inner_text("#explanation-heading") == chosen
    page.keyboard.press("Escape")
    assert page.locator("#explanation").is_hidden()
    assert page.evaluate("document.activeElement.matches('button.phrase')")


def test_on_a_phone(sheet: Open) -> None:
    one = sheet(width=390, height=844).example()
    page = one.page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not page.locator("#controls").evaluate("details => details.open")
    one.check_accessibility("phone")
    page.tap("#reading mark >> nth=0")
    card = page.locator("#explanation").bounding_box()
    assert card["x"] == 0
    assert card["y"] + card["height"] >= 843
    one.picture("phone")
    page.click("#explanation >> [aria-label=Close]")
    page.tap("#controls > summary")
    assert page.locator("input[name=alpha]").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_dark_mode(sheet: Open) -> None:
    one = sheet(dark=True).example()
    page = one.page
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.click("#reading mark >> nth=0")
    one.check_accessibility("dark")
    one.picture("dark")
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.reload()
    one.ready()
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    one.check_accessibility("empty")

"""The document view in a browser: paste, highlight, explain, turn, compare, export, and everything that goes wrong."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from browser.browsing import WHALES, Service, Sheet, simple_pdf
from erukg.core.factors import FACTORS

Open = Callable[..., Sheet]

TEXT = (
    "Passive acoustic monitoring of whale calls 🐋🐋\n"
    "Whale calls are found in underwater sound 🌊 by a convolutional network. The convolutional network learns from "
    "annotated spectrograms, and underwater sound is recorded by hydrophones."
)


def test_the_page_opens_with_a_worked_example_and_the_field_focused(sheet: Open) -> None:
    one = sheet().example()
    page = one.page
    assert page.evaluate("document.activeElement.id") == "text"
    assert page.input_value("#text") == ""
    assert page.inner_text("#sheet-name") == "A worked example"
    assert len(one.phrases()) >= 5
    # Words before letters: the sliders that anyone can read, and the Greek on demand.
    ends = page.locator("#controls-form .ends-in-words").all_inner_texts()
    assert [text.split() for text in ends] == [["Fewer", "More"], ["Shorter", "Longer"], ["Own", "words", "Suggest"]]
    assert page.locator("#controls-form .symbol").first.is_hidden()
    page.click("#controls .expert > summary")
    assert page.locator("#controls-form .symbol").first.is_visible()
    one.check_accessibility("expert")


def test_paste_highlight_explain_turn_and_export(sheet: Open, field_notes: Path, tmp_path: Path) -> None:
    one = sheet().ready().paste(TEXT)
    page = one.page
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
    assert re.fullmatch(rf"{len(present)} in the text, {len(absent)} suggested · [\d.]+ s", page.inner_text("#taken"))

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

    one.slide("fewer", "Home")
    assert one.phrases() == present[:3]
    assert len(one.phrases("absent")) <= 3
    one.expert().page.locator("input[name=phraseness]").first.focus()
    for _ in range(60):
        page.keyboard.press("ArrowRight")
    one.settled()
    assert page.input_value("#controls-form input[type=number][aria-label^='λ, weight']") == "1.58", (
        "60 steps from 0.38"
    )
    assert len(one.phrases()) == 3
    page.click("#controls-form >> text=Back to defaults")
    one.settled()
    assert one.phrases() == present

    above, below = (page.locator(place).bounding_box() for place in ("#document-export", "#present-panel"))
    assert above["y"] + above["height"] <= below["y"], "to copy and download stands above the phrases"
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


def test_list_and_text_are_connected_both_ways(sheet: Open) -> None:
    one = sheet(height=500).ready().paste(f"{WHALES}\n\n{'A quiet day at sea. ' * 120}\n\n{WHALES}")
    page = one.page
    several = page.locator(".phrase-list.present button.phrase", has_text="hydrophones")
    several.click()
    count = int(page.inner_text("#occurrence-number").split()[-1])
    assert count >= 4
    assert several.get_attribute("aria-expanded") == "true"
    assert several.locator("xpath=..").locator("#explanation").is_visible(), "right below it"
    seen = []
    for number in range(1, count + 1):
        assert page.inner_text("#occurrence-number") == f"{number} of {count}"
        page.wait_for_function(
            "() => { const box = document.querySelector('mark.here').getBoundingClientRect();"
            " return box.top >= 0 && box.bottom <= innerHeight; }"
        )
        seen.append(page.locator("mark.here").first.get_attribute("data-start"))
        assert page.locator("mark.here").first.inner_text().lower() in page.inner_text(".occurrence q").lower()
        several.click()
    assert seen == sorted(set(seen), key=int)
    assert page.inner_text("#occurrence-number") == f"1 of {count}", "after the last comes the first"
    page.click("[aria-label='Previous occurrence']")
    assert page.inner_text("#occurrence-number") == f"{count} of {count}"
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "Previous occurrence"

    mark = page.locator("#reading mark", has_text="annotated spectrograms").last
    mark.click()
    chosen = page.inner_text("#explanation-heading")
    assert "annotated spectrograms" in chosen
    button = page.locator(".phrase-list button[aria-expanded=true]")
    assert button.locator(".name").inner_text() == chosen
    number, count = page.inner_text("#occurrence-number").split(" of ")
    assert number == count, "the occurrence that was clicked"
    assert mark.evaluate("mark => mark.classList.contains('here')")
    assert button.evaluate(
        "button => { const box = button.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight; }"
    )
    page.keyboard.press("Escape")
    assert page.locator("#explanation").is_hidden()
    assert page.locator("mark.chosen, mark.here").count() == 0


def test_explanations_are_in_words_first(sheet: Open) -> None:
    one = sheet().whales()
    page = one.page
    one.check_accessibility("document")
    index = next(i for i, phrase in enumerate(one.phrases()) if " " in phrase)
    page.click(f".phrase-list.present button.phrase >> nth={index}")
    card = page.locator("#explanation")
    said = card.inner_text()
    for part in ("in the text", "For it: early in the text", "people choose", "Says most about the text:"):
        assert part in said
    one.picture("explanation")
    assert page.locator("#explanation .formula").evaluate("details => details.open") is False
    assert not page.locator(".terms").is_visible()
    page.click("#explanation .formula > summary")
    for part in ("Score", "Words", "Factors", *(factor.label for factor in FACTORS[:3])):
        assert part in card.inner_text()
    assert page.locator(".terms tbody tr").count() >= 1
    one.check_accessibility("explanation")
    page.click(".phrase-list.absent button.phrase >> nth=0")
    assert "Not in the text:" in card.inner_text()
    assert page.locator("#explanation .formula").evaluate("details => details.open"), "who opened it wants to see it"


def test_sliders_in_words(sheet: Open) -> None:
    one = sheet().whales()
    page = one.page
    before = one.phrases()
    length = {}
    for way, key in (("shorter", "Home"), ("longer", "End")):
        one.slide("shorter", key)
        length[way] = sum(len(phrase.split()) for phrase in one.phrases())
        said = page.locator("[data-slider=shorter] output >> nth=0").inner_text()
        assert said == f"much {way}"
    assert length["shorter"] < length["longer"]
    assert "not known how sure" in page.inner_text("#remarks")
    assert max(one.fills()) < 1 / 3
    assert page.locator(".phrase-list.present .band").count() == 0
    one.expert()
    assert page.input_value("#controls-form input[name=length_penalty]") == "-5", "the Greek follows"
    page.click("#controls-form >> text=Back to defaults")
    one.settled()
    assert one.phrases() == before

    one.slide("own words", "Home")
    assert one.phrases("absent") == []
    assert "own words were asked for" in page.inner_text("#absent-list")
    assert one.phrases() == before
    counts = []
    for _ in range(3):
        one.slide("own words", "ArrowRight")
        counts.append(len(one.phrases("absent")))
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]
    page.fill("#controls-form input[type=number][aria-label^='k,']", "4")
    one.settled()
    assert page.locator("[data-slider=fewer] output >> nth=0").inner_text() == "4 of each kind"


def test_what_to_know_about_a_text_is_said_above_its_phrases(sheet: Open) -> None:
    german = (
        "Der Höhenweg beginnt am Bahnhof und führt durch den Buchenwald. Nach zwei Stunden erreicht man eine Hütte."
    )
    one = sheet().ready().paste(german)
    page = one.page
    remark = page.locator("#remarks li").first
    assert remark.get_attribute("data-code") == "not-english"
    assert "seems to be German" in remark.inner_text()
    assert "seems to be German" in page.inner_text("#status")
    assert "cannot be told" in page.inner_text("#remarks")
    above, below = (page.locator(place).bounding_box() for place in ("#remarks", "#present-panel"))
    assert above["y"] + above["height"] <= below["y"]
    assert one.phrases("absent") == []
    assert "only made for English" in page.inner_text("#absent-list")
    one.check_accessibility("remarks")
    one.paste(WHALES)
    assert one.phrases("absent")
    assert page.locator("#remarks").is_hidden()


def test_bars_are_on_one_scale_for_all_texts(sheet: Open, shipped: Service) -> None:
    one = sheet(shipped.address).whales()
    page = one.page
    good = one.fills()
    assert max(good) > 1 / 3
    bands = page.locator(".phrase-list.present .band").all_inner_texts()
    for fill, band in zip(good, bands, strict=True):
        assert band == ("weak" if fill < 1 / 3 else "fair" if fill < 2 / 3 else "strong")
    nonsense = (
        "asdf qwer zxcv lorem foo bar baz qux blah wibble wobble flim flam gronk splat",
        "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore.",
        "12 33.4 88 1,204 77 19 22 45.1 90 apples 35.5 13.0 81 1,300 75",
    )
    for text in nonsense:
        one.paste(text)
        assert one.phrases() or "numbers" in page.inner_text("#remarks")
        assert max(one.fills(), default=0) <= 0.3, text
        assert page.locator(".band").count() == 0
        assert page.locator("#remarks li").count() > 0


def test_copy_while_waiting_does_not_throw(sheet: Open) -> None:
    one = sheet().example()
    page = one.page
    held: list[Any] = []
    page.route("**/v1/keyphrases", lambda route: held.append(route))
    page.fill("#text", WHALES)
    page.click("#find")
    page.wait_for_selector(".ghosts")
    page.click("#document-export >> text=Copy")
    page.wait_for_selector("#document-export .said:has-text('Still working.')")
    page.click("#document-export >> text=Download")
    held[0].continue_()
    page.wait_for_selector("#reading mark")
    page.click("#document-export >> text=Copy")
    page.wait_for_selector("text=Copied.")


def test_compare_with_a_baseline(sheet: Open) -> None:
    one = sheet().whales().expert()
    page = one.page
    ours = one.phrases()
    page.select_option("#controls-form-compare", "textrank")
    page.wait_for_selector("#baseline-list .phrase-list")
    one.settled()  # our own phrases are asked for again, and the lists drawn anew
    assert page.inner_text("#baseline-list h3") == "TextRank"
    assert len(one.phrases("baseline")) == 10
    assert page.locator(".beside .phrase-list.present .phrase").count() == len(ours)
    boxes = [page.locator(f".beside .{kind}").bounding_box() for kind in ("present", "baseline")]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    assert abs(boxes[0]["y"] - boxes[1]["y"]) < 5
    one.check_accessibility("comparison")
    page.click(".phrase-list.present button.phrase >> nth=0")
    card, lists = (page.locator(place).bounding_box() for place in ("#explanation", "#beside"))
    assert card["width"] > 0.9 * lists["width"], "not squeezed into a column"
    page.select_option("#controls-form-compare", "")
    page.wait_for_selector("#baseline-list", state="detached")


def test_drop_text_and_pdf(sheet: Open) -> None:
    one = sheet().ready()
    page = one.page
    one.drop(("notes.pdf", simple_pdf("Flood forecasting uses soil moisture and river discharge."), "application/pdf"))
    page.wait_for_selector("#sheet-name >> text=notes.pdf")
    one.settled()
    assert "soil moisture" in page.inner_text("#reading")
    assert page.inner_text("#sheet-name").startswith("notes.pdf")
    one.drop(("notes.txt", b"Camera traps count lynx in the forest.", "text/plain"))
    page.wait_for_selector("#sheet-name >> text=notes.txt")
    page.wait_for_selector("#reading mark")
    page.click("#fresh")
    page.set_input_files("#file", {"name": "a.txt", "mimeType": "text/plain", "buffer": b"Coral bleaching on a reef."})
    page.wait_for_selector("#reading mark")
    assert "Coral bleaching" in page.inner_text("#reading")


def test_errors_are_said_and_survived(sheet: Open) -> None:
    one = sheet().ready()
    one.expected = ["status of 4"]
    page = one.page
    page.fill("#text", "  ")
    page.click("#find")
    assert "There is no text yet" in page.inner_text("[role=alert]")
    one.drop(("broken.pdf", b"%PDF-1.4 and nothing more", "application/pdf"))
    page.wait_for_selector("[role=alert] >> text=broken.pdf")
    one.check_accessibility("error")
    one.drop(("photo.txt", bytes(range(256)) * 8, "text/plain"))
    page.wait_for_selector("[role=alert] >> text=photo.txt")
    page.fill("#text", "whale calls " * 2_000)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("[role=alert] >> text=20000")
    page.click("#fresh")
    page.fill("#text", "... !!! ???")
    page.click("#find")
    page.wait_for_selector("text=No phrases were found in this text.")
    page.click("#edit")
    page.fill("#text", TEXT)
    page.click("#find")
    page.wait_for_selector("#reading mark")
    assert page.locator("[role=alert]").count() == 0
    knob = one.expert().page.locator("#controls-form input[type=number][aria-label^='α,']")
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
            route.fulfill(status=429, headers={"Retry-After": "1"}, json={"detail": "Too many."})  # type: ignore[attr-defined]
        else:
            route.continue_()  # type: ignore[attr-defined]

    one.page.route("**/v1/keyphrases", refuse_once)
    one.page.fill("#text", WHALES)
    one.page.click("#find")
    one.page.wait_for_selector("#status:has-text('busy')", state="attached")
    assert one.page.locator("#busy").is_visible()
    assert one.page.locator(".ghosts").first.is_visible()
    one.page.wait_for_selector("#reading mark")
    assert answers == [429, 200]


def test_only_the_latest_answer_counts(sheet: Open) -> None:
    one = sheet().example().expert()
    page = one.page
    number = page.locator("#controls-form input[type=number][aria-label^='k,']")
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
        one.page.locator("#controls-form [data-slider=fewer] input").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_selector("[role=alert] >> text=does not answer")
        assert page.locator("#reading mark").count() > 0

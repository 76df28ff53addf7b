"""The corpus view in a browser: from files to a map, over the years, and to the documents behind a phrase."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from browser.browsing import Sheet

Open = Callable[..., Sheet]


def _map(one: Sheet) -> list[tuple[str, str]]:
    nodes = one.page.locator("#map .node").all()
    return [(node.get_attribute("aria-label") or "", node.get_attribute("transform") or "") for node in nodes]


def _words(one: Sheet) -> int:
    """How many phrases have room for their words."""
    return len(one.page.locator("#map .node:not(.dotted):not(.off)").all())


def _opened(one: Sheet, field_notes: Path) -> Sheet:
    one.ready().drop(("field.jsonl", field_notes.read_bytes(), "application/json"))
    one.page.wait_for_selector("#map .node")
    return one


def test_from_a_file_to_a_map_to_a_document(sheet: Open, field_notes: Path) -> None:
    one = sheet().ready()
    page = one.page
    page.click("#to-corpus")
    assert "Drop a corpus here" in page.inner_text("#corpus-empty")
    one.check_accessibility("empty corpus")
    one.drop(("field.jsonl", field_notes.read_bytes(), "application/json"))
    page.wait_for_selector("#map .node")
    assert page.inner_text("#corpus-summary").startswith("36 documents")
    assert "Found in" in page.inner_text("#corpus-summary")
    drawn = _map(one)
    assert _words(one) > 15
    assert page.locator("#map .links path").count() > 10
    one.check_accessibility("corpus")

    page.click(".tally button:has-text('flood forecasting')")
    one.picture("corpus")
    assert page.inner_text(".chosen-phrase").lower() == "flood forecasting"
    all_years = page.locator(".document-list li").count()
    assert all_years >= 5
    assert page.locator("#map .node[aria-pressed=true]").count() == 1
    one.check_accessibility("corpus with a phrase")
    page.locator("[aria-label='From year']").focus()
    for _ in range(6):
        page.keyboard.press("ArrowRight")
    assert page.inner_text(".span") == "2018 to 2023"
    late = page.locator(".document-list li").count()
    assert 0 < late < all_years
    page.click("text=All years")
    assert page.locator(".document-list li").count() == all_years

    title = page.inner_text(".document-list .title >> nth=0")
    page.click(".document-list button >> nth=0")
    page.wait_for_selector("#reading mark")
    assert page.inner_text("#reading").startswith(title)
    assert page.inner_text("#sheet-name").startswith(title)
    page.click("#back")
    page.wait_for_selector("#map", state="visible")
    with page.expect_download() as waiting:
        page.select_option("#corpus-export select", "json")
        page.click("#corpus-export >> text=Download")
    lines = Path(waiting.value.path()).read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines][:2] == ["arxiv:9999.00000", "doi:10.5555/field.1"]

    again = sheet().ready()
    again.drop(("field.jsonl", field_notes.read_bytes(), "application/json"))
    again.page.wait_for_selector("#map .node")
    assert _map(again) == drawn


def test_labels_do_not_overlap(sheet: Open, field_notes: Path) -> None:
    for width in (1240, 390):
        one = _opened(sheet(width=width), field_notes)
        for _ in range(3):
            shown = one.page.locator("#map .node:not(.dotted):not(.off) rect")
            boxes = shown.evaluate_all(
                "all => all.map(one => one.getBoundingClientRect()).map(box => [box.x, box.y, box.right, box.bottom])"
            )
            for i, a in enumerate(boxes):
                for b in boxes[i + 1 :]:
                    beside = a[2] <= b[0] + 1 or b[2] <= a[0] + 1
                    above = a[3] <= b[1] + 1 or b[3] <= a[1] + 1
                    assert beside or above, (width, a, b)
            one.page.click("[aria-label='Zoom in']")
        assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_map_by_keyboard(sheet: Open, field_notes: Path) -> None:
    one = _opened(sheet(), field_notes)
    page = one.page
    page.locator("#map .node[tabindex='0']").focus()
    first = page.evaluate("document.activeElement.dataset.index")
    seen = {first}
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        seen.add(page.evaluate("document.activeElement.dataset.index"))
    assert len(seen) > 1
    page.keyboard.press("Enter")
    assert page.locator(".chosen-phrase").is_visible()
    assert page.locator("#map .node[tabindex='0']").count() == 1


def test_several_files_and_bad_lines(sheet: Open) -> None:
    one = sheet().ready()
    page = one.page
    one.expected = ["status of 4"]
    good = json.dumps({"id": 7, "title": "Camera traps", "abstract": "Camera traps count lynx.", "date": "2021-05-06"})
    lines = f"{good}\nnot json\n[1]\n{json.dumps({'title': 3})}\n{json.dumps({'note': 'x'})}\n\n"
    one.drop(
        ("rows.jsonl", lines.encode(), ""),
        ("a.txt", b"Camera traps photograph lynx in forests.", "text/plain"),
        ("b.txt", b"\x00\x01\x02\x03" * 50, "text/plain"),
        ("c.exe", b"MZ", "application/octet-stream"),
    )
    page.wait_for_selector("#map .node")
    assert page.inner_text("#corpus-summary").startswith("2 documents")
    said = page.inner_text("[role=alert]")
    assert "b.txt" in said
    assert "more problem" in said
    page.click("text=Dismiss")
    assert page.locator("[role=alert]").count() == 0
    assert page.locator("#timeline").is_hidden()

    one.drop(("empty.jsonl", b"\n\n", ""))
    page.wait_for_selector("[role=alert] >> text=There are no documents")
    assert page.locator("#corpus-empty").is_visible()


def test_a_folder(sheet: Open, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    (folder / "more").mkdir(parents=True)
    (folder / "a.txt").write_text("Camera traps photograph lynx in forests.")
    (folder / "more" / "b.txt").write_text("Camera traps count lynx.")
    (folder / ".hidden.txt").write_text("Nothing to see.")
    one = sheet().ready()
    one.page.click("#to-corpus")
    one.page.set_input_files("#corpus-folder-files", folder)
    one.page.wait_for_selector("#map .node")
    assert one.page.inner_text("#corpus-summary").startswith("2 documents")
    assert one.page.locator("[role=alert]").count() == 0


def test_search_and_zoom(sheet: Open, field_notes: Path) -> None:
    one = _opened(sheet(), field_notes)
    page = one.page
    whole = _words(one)
    for _ in range(2):
        page.click("[aria-label='Zoom in']")
    assert _words(one) > whole, "the closer, the more have room for their words"
    places = _map(one)
    page.click("[aria-label='Whole map']")
    assert _words(one) == whole
    box = page.locator("#map svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -95)
    page.keyboard.up("Control")
    page.wait_for_function("() => document.querySelector('#map svg.zoomed')")
    moved = _map(one)
    assert moved != places
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 + 60, box["y"] + box["height"] / 2 + 40, steps=4)
    page.mouse.up()
    assert _map(one) != moved, "dragged"
    assert page.locator(".chosen-phrase").count() == 0, "a drag is no click"
    one.check_accessibility("zoomed")
    page.locator("#map .node[tabindex='0']").focus()
    page.keyboard.press("0")
    page.wait_for_function("() => !document.querySelector('#map svg.zoomed')")

    page.fill("#corpus-find", "flood")
    names = page.locator(".tally .name").all_inner_texts()
    assert names
    assert all("flood" in name.lower() for name in names)
    assert page.locator("#map .node:not(.far)").count() == len(names)
    page.locator("#corpus-tab input[value=documents]").check(force=True)
    rows = [json.loads(line) for line in field_notes.read_text().splitlines()]
    expected = {row["title"] for row in rows if "flood" in f"{row['title']} {row['abstract']}".lower()}
    assert set(page.locator(".document-list .title").all_inner_texts()) == expected
    page.fill("#corpus-find", "zzz")
    assert "No document has these letters." in page.inner_text("#corpus-detail")
    one.check_accessibility("search")


def test_other_forms_of_a_phrase_count_as_one(sheet: Open) -> None:
    texts = (
        "Large language models (LLMs) answer questions. Large language models forget long documents.",
        "LLMs translate poems. We ask three LLMs to translate poems of the sea.",
        "A large language model reads contracts. The large language model marks clauses of contracts.",
        "Long short-term memory (LSTM) networks forecast floods. An LSTM learns river discharge.",
    )
    lines = "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(texts))
    one = sheet().ready()
    page = one.page
    one.drop(("llm.jsonl", lines.encode(), ""))
    page.wait_for_selector("#map .node")
    names = [name.lower() for name in page.locator(".tally .name").all_inner_texts()]
    assert len([name for name in names if name in ("llms", "large language models", "large language model")]) == 1
    line = page.locator(
        ".tally li", has=page.locator(".name", has_text=re.compile("^(llms|large language model)", re.I))
    )
    assert line.locator(".score").inner_text() == "3"
    line.locator("button").click()
    assert re.search(r"Also: .*(LLMs|language model)", page.inner_text("#corpus-detail"))
    assert page.locator(".document-list li").count() == 3


def test_trends_over_the_years(sheet: Open) -> None:
    rows = [
        {
            "id": f"{year}-{i}",
            "year": year,
            "text": f"{old if year < 2018 else new} in rivers. We study {old if year < 2018 else new}.",
        }
        for year in range(2014, 2022)
        for i, (old, new) in enumerate((("Rain gauges", "Satellite radar"), ("Rain gauges", "Satellite radar")))
    ]
    one = sheet().ready()
    page = one.page
    one.drop(("rain.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode(), ""))
    page.wait_for_selector("#map .node")
    first = {}
    for sort in ("rising", "falling"):
        page.select_option("#corpus-sort", sort)
        first[sort] = page.locator(".tally button").first
        name = first[sort].locator(".name").inner_text().lower()
        assert ("radar" if sort == "rising" else "gauge") in name
        assert first[sort].locator(f".spark.{sort}").count() == 1
        assert sort in first[sort].locator(".sr-only").inner_text()
    one.check_accessibility("trends")
    first["falling"].click()
    assert "falling over the years" in page.inner_text("#corpus-detail")


def test_selected_documents_have_a_map_of_their_own(sheet: Open, field_notes: Path) -> None:
    one = _opened(sheet(), field_notes)
    page = one.page
    page.locator("#corpus-tab input[value=documents]").check(force=True)
    page.fill("#corpus-find", "camera")
    count = page.locator(".document-list li").count()
    assert 2 < count < 36
    page.click("text=Select all")
    assert page.inner_text("#corpus-summary") == f"{count} of 36 documents selected."
    page.locator(".document-list input").first.uncheck()
    assert page.inner_text("#corpus-summary") == f"{count - 1} of 36 documents selected."
    assert page.evaluate("document.activeElement.type") == "checkbox", "the focus stays"
    one.check_accessibility("selection")
    with page.expect_download() as waiting:
        page.select_option("#corpus-export select", "json")
        page.click("#corpus-export >> text=Download")
    assert len(Path(waiting.value.path()).read_text().splitlines()) == count - 1
    before = _map(one)
    page.click(f"text=Map of {count - 1} documents")
    page.fill("#corpus-find", "")
    alone = _map(one)
    assert alone != before
    assert all(int(label.rsplit(", ", 1)[1].split()[0]) > 0 for label, _ in alone)
    page.reload()
    page.wait_for_selector("#map .node")
    assert _map(one) == alone, "after a reload too"
    page.click("text=Map of all documents")
    page.click("text=Select none")
    assert page.inner_text("#corpus-summary").startswith("36 documents")


def test_a_corpus_has_its_own_settings_and_is_kept(sheet: Open, field_notes: Path) -> None:
    one = sheet().whales()
    page = one.page
    one.slide("fewer", "Home")  # of the document, not of the corpus
    _opened(one, field_notes)
    page.select_option("#corpus-export select", "json")

    def exported() -> list[dict[str, list[object]]]:
        with page.expect_download() as waiting:
            page.click("#corpus-export >> text=Download")
        return [json.loads(line) for line in Path(waiting.value.path()).read_text().splitlines()]

    assert max(len(row["present"]) for row in exported()) > 3
    page.click("#corpus-settings > summary")
    page.locator("#corpus-controls [data-slider=fewer] input").focus()
    page.keyboard.press("Home")
    page.locator("#corpus-controls [data-slider='own words'] input").focus()
    page.keyboard.press("Home")
    page.wait_for_selector("#corpus-again")
    one.check_accessibility("settings of the corpus")
    page.click("#corpus-again")
    page.wait_for_selector("#map .node")
    rows = exported()
    assert {len(row["present"]) for row in rows} == {3}
    assert not any(row["absent"] for row in rows)
    page.click(".tally button >> nth=0")
    phrase = page.inner_text(".chosen-phrase")
    page.locator("[aria-label='From year']").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    years, drawn = page.inner_text(".span"), _map(one)
    page.reload()
    page.wait_for_selector("#map .node")
    assert (page.inner_text(".chosen-phrase"), page.inner_text(".span"), _map(one)) == (phrase, years, drawn)
    assert page.locator("#corpus-controls output").first.text_content() == "3 of each kind"
    page.go_back()
    page.wait_for_selector("#reading mark")
    assert page.locator("#controls-form output").first.inner_text() == "3 of each kind"


def test_a_corpus_on_a_phone_in_the_dark(sheet: Open, field_notes: Path) -> None:
    one = _opened(sheet(width=390, height=844, dark=True), field_notes)
    page = one.page
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    one.check_accessibility("corpus, phone, dark")
    page.tap(".tally button >> nth=0")
    one.check_accessibility("phrase, phone, dark")
    page.locator("#corpus-tab input[value=documents]").check(force=True)
    one.check_accessibility("documents, phone, dark")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

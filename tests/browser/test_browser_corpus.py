"""The corpus view in a browser: from files to a map, over the years, and to the documents behind a phrase."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from browser.browsing import Sheet

Open = Callable[..., Sheet]


def _map(one: Sheet) -> list[tuple[str, str]]:
    nodes = one.page.locator("#map .node").all()
    return [(node.text_content() or "", node.get_attribute("transform") or "") for node in nodes]


def test_from_a_file_to_a_map_to_a_document(sheet: Open, field_notes: Path) -> None:
    one = sheet().ready()
    page = one.page
    page.click("#to-corpus")
    assert "Drop a corpus here" in page.inner_text("#corpus-empty")
    one.check_accessibility("empty corpus")
    one.drop(("field.jsonl", field_notes.read_bytes(), "application/json"))
    page.wait_for_selector("#map .node")
    assert page.inner_text("#corpus-summary").startswith("36 documents")
    drawn = _map(one)
    assert len(drawn) > 15
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
        one = sheet(width=width).ready()
        one.drop(("field.jsonl", field_notes.read_bytes(), "application/json"))
        one.page.wait_for_selector("#map .node")
        boxes = [node.bounding_box() for node in one.page.locator("#map .node rect").all()]
        for i, a in enumerate(boxes):
            for b in boxes[i + 1 :]:
                beside = a["x"] + a["width"] <= b["x"] + 1 or b["x"] + b["width"] <= a["x"] + 1
                above = a["y"] + a["height"] <= b["y"] + 1 or b["y"] + b["height"] <= a["y"] + 1
                assert beside or above, (width, a, b)
        assert one.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_map_by_keyboard(sheet: Open, field_notes: Path) -> None:
    one = sheet().ready()
    page = one.page
    one.drop(("field.jsonl", field_notes.read_bytes(), "application/json"))
    page.wait_for_selector("#map .node")
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

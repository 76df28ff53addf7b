"""A report in a browser: opened from disk, with no service behind it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from browser.browsing import HOSTILE, WHALES, Sheet
from erukg.backends import OnnxBackend, find_model
from erukg.collection import DocumentRecord
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.build import build_encoded

Open = Callable[..., Sheet]


def _report(collection: Path | None, output: Path, *files: Path) -> str:
    chosen = [] if collection is None else ["--collection", collection]
    command = [sys.executable, "-m", "erukg.cli", "report", "-o", output, *chosen, *files]
    subprocess.run([str(part) for part in command], check=True, capture_output=True)
    return output.as_uri()


def test_a_report_shows_documents_and_their_map(
    sheet: Open, collection: Path, field_notes: Path, tmp_path: Path
) -> None:
    one = sheet(_report(collection, tmp_path / "report.html", field_notes)).ready()
    page = one.page
    page.wait_for_selector("#map .node")
    assert page.inner_text("#corpus-summary").startswith("36 documents")
    assert page.locator("#corpus-open").is_hidden()
    one.check_accessibility("report, corpus")
    page.click(".tally button >> nth=0")
    title = page.inner_text(".document-list .title >> nth=0")
    page.click(".document-list button >> nth=0")
    page.wait_for_selector("#reading mark")
    assert page.inner_text("#reading").startswith(title)
    for hidden in ("#side", "#entry", "#edit", "#fresh", "#corpus-settings"):
        assert page.locator(hidden).is_hidden()
    page.click(".phrase-list.absent button.phrase >> nth=0")
    assert "Sources" in page.inner_text("#explanation")
    assert page.locator(".terms tbody tr").count() >= 1
    one.check_accessibility("report, document")
    phrase = page.inner_text("#explanation-heading")
    page.reload()
    one.ready()
    assert page.inner_text("#reading").startswith(title)
    assert page.inner_text("#explanation-heading") == phrase
    page.click("#explanation >> [aria-label=Close]")
    page.select_option("#pick", "0")
    page.click("#next")
    assert page.input_value("#pick") == "1"
    with page.expect_download() as waiting:
        page.select_option("#document-export select", "json")
        page.click("#document-export >> text=Download")
    assert json.loads(Path(waiting.value.path()).read_text())["id"] == "doi:10.5555/field.1"


def test_what_the_text_says_in_other_words(sheet: Open, tmp_path: Path) -> None:
    text = tmp_path / "nurses.txt"
    text.write_text(
        "Sleep and shift work: a cohort study\nWe studied the risk of type 2 diabetes and the control of blood glucose "
        "among nurses who work at night. Shift workers had a higher risk of type 2 diabetes than day workers, and the "
        "quality of sleep explained a part of it. Melatonin, insulin resistance and circadian rhythms were measured "
        "twice a year in 2,310 participants over six years."
    )
    page = sheet(_report(None, tmp_path / "report.html", text)).ready().page
    page.wait_for_selector("#reading mark")
    made = page.locator(".phrase-list.absent li", has_text="sleep quality")
    assert "the text says “quality of sleep”" in made.inner_text()
    made.locator("button.phrase").click()
    assert "Not in the text, which says “quality of sleep”." in page.inner_text("#explanation")


def test_nothing_in_a_report_runs(sheet: Open, collection: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    row = {"title": HOSTILE, "text": f"Whale calls in underwater sound. {HOSTILE} </script></body>"}
    rows.write_text("".join(json.dumps({**row, "id": f"{i} {HOSTILE}", "year": 2000 + i}) + "\n" for i in range(3)))
    one = sheet(_report(collection, tmp_path / "report.html", rows)).ready()
    page = one.page
    page.wait_for_selector("#map .node")
    page.click(".tally button >> nth=0")
    one.nothing_ran()
    page.click(".document-list button >> nth=0")
    page.wait_for_selector("#reading mark")
    assert "</script></body>" in page.inner_text("#reading")
    page.click("#reading mark >> nth=0")
    one.nothing_ran()


def test_nothing_in_a_title_runs(sheet: Open, field_notes: Path, tmp_path: Path) -> None:
    rows = [json.loads(line) for line in field_notes.read_text().splitlines()]
    records = [DocumentRecord(row["id"], f"{row['title']}\n{row['abstract']}", title=HOSTILE) for row in rows]
    analyser = ModelAnalyser(OnnxBackend.load(find_model(None)))
    encoded = [answer.unwrap() for answer in analyser.encode(record.text for record in records)]
    folder = tmp_path / "collection"
    pairs = zip(records, encoded, strict=True)
    build_encoded(folder, pairs, fingerprint=analyser.fingerprint, vocab_size=analyser.vocab_size)
    text = tmp_path / "note.txt"
    text.write_text(WHALES)
    one = sheet(_report(folder, tmp_path / "report.html", text)).ready()
    page = one.page
    page.click(".phrase-list.absent button.phrase >> nth=0")
    for place in (".phrase-list.absent .from", "#explanation .sources"):
        assert "<script>" in page.locator(place).first.inner_text()
    one.nothing_ran()


def test_one_document_on_a_phone(sheet: Open, collection: Path, tmp_path: Path) -> None:
    text = tmp_path / "note.txt"
    text.write_text("Passive acoustic monitoring of whale calls with hydrophones and a convolutional network.")
    one = sheet(_report(collection, tmp_path / "report.html", text), width=390, height=844).ready()
    page = one.page
    page.wait_for_selector("#reading mark")
    assert page.locator("#to-corpus").is_hidden()
    assert page.locator("#walk").is_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    one.check_accessibility("report on a phone")
    assert page.locator("#remarks").is_hidden()


def test_what_to_know_about_a_text_is_in_its_report(sheet: Open, collection: Path, tmp_path: Path) -> None:
    text = tmp_path / "notiz.txt"
    text.write_text(
        "Der Höhenweg beginnt am Bahnhof und führt durch den Buchenwald. Die Hütte liegt hoch über dem Tal."
    )
    one = sheet(_report(collection, tmp_path / "report.html", text)).ready()
    one.page.wait_for_selector("#remarks li")
    assert "seems to be German" in one.page.inner_text("#remarks")
    assert "only made for English" in one.page.inner_text("#absent-list")

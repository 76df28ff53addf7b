"""`erukg report`: one HTML file, whatever the documents say, and nothing when there is nothing to show."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from erukg.cli import app
from erukg.core.results import Keyphrase, Keyphrases
from erukg.core.settings import Settings
from erukg.serving.bundle import bundle_modules, inline_page
from erukg.serving.report import Report, escaped, report_row

Make = Callable[..., Result]
REPORT = Report(version="1", model="tiny", collection=None, alpha=0.8, beta=0.8, made="2026-01-01")


class _Elements(HTMLParser):
    """The scripts and styles of a page, as an HTML parser sees them, and its policy."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None], str]] = []
        self.policy = ""
        self._open: tuple[str, dict[str, str | None]] | None = None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""
        self._open = (tag, given) if tag in ("script", "style") else None
        if self._open:
            self.found.append((*self._open, ""))

    def handle_data(self, data: str) -> None:
        if self._open:
            self.found[-1] = (*self._open, self.found[-1][2] + data)

    def handle_endtag(self, tag: str) -> None:
        self._open = None

    def data(self) -> Any:
        (text,) = (text for _, attributes, text in self.found if attributes.get("id") == "erukg-report")
        return json.loads(text)


@pytest.fixture
def make(tiny_model: Path) -> Make:
    def call(*arguments: object, input: str | None = None) -> Result:
        command = ["report", "--model", str(tiny_model), *map(str, arguments)]
        return CliRunner().invoke(app, command, input=input)

    return call


def test_report_of_files_and_rows(make: Make, tmp_path: Path, tiny_collection: Path) -> None:
    (tmp_path / "a.txt").write_text("A neural network for sparse retrieval. The neural network is fast.")
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        json.dumps({"id": "r", "title": "Document retrieval", "text": "A search engine.", "date": "2019-03-01"}) + "\n"
    )
    out = tmp_path / "report.html"
    result = make(tmp_path / "a.txt", rows, "-o", out, "--collection", tiny_collection)
    assert result.exit_code == 0, result.output
    data = _Elements(out.read_text()).data()
    assert data["model"] == "tiny"
    assert data["collection"] == {"documents": 120}
    assert data["settings"] == {"alpha": Settings().alpha, "beta": Settings().beta}
    first, second = data["documents"]
    assert (second["id"], second["title"], second["year"]) == ("r", "Document retrieval", 2019)
    assert (first["title"], first["year"]) == ("", None)
    found = Keyphrases.from_dict(first["result"])
    assert found.present[0].explanation is not None
    assert all(first["text"][a:b].lower() for k in found.present for a, b in k.spans)
    assert found.absent
    assert found.absent[0].sources
    assert not list(tmp_path.glob("*.part"))


def test_extraction(make: Make, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert make("-o", out, "--extract", input="A neural network.").exit_code == 0
    data = _Elements(out.read_text()).data()
    assert data["settings"] == {"alpha": 1, "beta": 1}
    assert data["documents"][0]["result"]["absent"] == []


def test_policy_names_exactly_what_runs() -> None:
    page = _Elements(REPORT.begin() + REPORT.end())
    kinds = {"script": "script-src", "style": "style-src"}
    for tag, attributes, text in page.found:
        if attributes.get("type") == "application/json":
            continue
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert re.search(rf"{kinds[tag]}[^;]*'sha256-{re.escape(digest)}'", page.policy)
    assert "default-src 'none'" in page.policy
    assert "unsafe" not in page.policy
    assert not re.search(r'(?:src|href)="(?!data:|#)', inline_page())


def test_page_knows_no_other_addresses() -> None:
    sites = ("arxiv.org", "doi.org", "aclanthology.org", "pubmed.ncbi.nlm.nih.gov", "openalex.org")
    links = {f"https://{site}" for site in sites}
    assert set(re.findall(r"https?://[\w.]+", inline_page())) == links | {"http://www.w3.org"}


def test_modules_come_before_those_that_use_them() -> None:
    script = bundle_modules("app")
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    made = [match[1] for match in re.finditer(r"^const (\w+)_module = ", script, re.MULTILINE)]
    assert len(made) == len(set(made)) >= 10
    for match in re.finditer(r"= (\w+)_module;", script):
        assert script.index(f"const {match[1]}_module = ") < match.start()


@given(st.text(st.sampled_from("<>/!-&script \"'\\\u2028\ud83d]"), max_size=60))
def test_no_text_ends_the_element_it_stands_in(text: str) -> None:
    written = f'<script type="application/json" id="erukg-report">{escaped({"text": text})}</script>'
    page = _Elements(written.encode("utf-8", "backslashreplace").decode())
    assert page.data() == {"text": text}
    assert len(page.found) == 1
    assert "<" not in escaped(text)


def test_hostile_documents_stay_data(make: Make, tmp_path: Path) -> None:
    hostile = "</script><script>alert(1)</script><!-- <style> network &amp; \u2028"
    rows = tmp_path / "rows.jsonl"
    rows.write_text(json.dumps({"id": hostile, "title": hostile, "text": f"A neural network. {hostile}"}) + "\n")
    out = tmp_path / "report.html"
    assert make(rows, "-o", out, "--no-collection").exit_code == 0
    page = _Elements(out.read_text())
    assert page.data()["documents"][0]["text"] == f"{hostile}\nA neural network. {hostile}"
    assert len(page.found) == len(_Elements(REPORT.begin() + REPORT.end()).found)


def test_numbers_are_short_and_years_are_years() -> None:
    found = Keyphrases(present=(Keyphrase("a", 1 / 3, spans=((0, 1),)),), id="x")
    row = report_row("a", found, {"title": 3, "year": "1998"})
    assert row["result"]["present"][0]["score"] == 0.33333
    assert (row["title"], row["year"]) == ("", 1998)
    assert report_row("a", found, {"year": 20201, "date": "May"})["year"] is None


def test_limits(make: Make, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"id": i, "text": "A neural network."}) + "\n" for i in range(40)))
    out = tmp_path / "report.html"
    result = make(rows, "-o", out, "--no-collection", "--max-documents", 7)
    assert result.exit_code == 3
    assert "Only the first 7 documents" in result.output
    data = _Elements(out.read_text()).data()
    assert [row["id"] for row in data["documents"]] == [str(i) for i in range(7)]
    assert data["note"] == "Only the first 7 documents are in this report"
    result = make(rows, "-o", out, "--no-collection", "--max-report-mb", 0.002, "--threads", 1)
    assert result.exit_code == 3
    assert "--max-report-mb" in result.output
    assert 1 <= len(_Elements(out.read_text()).data()["documents"]) < 40


def test_nothing_is_written_without_documents(make: Make, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    out.write_text("before")
    assert make(tmp_path / "no.txt", "-o", out, "--no-collection").exit_code == 1
    assert make(tmp_path, "-o", out, "--no-collection").exit_code == 1
    assert out.read_text() == "before"
    assert not list(tmp_path.glob("*.part"))


def test_errors_in_one_line(make: Make, tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("A neural network.")
    assert make(text).exit_code == 2
    for output, said in (
        (tmp_path, "is a folder"),
        (text, "is also an input"),
        (tmp_path / "no" / "r.html", "No such"),
    ):
        result = make(text, "-o", output, "--no-collection")
        assert result.exit_code == 1
        assert said in result.output
        assert len(result.output.splitlines()) == 1


def test_bad_documents_are_reported_and_the_rest_is_shown(make: Make, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "A neural network."}\nnot json\n{"text": "Sea ice."}\n')
    out = tmp_path / "report.html"
    result = make(rows, "-o", out, "--no-collection")
    assert result.exit_code == 3
    assert len(_Elements(out.read_text()).data()["documents"]) == 2


def test_a_report_needs_none_of_the_services_packages(tiny_model: Path, tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("A neural network.")
    hide = "import sys; sys.modules.update(dict.fromkeys(('starlette', 'uvicorn'))); "
    command = [sys.executable, "-c", f"{hide}from erukg.cli import main; main()", "report", text, "--no-collection"]
    options = ["--model", tiny_model, "-o", tmp_path / "report.html"]
    done = subprocess.run([*map(str, [*command, *options])], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert _Elements((tmp_path / "report.html").read_text()).data()["factors"]["position"]["label"]

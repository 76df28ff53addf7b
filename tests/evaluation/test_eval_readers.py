"""The readers' set: its measures on a set made by hand, the command, and the form of the real set."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from erukg import fold
from erukg.cli.evaluate import app
from erukg.errors import InputError
from erukg.research.evaluation import Record
from erukg.research.evaluation.readers import FIGURES, Found, ReaderText, judge, load_readers, run_readers
from erukg.research.evaluation.readers_report import to_json
from erukg.research.evaluation.results import write_results
from erukg.research.evaluation.systems import UnavailableSystem

REAL = Path(__file__).parents[1] / "readers"
KINDS = {
    *("medicine", "computing", "natural-science", "social-science", "news", "contract", "recipe", "ticket"),
    *("minutes", "product", "encyclopaedia", "fiction", "long", "query", "furniture", "other-language"),
}


def row(id: str, **changes: Any) -> dict[str, Any]:
    made = {"id": id, "kind": "news", "language": "en", "text": "The search engine of the sea ice archive."}
    return {**made, "must": ["search engine"], "must_not": ["engine"], "absent": "none", **changes}


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def text(**changes: Any) -> ReaderText:
    must = (("search engine",), ("sea ice", "ice"))
    made: dict[str, Any] = {"must": must, "must_not": ("Hi Tom", "met"), "absent": "none", **changes}
    return ReaderText("a", "news", "en", "text", **made)


class Says:
    """A system that says the same of every text."""

    name = "says"

    def describe(self) -> dict[str, Any]:
        return {"settings": {}}

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        for _ in records:
            yield ["search engines", *(f"filler {letter}" for letter in "abcdefghi"), "engine"], ["climate"]


def test_must_counts_alternatives_and_variants_and_must_not_only_whole_phrases() -> None:
    judged = judge(text(), Found(("Search-Engines", "ice", "met office"), ()))
    assert judged["must"] == 1
    assert judged["must_not"] == 0
    judged = judge(text(), Found(("search", "hi tom"), ("met",)))
    assert (judged["must"], judged["must_not"], judged["leaks"]) == (0, 1, 1)


def test_absent_phrases_are_unwanted_or_on_topic_or_free() -> None:
    found = Found((), ("anti-climatic change", "device flights"))
    assert judge(text(), found) | {"unwanted": 1, "unwanted_count": 2} == judge(text(), found)
    assert judge(text(), Found((), ()))["unwanted"] == 0
    on_topic = judge(text(absent=("climat", "ice")), found)
    assert on_topic["on_topic"] == 0.5
    assert "unwanted" not in on_topic
    # Silence is no error where phrases may come, and says nothing about their topic.
    assert not {"on_topic", "unwanted"} & judge(text(absent=("climat",)), Found((), ())).keys()
    assert not {"on_topic", "unwanted"} & judge(text(absent="any"), found).keys()


@pytest.mark.parametrize(
    ("phrases", "share"),
    [
        ((), 0.0),
        (("sea ice", "radar"), 0.0),
        (("sea ice", "sea ices", "radar", "clouds"), 0.5),
        (("electric bus", "electric buses"), 1.0),
        (("peer-to-peer networks", "peer-to-peer", "networks", "graph"), 0.75),
        (("art", "article"), 0.0),  # whole words only
    ],
)
def test_repetition(phrases: tuple[str, ...], share: float) -> None:
    assert judge(text(), Found(phrases, ()))["repetition"] == share


def test_headings_are_looked_for_in_the_top_10_and_20() -> None:
    ranked = tuple(f"heading {number}" for number in range(30))
    wanted = text(right=("Heading 9", "heading 10"), absurd=("heading 19", "heading 20", "heading 25", "heading 29"))
    judged = judge(wanted, Found((), (), ranked))
    assert (judged["right"], judged["absurd"]) == (0.5, 0.25)
    assert "right" not in judge(wanted, Found((), ()))


def test_the_language_is_told_right_with_a_notice_or_without() -> None:
    english = text()
    german = replace(english, language="de")
    assert "language" not in judge(english, Found((), ()))
    told, silent = Found((), (), notices=("not-english",)), Found((), (), notices=("too-short",))
    assert [judge(one, found)["language"] for one in (english, german) for found in (told, silent)] == [0, 1, 1, 0]


def test_figures_are_means_by_kind_and_over_english_texts(tmp_path: Path) -> None:
    file = write(
        tmp_path / "set.jsonl",
        row("a"),
        row("b", must=["sea ice", "search engine"]),
        row("c", kind="recipe", must=["sea ice"], absent=["clim"]),
        row("d", kind="other", language="de", must=["sea ice"]),
    )
    readers = load_readers([file])
    (result, missing) = run_readers([Says(), UnavailableSystem("gone", "no weights")], readers, samples=100)
    assert {kind: figures["must"] for kind, figures in result.kinds.items()} == {"news": 0.75, "recipe": 0, "other": 0}
    assert result.total["must"] == 0.5
    assert result.total["on_topic"] == 1
    assert result.total["unwanted_count"] == 1
    assert result.total["must_not"] == 0, "the eleventh phrase is not among the ten best"
    low, high = result.intervals["must"]
    assert 0 <= low <= 0.5 <= high <= 1
    assert missing.not_run == "no weights"
    stored = to_json(readers, [result, missing])
    assert stored["task"] == "readers"
    assert stored["english"] == 3
    again = run_readers([Says()], readers, samples=100)
    assert to_json(readers, again)["systems"] == stored["systems"][:1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"text": " "}, "'text' must be text that is not empty"),
        ({"kind": 3}, "'kind' must be text"),
        ({"must": "phrase"}, "'must' must be a list of phrases"),
        ({"absent": "nothing"}, "'absent' must be a list of phrases"),
        ({"headings": []}, "'headings' must be an object"),
        ({"headings": {"right": ["a"]}}, "'absurd' must be a list of phrases"),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    file = write(tmp_path / "set.jsonl", row("a"), row("b", **changes))
    with pytest.raises(InputError, match=f"line 2: .*{message}"):
        load_readers([file])


def test_bad_sets_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no readers' set"):
        load_readers([tmp_path])
    with pytest.raises(InputError, match="holds no readers' set"):
        load_readers([tmp_path / "none.jsonl"])
    write(tmp_path / "one.jsonl", row("a"))
    write(tmp_path / "two.jsonl", row("a"))
    with pytest.raises(InputError, match="the id 'a' was already used"):
        load_readers([tmp_path])


def test_the_command_prints_tables_and_its_run_goes_into_the_results(
    tmp_path: Path, tiny_model: Path, tiny_collection: Path
) -> None:
    headings = {"right": ["sea ice"], "absurd": ["search parties"]}
    folder = tmp_path / "set"
    folder.mkdir()
    write(folder / "set.jsonl", row("a", headings=headings), row("b", kind="recipe"))
    stored = tmp_path / "run.json"
    systems = ["-s", "erukg-generate", "-s", "keybert"]
    options = ["--model", str(tiny_model), "--collection", str(tiny_collection), "--samples", "50", "-o", str(stored)]
    result = CliRunner().invoke(app, ["readers", str(folder), *systems, *options], catch_exceptions=False)
    assert result.exit_code == 0
    assert "all English texts" in result.stdout
    assert "not run: weights not available" in result.stdout
    report = json.loads(stored.read_text())
    assert report["format"] == "erukg-evaluation"
    assert {"right", "absurd"} <= report["systems"][0]["scores"]["total"].keys() <= FIGURES.keys()
    page = write_results([stored], tmp_path / "results")[0].read_text()
    assert "## Readers" in page
    assert "| recipe (1) |" in page
    assert "**all English texts (2)**" in page


def test_without_a_set_the_command_says_what_to_pass() -> None:
    with pytest.raises(InputError, match="tests/readers"):
        CliRunner().invoke(app, ["readers"], catch_exceptions=False)


def test_the_real_set_is_whole() -> None:
    readers = load_readers([REAL])
    texts = readers.texts
    assert len(texts) >= 110
    assert readers.kinds.keys() == KINDS
    assert min(readers.kinds.values()) >= 6
    assert readers.kinds["query"] >= 12
    assert sum(bool(one.right) for one in texts) >= 25
    others = Counter(one.language for one in texts if one.kind == "other-language")
    assert others == dict.fromkeys(("de", "fr", "es", "it", "nl"), 2)
    assert all((one.language == "en") == (one.kind != "other-language") for one in texts)


@pytest.mark.parametrize("one", load_readers([REAL]).texts, ids=lambda one: str(one.id))
def test_a_text_of_the_real_set_is_sound(one: ReaderText) -> None:
    words = len(one.text.split())
    assert words >= 700 if one.kind == "long" else 2 <= words <= 5 if one.kind == "query" else 40 <= words <= 200
    assert 2 <= len(one.must) <= 6
    assert len(one.must_not) >= 2
    assert not {fold(form) for forms in one.must for form in forms} & {fold(phrase) for phrase in one.must_not}
    assert not one.right or (3 <= len(one.right) <= 6 and 8 <= len(one.absurd) <= 12)
    assert not {fold(heading) for heading in one.right} & {fold(heading) for heading in one.absurd}
    for forms in one.must:
        assert f" {fold(forms[0])} " in f" {fold(one.text)} ", forms

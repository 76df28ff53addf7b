"""Whole evaluations: systems, stored predictions, comparisons, reports and the command."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import erukg
from erukg import KeyphraseGenerator, Settings
from erukg.cli.evaluate import app
from erukg.errors import InputError, SettingsError
from erukg.research.evaluation import Dataset, Record, load_sets, provenance
from erukg.research.evaluation.bootstrap import paired_bootstrap
from erukg.research.evaluation.generator_system import SOURCES
from erukg.research.evaluation.keyphrase_report import print_report, to_json
from erukg.research.evaluation.keyphrases import compare, evaluate, predict
from erukg.research.evaluation.provenance import source_hash
from erukg.research.evaluation.store import PredictionStore
from erukg.research.evaluation.systems import SystemOptions, make_system, parse_setting

TEXTS = [
    (
        "Sparse retrieval",
        "We propose a fast search engine for large document collections.",
        ["search engine"],
    ),
    (
        "Sea ice temperature",
        "Passive satellite radar images of sea ice.",
        ["radar images", "climate", "sea ice"],
    ),
    ("Random graphs", "Vertex set algorithms for random graphs.", ["random graph", "vertex set", "sampling"]),
    ("Neural language models", "Deep learning with neural networks.", ["language model", "deep learning"]),
]


def records() -> tuple[Record, ...]:
    return tuple(Record(f"d{i}", title, text, tuple(gold)) for i, (title, text, gold) in enumerate(TEXTS))


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    folder = tmp_path / "sets"
    folder.mkdir()
    for name, chosen in (("inspec", records()), ("nus", records()[1:])):
        rows = [
            {"id": r.id, "title": r.title, "abstract": r.abstract, "keyphrases": list(r.keyphrases)} for r in chosen
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


class FirstWords:
    """A simple real system: the first pairs of words; counts what it was asked for, and can fail half-way."""

    def __init__(self, name: str = "first-words", stop_after: int | None = None, start: int = 0) -> None:
        self.name = name
        self.asked: list[str] = []
        self.stop_after = stop_after
        self.start = start

    def describe(self) -> dict[str, Any]:
        return {"start": self.start}

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        for number, record in enumerate(records):
            if number == self.stop_after:
                raise KeyboardInterrupt
            self.asked.append(record.id)
            words = record.text.split()[self.start :]
            yield [" ".join(pair) for pair in pairwise(words)], ["climate"]


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    dataset = Dataset("s", records(), "hash")
    stopped = FirstWords(stop_after=2)
    with pytest.raises(KeyboardInterrupt):
        evaluate([stopped], [dataset], tmp_path)
    (file,) = (tmp_path / "s").iterdir()
    file.write_text(file.read_text() + '{"id": "d2", "pres')  # a line cut short
    seen: list[tuple[str, str, int, int]] = []
    resumed = FirstWords()
    result = evaluate([resumed], [dataset], tmp_path, lambda *at: seen.append(at))
    assert resumed.asked == ["d2", "d3"]
    assert [at[2:] for at in seen] == [(2, 4), (3, 4), (4, 4)]
    again = FirstWords()
    assert to_json([dataset], evaluate([again], [dataset], tmp_path)) == to_json([dataset], result)
    assert again.asked == []
    unstored = evaluate([FirstWords()], [dataset])[0]
    assert unstored.scores["paper"][0].present.means() == result[0].scores["paper"][0].present.means()
    fresh = FirstWords()
    evaluate([fresh], [dataset], tmp_path, fresh=True)
    assert fresh.asked == ["d0", "d1", "d2", "d3"]


def test_changed_settings_or_data_do_not_meet_stored_predictions(tmp_path: Path) -> None:
    dataset = Dataset("s", records(), "hash")
    evaluate([FirstWords()], [dataset], tmp_path)
    for system, data in (
        (FirstWords(start=1), dataset),
        (FirstWords("other"), dataset),
        (FirstWords(), Dataset("s", records(), "other")),
    ):
        evaluate([system], [data], tmp_path)
        assert len(system.asked) == 4
    more = FirstWords()
    evaluate([more], [dataset.first(2)], tmp_path)
    assert more.asked == []


def test_a_run_with_a_limit_is_continued_by_one_without(tmp_path: Path) -> None:
    dataset = Dataset("s", records(), "hash")
    evaluate([FirstWords()], [dataset.first(3)], tmp_path)
    rest = FirstWords()
    evaluate([rest], [dataset], tmp_path)
    assert rest.asked == ["d3"]


def test_a_damaged_store_is_refused_or_mended(tmp_path: Path) -> None:
    dataset = Dataset("s", records(), "hash")
    system = FirstWords()
    store = PredictionStore(tmp_path, system.name, system.describe(), dataset)
    expected = predict(system, dataset, store)
    lines = store.path.read_text().splitlines(keepends=True)
    store.path.write_text(lines[0] + "{]\n" + '{"id": "d1", "present": [1], "absent": []}\n' + "".join(lines[3:]))
    mended = FirstWords()
    assert predict(mended, dataset, store) == expected
    assert mended.asked == ["d0", "d1"]
    store.path.write_text("{}\n" + "".join(lines[1:]))
    with pytest.raises(InputError, match="was not written for this evaluation"):
        predict(FirstWords(), dataset, store)
    store.path.write_text(lines[0][:20])
    assert predict(FirstWords(), dataset, store) == expected
    with pytest.raises(InputError, match="closed"):
        store.add("x", [], [])
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be stored"):
        predict(FirstWords(), dataset, PredictionStore(tmp_path / "file", "x", {}, dataset))


def test_a_system_that_misses_a_document_is_named() -> None:
    class Short(FirstWords):
        def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
            yield [], []

    with pytest.raises(InputError, match="'first-words' gave no prediction for the document 'd1'"):
        evaluate([Short()], [Dataset("s", records())])


def test_bootstrap_is_seeded_paired_and_sane() -> None:
    rng = np.random.default_rng(5)
    base = rng.random(400)
    better = base + rng.normal(0.03, 0.05, 400)
    d = paired_bootstrap([better], [base], samples=2000, seed=3)
    assert d == paired_bootstrap([better], [base], samples=2000, seed=3)
    assert d != paired_bootstrap([better], [base], samples=2000, seed=4)
    assert d.difference == pytest.approx((better - base).mean())
    assert 0 < d.low < d.difference < d.high
    assert d.p < 0.01
    # The interval is that of the normal approximation for so many documents.
    half = 1.96 * (better - base).std(ddof=1) / 20
    assert (d.high - d.low) / 2 == pytest.approx(half, rel=0.1)
    back = paired_bootstrap([base], [better], samples=2000, seed=3)
    assert back.difference == pytest.approx(-d.difference)
    assert back.p == d.p
    same = paired_bootstrap([base, base[:3]], [base, base[:3]], samples=100)
    assert (same.difference, same.low, same.high, same.p) == (0, 0, 0, 1)


def test_bootstrap_of_an_average_weighs_sets_alike() -> None:
    a, b = [np.ones(3), np.zeros(100)], [np.zeros(3), np.zeros(100)]
    d = paired_bootstrap(a, b, samples=50)
    assert (d.difference, d.low, d.high) == (0.5, 0.5, 0.5)
    with pytest.raises(InputError, match="not scored on the same documents"):
        paired_bootstrap([np.ones(3)], [np.ones(4)])
    with pytest.raises(InputError, match="no document"):
        paired_bootstrap([np.ones(0)], [np.ones(0)])
    with pytest.raises(InputError, match="at least 1 resample"):
        paired_bootstrap([np.ones(1)], [np.ones(1)], samples=0)


def test_report_has_both_protocols_paper_first(tmp_path: Path, sets: Path) -> None:
    datasets = load_sets([sets])
    results = evaluate([FirstWords(), FirstWords("later", start=2)], datasets)
    comparisons = compare(results[0], results[1], samples=200, seed=1)
    out = io.StringIO()
    report = to_json(datasets, results, comparisons)
    print_report(Console(file=out, width=160), report, comparisons)
    text = out.getvalue()
    order = [
        text.index(f"{kind} phrases, protocol '{p}'") for p in ("paper", "stemmed") for kind in ("present", "absent")
    ]
    assert order == sorted(order)
    assert "first-words minus later" in text
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    paper = report["systems"][0]["scores"]["paper"]
    inspec, nus = (paper["sets"][name]["present"]["F@5"] for name in ("inspec", "nus"))
    assert paper["average"]["present"]["F@5"] == pytest.approx((inspec + nus) / 2)
    assert {c.dataset for c in comparisons} == {"inspec", "nus", "average"}
    (average,) = (
        c.result
        for c in comparisons
        if (c.dataset, c.protocol, c.kind, c.metric) == ("average", "paper", "present", "F@5")
    )
    other = report["systems"][1]["scores"]["paper"]["average"]["present"]["F@5"]
    assert average.difference == pytest.approx(paper["average"]["present"]["F@5"] - other)


def test_unknown_systems_and_settings_name_the_nearest() -> None:
    with pytest.raises(InputError, match="no system 'erukg-generat'; did you mean 'erukg-generate'"):
        make_system("erukg-generat")
    with pytest.raises(InputError, match="no system 'qqq'; known systems: erukg-generate, erukg-extract"):
        make_system("qqq")
    with pytest.raises(SettingsError, match="no setting 'alhpa'; did you mean 'alpha'"):
        make_system("erukg-generate", SystemOptions(settings={"alhpa": 1}))
    with pytest.raises(SettingsError, match="'alpha' must be a number from 0 to 1"):
        make_system("erukg-generate:alpha=3")
    with pytest.raises(InputError, match=r"'tuned' is neither a style \(balanced, .*, paper\) nor name=value"):
        make_system("erukg-generate:tuned")
    for text in ("alpha", "=1", "alpha="):
        with pytest.raises(InputError, match="write it as name=value"):
            parse_setting(text)
    with pytest.raises(InputError, match="'alpha' needs a number, true or false, not 'much'"):
        parse_setting("alpha=much")


def test_variants_change_what_they_name_only() -> None:
    options = SystemOptions(settings={"position": 2})
    plain, paper, complete, changed = (
        make_system(spec, options)
        for spec in (
            "erukg-generate",
            "erukg-generate:paper",
            "erukg-generate:complete",
            "erukg-generate:alpha=0.5,frequency=True,neighbours=10",
        )
    )
    assert plain.settings == Settings(position=2)  # type: ignore[attr-defined]
    assert paper.settings == Settings.paper(position=2)  # type: ignore[attr-defined]
    assert complete.settings == Settings.styled("complete", position=2)  # type: ignore[attr-defined]
    assert changed.settings == Settings(position=2, alpha=0.5, frequency=True, neighbours=10)  # type: ignore[attr-defined]
    extract = make_system("erukg-extract", SystemOptions(style="paper"))
    assert extract.settings == Settings.paper(alpha=1, beta=1)  # type: ignore[attr-defined]


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["keyphrases", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_command_runs_our_extractor_and_repeats_to_the_last_digit(
    tmp_path: Path, sets: Path, tiny_model: Path, tiny_generator: KeyphraseGenerator
) -> None:
    common = [
        sets,
        "--model",
        tiny_model,
        "--compare",
        "erukg-extract",
        "erukg-extract:position=0",
        "--samples",
        300,
    ]
    first = run(*common, "--store", tmp_path / "one", "-o", tmp_path / "one.json")
    again = run(*common, "--store", tmp_path / "one", "-o", tmp_path / "again.json")
    other = run(*common, "--store", tmp_path / "two", "-o", tmp_path / "two.json", "--threads", 1)
    assert first == again == other
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "again.json").read_bytes()
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    report = json.loads((tmp_path / "one.json").read_text())
    ours = report["systems"][0]
    assert ours["description"]["settings"]["alpha"] == 1
    assert ours["description"]["model"]["weights"] == tiny_generator.backend.fingerprint
    assert ours["description"]["model"]["precision"] == "fp32"
    assert ours["description"]["collection"] is None
    assert ours["scores"]["paper"]["sets"]["inspec"]["present"]["documents"] == 4
    # The stored predictions are what the generator says.
    (file,) = (
        f for f in (tmp_path / "one" / "inspec").iterdir() if ours["predictions"]["inspec"].startswith(f.stem[-16:])
    )
    stored = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    for row, record in zip(stored, records(), strict=True):
        assert row["id"] == record.id
        expected = tiny_generator.extract(record.text, 50).present
        assert row["present"] == [k.phrase for k in expected if k.score > 0] != []
        assert row["absent"] == []


def test_command_limits_and_settings(tmp_path: Path, sets: Path, tiny_model: Path) -> None:
    out = tmp_path / "deep" / "r.json"
    run(
        *(
            sets / "nus.jsonl",
            "--model",
            tiny_model,
            "-s",
            "erukg-extract",
            "--paper",
            "--set",
            "position=0.5",
        ),
        *("--limit", 1, "--store", tmp_path / "store", "-o", out),
    )
    report = json.loads(out.read_text())
    assert report["sets"][0]["documents"] == 1
    assert report["systems"][0]["description"]["settings"] == Settings.paper(alpha=1, beta=1, position=0.5).to_dict()
    assert [p.name for p in out.parent.iterdir()] == ["r.json"]


def test_command_refuses_bad_input_before_it_starts(tmp_path: Path, sets: Path, tiny_model: Path) -> None:
    (sets / "bad.jsonl").write_text('{"id": "x"\n')
    for arguments, message in (
        ([sets, "-s", "erukg-extract"], r"bad\.jsonl, line 1: It is not JSON"),
        ([sets, "-s", "erukg-extrakt"], "did you mean 'erukg-extract'"),
        ([sets, "--set", "alfa=1"], "did you mean 'alpha'"),
    ):
        result = CliRunner().invoke(app, ["keyphrases", *map(str, arguments), "--model", str(tiny_model)])
        assert isinstance(result.exception, InputError | SettingsError)
        assert re.search(message, str(result.exception))


def test_what_decides_a_prediction_is_in_its_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every module of the packages that make a prediction counts, and nothing beside them."""
    shutil.copytree(Path(erukg.__file__).parent, tmp_path / "erukg", ignore=shutil.ignore_patterns("assets", "*.pyc"))
    monkeypatch.setattr(provenance, "files", lambda package: tmp_path / package)
    before = source_hash(*SOURCES)
    for module in ("cli/evaluate.py", "research/evaluation/metrics.py", "serving/app.py"):
        (tmp_path / "erukg" / module).write_text("# changed")
    assert source_hash(*SOURCES) == before
    known = {before}
    for file in sorted(p for part in SOURCES for p in (tmp_path / "erukg" / part).rglob("*.py")):
        file.write_text(file.read_text() + "# changed")
        known.add(source_hash(*SOURCES))
    assert len(known) > 40


def test_baselines_know_nothing_of_evaluation_nor_both_of_benchmarks() -> None:
    root = Path(erukg.__file__).parent / "research"
    for package, unknown in (("baselines", "evaluation|benchmark"), ("evaluation", "benchmark")):
        for file in (root / package).rglob("*.py"):
            assert not re.search(rf"(from|import) erukg\.research\.({unknown})", file.read_text()), file

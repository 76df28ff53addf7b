"""`erukg reproduce`: a quick run of all steps on made-up data, going on after a stop, and what is missing."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from erukg.cli import app
from erukg.errors import InputError
from erukg.research.evaluation.results import write_results
from erukg.research.reproduce import PARTS, STEPS, Given, Parts, Results, choose_steps, run_steps
from erukg.research.reproduce.plan import parts_of
from erukg.research.reproduce.tasks import TASKS
from evaluation.eval_samples import write_sets
from evaluation.retrieval_samples import write_set
from tiny import write_corpus

ROOT = Path(__file__).parents[2]
WEIGHTS = {
    "vectors",
    "promptrank",
    "copyrnn",
    "autokeygen",
    "uokg",
    "tpg",
    "promptkp",
    "llm",
    "doct5query",
    "speed-trained",
}


def reproduce(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["reproduce", *map(str, arguments)], catch_exceptions=False)


def run_of(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "runs" / f"{name}.json").read_bytes())
    return found


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    write_sets(folder / "keyphrases" / "test")
    write_set(folder / "retrieval" / "sea", packing=".xz")
    (folder / "corpus").mkdir()
    write_corpus(folder / "corpus" / "acm.jsonl", 40)
    dev = folder / "keyphrases" / "dev" / "corpus_dev.jsonl"
    dev.parent.mkdir()
    rows = [json.loads(line) for line in write_corpus(folder / "corpus" / "acm.jsonl", 40).read_text().splitlines()]
    # Half of a document's gold stands in it, half in others on its topic.
    for number, row in enumerate(rows):
        row["keyphrases"] = [rows[(number + i) % 40]["title"].split(" for ")[0] for i in (0, 6, 12, 18)]
    dev.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def common(tiny_model: Path, tiny_collection: Path) -> list[object]:
    return ["--model", tiny_model, "--collection", tiny_collection, "--repository", ROOT, "--threads", 1]


@pytest.fixture(scope="module")
def variants(tiny_model: Path, tiny_collection: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models without a type of reference, as far as the plan can tell: the tiny one under the names it looks for."""
    folder = tmp_path_factory.mktemp("variants")
    for name in ("control", "no-title"):
        shutil.copytree(tiny_model, folder / "models" / name)
        shutil.copytree(tiny_collection, folder / "collections" / name)
    return folder


@pytest.fixture(scope="module")
def quick(
    data: Path, common: list[object], variants: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Result]:
    folder = tmp_path_factory.mktemp("results")
    given = ["--variants", variants, "--paper-collection", variants / "collections" / "control"]
    return folder, reproduce(data, "-o", folder, "--quick", *given, *common)


def test_types_of_reference_are_compared_with_the_control(quick: tuple[Path, Result]) -> None:
    run = json.loads((quick[0] / "runs" / "quick-ablations-references.json").read_text())
    labels = {variant["label"]: variant["against"] for variant in run["studies"][0]["variants"]}
    assert labels["without titles, generation"] == "all types, generation"
    assert labels["all types, generation"] is None
    assert "control" not in " ".join(labels)


def statuses(result: Result) -> dict[str, str]:
    """By step what was said of it on standard error."""
    return dict(re.findall(r"^erukg: ([\w-]+)(?: \(quick\))?: (made|stored|kept|not run)", result.stderr, re.MULTILINE))


def test_quick_run_makes_all_that_the_data_is_there_for(quick: tuple[Path, Result]) -> None:
    folder, result = quick
    made = {name for name, status in statuses(result).items() if status == "made"}
    trained = {step.name for step in STEPS if step.name in WEIGHTS or step.name.removeprefix("retrieval-") in WEIGHTS}
    others = {step.name for step in STEPS if {"tagger", "tagged"} & set(step.needs)}
    assert made == {step.name for step in STEPS} - trained - others, result.stderr
    assert result.exit_code == 3
    assert {path.stem.removeprefix("quick-") for path in (folder / "runs").iterdir()} == made
    assert "CopyRNN, trained by erukg train baseline (--baselines FOLDER, in it copyrnn)" in " ".join(
        re.sub(r"[│┃]", " ", result.stdout).split()
    )


def test_quick_run_is_marked_everywhere(quick: tuple[Path, Result]) -> None:
    folder, result = quick
    assert "quick run: not the figures" in result.stdout
    assert (folder / "README.md").read_text().startswith("# Quick run: not the figures\n")
    plots = list(folder.glob("*.svg"))
    assert plots
    assert all(path.name.startswith("quick-") and "Quick run: not the" in path.read_text() for path in plots)
    for path in (folder / "runs").iterdir():
        assert path.name.startswith("quick-")
        assert run_of(folder, path.stem)["reproduce"]["quick"] is True
    assert "## Keyphrases (quick run)\n" in (folder / "README.md").read_text()


def test_quick_runs_hold_little_and_no_paths(quick: tuple[Path, Result], data: Path) -> None:
    folder, _ = quick
    for path in (folder / "runs").iterdir():
        assert str(data) not in path.read_text()
    assert [s["name"] for s in run_of(folder, "quick-baselines")["systems"]][-1] == "tfidf:acm.jsonl"
    assert run_of(folder, "quick-readers")["sets"][0]["documents"] == 20
    assert run_of(folder, "quick-dev")["sets"][0]["documents"] == 20
    neighbours = next(s for s in run_of(folder, "quick-ablations-paper")["studies"] if s["name"] == "neighbours")
    assert all("R@1000" in variant["retrieval"]["average"] for variant in neighbours["variants"])
    sizes = next(s for s in run_of(folder, "quick-ablations")["studies"] if s["name"] == "collection")["variants"]
    assert [v["label"].partition(",")[0] for v in sizes if not v["not_run"]] == [
        "none",
        "random part 1",
        "random part 2",
        "as given",
    ]


def test_finished_steps_are_kept_until_their_inputs_change(
    quick: tuple[Path, Result], data: Path, tiny_model: Path, tiny_collection: Path, variants: Path
) -> None:
    folder, first = quick
    results = Results(folder, folder / "store", quick=True)
    paper = variants / "collections" / "control"
    given = Given(data, ROOT, str(tiny_model), str(tiny_collection), variants=variants, paper_collection=paper)
    before = {path: path.stat().st_mtime_ns for path in (folder / "runs").iterdir()}
    again = run_steps(STEPS, Parts(given), results, threads=1)
    made = {name for name, status in statuses(first).items() if status == "made"}
    assert {outcome.step.name for outcome in again if outcome.status == "stored"} == made
    assert {path: path.stat().st_mtime_ns for path in (folder / "runs").iterdir()} == before

    changed = data / "retrieval" / "sea" / "queries.jsonl"
    queries = changed.read_text()
    try:
        changed.write_text(queries.replace("frozen ocean", "frozen sea"))
        third = run_steps(choose_steps(["ours", "retrieval", "case"]), Parts(given), results, threads=1)
    finally:
        changed.write_text(queries)
    assert [outcome.status for outcome in third] == ["stored", "made", "stored"]


def test_trained_baselines_have_their_place_on_the_page(quick: tuple[Path, Result], tmp_path: Path) -> None:
    """As `copyrnn` and `retrieval-copyrnn` store them: with models that are described in another way than erukg's."""
    folder, _ = quick
    found, searched = run_of(folder, "quick-baselines"), run_of(folder, "quick-retrieval")
    model = {"name": "copyrnn", "sha256": "0" * 64, "card": {"baseline": "copyrnn"}}
    found["systems"] = [{**found["systems"][0], "name": "copyrnn:copyrnn", "description": {"model": model}}]
    method = next(method for method in searched["methods"] if method["name"] == "query-appended")
    method["name"], method["description"]["query_expansion"]["model"] = "query-appended copyrnn:copyrnn", model
    searched |= {"methods": [method], "comparisons": []}
    for name, report in (("kp", found), ("search", searched)):
        (tmp_path / f"{name}.json").write_text(json.dumps(report))
    write_results([tmp_path / "kp.json", tmp_path / "search.json"], tmp_path / "out")
    page = (tmp_path / "out" / "README.md").read_text()
    assert "| CopyRNN | " in page
    assert "| *CopyRNN (supervised), in the paper* |" in page
    assert "**Training.**" in page
    assert "| query-appended, CopyRNN | " in page


def test_quick_and_whole_runs_never_share_a_folder(
    quick: tuple[Path, Result], data: Path, common: list[object]
) -> None:
    folder, _ = quick
    for wanted in ([data, "--only", "case"], ["--pages"]):
        result = reproduce(*wanted, "-o", folder, *common)
        assert result.exit_code == 1
        assert f"{folder} holds quick runs" in result.stderr


def test_goes_on_after_kill(tmp_path: Path, tiny_model: Path, tiny_collection: Path) -> None:
    """Killed in the middle of a set: what was predicted stays, and the whole run is as if nothing had happened."""
    sets = tmp_path / "data" / "keyphrases" / "test"
    sets.mkdir(parents=True)
    rows = [json.loads(line) for line in write_corpus(tmp_path / "rows.jsonl", 60).read_text().splitlines()]
    text = "".join(json.dumps({**row, "keyphrases": [row["title"].split(" for ")[0]]}) + "\n" for row in rows)
    (sets / "many.jsonl").write_text(text)
    models = ["--model", str(tiny_model), "--collection", str(tiny_collection), "--threads", "1"]
    command = [sys.executable, "-m", "erukg.cli", "reproduce", str(tmp_path / "data"), *models]
    command += ["--only", "ours", "-o", str(tmp_path / "out")]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=env, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    store = tmp_path / "out" / "store"
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        if any(file.read_bytes().count(b"\n") > 5 for file in store.rglob("*.jsonl")):
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.005)
    assert process.wait(10) == -signal.SIGKILL
    assert not (tmp_path / "out" / "runs").exists()
    kept = {file: file.read_bytes() for file in store.rglob("*.jsonl")}

    parts = Parts(Given(tmp_path / "data", tmp_path, str(tiny_model), str(tiny_collection)))
    run_steps(choose_steps(["ours"]), parts, Results(tmp_path / "out", store), threads=1)
    for file, content in kept.items():
        assert file.read_bytes().startswith(content[: content.rindex(b"\n") + 1])
        ids = Counter(json.loads(line).get("id") for line in file.read_text().splitlines()[1:] if line.endswith("}"))
        assert max(ids.values()) == 1, "nothing is predicted twice"
    run_steps(choose_steps(["ours"]), parts, Results(tmp_path / "other", tmp_path / "none"), threads=1)
    assert run_of(tmp_path / "out", "ours") == run_of(tmp_path / "other", "ours")


def test_a_bare_machine_gets_the_tables_of_its_test_sets(tmp_path: Path, common: list[object]) -> None:
    write_sets(tmp_path / "data" / "keyphrases" / "test")
    chosen = ["--only", "ours,retrieval,calibration,copyrnn"]
    result = reproduce(tmp_path / "data", "-o", tmp_path / "out", *common, *chosen, "--repository", tmp_path)
    assert result.exit_code == 3
    assert statuses(result) == {
        "ours": "made",
        "retrieval": "not run",
        "calibration": "not run",
        "copyrnn": "not run",
    }
    assert "retrieval: not run: needs retrieval sets in BEIR's layout (DATA/retrieval/SET)" in result.stderr
    page = (tmp_path / "out" / "README.md").read_text()
    assert page.startswith("# Results\n")
    assert "erukg generate, complete" in page

    nothing = reproduce(tmp_path / "data", "-o", tmp_path / "none", *common, "--only", "dev")
    assert nothing.exit_code == 1
    assert not (tmp_path / "none").exists()


def test_an_earlier_run_is_kept_where_it_cannot_be_made_again(tmp_path: Path, tiny_model: Path) -> None:
    write_sets(tmp_path / "data" / "keyphrases" / "test")
    results, steps = Results(tmp_path / "out", tmp_path / "store"), choose_steps(["ours", "dev"])
    first = run_steps(steps, Parts(Given(tmp_path / "data", tmp_path, str(tiny_model))), results)
    assert [outcome.status for outcome in first] == ["made", "not run"]
    stored = run_of(tmp_path / "out", "ours")
    (tmp_path / "empty").mkdir()
    again = run_steps(steps, Parts(Given(tmp_path / "empty", tmp_path, str(tiny_model))), results)
    assert [outcome.status for outcome in again] == ["kept", "not run"]
    assert not any(outcome.complete for outcome in again)
    assert run_of(tmp_path / "out", "ours") == stored


def test_a_set_that_cannot_be_read_stops_its_steps_alone(tmp_path: Path, tiny_model: Path) -> None:
    write_sets(tmp_path / "data" / "keyphrases" / "test")
    (tmp_path / "data" / "keyphrases" / "dev").mkdir()
    (tmp_path / "data" / "keyphrases" / "dev" / "bad.jsonl").write_text('{"id": "x"}\n')
    parts = Parts(Given(tmp_path / "data", tmp_path, str(tiny_model)))
    steps = choose_steps(["baselines", "dev"])
    baselines, dev = run_steps(steps, parts, Results(tmp_path / "out", tmp_path / "store"))
    assert (baselines.status, dev.status) == ("made", "not run")
    assert set(baselines.lacking) == {"textrank:tagger=…", "multipartiterank:tagger=…", "tfidf:…"}
    assert "bad.jsonl, line 1" in dev.reason


def test_the_list_names_what_is_missing(data: Path) -> None:
    shown = reproduce(data, "--list", "--only", "ours,copyrnn", "--repository", data)
    assert shown.exit_code == 0
    assert "base (–)" in shown.stdout
    assert "copyrnn (–)" in shown.stdout
    assert "paper: Table 1" in " ".join(shown.stdout.split())
    assert reproduce("--list").exit_code == 0


def test_the_plan_is_sound() -> None:
    names = [step.name for step in STEPS]
    assert len(set(names)) == len(names)
    for step in STEPS:
        assert step.task in TASKS
        assert set(step.parts) <= PARTS.keys()
        assert step.fills
    tables = {fill for step in STEPS for fill in step.fills}
    for number in range(1, 9):
        assert any(fill.startswith(f"paper: Table {number}") for fill in tables)
    assert "paper: Figure 3" in tables
    assert parts_of("embedrank:{vectors},tagger={tagger}") == ["vectors", "tagger"]


def test_what_is_asked_for_must_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no step 'our'; did you mean 'ours'"):
        choose_steps(["our"])
    with pytest.raises(InputError, match="given as --vectors"):
        Given(vectors=tmp_path / "none")
    assert reproduce("-o", tmp_path).exit_code == 2
    assert reproduce(tmp_path, "--quick", "--readme", "README.md").exit_code == 2
    assert reproduce("--pages", "-o", tmp_path).exit_code == 1
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "README.md").write_text("No documents here.")
    assert "corpus" not in Parts(Given(tmp_path))
    (tmp_path / "a,b" / "copyrnn").mkdir(parents=True)
    (tmp_path / "a,b" / "copyrnn" / "weights").write_text("")
    with pytest.raises(InputError, match="comma"):
        Parts(Given(baselines=tmp_path / "a,b")).rows(choose_steps(["copyrnn"])[0])

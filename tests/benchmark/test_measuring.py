"""The parts of the benchmark that compute rather than time."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
import time
from pathlib import Path

import pytest

from erukg import KeyphraseGenerator
from erukg.backends.threads import cores
from erukg.core.settings import Settings
from erukg.errors import ErukgError, InputError
from erukg.research.benchmark import Plan
from erukg.research.benchmark.competitors import competitor_names, load_competitors
from erukg.research.benchmark.machine import can_pin, pinned
from erukg.research.benchmark.processes import cold_start, peak_memory
from erukg.research.benchmark.search_timing import growth
from erukg.research.benchmark.suite import compare, faster, run_benchmark
from erukg.research.benchmark.texts import document, documents
from erukg.research.benchmark.timing import STAGES, interleave, rate, summary, time_stages


def test_summary_and_rate_of_given_times() -> None:
    times = summary([0.010] * 98 + [0.020, 0.500])
    assert times["documents"] == 100
    assert times["documents_per_second"] == pytest.approx(100 / 1.5)
    assert times["p50_ms"] == pytest.approx(10)
    assert 10 <= times["p95_ms"] <= times["p99_ms"] < 500
    assert rate([1.0, 3.0], 10) == {"documents": 10, "seconds": 4.0, "documents_per_second": 2.5}


def test_competitors_are_compared_with_each_of_ours() -> None:
    seconds = {"ours a": [1.0, 1.0], "ours b": [2.0, 2.0], "other": [8.0, 8.0], "quick": [0.5, 0.5]}
    assert faster(seconds, ["ours a", "ours b"]) == {
        "other": {"ours a": 8.0, "ours b": 4.0},
        "quick": {"ours a": 0.5, "ours b": 0.25},
    }


def test_growth_is_relative_to_the_first_size() -> None:
    rows = growth([{"documents": 100, "erukg_ms": 0.5}, {"documents": 400, "erukg_ms": 1.0}])
    assert [row["documents"] for row in rows] == [100, 400]
    assert [row["times_first"] for row in rows] == [1.0, 2.0]
    assert [row["times_first_per_document"] for row in rows] == [1.0, 0.5]


def test_every_system_sees_every_text_in_turn() -> None:
    calls: list[tuple[str, str]] = []
    systems = {name: lambda text, name=name: calls.append((name, text)) for name in "AB"}
    seconds = interleave(systems, ["x", "y", "z"])
    assert [len(times) for times in seconds.values()] == [3, 3]
    warm, timed = calls[:2], calls[2:]
    assert warm == [("A", "x"), ("B", "x")]
    assert timed == [("A", "x"), ("B", "x"), ("B", "y"), ("A", "y"), ("A", "z"), ("B", "z")]


@pytest.mark.parametrize("words", [1, 100, 5000])
def test_built_in_texts_have_the_length_asked_for(words: int) -> None:
    text = document(words, 3)
    assert words <= len(text.split()) <= words + 40
    assert text == document(words, 3) != document(words, 4)
    assert text.count("\n") == 1


def test_built_in_texts_are_all_different() -> None:
    assert len(set(documents(300, 60))) == 300


def test_an_unknown_competitor_or_part_is_named() -> None:
    assert competitor_names("yake, paper,,keybert:folder") == ("yake", "paper", "keybert:folder")
    with pytest.raises(InputError, match=r"no competitor 'yak'; did you mean 'yake'\?"):
        competitor_names("paper,yak")
    with pytest.raises(InputError, match="no competitor 'erukg-generate'"):
        competitor_names("erukg-generate")
    with pytest.raises(InputError, match=r"no part 'stage'; did you mean 'stages'\?"):
        Plan.quick().with_parts(["stage"])
    assert Plan.quick().with_parts(["length", "cold"]).parts == ("cold", "length")


def test_competitors_that_lack_something_say_what() -> None:
    plan = dataclasses.replace(Plan.quick(), against=("paper", "keybert", "textrank"), tagger="spacy:no_such_pipeline")
    competitors = load_competitors(plan, document(50), None)
    assert not competitors.systems
    assert set(competitors.not_run) == {"paper", "keybert", "textrank"}
    assert "--weights" in competitors.not_run["paper"]
    assert "keybert:FOLDER" in competitors.not_run["keybert"]
    assert all(reason.startswith("not run: ") for reason in competitors.not_run.values())


def test_variants_of_this_package_are_competitors_too(tiny_model: Path, tiny_collection: Path) -> None:
    names = competitor_names(f"erukg-extract:model={tiny_model},erukg-generate:paper")
    plan = dataclasses.replace(Plan.quick(), against=names, model=str(tiny_model), collection=str(tiny_collection))
    competitors = load_competitors(plan, document(50), None)
    assert list(competitors.systems) == list(names)
    assert not competitors.not_run
    without = load_competitors(dataclasses.replace(plan, collection=None), document(50), None)
    assert without.not_run == {"erukg-generate:paper": "not run: no collection."}


def test_on_several_cores_systems_take_turns_on_blocks(tiny_model: Path, tiny_collection: Path) -> None:
    names = (f"erukg-extract:model={tiny_model}", "yake")
    plan = dataclasses.replace(
        Plan.quick(), against=names, model=str(tiny_model), collection=str(tiny_collection), cores=2
    )
    seen: list[tuple[int, int]] = []
    texts = documents(43, 30)
    sets = {"a": texts[:25], "b": texts[25:]}
    found = compare(plan, {"extract": Settings().extraction()}, sets, None, lambda _, i, n: seen.append((i, n)))
    assert list(found["systems"]) == ["erukg, extract", *names]
    assert all(row["documents"] == 43 and row["seconds"] > 0 for row in found["systems"].values())
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert set(found["ratios"]) == set(names)
    # The first set has two of the blocks; the times of both sets are those of the whole.
    assert {name: [row["documents"] for row in part.values()] for name, part in found["sets"].items()} == {
        "a": [25] * 3,
        "b": [18] * 3,
    }
    for name, row in found["systems"].items():
        assert sum(part[name]["seconds"] for part in found["sets"].values()) == pytest.approx(row["seconds"])


def test_pinning_binds_all_threads_and_is_undone() -> None:
    if not can_pin():  # then it must do nothing
        before_there = cores()
        with pinned(1):
            assert cores() == before_there
        return
    before = os.sched_getaffinity(0)
    stop = threading.Event()
    other = threading.Thread(target=stop.wait)
    other.start()
    try:
        with pinned(1):
            assert cores() == 1
            assert len(os.sched_getaffinity(other.native_id or 0)) == 1
        assert os.sched_getaffinity(0) == os.sched_getaffinity(other.native_id or 0) == before
    finally:
        stop.set()
        other.join()


def test_stages_cover_the_whole(tiny_generator: KeyphraseGenerator) -> None:
    class Slow:
        """The tiny encoder, a few milliseconds slower in one place."""

        def __getattr__(self, name: str) -> object:
            return getattr(tiny_generator.backend, name)

        def encode(self, *arguments: object) -> object:
            time.sleep(0.02)
            return tiny_generator.backend.encode(*arguments)  # type: ignore[arg-type]

    generator = KeyphraseGenerator(Slow())  # type: ignore[arg-type]
    found = time_stages(generator, documents(3, 40), tiny_generator.settings.replace(alpha=1, beta=1))
    assert tuple(found["stages"]) == STAGES
    assert found["stages"]["encode"]["ms"] >= 20
    assert found["stages"]["neighbours"]["ms"] == 0
    assert sum(stage["share"] for stage in found["stages"].values()) == pytest.approx(1)


def test_a_process_that_fails_is_an_error_that_says_why() -> None:
    with pytest.raises(ErukgError, match=r"no result; it said: erukg: .*no-such-model"):
        cold_start("extract", ["--model", "no-such-model"], 0)
    with pytest.raises(ErukgError, match="no-such-model"):
        peak_memory("no-such-model", None, 1, 50)


def test_memory_is_measured_over_files_again_and_again(tiny_model: Path, tmp_path: Path) -> None:
    path = tmp_path / "three.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents(3, 20)))
    found = peak_memory(str(tiny_model), None, 10, 20, [str(path)])
    assert found["documents"] == 10
    assert 0 < found["loaded_mb"] <= found["peak_mb"]


def test_wrong_plans_are_refused() -> None:
    with pytest.raises(InputError, match="no documents"):
        run_benchmark(Plan.quick(), {"a": []})
    with pytest.raises(InputError, match="cores to measure on, not 100000"):
        run_benchmark(dataclasses.replace(Plan.quick(), cores=100_000))

"""Training end to end on a tiny world: losses fall, a killed run resumes exactly, bad models are refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from erukg.errors import SettingsError, TrainingError  # noqa: E402
from erukg.training.base import load_base, read_weights  # noqa: E402
from erukg.training.config import PRESETS, TrainConfig, preset, read_values  # noqa: E402
from erukg.training.run import main, train  # noqa: E402

torch.set_num_threads(1)


def log(output: Path, stage: str) -> list[dict[str, float]]:
    rows = [json.loads(line) for line in (output / "log.jsonl").read_text().splitlines()]
    return [row for row in rows if row.get("stage") == stage]


def config(prepared: Path, base: Path, output: Path, **changes: object) -> TrainConfig:
    return preset("tiny").replace(data=str(prepared), base=str(base), output=str(output), **changes)


def stage(name: str, **changes: object) -> dict[str, object]:
    return {**preset("tiny").to_dict()[name], **changes}


def test_every_stage_learns(tiny_run: Path) -> None:
    for name, part, left in (
        ("mlm", "mlm", 0.9),
        ("splade", "rank", 0.5),
        ("splade", "dense", 0.5),
        ("splade", "tags", 0.5),
    ):
        rows = log(tiny_run, name)
        assert rows[-1][part] < left * rows[0][part], (name, part)
    rows = log(tiny_run, "tags")  # goes on where the joint stage left it, so there is little left to gain
    assert rows[-1]["tags"] < rows[0]["tags"]
    summary = json.loads((tiny_run / "model" / "run.json").read_text())
    assert summary["dev"]["best"] > 15
    assert summary["tag_accuracy"] > 0.7
    assert 2 < summary["dev"]["terms"] < 250
    assert summary["stages"]["splade"]["steps"] == 120
    assert load_base(tiny_run / "model")[0].shape.vocab_size == 500
    assert len(list((tiny_run / "checkpoints").iterdir())) <= 2


def test_a_killed_run_resumes_to_the_same_weights(
    tiny_run: Path, prepared: Path, tiny_base: Path, tmp_path: Path
) -> None:
    settings = tmp_path / "config.json"
    settings.write_text(json.dumps(config(prepared, tiny_base, tmp_path / "run").to_dict()))
    # As on a machine that has little more than torch.
    hidden = ("rich", "typer", "click", "numba", "spacy", "nltk", "Stemmer", "onnxruntime", "onnx", "pydantic")
    script = (
        f"import runpy, sys; sys.modules.update(dict.fromkeys({hidden!r})); sys.argv[1:] = [{str(settings)!r}]; "
        "runpy.run_module('erukg.training.run', run_name='__main__')"
    )
    command = [sys.executable, "-c", script]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with (tmp_path / "output").open("w") as sink:
        process = subprocess.Popen(command, stdout=sink, stderr=sink, env=environment)
        deadline = time.monotonic() + 120
        while not (tmp_path / "run" / "checkpoints" / "splade-00000020").is_dir():
            assert process.poll() is None, (tmp_path / "output").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "run" / "model").exists()
    train(TrainConfig.from_dict(json.loads(settings.read_text())))
    whole, resumed = read_weights(tiny_run / "model"), read_weights(tmp_path / "run" / "model")
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    said = [json.loads(line).get("message", "") for line in (tmp_path / "run" / "log.jsonl").open()]
    assert any("resuming after step" in message for message in said)


def test_runs_share_a_warm_up_and_leave_types_out(
    tiny_run: Path, prepared: Path, tiny_base: Path, tmp_path: Path
) -> None:
    settings = {
        "start_from": str(tiny_run),
        "mlm": stage("mlm", steps=0),
        "splade": stage("splade", steps=6),
        "tags": stage("tags", steps=0),
        "leave_out": ["title"],
        "dropout": 0.1,
        "teacher": [str(tiny_run / "model"), str(tiny_base)],
        "distill_scores": 1.0,
        "distill_terms": 0.01,
        "tag_detach": True,
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config(prepared, tiny_base, tmp_path / "run", **settings).to_dict()))
    assert main([str(path), "--parts", str(tmp_path / "parts")]) == 0
    row = log(tmp_path / "run", "splade")[-1]
    assert row["distill"] > 0
    assert row["distill_terms"] > 0
    (whole, _), (parts, has_head) = load_base(tmp_path / "run" / "model"), load_base(tmp_path / "parts")
    assert has_head
    torch.testing.assert_close(whole.word_embeddings, parts.word_embeddings, atol=2e-3, rtol=2e-3)


def test_a_time_boxed_stage_decays_fully(prepared: Path, tiny_base: Path, tmp_path: Path) -> None:
    settings = {
        "mlm": stage("mlm", steps=100_000, max_seconds=2.0, warmup_steps=1),
        "splade": stage("splade", steps=0),
        "tags": stage("tags", steps=0),
        "log_every": 1,
    }
    train(config(prepared, tiny_base, tmp_path / "run", **settings))
    rows = log(tmp_path / "run", "mlm")
    assert rows[-1]["step"] < 100_000
    assert rows[0]["lr"] > 10 * rows[-1]["lr"]
    assert rows[-1]["progress"] > 0.7


@pytest.mark.parametrize(
    ("limits", "advice"),
    [({"max_terms_share": 0.001}, "raise lambda_document"), ({"min_terms": 499.0}, "lower lambda_document")],
)
def test_models_that_are_not_sparse_or_empty_are_refused(
    tiny_run: Path,
    prepared: Path,
    tiny_base: Path,
    tmp_path: Path,
    limits: dict[str, float],
    advice: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stages = {name: stage(name, steps=0) for name in ("mlm", "tags")}
    settings = {**stages, **limits, "splade": stage("splade", steps=10), "start_from": str(tiny_run)}
    with pytest.raises(TrainingError, match=advice):
        train(config(prepared, tiny_base, tmp_path / "run", **settings))
    assert "warning: documents have" in capsys.readouterr().out


def test_resuming_with_other_settings_is_refused(tiny_run: Path, prepared: Path, tiny_base: Path) -> None:
    with pytest.raises(TrainingError, match="another 'seed'"):
        train(config(prepared, tiny_base, tiny_run, seed=9))


def test_a_finished_run_is_left_as_it_is(tiny_run: Path, prepared: Path, tiny_base: Path) -> None:
    before = read_weights(tiny_run / "model")
    train(config(prepared, tiny_base, tiny_run))
    after = read_weights(tiny_run / "model")
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_configurations_survive_json_and_name_what_is_wrong(tmp_path: Path) -> None:
    for name in PRESETS:
        assert TrainConfig.from_dict(json.loads(json.dumps(preset(name).to_dict()))) == preset(name)
    paper = preset("paper")
    assert (paper.splade.steps, paper.splade.batch, paper.splade.warmup_steps) == (100_000, 32, 20_000)
    assert (paper.splade.learning_rate, paper.lambda_reference, paper.lambda_document) == (2e-5, 0.05, 0.03)
    changed = TrainConfig.from_dict({"preset": "fast", "splade": {"max_seconds": 300}})
    assert changed.splade.max_seconds == 300
    assert changed.splade.batch == 384
    with pytest.raises(SettingsError, match="did you mean 'lambda_document'"):
        TrainConfig.from_dict({"lambda_documents": 1})
    with pytest.raises(SettingsError, match=r"splade\.batch"):
        TrainConfig.from_dict({"splade": {"batch": "many"}})
    with pytest.raises(SettingsError, match="no preset 'slow'"):
        preset("slow")
    path = tmp_path / "config.json"
    path.write_text('{"preset": "tiny"}')
    assert read_values(path, ["splade.steps=7", "name=x"]) == {
        "preset": "tiny",
        "splade": {"steps": 7},
        "name": "x",
    }
    with pytest.raises(SettingsError, match="key=value"):
        read_values(None, ["steps"])

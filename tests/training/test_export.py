"""Exports give the weights torch gives: ONNX, int8, SparseEncoder, and the package's own encoder."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from typer.testing import CliRunner  # noqa: E402

from erukg.backends import OnnxBackend  # noqa: E402
from erukg.errors import ModelError  # noqa: E402
from erukg.training.base import load_base, save_base  # noqa: E402
from erukg.training.config import preset  # noqa: E402
from erukg.training.export.card import model_card  # noqa: E402
from erukg.training.export.folder import export, fingerprint, write_model_folder  # noqa: E402
from erukg.training.export.onnx import check_onnx, quantise_rows, run_onnx, write_onnx  # noqa: E402
from erukg.training.folders import new_folder  # noqa: E402
from erukg.training.model import TAG_WIDTH, Shape, TermModel  # noqa: E402

torch.set_num_threads(1)
TEXT = "banan gaten, dilan peten"


@pytest.fixture(scope="module")
def model(tiny_run: Path) -> TermModel:
    trained, _ = load_base(tiny_run / "model")
    trained.eval()
    return trained


@pytest.fixture(scope="module")
def exported(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    target = tmp_path_factory.mktemp("exported")
    return export(tiny_run / "model", target, "tiny", base="made-up", base_licence="Apache-2.0")


def term_weights(model: TermModel, ids: list[int]) -> NDArray[Any]:
    rows = torch.tensor([ids])
    with torch.no_grad():
        weights: NDArray[Any] = model.terms(model.encode(rows, torch.ones_like(rows)))[0].numpy()
    return weights


def inputs(model: TermModel, ids: list[int]) -> tuple[NDArray[Any], NDArray[Any]]:
    rows = model.word_embeddings.detach().numpy()[[ids]]
    return rows, np.ones((1, len(ids)), np.int64)


def test_onnx_equals_torch(model: TermModel, tmp_path: Path) -> None:
    write_onnx(model, tmp_path / "encoder.onnx")
    assert check_onnx(model, tmp_path / "encoder.onnx") <= 1e-4
    states, tags, vector = run_onnx(tmp_path / "encoder.onnx", *inputs(model, [2, 99, 3]))
    assert states.shape == (1, 3, 64)
    assert tags.shape == (1, 3, 2 * TAG_WIDTH)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5)
    with torch.no_grad():
        other = copy_of(model)
        other.tag.project.weight.mul_(1.5)
    with pytest.raises(ModelError, match="differs from the model"):
        check_onnx(other, tmp_path / "encoder.onnx")


def copy_of(model: TermModel) -> TermModel:
    copy = TermModel(model.shape)
    copy.load_state_dict(model.state_dict())
    return copy


def test_folders_hold_what_their_configuration_says(model: TermModel, exported: dict[str, Path]) -> None:
    for layout, graph in (("fp32", "encoder.onnx"), ("int8", "encoder.int8.onnx")):
        folder = exported[layout]
        config = json.loads((folder / "config.json").read_text())
        assert config["weights"] == fingerprint(model)
        assert set(config["files"]) == {graph, "head.safetensors", "tokenizer.json", "README.md"}
        for name, entry in config["files"].items():
            assert (folder / name).stat().st_size == entry["bytes"]
            assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == entry["sha256"]
        assert (config["vocab_size"], config["hidden_size"], config["layers"]) == (500, 64, 2)
    changed = copy_of(model)
    assert fingerprint(changed) == fingerprint(model)
    with torch.no_grad():
        changed.cls.predictions.bias[7] += 1e-3
    assert fingerprint(changed) != fingerprint(model)


def test_the_package_reads_the_same_term_weights(model: TermModel, exported: dict[str, Path]) -> None:
    terms = np.arange(500, dtype=np.int32)
    found = {}
    for layout in ("fp32", "int8"):
        encoder = OnnxBackend.load(exported[layout])
        pieces = encoder.pieces(["banan", "gaten", "dilan", "peten"])
        found[layout] = encoder.encode(pieces, terms)
    expected = term_weights(model, [2, *pieces.ids.tolist(), 3])
    expected[encoder.vocabulary.special] = 0
    assert (expected > 0).sum() > 5
    np.testing.assert_allclose(found["fp32"].weights, expected, atol=1e-4)
    np.testing.assert_allclose(found["int8"].weights, expected, atol=0.05 * float(expected.max()))
    assert found["fp32"].vector @ found["int8"].vector > 0.99


def test_the_package_reads_the_same_tags(model: TermModel, exported: dict[str, Path]) -> None:
    words = ["banan", "xyz", "gaten", ",", "dilan", "qrstu", "peten", "."] * 4
    found = {}
    for layout in ("fp32", "int8"):
        encoder = OnnxBackend.load(exported[layout])
        pieces = encoder.pieces(words)
        found[layout] = encoder.encode(pieces, np.empty(0, np.int32)).tags
    rows = torch.tensor([[2, *pieces.ids.tolist(), 3]])
    first, last = torch.from_numpy(pieces.starts[:-1] + 1), torch.from_numpy(pieces.starts[1:])
    with torch.no_grad():
        expected = model.tags(model.encode(rows, torch.ones_like(rows)), first, last).argmax(1).numpy()
    assert len(set(expected.tolist())) > 1
    assert found["fp32"].tolist() == expected.tolist()
    assert (found["int8"] == expected).mean() > 0.8


def test_sparse_encoder_folder_is_the_whole_model(model: TermModel, exported: dict[str, Path]) -> None:
    again, has_head = load_base(exported["sparse-encoder"])
    assert has_head
    assert fingerprint(again) == fingerprint(model)


def test_sparse_encoder_gives_the_same_term_weights(model: TermModel, exported: dict[str, Path]) -> None:
    library = pytest.importorskip("sentence_transformers")
    from tokenizers import Tokenizer

    folder = exported["sparse-encoder"]
    encoder = library.SparseEncoder(str(folder), device="cpu")
    ids = Tokenizer.from_file(str(folder / "tokenizer.json")).encode(TEXT).ids
    found = encoder.encode([TEXT], convert_to_sparse_tensor=False)[0].cpu().numpy()
    expected = term_weights(model, ids)
    assert (expected > 0).sum() > 5
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_rows_in_eight_bits_are_close() -> None:
    table = np.random.default_rng(0).normal(size=(50, 32)).astype(np.float32)
    table[7] = 0
    values, scales = quantise_rows(table)
    assert values.dtype == np.int8
    assert np.abs(values * scales[:, None] - table).max() <= np.abs(table).max() / 254 + 1e-6
    assert not values[7].any()


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    def fail() -> None:
        with new_folder(tmp_path / "model", overwrite=False) as part:
            (part / "half").write_text("x")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        fail()
    assert list(tmp_path.iterdir()) == []
    with new_folder(tmp_path / "model", overwrite=False) as part:
        (part / "config.json").write_text("x")
    with pytest.raises(ModelError, match="exists already"), new_folder(tmp_path / "model", overwrite=False):
        pass
    with new_folder(tmp_path / "model", overwrite=True) as part:
        (part / "README.md").write_text("x")
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["README.md"]
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_the_card_tells_of_the_run(exported: dict[str, Path]) -> None:
    card = (exported["int8"] / "README.md").read_text()
    for part in (
        "# tiny",
        "| title | 100 |",
        "λ_q 0.05",
        "| made-up |",
        "Apache-2.0",
        "## Limits",
        "120 steps",
    ):
        assert part in card, part
    summary = {"config": preset("tiny").to_dict(), "notes": ["tags: once more by hand"]}
    assert "\n- tags: once more by hand\n" in model_card("x", summary, Shape(500, 64, 2, 4, 128))


def test_what_cannot_be_exported_is_said(model: TermModel, prepared: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="precision 'fp8'"):
        write_model_folder(model, prepared / "tokenizer.json", tmp_path / "x", "x", "fp8")
    with pytest.raises(ModelError, match=r"no .*tokenizer\.json"):
        write_model_folder(model, tmp_path / "tokenizer.json", tmp_path / "x", "x")
    assert not (tmp_path / "x").exists()


def test_the_commands_train_and_export(tiny_run: Path, prepared: Path, tiny_base: Path, tmp_path: Path) -> None:
    from erukg.cli.train import app

    stages = [
        "--set",
        "mlm.steps=0",
        "--set",
        "splade.steps=2",
        "--set",
        "tags.steps=0",
        "--set",
        "dev_every=0",
    ]
    start = ["--set", f"start_from={tiny_run}", "--preset", "tiny"]
    folders = ["--data", str(prepared), "--base", str(tiny_base), "--output", str(tmp_path / "run")]
    result = CliRunner().invoke(app, ["run", *folders, *stages, *start])
    assert result.exit_code == 0, result.output
    arguments = [str(tmp_path / "run" / "model"), "--output", str(tmp_path / "int8"), "--layout", "int8"]
    result = CliRunner().invoke(app, ["export", *arguments])
    assert result.exit_code == 0, result.output
    assert OnnxBackend.load(tmp_path / "int8").vocab_size == 500


def test_a_collapsed_model_is_not_exported(tiny_run: Path, tmp_path: Path) -> None:
    source = tmp_path / "collapsed"
    model, _ = load_base(tiny_run / "model")
    with torch.no_grad():
        # What too much regularisation comes to: one term is left whatever the text.
        model.cls.predictions.bias.fill_(-100.0)
        model.cls.predictions.bias[7] = 100.0
    save_base(model, source, tiny_run / "model" / "tokenizer.json")
    with pytest.raises(ModelError, match=r"collapsed has collapsed: it gives a text of 32 words only 1\.0 terms"):
        export(source, tmp_path / "out", "tiny")
    assert not (tmp_path / "out").exists()

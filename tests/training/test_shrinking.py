"""Shrinking: what is kept of a model, and that what comes out can be trained, exported and used."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from typer.testing import CliRunner  # noqa: E402

from erukg.backends import OnnxBackend  # noqa: E402
from erukg.cli.train import app  # noqa: E402
from erukg.errors import SettingsError  # noqa: E402
from erukg.training.base import load_base, random_base, save_base, shrink  # noqa: E402
from erukg.training.export.folder import export  # noqa: E402
from erukg.training.model import Shape  # noqa: E402


def test_products_of_embeddings_stay_when_enough_directions_are_kept() -> None:
    model = random_base(Shape(50, 16, 2, 2, 32), 1)
    table = model.word_embeddings
    with torch.no_grad():
        table[:, 6:] = 0
    small = shrink(model, 1, 6, 2, 12, 4)
    assert torch.allclose(small.word_embeddings @ small.word_embeddings.T, table @ table.T, atol=1e-5)
    assert (small.shape.layers, small.shape.hidden_size, small.shape.tag_width) == (1, 6, 4)


@pytest.mark.parametrize("sizes", [(2, 5, 2, 8, 4), (2, 32, 2, 8, 4), (0, 8, 2, 8, 4), (1, 8, 2, 8, 0)])
def test_sizes_that_cannot_be_are_refused(sizes: tuple[int, ...]) -> None:
    with pytest.raises(SettingsError):
        shrink(random_base(Shape(50, 16, 2, 2, 32)), *sizes)


def test_a_pupil_reads_the_collections_of_its_teacher(tmp_path: Path, tiny_model: Path) -> None:
    teacher = OnnxBackend.load(tiny_model)
    size = teacher.vocab_size
    save_base(random_base(Shape(size, 16, 2, 2, 32, 64), 0), tmp_path / "big", tiny_model / "tokenizer.json")
    sizes = ("--layers", 1, "--width", 8, "--heads", 2, "--inner", 16, "--tag-width", 4)
    result = CliRunner().invoke(app, ["shrink", *map(str, (tmp_path / "big", "-o", tmp_path / "base", *sizes))])
    assert result.exit_code == 0, result.output
    base, _ = load_base(tmp_path / "base")
    assert base.shape.tag_width == 4
    export(tmp_path / "base", tmp_path / "out", "pupil", ("fp32",), collections_of=tiny_model)
    pupil = OnnxBackend.load(tmp_path / "out")
    assert pupil.term_space == teacher.fingerprint != pupil.fingerprint
    assert teacher.term_space == teacher.fingerprint

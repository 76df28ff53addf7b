"""What teachers said once is what students learn from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from erukg.errors import SettingsError, TrainingError
from erukg.training import lessons
from erukg.training.base import load_base
from erukg.training.config import TrainConfig, preset
from erukg.training.data import Batches, TrainingData
from erukg.training.steps import Stepper, to_tensors
from erukg.training.trainer import Trainer

CPU = torch.device("cpu")


@pytest.fixture
def kept_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every weight of the small vocabulary is kept."""
    monkeypatch.setattr(lessons, "_KEPT", 500)


def test_lessons_are_what_live_teachers_say(
    tmp_path: Path, prepared: Path, tiny_base: Path, tiny_run: Path, kept_small: None
) -> None:
    folders = [tiny_run / "model", tiny_base]
    length = str(preset("tiny").document_length)
    said = tmp_path / "said"
    assert lessons.main([str(prepared), "--teacher", *map(str, folders[:1]), "--length", length, "-o", str(said)]) == 0
    data = TrainingData(prepared)
    config = preset("tiny").replace(
        data=str(prepared), keep_title={"title": 0.5, "citation": 0.5}, teacher=str(folders[0]), distill_terms=0.1
    )
    teacher = load_base(folders[0])[0].eval()
    student = load_base(tiny_base)[0]
    batch = to_tensors(Batches(data, config).splade(3, 16), False)
    live = Stepper(config, student, [teacher], CPU)._teach(batch)
    told = Stepper(config, student, [teacher], CPU, lessons.Lessons(said, data, CPU))._teach(batch)
    assert batch.kept.any()
    assert not batch.kept.all()
    np.testing.assert_allclose(told[0].numpy(), live[0].numpy(), atol=1e-6)
    np.testing.assert_allclose(told[1].numpy(), live[1].numpy(), atol=2e-3)
    assert live[1].max() > 0.1


def test_lessons_of_other_documents_are_refused(tmp_path: Path, prepared: Path, tiny_base: Path) -> None:
    with pytest.raises(TrainingError, match="holds no lessons"):
        lessons.Lessons(tmp_path, TrainingData(prepared), CPU)
    config = TrainConfig(data=str(prepared), base=str(tiny_base), output=str(tmp_path), lessons="said", device="cpu")
    with pytest.raises(SettingsError, match="name the 'teacher'"):
        Trainer(config)

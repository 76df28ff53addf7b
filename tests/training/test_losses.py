"""Every loss against its definition in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from erukg.training import losses  # noqa: E402

torch.set_num_threads(1)


def test_mask_hides_copies_of_the_positive_and_of_the_reference() -> None:
    references = torch.tensor([1, 2, 1])
    documents = torch.tensor([10, 11, 12, 10, 13, 12])
    masked = losses.contrastive_mask(references, documents)
    assert masked.tolist() == [
        [False, False, True, True, False, False],
        [False, False, False, False, False, False],
        [True, False, False, False, False, True],
    ]


def test_rank_loss_is_the_contrast_over_unmasked_documents() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(3, 6))
    masked = losses.contrastive_mask(torch.tensor([1, 2, 1]), torch.tensor([10, 11, 12, 10, 13, 12]))
    expected = 0.0
    for i in range(3):
        columns = [math.exp(scores[i, j] / 0.5) for j in range(6) if not masked[i, j]]
        expected -= math.log(math.exp(scores[i, i] / 0.5) / sum(columns)) / 3
    found = losses.rank_loss(torch.from_numpy(scores), masked, temperature=0.5)
    assert found.item() == pytest.approx(expected, rel=1e-5)


def test_flops_and_its_ramp() -> None:
    weights = torch.tensor([[1.0, 0.0, 2.0], [3.0, 0.0, 0.0]])
    assert losses.flops(weights).item() == pytest.approx(2.0**2 + 1.0**2)
    assert losses.ramp(0.0, 0.4) == 0.0
    assert losses.ramp(0.2, 0.4) == pytest.approx(0.25)
    assert losses.ramp(0.9, 0.4) == 1.0


def test_tag_loss_is_a_mean_over_words() -> None:
    logits = torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    found = losses.tag_loss(logits, torch.tensor([0, 1])).item()
    expected = -(math.log(math.e**2 / (math.e**2 + 3)) + math.log(math.e / (math.e + 3))) / 2
    assert found == pytest.approx(expected, rel=1e-5)
    assert losses.tag_loss(logits[:0], torch.empty(0, dtype=torch.long)).item() == 0.0


def test_distillation_is_zero_for_equal_and_positive_for_different_models() -> None:
    scores = torch.randn(3, 6, generator=torch.Generator().manual_seed(0), requires_grad=True)
    masked = losses.contrastive_mask(torch.tensor([1, 2, 1]), torch.tensor([10, 11, 12, 10, 13, 12]))
    assert losses.score_distillation(scores, scores.detach(), masked).item() == pytest.approx(0.0, abs=1e-6)
    loss = losses.score_distillation(scores, scores.detach().flip(1), masked)
    loss.backward()
    assert loss.item() > 0
    assert torch.isfinite(scores.grad).all()
    assert losses.term_distillation(torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 0.0]])).item() == 5.0

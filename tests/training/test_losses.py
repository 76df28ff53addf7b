"""Every loss against its definition in plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from erukg.training.devscore import DevDocument, dev_f, score_documents  # noqa: E402

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


def dev_document() -> DevDocument:
    return DevDocument(
        ids=np.array([7, 8, 9], np.int32),
        terms=np.array([7, 8, 9, 7], np.int64),
        starts=np.array([0, 1, 3, 4]),
        positions=np.array([0.0, 1.0, 2.0]),
        counts=np.array([1.0, 2.0, 1.0]),
        keys=np.array([0, 1, 0]),
        gold=frozenset({1, 5}),
    )


def test_dev_score_is_f_of_the_ranking() -> None:
    document = dev_document()
    # Two keys predicted, one of two gold phrases found: P@5 = 1/5, R = 1/2.
    five, ten = dev_f(document, np.array([1.0, 1.0, 1.0, 1.0], np.float32), tuned=False)
    assert five == pytest.approx(2 * (1 / 5) * (1 / 2) / (1 / 5 + 1 / 2))
    assert ten == pytest.approx(2 * (1 / 10) * (1 / 2) / (1 / 10 + 1 / 2))
    # A phrase without weight is not predicted.
    assert dev_f(document, np.array([1.0, 0.0, 0.0, 1.0], np.float32), tuned=True) == (0.0, 0.0)


def test_dev_scores_of_sets_are_means_over_documents() -> None:
    def weights(texts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        return np.ones((len(texts), 10), np.float32), np.full(len(texts), 3)

    scores = score_documents({"a": [dev_document()] * 3}, weights, batch=2)
    assert scores.documents == 3
    assert scores.terms == 3
    assert scores.paper["a"][0] == pytest.approx(100 * 2 / 7)
    assert scores.best == pytest.approx(100 * (2 / 7 + 2 / 12) / 2)

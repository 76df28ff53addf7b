"""The losses: ranking with in-batch negatives, FLOPS, dense contrast, tags and distillation."""

from __future__ import annotations

import torch
import torch.nn.functional as F

__all__ = ["contrastive_mask", "flops", "ramp", "rank_loss", "score_distillation", "tag_loss", "term_distillation"]


def contrastive_mask(references: torch.Tensor, documents: torch.Tensor) -> torch.Tensor:
    """True where reference i must not treat document column j as a negative.

    `references` [B] and `documents` [B + n] are numbers; column i < B is the positive of reference i. Masked
    are other copies of its own positive, and positives of the same reference drawn twice.
    """
    batch = references.shape[0]
    same = documents[None, :] == documents[:batch, None]
    same[:, :batch] |= references[None, :] == references[:, None]
    same[:, :batch].fill_diagonal_(False)
    return same


def rank_loss(scores: torch.Tensor, masked: torch.Tensor, temperature: float = 1.0) -> torch.Tensor:
    """L_rank-IBN: cross-entropy of scores [B, B + n] over every positive and hard negative of the batch.

    With dot products of term weights it is the paper's ranking loss, with cosines of vectors InfoNCE.
    """
    scores = (scores / temperature).float().masked_fill(masked, float("-inf"))
    return F.cross_entropy(scores, torch.arange(scores.shape[0], device=scores.device))


def flops(weights: torch.Tensor) -> torch.Tensor:
    """FLOPS regulariser: the sum over terms of the squared mean weight in the batch."""
    return weights.mean(0).square().sum()


def ramp(progress: float, share: float) -> float:
    """Quadratic ramp of a regulariser's weight: from 0 to 1 over the first `share` of the stage."""
    return min(1.0, progress / share) ** 2


def tag_loss(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy of the classes of words, 0 where there is no word."""
    return F.cross_entropy(logits.float(), labels, reduction="sum") / max(1, len(labels))


def score_distillation(student: torch.Tensor, teacher: torch.Tensor, masked: torch.Tensor) -> torch.Tensor:
    """KL divergence of the student's distribution over documents from the teacher's."""
    blocked = torch.finfo(torch.float32).min / 4
    student = F.log_softmax(student.float().masked_fill(masked, blocked), 1)
    teacher = F.log_softmax(teacher.float().masked_fill(masked, blocked), 1)
    return F.kl_div(student, teacher, reduction="batchmean", log_target=True)


def term_distillation(student: torch.Tensor, teacher: torch.Tensor) -> torch.Tensor:
    """Squared error of term weights, summed over terms and averaged over documents."""
    return (student - teacher).square().sum(1).mean()

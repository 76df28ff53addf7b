"""The two small networks, taught to be as alike as the teacher finds text and phrase."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional as F

from erukg.core.affinity import Affinity, AffinityArrays
from erukg.core.neighbours import Terms
from erukg.training.affinity.lessons import Lessons

__all__ = ["AffinityFit", "agreement", "fit_affinity"]

_WARM_UP = 100
_WEIGHTS_RATE = 5  # the weights of word pieces learn so many times as fast as the networks
_ORDER = 2.0  # how much the differences within a text count beside the values themselves


@dataclass(frozen=True, slots=True)
class AffinityFit:
    """How it is learned: vectors of `size` with `width` in between, so many `steps`."""

    size: int = 64
    width: int = 512
    steps: int = 4_000
    texts_a_step: int = 128
    rate: float = 2e-3
    seed: int = 0


class _Student(nn.Module):  # type: ignore[misc]
    def __init__(self, embeddings: torch.Tensor, fit: AffinityFit) -> None:
        super().__init__()
        hidden = embeddings.shape[1]
        self.inner, self.outer = nn.Linear(hidden, fit.width), nn.Linear(fit.width, fit.size)
        self.pieces = nn.Linear(hidden, fit.size)
        self.weights = nn.Parameter(torch.zeros(len(embeddings)))
        self.embeddings = embeddings

    def forward(self, vectors: torch.Tensor, owners: torch.Tensor, pieces: torch.Tensor) -> torch.Tensor:
        texts = F.normalize(self.outer(F.gelu(self.inner(vectors), approximate="tanh")), dim=1)
        ids = pieces.clamp(min=0)
        counted = (torch.exp(self.weights[ids]) * (pieces >= 0))[..., None]
        phrases = F.normalize((self.pieces(self.embeddings[ids]) * counted).sum(1), dim=1)
        return (texts[owners] * phrases).sum(1)

    def arrays(self) -> AffinityArrays:
        def numbers(tensor: torch.Tensor) -> NDArray[np.float32]:
            # As they are read back from sixteen bits.
            array: NDArray[np.float32] = tensor.detach().numpy().astype(np.float16).astype(np.float32)
            return array

        return AffinityArrays(
            inner=numbers(self.inner.weight),
            inner_bias=numbers(self.inner.bias),
            outer=numbers(self.outer.weight),
            outer_bias=numbers(self.outer.bias),
            pieces=numbers(self.pieces.weight),
            pieces_bias=numbers(self.pieces.bias),
            weights=numbers(self.weights),
        )


def fit_affinity(
    lessons: Lessons,
    embeddings: NDArray[np.float32],
    fit: AffinityFit,
    on_step: Callable[[int], None] | None = None,
) -> AffinityArrays:
    """Learn from the lessons; the same seed gives the same numbers."""
    torch.manual_seed(fit.seed)
    rng = np.random.default_rng(fit.seed)
    student = _Student(torch.from_numpy(embeddings), fit)
    networks = [p for name, p in student.named_parameters() if name != "weights"]
    groups = [{"params": networks}, {"params": [student.weights], "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=fit.rate, weight_decay=0.01)
    bounds = np.searchsorted(lessons.owners, np.arange(len(lessons) + 1))
    for step in range(fit.steps):
        drawn = rng.choice(len(lessons), min(fit.texts_a_step, len(lessons)), replace=False)
        rows = np.concatenate([np.arange(bounds[i], bounds[i + 1]) for i in drawn])
        owners = torch.from_numpy(np.repeat(np.arange(len(drawn)), bounds[drawn + 1] - bounds[drawn]))
        said = student(
            torch.from_numpy(lessons.vectors[drawn]), owners, torch.from_numpy(lessons.pieces[rows].astype(np.int64))
        )
        loss = _loss(said, torch.from_numpy(lessons.near[rows]), owners, len(drawn))
        speed = fit.rate * min(1, (step + 1) / _WARM_UP) * (1 - step / fit.steps)
        optimiser.param_groups[0]["lr"], optimiser.param_groups[1]["lr"] = speed, _WEIGHTS_RATE * speed
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        if on_step is not None:
            on_step(step + 1)
    return student.arrays()


def _loss(said: torch.Tensor, near: torch.Tensor, owners: torch.Tensor, texts: int) -> torch.Tensor:
    error = said - near
    counts = torch.zeros(texts).index_add_(0, owners, torch.ones_like(error)).clamp(min=1)
    means = torch.zeros(texts).index_add_(0, owners, error) / counts
    return (error**2).mean() + _ORDER * ((error - means[owners]) ** 2).mean()


def agreement(arrays: AffinityArrays, embeddings: NDArray[np.float32], lessons: Lessons) -> float:
    """The mean correlation with the teacher, over the phrases of each text."""
    affinity = Affinity(arrays, lambda: embeddings)
    bounds = np.searchsorted(lessons.owners, np.arange(len(lessons) + 1))
    found = []
    for i, vector in enumerate(lessons.vectors):
        rows = slice(int(bounds[i]), int(bounds[i + 1]))
        pieces, near = lessons.pieces[rows], lessons.near[rows]
        full = pieces >= 0
        said = affinity.to(vector, Terms(np.append(0, np.cumsum(full.sum(axis=1))), pieces[full]))
        if len(near) > 2 and near.std() > 0 and said.std() > 0:
            found.append(np.corrcoef(near, said)[0, 1])
    return float(np.mean(found)) if found else 0.0

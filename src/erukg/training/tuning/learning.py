"""The learning itself: titles drawn to their texts, with the original model as a leash.

Only what is above the middle of the encoder moves. Embeddings and lower layers stay, so that both models share the
cheap half of the work. The tag head stays, and a part of the loss holds its input where it was, unless a tagger of
words has taken its place. Term weights are computed for the terms of a batch and some drawn at random, not for the
whole vocabulary: a tenth of the work.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from erukg.backends.vocabulary import Vocabulary
from erukg.errors import TrainingError
from erukg.training import checkpoint
from erukg.training.losses import contrastive_mask, rank_loss, term_distillation
from erukg.training.model import Outputs, TermModel

__all__ = ["CollapsedError", "Learner", "Learning", "Texts"]

_CLIP = 1.0
_WARM_UP = 0.1  # of the training
_DRAWN_TERMS = 1024
_TITLES = 3.0  # how much it counts that the terms of a title outweigh the rest of its text
_TAGS = 5.0  # how strongly the tag head's input is held
# Squared distance of term weights from the original's, for their squares: a model that gives no weights has 1.
_FARTHEST = 1.0
_WATCH_EVERY = 10  # steps
_SAVE_EVERY = 60.0  # seconds
_STAGE = "tune"


class CollapsedError(TrainingError):
    """A learning rate that was too high has spoilt the model."""


@dataclass(frozen=True, slots=True)
class Learning:
    """How long and how boldly: by `steps`, or for `seconds`.

    rate   learning rate at its height
    leash  how strongly the original's term weights are held on to
    batch  references in a step; each has the texts of all others as negatives
    length longest text, in word pieces
    """

    seconds: float | None = 1200.0
    steps: int | None = None
    rate: float = 3e-4
    leash: float = 0.04
    batch: int = 24
    length: int = 192
    seed: int = 0

    def progress(self, step: int, elapsed: float) -> float:
        """How much is over, 0 to 1."""
        return step / self.steps if self.steps is not None else elapsed / max(1e-9, self.seconds or 0.0)


@dataclass(frozen=True, slots=True)
class Texts:
    """Word pieces of texts, and of the references to each: its title first."""

    documents: Sequence[NDArray[np.int32]]
    references: Sequence[Sequence[NDArray[np.int32]]]


class Learner:
    """A model in training beside its original; the same seed and steps give the same weights.

    `tagging` is whether the encoder's tags are read, so that they have to stay.
    """

    def __init__(
        self, model: TermModel, vocabulary: Vocabulary, texts: Texts, learning: Learning, *, tagging: bool = True
    ) -> None:
        self.tagging = tagging
        self.original = copy.deepcopy(model).eval().requires_grad_(False)
        self.model, self.vocabulary, self.texts, self.learning = model.train(), vocabulary, texts, learning
        self.middle = model.shape.layers // 2
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(self._moves(name))
        weights = [p for p in model.parameters() if p.requires_grad]
        self.optimiser = torch.optim.AdamW(weights, lr=learning.rate, betas=(0.9, 0.98), weight_decay=0.0)
        self.state = checkpoint.State(stage=_STAGE)
        self.drift = 0.0

    def _moves(self, name: str) -> bool:
        if name.startswith("bert.encoder.layer."):
            return int(name.split(".")[3]) >= self.middle
        return name.startswith(("cls.", "tag.project.") if self.tagging else "cls.")

    def run(self, folder: Path, on_progress: Callable[[float], None] | None = None) -> int:
        """Learn to the end, from the last checkpoint in `folder` if there is one; returns the number of steps."""
        if (found := checkpoint.latest(folder)) is not None:
            path, self.state = found
            checkpoint.load_into(path, self.model, self.optimiser)
        state, learning = self.state, self.learning
        began, saved = time.monotonic() - state.elapsed, time.monotonic()
        while (progress := learning.progress(state.step, state.elapsed)) < 1:
            if on_progress is not None:
                on_progress(progress)
            self._step(progress)
            state.step += 1
            state.elapsed = time.monotonic() - began
            if time.monotonic() - saved > _SAVE_EVERY:
                checkpoint.save(folder, self.model, self.optimiser, state)
                saved = time.monotonic()
        checkpoint.save(folder, self.model, self.optimiser, state)
        self.model.eval()
        return state.step

    def _step(self, progress: float) -> None:
        learning, step = self.learning, self.state.step
        rate = learning.rate * min(1.0, (progress + 1e-3) / _WARM_UP, (1.0 - progress) / (1.0 - _WARM_UP))
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        loss = self._loss(step)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_([p for p in self.model.parameters() if p.requires_grad], _CLIP)
        if not math.isfinite(float(norm)) or self.drift > _FARTHEST:
            raise CollapsedError(
                f"The model collapsed after {step} steps at a learning rate of {learning.rate:g}; give a lower one "
                "with --rate."
            )
        self.optimiser.step()

    def _loss(self, step: int) -> torch.Tensor:
        chosen, references, terms = self._batch(step)
        documents = [self.texts.documents[i][: self.learning.length - 2] for i in chosen]
        q, tq, hold_q = self._weights(references, terms)
        d, td, hold_d = self._weights(documents, terms)
        numbers = torch.from_numpy(chosen)
        loss = rank_loss(q @ d.T, contrastive_mask(numbers, numbers))
        loss = loss + _TITLES * self._title_loss(d, tq, documents, references, terms)
        loss = loss + self.learning.leash * (term_distillation(d, td) + term_distillation(q, tq))
        if step % _WATCH_EVERY == 0:
            self.drift = float((d.detach() - td).square().sum() / td.square().sum().clamp(min=1e-6))
        return loss + _TAGS * (hold_q + hold_d)

    @staticmethod
    def _title_loss(
        d: torch.Tensor,
        tq: torch.Tensor,
        documents: Sequence[NDArray[np.int32]],
        references: Sequence[NDArray[np.int32]],
        terms: NDArray[np.int64],
    ) -> torch.Tensor:
        """Among the terms of a text, those that its reference holds too should weigh most: each as much as there."""
        own, named = (
            torch.from_numpy(np.stack([np.isin(terms, text) for text in texts])) for texts in (documents, references)
        )
        wanted = torch.where(own & named, tq, 0.0)
        shares = F.log_softmax(d.masked_fill(~own, -30.0), 1)
        return -(wanted / wanted.sum(1, keepdim=True).clamp(min=1e-6) * shares).sum(1).mean()

    def _batch(self, step: int) -> tuple[NDArray[np.int64], list[NDArray[np.int32]], NDArray[np.int64]]:
        """Numbers of documents, a reference to each, and the terms that are weighed: of a step alone."""
        learning, count = self.learning, len(self.texts.documents)
        size = min(learning.batch, count)
        epoch, place = divmod(step * size, count - count % size)
        order = np.random.default_rng([learning.seed, 1, epoch]).permutation(count)
        chosen = order[place : place + size]
        random = np.random.default_rng([learning.seed, 2, step])
        references = []
        for number in chosen.tolist():
            given = self.texts.references[number]
            # The title every second time, where there are other references.
            pick = 0 if len(given) == 1 or random.random() < 0.5 else int(random.integers(1, len(given)))
            references.append(given[pick][:62])
        drawn = random.integers(0, self.model.shape.vocab_size, _DRAWN_TERMS)
        pieces = [self.texts.documents[i][: learning.length - 2] for i in chosen.tolist()]
        terms = np.unique(np.concatenate([drawn, *references, *pieces])).astype(np.int64)
        return chosen, references, terms[~np.isin(terms, self.vocabulary.special)]

    def _weights(
        self, texts: Sequence[NDArray[np.int32]], terms: NDArray[np.int64]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Term weights [n, terms] of texts by the model and its original, and how far the tag head's input is off."""
        width = max(map(len, texts)) + 2
        ids = torch.zeros(len(texts), width, dtype=torch.int64)
        mask = torch.zeros(len(texts), width, dtype=torch.bool)
        for row, pieces in enumerate(texts):
            filled = [self.vocabulary.cls, *pieces.tolist(), self.vocabulary.sep]
            ids[row, : len(filled)], mask[row, : len(filled)] = torch.tensor(filled), True
        wanted = torch.from_numpy(terms)
        with torch.no_grad():
            below = self.original.encode(ids, mask, self.middle)
            before = self.original.encode_on(below)
            held = self._pooled(self.original, before, wanted)
        after = self.model.encode_on(below)
        off = torch.zeros(())
        if self.tagging:
            off = F.mse_loss(self.model.tag_pieces(after)[mask], self.original.tag_pieces(before)[mask])
        return self._pooled(self.model, after, wanted), held, off

    @staticmethod
    def _pooled(model: TermModel, outputs: Outputs, terms: torch.Tensor) -> torch.Tensor:
        """Eq. 1 for some terms."""
        rows, bias = model.word_embeddings[terms], model.cls.predictions.bias[terms]
        logits = F.linear(model.transform(outputs.hidden[-1]), rows, bias)
        best = logits.masked_fill(~outputs.mask[:, :, None], -30000.0).amax(1)
        return torch.log1p(torch.relu(best))

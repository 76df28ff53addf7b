"""What one optimiser step computes in each stage: tensors in, named losses out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from erukg.backends.batch import windows
from erukg.backends.vocabulary import Vocabulary
from erukg.training import losses
from erukg.training.config import TrainConfig
from erukg.training.data import Group, MlmBatch, TagBatch, TripletBatch
from erukg.training.lessons import Lessons
from erukg.training.model import Outputs, TermModel
from erukg.training.pooling import padding

__all__ = ["Losses", "Stepper", "to_tensors"]


Losses = tuple[torch.Tensor, dict[str, torch.Tensor]]
"""The loss to minimise and what is logged of it: its parts, and now and then the numbers of non-zero terms."""


def to_tensors(batch: Any, pin: bool) -> Any:
    """The same batch with torch tensors in place of arrays, in pinned memory where `pin`."""
    if isinstance(batch, np.ndarray):
        tensor = torch.from_numpy(np.ascontiguousarray(batch))
        return tensor.pin_memory() if pin else tensor
    if isinstance(batch, list):
        return [to_tensors(item, pin) for item in batch]
    if isinstance(batch, Group | TripletBatch | MlmBatch | TagBatch):
        for name in batch.__slots__:
            setattr(batch, name, to_tensors(getattr(batch, name), pin))
    return batch


class Stepper:
    """Losses of a batch under one configuration, model and any number of teachers; each stage has a method of its name.

    These get the batch, the progress of the stage from 0 to 1, and whether figures that take time are wanted.
    """

    def __init__(
        self,
        config: TrainConfig,
        model: TermModel,
        teachers: Sequence[TermModel],
        device: torch.device,
        lessons: Lessons | None = None,
    ) -> None:
        self.config, self.model, self.teachers, self.device = config, model, teachers, device
        self.lessons = lessons

    def _to(self, tensor: Any) -> torch.Tensor:
        moved: torch.Tensor = tensor.to(self.device, non_blocking=True)
        return moved

    def autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.device.type == "cuda")

    def encode(self, model: TermModel, group: Group) -> Outputs:
        return model.encode(self._to(group.ids).long(), self._to(group.mask))

    def mlm(self, batch: MlmBatch, progress: float, detail: bool) -> Losses:
        """Masked-language loss, with logits of masked positions only."""
        picked, labels = [], []
        with self.autocast():
            for group, position, label in zip(batch.groups, batch.positions, batch.labels, strict=True):
                hidden = self.encode(self.model, group).hidden[-1]
                picked.append(hidden.flatten(0, 1)[self._to(position)])
                labels.append(self._to(label))
            states = self.model.transform(torch.cat(picked))
            extra = padding(self.model.shape.vocab_size)
            table = F.pad(self.model.word_embeddings, (0, 0, 0, extra))
            # The added columns can never be the answer.
            logits = F.linear(states, table, F.pad(self.model.cls.predictions.bias, (0, extra), value=-1e4))
        loss = F.cross_entropy(logits.float(), torch.cat(labels))
        return loss, {"mlm": loss}

    def _represent(self, model: TermModel, batch: TripletBatch) -> tuple[torch.Tensor, ...]:
        with self.autocast():
            outputs = self.encode(model, batch.references)
            reference, reference_vector = model.terms(outputs), model.vector(outputs)
            documents, vectors = [], []
            for group in batch.documents:
                outputs = self.encode(model, group)
                documents.append(model.terms(outputs))
                vectors.append(model.vector(outputs))
        return reference, torch.cat(documents), reference_vector, torch.cat(vectors)

    def _teach(self, batch: TripletBatch) -> tuple[torch.Tensor, torch.Tensor]:
        """The mean of the teachers' term weights, of references and of documents, which lessons may know already."""
        with torch.no_grad():
            if self.lessons is not None:
                with self.autocast():
                    told = [teacher.terms(self.encode(teacher, batch.references)) for teacher in self.teachers]
                numbers, order = self._to(batch.document_numbers), torch.argsort(self._to(batch.order))
                known = self.lessons.terms(numbers[order], self._to(batch.kept)[order])
                return sum(told[1:], start=told[0]) / len(told), known
            q, d, _, _ = self._represent(self.teachers[0], batch)
            for teacher in self.teachers[1:]:
                more = self._represent(teacher, batch)
                q, d = q + more[0], d + more[1]
        return q / len(self.teachers), d / len(self.teachers)

    def splade(self, batch: TripletBatch, progress: float, detail: bool) -> Losses:
        """Ranking, FLOPS, dense contrast, tags and distillation of one batch of triplets."""
        config, order = self.config, self._to(batch.order)
        masked = losses.contrastive_mask(self._to(batch.reference_numbers), self._to(batch.document_numbers))
        q, d, q_vector, d_vector = self._represent(self.model, batch)
        # Documents are in order of length: put the columns of the scores right, not the wide rows of `d`.
        scores = (q @ d.T)[:, order]
        parts = {"rank": losses.rank_loss(scores, masked, config.rank_temperature)}
        parts["flops_q"], parts["flops_d"] = losses.flops(q), losses.flops(d)
        scale = losses.ramp(progress, config.ramp)
        total = parts["rank"] + scale * (
            config.lambda_reference * parts["flops_q"] + config.lambda_document * parts["flops_d"]
        )
        if config.dense_weight:
            cosines = (q_vector @ d_vector.T)[:, order]
            parts["dense"] = losses.rank_loss(cosines, masked, config.dense_temperature)
            total = total + config.dense_weight * parts["dense"]
        if batch.tags is not None and config.tag_weight:
            parts["tags"] = self._tag_loss(batch.tags, config.tag_detach)
            total = total + config.tag_weight * parts["tags"]
        if self.teachers:
            tq, td = self._teach(batch)
            if config.distill_scores:
                parts["distill"] = losses.score_distillation(scores, (tq @ td.T)[:, order], masked)
                total = total + config.distill_scores * parts["distill"]
            if config.distill_terms:
                error = losses.term_distillation(d, td) + losses.term_distillation(q, tq)
                parts["distill_terms"] = error
                total = total + config.distill_terms * error
        if detail:
            with torch.no_grad():
                parts["terms_q"] = (q > 0).sum(1).float().mean()
                parts["terms_d"] = (d > 0).sum(1).float().mean()
        return total, parts

    def _tag_loss(self, batch: TagBatch, detach: bool) -> torch.Tensor:
        with self.autocast():
            with torch.set_grad_enabled(not detach):
                outputs = self.encode(self.model, batch.group)
            logits = self.model.tags(outputs, self._to(batch.first), self._to(batch.last))
        return losses.tag_loss(logits, self._to(batch.labels).long())

    def tags(self, batch: TagBatch, progress: float, detail: bool) -> Losses:
        """Tag loss with the encoder left as it is."""
        loss = self._tag_loss(batch, True)
        return loss, {"tags": loss}

    # -- reading the model between steps ---------------------------------------------------------------------

    def term_weights(self, texts: Sequence[NDArray[np.int32]], vocabulary: Vocabulary) -> NDArray[np.float32]:
        """Weights [n, V] of texts given as pieces, read in windows and without special terms as the product does."""
        shape, step = self.model.shape, 64
        window = min(self.config.dev_length, shape.max_positions)
        spans = [(row, text[a:b]) for row, text in enumerate(texts) for a, b in windows(len(text), window)]
        weights = np.zeros((len(texts), shape.vocab_size), np.float32)
        if not spans:
            return weights
        longest = max(len(pieces) for _, pieces in spans) + 2
        ids = np.zeros((len(spans), min(-(-longest // step) * step, max(shape.max_positions, longest))), np.int64)
        mask = np.zeros(ids.shape, np.bool_)
        for i, (_, pieces) in enumerate(spans):
            ids[i, : len(pieces) + 2] = [vocabulary.cls, *pieces.tolist(), vocabulary.sep]
            mask[i, : len(pieces) + 2] = True
        with self._inference():
            outputs = self.model.encode(self._to(torch.from_numpy(ids)), self._to(torch.from_numpy(mask)))
            found = self.model.terms(outputs)
        for (row, _), of_span in zip(spans, found.float().cpu().numpy(), strict=True):
            np.maximum(weights[row], of_span, out=weights[row])
        weights[:, vocabulary.special] = 0
        return weights

    def tag_hits(self, batch: TagBatch) -> tuple[int, int]:
        """How many labels the tag head gets right, of how many."""
        with self._inference():
            outputs = self.encode(self.model, batch.group)
            predicted = self.model.tags(outputs, self._to(batch.first), self._to(batch.last)).argmax(-1)
        return int((predicted == self._to(batch.labels)).sum()), len(batch.labels)

    @contextmanager
    def _inference(self) -> Iterator[None]:
        """No gradients, no dropout, no new compiled shapes: for running the model in the middle of training."""
        model = self.model
        before = model.training, model.compiled
        model.eval()
        model.compiled = False
        try:
            with torch.no_grad(), self.autocast():
                yield
        finally:
            model.train(before[0])
            model.compiled = before[1]

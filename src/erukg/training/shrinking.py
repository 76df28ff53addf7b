"""A smaller model to start from: the embeddings of a trained one in fewer dimensions, fewer and narrower layers."""

from __future__ import annotations

import torch

from erukg.errors import SettingsError
from erukg.training.base import random_base
from erukg.training.model import Shape, TermModel

__all__ = ["shrink"]

_TABLES = ("word_embeddings", "position_embeddings", "token_type_embeddings")


def shrink(
    model: TermModel, layers: int, width: int, heads: int, inner: int, tag_width: int, seed: int = 0
) -> TermModel:
    """A model of the sizes given whose embeddings are those of `model` along their `width` strongest directions.

    Its layers are random: train it, best with `model` as its teacher.
    """
    old = model.shape
    if not 1 <= width <= old.hidden_size or heads < 1 or width % heads:
        raise SettingsError(f"The width must be a multiple of the heads ({heads}) and at most {old.hidden_size}.")
    if layers < 1 or inner < 1 or tag_width < 1:
        raise SettingsError("A model needs at least one layer, one inner unit and one unit of its tag head.")
    small = random_base(
        Shape(old.vocab_size, width, layers, heads, inner, old.max_positions, old.type_vocab_size, old.eps, tag_width),
        seed,
    )
    source, target = model.state_dict(), small.state_dict()
    directions = torch.linalg.svd(model.word_embeddings.detach().float(), full_matrices=False).Vh[:width].T
    for name in _TABLES:
        key = f"bert.embeddings.{name}.weight"
        target[key].copy_(source[key].float() @ directions)
    target["cls.predictions.bias"].copy_(source["cls.predictions.bias"])
    return small

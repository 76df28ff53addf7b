"""A smaller model to start from: the embeddings of a trained one in fewer dimensions, fewer and narrower layers."""

from __future__ import annotations

from pathlib import Path

import torch

from erukg.errors import SettingsError
from erukg.training.base import load_base, random_base, save_base
from erukg.training.model import Shape, TermModel

__all__ = ["shrink", "write_shrunken"]

_TABLES = ("word_embeddings", "position_embeddings", "token_type_embeddings")


def shrink(
    model: TermModel, layers: int, width: int, heads: int, inner: int, tag_width: int, seed: int = 0
) -> TermModel:
    """A model of the sizes given whose embeddings are those of `model` along their `width` strongest directions.

    Its layers are random: it wants training, best with `model` as its teacher.
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


def write_shrunken(
    source: str | Path,
    target: str | Path,
    tokenizer: str | Path | None = None,
    *,
    layers: int = 2,
    width: int = 128,
    heads: int = 2,
    inner: int = 512,
    tag_width: int = 64,
    seed: int = 0,
) -> None:
    """Shrink the trained model in the folder `source` to a base in the folder `target`."""
    source = Path(source)
    model, _ = load_base(source)
    small = shrink(model, layers, width, heads, inner, tag_width, seed)
    save_base(small, target, tokenizer or source / "tokenizer.json", half=True)

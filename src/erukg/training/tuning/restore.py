"""A shipped model folder as a network that can be trained: its 8-bit or float weights back in float32."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from erukg.backends.folder import ModelFolder
from erukg.backends.model import Head
from erukg.backends.torch.weights import LayerWeights, Linear, read_weights
from erukg.backends.vocabulary import Vocabulary
from erukg.errors import ModelError
from erukg.training.config import TAG_CLASSES
from erukg.training.model import Shape, TermModel

__all__ = ["exact_nodes", "restore"]

_QKV = ("query", "key", "value")


def restore(folder: ModelFolder) -> TermModel:
    """The network of a model folder. What 8 bits have rounded stays rounded."""
    weights, head = read_weights(folder), Head(folder, Vocabulary.load(folder.tokenizer))
    if len(head.tag_head[2]) != len(TAG_CLASSES):
        raise ModelError(
            f"The model in {folder.path} tells {len(head.tag_head[2])} classes of words apart, not the "
            f"{len(TAG_CLASSES)} of today; tune a newer one, such as small."
        )
    shape = Shape(
        vocab_size=folder.vocab_size,
        hidden_size=folder.hidden_size,
        layers=len(weights.layers),
        heads=weights.heads,
        intermediate_size=len(weights.layers[0].inner.bias),
        max_positions=len(weights.positions),
        type_vocab_size=1,
        eps=weights.eps,
        tag_width=weights.tags.shape[1] // 2,
    )
    model = TermModel(shape)
    state = {
        # The table of positions holds the one type of token that is used.
        "bert.embeddings.token_type_embeddings.weight": np.zeros((1, shape.hidden_size), np.float32),
        "bert.embeddings.word_embeddings.weight": head.scaled_rows(np.arange(shape.vocab_size, dtype=np.int32)),
        "bert.embeddings.position_embeddings.weight": weights.positions,
        **_norm("bert.embeddings.LayerNorm", weights.norm),
        **_linear("cls.predictions.transform.dense", weights.transform),
        **_norm("cls.predictions.transform.LayerNorm", weights.transform_norm),
        "cls.predictions.bias": head.bias,
        "tag.project.weight": weights.tags.T,
        "tag.bias": head.tag_head[0],
        "tag.out.weight": head.tag_head[1],
        "tag.out.bias": head.tag_head[2],
    }
    for number, layer in enumerate(weights.layers):
        state |= _layer(f"bert.encoder.layer.{number}", layer, shape.hidden_size // shape.heads)
    model.load_state_dict({name: torch.from_numpy(np.array(array, np.float32)) for name, array in state.items()})
    return model


def exact_nodes(folder: ModelFolder) -> list[str]:
    """The matrices of an 8-bit graph that are kept in float32 all the same, by the names that an export takes."""
    if folder.precision != "int8":
        return []
    parts = {"attention": _QKV, "output": ("output",), "inner": ("inner",), "outer": ("outer",)}
    return [
        f"layer.{number}.{name}"
        for number, layer in enumerate(read_weights(folder).layers)
        for part, names in parts.items()
        if getattr(layer, part).scale is None
        for name in names
    ]


def _layer(name: str, layer: LayerWeights, size: int) -> dict[str, NDArray[np.float32]]:
    joined = layer.attention.exact()
    columns, offsets = np.split(joined.weight, 3, 1), np.split(joined.bias, 3)
    # The graph has the scale of attention in the weights of the query.
    columns[0], offsets[0] = columns[0] * size**0.5, offsets[0] * size**0.5
    state: dict[str, NDArray[np.float32]] = {}
    for part, column, offset in zip(_QKV, columns, offsets, strict=True):
        state |= _linear(f"{name}.attention.self.{part}", Linear(column, None, offset))
    return {
        **state,
        **_linear(f"{name}.attention.output.dense", layer.output),
        **_norm(f"{name}.attention.output.LayerNorm", layer.norm1),
        **_linear(f"{name}.intermediate.dense", layer.inner),
        **_linear(f"{name}.output.dense", layer.outer),
        **_norm(f"{name}.output.LayerNorm", layer.norm2),
    }


def _linear(name: str, linear: Linear) -> dict[str, NDArray[np.float32]]:
    exact = linear.exact()
    return {f"{name}.weight": exact.weight.T, f"{name}.bias": exact.bias}


def _norm(name: str, norm: tuple[NDArray[np.float32], NDArray[np.float32]]) -> dict[str, NDArray[np.float32]]:
    return {f"{name}.weight": norm[0], f"{name}.bias": norm[1]}

"""The network's weights, taken out of the ONNX graph that `erukg train export` wrote."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.backends.folder import ModelFolder
from erukg.errors import ModelError, require

__all__ = ["LayerWeights", "Linear", "NetworkWeights", "read_weights"]

_MOST_LAYERS = 64
_NORM = "LayerNormalization"


@dataclass(frozen=True, slots=True)
class Linear:
    """x · weight + bias; an int8 weight has a scale for each column."""

    weight: NDArray[Any]
    scale: NDArray[np.float32] | None
    bias: NDArray[np.float32]

    def exact(self) -> Linear:
        """The same in float32."""
        if self.scale is None:
            return self
        return Linear(self.weight.astype(np.float32) * self.scale, None, self.bias)

    @classmethod
    def join(cls, parts: list[Linear]) -> Linear:
        """Several of the same input side by side."""
        if any(part.scale is None for part in parts):
            parts = [part.exact() for part in parts]
        scales = [part.scale for part in parts if part.scale is not None]
        return cls(
            np.concatenate([part.weight for part in parts], 1),
            np.concatenate(scales) if scales else None,
            np.concatenate([part.bias for part in parts]),
        )


@dataclass(frozen=True, slots=True)
class LayerWeights:
    """One transformer layer; the scale of attention is in the query's part of `attention`."""

    attention: Linear
    output: Linear
    norm1: tuple[NDArray[np.float32], NDArray[np.float32]]
    inner: Linear
    outer: Linear
    norm2: tuple[NDArray[np.float32], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class NetworkWeights:
    """Everything between a row of the embedding table and the states that the head is multiplied with."""

    heads: int
    eps: float
    positions: NDArray[np.float32]
    norm: tuple[NDArray[np.float32], NDArray[np.float32]]
    layers: list[LayerWeights]
    transform: Linear
    transform_norm: tuple[NDArray[np.float32], NDArray[np.float32]]
    tags: NDArray[np.float32]


def read_weights(folder: ModelFolder) -> NetworkWeights:
    """The weights of the graph of `folder`, every name and shape checked."""
    onnx = require("onnx", "gpu", "Running a model with torch")
    count = folder.config.get("layers")
    if folder.config.get("architecture") != "bert" or not isinstance(count, int) or not 1 <= count <= _MOST_LAYERS:
        raise ModelError(
            f"The model in {folder.path} is not a BERT encoder of 1 to {_MOST_LAYERS} layers, so torch cannot run it; "
            "use it on the CPU."
        )
    graph = _Graph(onnx, folder.graph)
    width = folder.hidden_size
    heads = graph.heads(width)
    layers = []
    for number in range(count):
        name = f"layer.{number}"
        inner = graph.linear(f"{name}.inner", width, None)
        layers.append(
            LayerWeights(
                attention=Linear.join([graph.linear(f"{name}.{part}", width, width) for part in _QKV]),
                output=graph.linear(f"{name}.output", width, width),
                norm1=graph.norm(f"{name}.norm1", width),
                inner=inner,
                outer=graph.linear(f"{name}.outer", len(inner.bias), width),
                norm2=graph.norm(f"{name}.norm2", width),
            )
        )
    if graph.has(f"layer.{count}.query.bias"):
        raise graph.wrong(f"has more than the {count} layers that config.json says")
    return NetworkWeights(
        heads=heads,
        eps=graph.eps,
        positions=graph.floats("positions.table", (None, width), least=folder.window),
        norm=graph.norm("embeddings.norm", width),
        layers=layers,
        transform=graph.linear("transform.dense", width, width),
        transform_norm=graph.norm("states", width),
        tags=graph.floats("tag.project.weight", (3 * width, None)),
    )


_QKV = ("query", "key", "value")


class _Graph:
    """The constants of a graph by name; whatever is missing or has another form is a ModelError."""

    def __init__(self, onnx: Any, path: Path) -> None:
        self.path = path
        self._array = onnx.numpy_helper.to_array
        try:
            # Constants kept in other files are refused below: a graph must not make this program read those.
            proto = onnx.load(str(path), load_external_data=False)
        except Exception as error:  # protobuf's DecodeError shares no base with OSError
            raise ModelError(f"{path} cannot be read as an ONNX graph: {error}; copy the model again.") from error
        self._tensors: Mapping[str, Any] = {tensor.name: tensor for tensor in proto.graph.initializer}
        self._outside = {tensor.name for tensor in proto.graph.initializer if len(tensor.external_data)}
        found = {
            attribute.f
            for node in proto.graph.node
            if node.op_type == _NORM
            for attribute in node.attribute
            if attribute.name == "epsilon"
        }
        self.eps = float(found.pop()) if len(found) == 1 else -1.0
        if not 0 < self.eps < 1e-2:
            raise self.wrong("has no usable epsilon of its layer norms")

    def wrong(self, what: str) -> ModelError:
        return ModelError(f"{self.path} {what}; it is no graph of this program, export the model again.")

    def has(self, name: str) -> bool:
        return name in self._tensors

    def array(self, name: str) -> NDArray[Any]:
        if name not in self._tensors or name in self._outside:
            raise self.wrong(f"does not hold '{name}'")
        try:
            array: NDArray[Any] = self._array(self._tensors[name])
        except Exception as error:  # onnx raises several unrelated kinds for tensors that contradict themselves
            raise self.wrong(f"holds a damaged '{name}'") from error
        return array

    def floats(self, name: str, shape: tuple[int | None, ...], least: int = 1) -> NDArray[np.float32]:
        """A float32 array; None in the shape stands for any size of at least `least`."""
        array = self.array(name)
        fits = len(array.shape) == len(shape) and all(
            have == want if want is not None else have >= least for have, want in zip(array.shape, shape, strict=True)
        )
        if not fits or array.dtype != np.float32 or not np.isfinite(array).all():
            raise self.wrong(f"holds '{name}' as {array.dtype} of shape {array.shape}, or not as numbers")
        return array

    def norm(self, name: str, width: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return self.floats(f"{name}.weight", (width,)), self.floats(f"{name}.bias", (width,))

    def linear(self, name: str, rows: int, columns: int | None) -> Linear:
        bias = self.floats(f"{name}.bias", (columns,))
        columns = len(bias)
        if self.has(f"{name}.weight"):
            return Linear(self.floats(f"{name}.weight", (rows, columns)), None, bias)
        weight, zero = self.array(f"{name}.weight_quantized"), self.array(f"{name}.weight_zero_point")
        scale = self.array(f"{name}.weight_scale")
        if weight.dtype != np.int8 or weight.shape != (rows, columns) or zero.any():
            raise self.wrong(f"holds '{name}' as {weight.dtype} of shape {weight.shape}, or with a zero point")
        if scale.dtype != np.float32 or scale.size not in (1, columns) or not np.isfinite(scale).all():
            raise self.wrong(f"holds unusable scales of '{name}'")
        return Linear(weight, np.broadcast_to(scale.reshape(-1), (columns,)).astype(np.float32), bias)

    def heads(self, width: int) -> int:
        """How many heads attention has: the graph splits the width by a constant [0, 0, heads, size]."""
        shapes = [self.array(name).tolist() for name in self._tensors if name.startswith("axes.0.0.")]
        found = {
            shape[2] for shape in shapes if len(shape) == 4 and min(shape[2:]) > 0 and shape[2] * shape[3] == width
        }
        if len(found) != 1:
            raise self.wrong("does not say how many attention heads it has")
        return int(found.pop())

"""The tagger of words as a network, and as the graph that `erukg.backends.word_tagger` runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

from erukg.backends.word_tagger import AFFIXES, FORMS, FORMS_KEY, SHAPES
from erukg.core.word_classes import CLASSES
from erukg.errors import require

__all__ = ["FORM_TRAITS", "WordNetwork", "write_graph"]

#: The first of a word's traits are rows of one table of forms, the last is its shape, and those between are affixes.
FORM_TRAITS = 2
_AFFIX_TRAITS = 4
_WIDTH, _HIDDEN, _LAYERS = 64, 128, 5
_FIRST_REACH, _REACH = 2, 1  # how far the first layer and the others look to either side
_DROPOUT = 0.1
_OPSET = 17
_LAST = 1 << 62  # "to the end", for ONNX
# Of the 8 bits of a matrix seven are used: processors without VNNI add two products in 16 bits.
_MOST = 64


class WordNetwork(nn.Module):  # type: ignore[misc]
    """Convolutions over the sum of what a word's traits are worth. Texts lie end to end, parted by empty places."""

    def __init__(self) -> None:
        super().__init__()
        self.forms = nn.Embedding(FORMS, _WIDTH)
        self.affixes = nn.ModuleList([nn.Embedding(AFFIXES, _WIDTH) for _ in range(_AFFIX_TRAITS)])
        self.shapes = nn.Embedding(SHAPES, _WIDTH)
        for table in (self.forms, *self.affixes, self.shapes):
            nn.init.normal_(table.weight, 0.0, 0.1)
        self.first = nn.Conv1d(_WIDTH, _HIDDEN, 2 * _FIRST_REACH + 1, padding=_FIRST_REACH)
        self.others = nn.ModuleList(
            [nn.Conv1d(_HIDDEN, _HIDDEN, 2 * _REACH + 1, padding=_REACH) for _ in range(_LAYERS - 1)]
        )
        self.out = nn.Linear(_HIDDEN, len(CLASSES))

    def forward(self, traits: torch.Tensor, real: torch.Tensor, unseen: torch.Tensor | None = None) -> torch.Tensor:
        """Scores [places, classes] of `traits` [places, TRAITS]; `real` [places] is 0 where a place is empty.

        Of words that are `unseen` the form is not read, so that affixes and the words beside them have to do.
        """
        forms = self.forms(traits[:, 0]) + self.forms(traits[:, 1])
        if unseen is not None:
            forms = forms * (~unseen)[:, None]
        affixes = sum(table(traits[:, FORM_TRAITS + i]) for i, table in enumerate(self.affixes))
        words = (forms + affixes + self.shapes(traits[:, -1])) * real[:, None]
        states = F.relu(self.first(F.dropout(words, _DROPOUT, self.training).T[None])) * real
        for layer in self.others:
            states = states + F.relu(layer(states)) * real
        return self.out(F.dropout(states[0].T, _DROPOUT, self.training))


def write_graph(network: WordNetwork, path: Path) -> None:
    """Write the network to `path`, its tables and the matrices of its layers in 8 bits."""
    onnx = require("onnx", "train", "Exporting to ONNX")
    graph = _Graph(onnx)
    tables = [network.forms, network.forms, *network.affixes, network.shapes]
    words = graph.op("Sum", [graph.look_up(i, table.weight) for i, table in enumerate(tables)], "words")
    states = graph.convolved(words, network.first, "first")
    for number, layer in enumerate(network.others):
        states = graph.op("Add", [states, graph.convolved(states, layer, f"layer.{number}")], f"layer.{number}.sum")
    out = graph.floats("out.weight", network.out.weight), graph.floats("out.bias", network.out.bias)
    scores = graph.op("Gemm", [states, *out], "scores", transB=1)
    best = graph.op("ArgMax", [scores], "best", axis=1, keepdims=0)
    graph.op("Cast", [best], "classes", to=onnx.TensorProto.INT8)
    value, kinds = onnx.helper.make_tensor_value_info, onnx.TensorProto
    inputs = [value("traits", kinds.INT64, ["words", len(tables)])]
    outputs = [value("classes", kinds.INT8, ["words"])]
    body = onnx.helper.make_graph(graph.nodes, "erukg-words", inputs, outputs, list(graph.constants.values()))
    opsets = [onnx.helper.make_opsetid("", _OPSET)]
    proto = onnx.helper.make_model(body, opset_imports=opsets, ir_version=8, producer_name="erukg")
    onnx.helper.set_model_props(proto, {FORMS_KEY: str(FORMS)})
    onnx.checker.check_model(proto)
    onnx.save(proto, str(path))


def _rounded(values: torch.Tensor, most: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """The columns of a matrix as whole numbers up to `most`, and the scale of each."""
    matrix = values.detach().cpu().float().numpy()
    scales = np.maximum(np.abs(matrix).max(axis=0), 1e-9) / most
    return np.rint(matrix / scales).astype(np.int8), scales.astype(np.float32)


class _Graph:
    """Collects nodes and constants; every method returns the name of the value it makes."""

    def __init__(self, onnx: Any) -> None:
        self._helper, self._tensor = onnx.helper, onnx.numpy_helper.from_array
        self._float = onnx.TensorProto.FLOAT
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def op(self, kind: str, inputs: list[str], name: str, *more: str, **attributes: Any) -> str:
        """A node, and the name of its value; of several the others are named too."""
        self.nodes.append(self._helper.make_node(kind, inputs, [name, *more], name=name, **attributes))
        return name

    def array(self, name: str, value: NDArray[Any]) -> str:
        if name not in self.constants:
            self.constants[name] = self._tensor(value, name)
        return name

    def floats(self, name: str, value: torch.Tensor) -> str:
        return self.array(name, value.detach().cpu().float().numpy())

    def look_up(self, column: int, weight: torch.Tensor) -> str:
        """The rows of a table, in 8 bits with one scale, that a column of the traits names."""
        codes, scales = _rounded(weight.reshape(-1, 1), 127)
        # Both numbers of a form are rows of one table.
        name = f"table.{max(column, FORM_TRAITS - 1)}"
        held = self.array(name, codes.reshape(weight.shape)), self.array(f"{name}.scale", scales[0])
        at = self.op("Gather", ["traits", self.array(f"column.{column}", np.array(column))], f"at.{column}", axis=1)
        rows = self.op("Gather", [held[0], at], f"rows.{column}", axis=0)
        return self.op("DequantizeLinear", [rows, held[1]], f"worth.{column}")

    def convolved(self, x: str, layer: nn.Conv1d, name: str) -> str:
        """A layer as one product of 8-bit matrices, which is far quicker than a convolution of floats: every place has
        the states of those around it side by side.
        """
        scale, zero = f"{name}.scale", f"{name}.zero"
        codes = self.op("DynamicQuantizeLinear", [x], f"{name}.codes", scale, zero)
        reach, width = layer.padding[0], layer.kernel_size[0]
        ends = self.array(f"reach.{reach}", np.array([reach, 0, reach, 0]))
        padded, axis = self.op("Pad", [codes, ends, zero], f"{name}.padded"), self.array("axis", np.array([0]))
        around = []
        for i in range(width):
            bounds = [self.array(f"bound.{at}", np.array([at])) for at in (i, i + 1 - width or _LAST)]
            around.append(self.op("Slice", [padded, *bounds, axis], f"{name}.around.{i}"))
        beside = self.op("Concat", around, f"{name}.beside", axis=1)
        matrix, scales = _rounded(layer.weight.permute(2, 1, 0).flatten(0, 1), _MOST)
        product = self.op("MatMulInteger", [beside, self.array(f"{name}.weight", matrix), zero], f"{name}.product")
        whole = self.op("Mul", [scale, self.array(f"{name}.weight.scales", scales)], f"{name}.scales")
        floats = self.op("Cast", [product], f"{name}.floats", to=self._float)
        scaled = self.op("Mul", [floats, whole], f"{name}.scaled")
        return self.op(
            "Relu", [self.op("Add", [scaled, self.floats(f"{name}.bias", layer.bias)], name)], f"{name}.relu"
        )

"""The encoder as an ONNX graph: embedding rows and mask in; transformed states, tag projections and vector out.

The graph is written node by node: it holds exactly what the runtime needs, with shapes ONNX Runtime's fusions
know, and does not change with the exporter of a torch version.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from erukg.backends.session import open_session
from erukg.errors import ModelError, require
from erukg.training.model import TermModel

__all__ = ["EXACT_NODES", "check_onnx", "quantise_onnx", "quantise_rows", "run_onnx", "write_onnx"]

OPSET = 17
# Nodes whose weights stay in fp32 when the rest is quantised: small, and next to the outputs.
EXACT_NODES = ("transform.dense", "tags")


class _Builder:
    """Collects nodes and constants; every method returns the name of the value it makes."""

    def __init__(self, onnx: Any, shape_eps: float) -> None:
        self.helper, self.numpy_helper = onnx.helper, onnx.numpy_helper
        self.eps = shape_eps
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def constant(self, name: str, value: Any) -> str:
        if name not in self.constants:
            self.constants[name] = self.numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def op(self, kind: str, inputs: list[str], name: str, **attributes: Any) -> str:
        self.nodes.append(self.helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def number(self, value: float) -> str:
        return self.constant(f"number.{value!r}", np.array(value, np.float32))

    def axes(self, *values: int) -> str:
        return self.constant("axes." + ".".join(map(str, values)), np.array(values, np.int64))

    def linear(self, x: str, weight: torch.Tensor, bias: torch.Tensor, name: str) -> str:
        product = self.op("MatMul", [x, self.constant(f"{name}.weight", weight.T.numpy())], name)
        return self.op("Add", [product, self.constant(f"{name}.bias", bias.numpy())], f"{name}.add")

    def norm(self, x: str, weight: torch.Tensor, bias: torch.Tensor, name: str) -> str:
        scale = self.constant(f"{name}.weight", weight.numpy())
        shift = self.constant(f"{name}.bias", bias.numpy())
        return self.op("LayerNormalization", [x, scale, shift], name, axis=-1, epsilon=self.eps)

    def gelu(self, x: str, name: str) -> str:
        ratio = self.op("Div", [x, self.number(2.0**0.5)], f"{name}.ratio")
        error = self.op("Erf", [ratio], f"{name}.erf")
        factor = self.op("Add", [error, self.number(1.0)], f"{name}.factor")
        product = self.op("Mul", [x, factor], f"{name}.product")
        return self.op("Mul", [product, self.number(0.5)], name)


def write_onnx(model: TermModel, path: str | Path) -> None:
    """Write `model` to `path` in fp32 with free batch size and length."""
    onnx = require("onnx", "train", "Exporting to ONNX")
    model = model.cpu().float().eval()
    shape = model.shape
    with torch.no_grad():
        graph = _Builder(onnx, shape.eps)
        _encoder(graph, model)
    kinds = onnx.TensorProto
    value = onnx.helper.make_tensor_value_info
    inputs = [
        value("embeddings", kinds.FLOAT, ["batch", "length", shape.hidden_size]),
        value("mask", kinds.INT64, ["batch", "length"]),
    ]
    outputs = [
        value("states", kinds.FLOAT, ["batch", "length", shape.hidden_size]),
        value("tags", kinds.FLOAT, ["batch", "length", 2 * model.shape.tag_width]),
        value("vector", kinds.FLOAT, ["batch", shape.hidden_size]),
    ]
    body = onnx.helper.make_graph(graph.nodes, "erukg", inputs, outputs, list(graph.constants.values()))
    opsets = [onnx.helper.make_opsetid("", OPSET)]
    proto = onnx.helper.make_model(body, opset_imports=opsets, ir_version=8, producer_name="erukg")
    onnx.checker.check_model(proto)
    onnx.save(proto, str(path))


def _encoder(g: _Builder, model: TermModel) -> None:
    node = model.bert.embeddings
    table = node.position_embeddings.weight + node.token_type_embeddings.weight[0]
    length = g.op("Slice", [g.op("Shape", ["mask"], "shape"), g.axes(1), g.axes(2)], "shape.length")
    bounds = [g.constant("positions.table", table.numpy()), g.constant("zero", np.array([0])), length]
    places = g.op("Slice", bounds, "positions")
    embedded = g.op("Add", ["embeddings", places], "embedded")
    x = g.norm(embedded, node.LayerNorm.weight, node.LayerNorm.bias, "embeddings.norm")
    real = g.op("Cast", ["mask"], "mask.float", to=1)
    blocked = g.op("Mul", [g.op("Sub", [g.number(1.0), real], "mask.blocked"), g.number(-30000.0)], "mask.scaled")
    bias = g.op("Unsqueeze", [blocked, g.axes(1, 2)], "mask.bias")
    hidden = [x]
    for number, weights in enumerate(model._layer_weights()):
        x = _layer(g, x, bias, model, weights, f"layer.{number}")
        hidden.append(x)
    transform = model.cls.predictions.transform
    states = g.gelu(g.linear(x, transform.dense.weight, transform.dense.bias, "transform.dense"), "transform.gelu")
    g.norm(states, transform.LayerNorm.weight, transform.LayerNorm.bias, "states")
    read = g.op("Concat", [hidden[layer] for layer in model.tag_layers], "tag.states", axis=-1)
    g.op("MatMul", [read, g.constant("tag.project.weight", model.tag.project.weight.T.numpy())], "tags")
    counted = g.op("Unsqueeze", [real, g.axes(2)], "mask.weights")
    total = g.op("ReduceSum", [g.op("Mul", [x, counted], "vector.masked"), g.axes(1)], "vector.sum", keepdims=0)
    count = g.op("ReduceSum", [real, g.axes(1)], "vector.count", keepdims=1)
    mean = g.op("Div", [total, g.op("Max", [count, g.number(1.0)], "vector.atleast")], "vector.mean")
    size = g.op("ReduceL2", [mean], "vector.size", axes=[1], keepdims=1)
    g.op("Div", [mean, g.op("Max", [size, g.number(1e-12)], "vector.nonzero")], "vector")


def _layer(g: _Builder, x: str, bias: str, model: TermModel, weights: list[torch.Tensor], name: str) -> str:
    qw, qb, kw, kb, vw, vb, ow, ob, n1w, n1b, iw, ib, fw, fb, n2w, n2b = weights
    heads, width = model.shape.heads, model.shape.hidden_size
    size = width // heads
    split, merge = g.axes(0, 0, heads, size), g.axes(0, 0, width)

    def project(weight: torch.Tensor, offset: torch.Tensor, part: str, order: list[int]) -> str:
        flat = g.op("Reshape", [g.linear(x, weight, offset, f"{name}.{part}"), split], f"{name}.{part}.heads")
        return g.op("Transpose", [flat], f"{name}.{part}.turned", perm=order)

    # The scale of attention sits in the query weights: one operation a layer less.
    query = project(qw * size**-0.5, qb * size**-0.5, "query", [0, 2, 1, 3])
    key, values = project(kw, kb, "key", [0, 2, 3, 1]), project(vw, vb, "value", [0, 2, 1, 3])
    scores = g.op("Add", [g.op("MatMul", [query, key], f"{name}.scores"), bias], f"{name}.masked")
    mixed = g.op("MatMul", [g.op("Softmax", [scores], f"{name}.shares", axis=-1), values], f"{name}.mixed")
    turned = g.op("Transpose", [mixed], f"{name}.mixed.turned", perm=[0, 2, 1, 3])
    joined = g.op("Reshape", [turned, merge], f"{name}.joined")
    x = g.op("Add", [x, g.linear(joined, ow, ob, f"{name}.output")], f"{name}.attended")
    x = g.norm(x, n1w, n1b, f"{name}.norm1")
    inner = g.gelu(g.linear(x, iw, ib, f"{name}.inner"), f"{name}.gelu")
    x = g.op("Add", [x, g.linear(inner, fw, fb, f"{name}.outer")], f"{name}.fed")
    return g.norm(x, n2w, n2b, f"{name}.norm2")


def run_onnx(
    path: str | Path, embeddings: NDArray[np.float32], mask: NDArray[np.int64]
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """states, tags and vector of one batch by ONNX Runtime."""
    session = open_session(Path(path), 1)
    states, tags, vector = session.run(["states", "tags", "vector"], {"embeddings": embeddings, "mask": mask})
    return states, tags, vector


def check_onnx(model: TermModel, path: str | Path, tolerance: float = 1e-4, seed: int = 0) -> float:
    """The largest difference between graph and torch on random texts; a ModelError above `tolerance`."""
    rng = np.random.default_rng(seed)
    length = min(48, model.shape.max_positions)
    ids = torch.from_numpy(rng.integers(0, model.shape.vocab_size, (3, length)))
    mask = torch.from_numpy((np.arange(length) < np.array([[length], [length // 2], [3]])).astype(np.int64))
    model = model.cpu().float().eval()
    with torch.no_grad():
        outputs = model.encode(ids, mask)
        expected = (model.transform(outputs.hidden[-1]), model.tag_pieces(outputs), model.vector(outputs))
        rows = F.embedding(ids, model.word_embeddings).numpy()
    found = run_onnx(path, rows, mask.numpy())
    real = mask.numpy().astype(bool)
    worst = 0.0
    for name, wanted, got in zip(("states", "tags", "vector"), expected, found, strict=True):
        gap = np.abs(wanted.numpy() - got)
        worst = max(worst, float((gap if name == "vector" else gap[real]).max()))
    if not worst <= tolerance:
        raise ModelError(f"The exported graph {path} differs from the model by {worst:.2g}; export it again.")
    return worst


def quantise_onnx(
    source: str | Path, target: str | Path, exclude: Sequence[str] = EXACT_NODES, seven_bits: bool = True
) -> None:
    """Quantise the weights of every MatMul but `exclude` to int8, activations while running.

    One scale a column: a single scale a matrix loses several times more. With `seven_bits` weights use 7 of
    the 8 bits: CPUs without VNNI add products in 16 bits, which larger weights would overflow.
    """
    onnx = require("onnx", "train", "Exporting to ONNX")
    quantization = require("onnxruntime.quantization", "train", "Quantising a model")
    proto = onnx.load(str(source))
    # The graph needs no preprocessing: it is written in the form that step would bring it to.
    onnx.helper.set_model_props(proto, {"onnx.quant.pre_process": "onnxruntime.quant"})
    with tempfile.TemporaryDirectory() as folder:
        marked = Path(folder) / "marked.onnx"
        onnx.save(proto, str(marked))
        quantization.quantize_dynamic(
            str(marked),
            str(target),
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            reduce_range=seven_bits,
            weight_type=quantization.QuantType.QInt8,
            nodes_to_exclude=list(exclude),
        )


def quantise_rows(table: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Rows of a table as int8 with one scale each: row i ≈ values[i] · scales[i]."""
    scales = np.abs(table).max(1) / 127.0
    scales[scales == 0] = 1.0
    values = np.clip(np.rint(table / scales[:, None]), -127, 127).astype(np.int8)
    return values, scales.astype(np.float32)

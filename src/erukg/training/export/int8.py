"""The same encoder and head in 8 bits."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from erukg.errors import require
from erukg.training.export.onnx import EXACT_NODES

__all__ = ["quantise_onnx", "quantise_rows"]


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

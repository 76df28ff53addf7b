"""The steps between 8-bit products follow ONNX Runtime on a CPU, and the kernels follow the steps."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")

import onnxruntime  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402

from erukg.backends.torch.steps import ExactSteps, Quantised, Rows, Steps  # noqa: E402
from erukg.backends.torch.weights import Linear  # noqa: E402

torch.set_num_threads(1)

WIDTH, HEADS = 384, 12
# What the steps follow bit by bit; other processors and versions differ in last bits.
VERSION = tuple(int(part) for part in onnxruntime.__version__.split(".")[:2])
SAME_BITS = torch.backends.cpu.get_cpu_capability() == "AVX512" and VERSION in ((1, 30), (1, 31))


def runtime(nodes: list[Any], inputs: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """What ONNX Runtime gives for the output `y` of a small graph."""
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in inputs.items()]
    graph = helper.make_graph(nodes, "g", given, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found: NDArray[Any] = session.run(["y"], inputs)[0]
    return found


def compare(got: Any, expected: np.ndarray, tolerance: float) -> None:
    np.testing.assert_allclose(got.numpy(), expected, atol=tolerance, rtol=tolerance)
    if SAME_BITS:
        np.testing.assert_array_equal(got.numpy(), expected)


def whole(batch: int, length: int) -> Rows:
    return Rows(torch.full((batch,), length, dtype=torch.int32), length)


def test_gelu() -> None:
    x = np.linspace(-12, 12, 1 << 14, dtype=np.float32)
    node = helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")
    compare(ExactSteps().activate(torch.from_numpy(x)), runtime([node], {"x": x}), 2e-6)
    np.testing.assert_allclose(ExactSteps().activate(torch.from_numpy(x)), F.gelu(torch.from_numpy(x)), atol=2e-6)


def test_layer_norm() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, WIDTH)).astype(np.float32) * 3 + 0.5
    weight, bias = rng.random(WIDTH).astype(np.float32), rng.standard_normal(WIDTH).astype(np.float32)
    node = helper.make_node("LayerNormalization", ["x", "w", "b"], ["y"], axis=-1, epsilon=1e-12)
    expected = runtime([node], {"x": x, "w": weight, "b": bias})
    norm = torch.from_numpy(weight), torch.from_numpy(bias)
    got, _ = ExactSteps().norm(torch.from_numpy(x)[None], norm, 1e-12, whole(1, 200))
    compare(got[0], expected, 1e-5)


@pytest.mark.parametrize("length", [1, 15, 16, 47, 200, 300])
def test_attention(length: int) -> None:
    rng = np.random.default_rng(length)
    q, k, v = rng.standard_normal((3, 1, HEADS, length, WIDTH // HEADS)).astype(np.float32)
    nodes = [
        helper.make_node("Transpose", ["k"], ["t"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["q", "t"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["shares"], axis=-1),
        helper.make_node("MatMul", ["shares", "v"], ["y"]),
    ]
    expected = runtime(nodes, {"q": q, "k": k, "v": v})
    joined = torch.from_numpy(np.stack([q, k, v], 0)).permute(1, 3, 0, 2, 4).reshape(1, length, 3 * WIDTH)
    got, _ = ExactSteps().attention(joined, HEADS, whole(1, length))
    near, _ = Steps().attention(joined, HEADS, whole(1, length))
    np.testing.assert_allclose(got, near, atol=1e-5)
    # A product with a single row takes another way, with another order.
    if length > 1:
        compare(got, expected.transpose(0, 2, 1, 3).reshape(1, length, WIDTH), 1e-5)


@pytest.mark.parametrize("steps", [Steps(), ExactSteps()], ids=["torch", "exact"])
def test_padding_changes_nothing(steps: Steps) -> None:
    rng = np.random.default_rng(1)
    part = Linear(
        rng.integers(-64, 65, (48, 48)).astype(np.int8), np.full(48, 0.01, np.float32), np.ones(48, np.float32)
    )
    linear = Quantised(part, torch.device("cpu"))
    torch.manual_seed(0)
    x = torch.randn(2, 40, 48)
    rows, alone = Rows(torch.tensor([40, 9], dtype=torch.int32), 40), whole(1, 9)
    norm = torch.ones(48), torch.zeros(48)

    def results(x: Any, rows: Rows) -> list[Any]:
        codes = steps.quantise(x, None, rows)
        product = linear.product(codes)
        after = steps.gelu(product, codes, linear, rows)
        shape = rows.batch, rows.length, -1
        return [
            codes.values.view(shape),
            after.values.view(shape),
            steps.add_norm(x, product, codes, linear, norm, 1e-12, rows)[0],
            steps.attention(x, 4, rows)[0],
        ]

    for got, expected in zip(results(x, rows), results(x[1:, :9], alone), strict=True):
        torch.testing.assert_close(got[1:, :9], expected, atol=1e-6, rtol=0)


def test_kernels_follow_the_steps() -> None:
    """Where there is Triton, its interpreter runs every kernel; where there is none, networks do without."""
    if importlib.util.find_spec("triton") is None:
        with pytest.raises(ImportError):
            importlib.import_module("erukg.backends.torch.fused")
        return
    script = Path(__file__).with_name("kernel_check.py")
    environment = os.environ | {"TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "kernels agree\n"

"""Run by `test_torch_steps` with Triton's interpreter: every kernel against the steps it stands for, on a CPU."""

from __future__ import annotations

import sys

import numpy as np
import torch

from erukg.backends.torch.fused import KernelSteps
from erukg.backends.torch.steps import Codes, ExactSteps, Quantised, Rows, Tensor
from erukg.backends.torch.weights import Linear

HEADS, WIDTH, INNER, LENGTH = 2, 32, 64, 64
EPS = 1e-12


def linear(rng: np.random.Generator, inputs: int, outputs: int) -> Quantised:
    weight = rng.integers(-64, 65, (inputs, outputs)).astype(np.int8)
    scale = (rng.random(outputs) * 0.01 + 0.001).astype(np.float32)
    part = Linear(weight, scale, rng.standard_normal(outputs).astype(np.float32))
    return Quantised(part, torch.device("cpu"))


def check(rows: Rows, seed: int) -> None:
    rng = np.random.default_rng(seed)
    torch.manual_seed(seed)
    real = rows.mask[:, :, None]

    def near(got: Tensor, expected: Tensor) -> None:
        torch.testing.assert_close(got * real, expected * real, rtol=0, atol=4e-6)

    def alike(got: Codes, expected: Codes) -> None:
        torch.testing.assert_close(got.scale, expected.scale, rtol=1e-6, atol=0)
        torch.testing.assert_close(got.shift, expected.shift)
        off = (got.values.int() - expected.values.int())[rows.mask.flatten()].abs()
        assert off.max() <= 1
        assert (off > 0).float().mean() < 1e-3

    steps, kernels = ExactSteps(), KernelSteps(HEADS, WIDTH)
    norm = torch.rand(WIDTH) + 0.5, torch.randn(WIDTH)
    values = torch.randn(rows.batch, rows.length, WIDTH) * 2
    x, _ = steps.norm(values, norm, EPS, rows)
    found, ranges = kernels.norm(values, norm, EPS, rows)
    near(found, x)
    codes = steps.quantise(x, None, rows)
    alike(kernels.quantise(found, ranges, rows), codes)

    part = linear(rng, WIDTH, 3 * WIDTH)
    product = part.product(codes)
    joined = steps.rescale(product, codes, part, rows)
    assert torch.equal(kernels.rescale(product, codes, part, rows), joined)
    joined = joined * 0.1
    mixed, _ = steps.attention(joined, HEADS, rows)
    found, ranges = kernels.attention(joined, HEADS, rows)
    near(found, mixed)
    codes = steps.quantise(mixed, None, rows)
    alike(kernels.quantise(found, ranges, rows), codes)

    part = linear(rng, WIDTH, WIDTH)
    product = part.product(codes)
    expected, _ = steps.add_norm(x, product, codes, part, norm, EPS, rows)
    found, ranges = kernels.add_norm(x, product, codes, part, norm, EPS, rows)
    near(found, expected)
    alike(kernels.quantise(found, ranges, rows), steps.quantise(expected, None, rows))

    part = linear(rng, WIDTH, INNER)
    product = part.product(codes)
    alike(kernels.gelu(product, codes, part, rows), steps.gelu(product, codes, part, rows))


if __name__ == "__main__":
    torch.set_num_threads(1)
    check(Rows(torch.tensor([64, 37, 3], dtype=torch.int32), LENGTH), 0)
    check(Rows(torch.tensor([32, 1], dtype=torch.int32), 32), 1)
    sys.stdout.write("kernels agree\n")

"""The transformer in torch: the same arithmetic as the ONNX graph, for many texts at once.

A graph with 8-bit weights rounds activations to 8 bits too, with one scale a text. That is done here as well, in the
same order of operations (`steps`), so that a GPU gives what the CPU gives, and its 8-bit matrix units do most of
the work.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from erukg.backends.torch.steps import ExactSteps, Norm, Quantised, Rows, Steps, Tensor
from erukg.backends.torch.weights import LayerWeights, Linear, NetworkWeights

__all__ = ["ARITHMETIC", "Network"]

#: How the network may calculate: as the graph does, or with all weights in one floating-point type.
ARITHMETIC = ("int8", "fp32", "bf16", "fp16")

_TYPES = {"int8": torch.float32, "fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
# How alike the mean states of a trial are, with kernels and without; what differs there are single codes.
_ALIKE = 0.99


class _Dense:
    """A linear layer in a floating-point type."""

    def __init__(self, linear: Linear, device: torch.device, dtype: torch.dtype) -> None:
        exact = linear.exact()
        self.weight = _tensor(exact.weight, device, dtype).T.contiguous()
        self.bias = _tensor(exact.bias, device, dtype)

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class _Layer:
    """A transformer layer. Values and their ranges go in and come out."""

    def __init__(self, weights: LayerWeights, network: Network, *, quantised: bool) -> None:
        self.network = network

        def linear(part: Linear) -> Quantised | _Dense:
            # The 8-bit matrix units of a GPU take sizes in steps of 8.
            fits = network.device.type == "cpu" or not any(size % 8 for size in part.weight.shape)
            if quantised and part.scale is not None and fits:
                return Quantised(part, network.device)
            return _Dense(part, network.device, network.dtype)

        self.attention, self.output = linear(weights.attention), linear(weights.output)
        self.inner, self.outer = linear(weights.inner), linear(weights.outer)
        self.norm1, self.norm2 = network.norm(weights.norm1), network.norm(weights.norm2)

    @property
    def linears(self) -> tuple[Quantised | _Dense, ...]:
        return self.attention, self.output, self.inner, self.outer

    def __call__(self, x: Tensor, ranges: Tensor | None, rows: Rows) -> tuple[Tensor, Tensor | None]:
        steps = self.network.steps
        joined = self._values(self.attention, x, ranges, rows)
        mixed = steps.attention(joined, self.network.heads, rows)
        x, ranges = self._add(x, self.output, *mixed, self.norm1, rows)
        if isinstance(self.inner, Quantised) and isinstance(self.outer, Quantised):
            codes = steps.quantise(x, ranges, rows)
            codes = steps.gelu(self.inner.product(codes), codes, self.inner, rows)
            product = self.outer.product(codes)
            return steps.add_norm(x, product, codes, self.outer, self.norm2, self.network.eps, rows)
        inner = steps.activate(self._values(self.inner, x, ranges, rows))
        return self._add(x, self.outer, inner, None, self.norm2, rows)

    def _values(self, linear: Quantised | _Dense, x: Tensor, ranges: Tensor | None, rows: Rows) -> Tensor:
        if isinstance(linear, _Dense):
            return linear(x)
        codes = self.network.steps.quantise(x, ranges, rows)
        return self.network.steps.rescale(linear.product(codes), codes, linear, rows)

    def _add(
        self, x: Tensor, linear: Quantised | _Dense, y: Tensor, ranges: Tensor | None, norm: Norm, rows: Rows
    ) -> tuple[Tensor, Tensor | None]:
        steps, eps = self.network.steps, self.network.eps
        if isinstance(linear, _Dense):
            return steps.sum_norm(x, linear(y), norm, eps, rows)
        codes = steps.quantise(y, ranges, rows)
        return steps.add_norm(x, linear.product(codes), codes, linear, norm, eps, rows)


class Network:
    """The encoder on one device. `run` takes padded rows of word pieces.

    `steps` are the kernels where there are some; `use_plain` takes what torch has instead, `compile` lets torch compile
    that.
    """

    def __init__(self, weights: NetworkWeights, table: np.ndarray[Any, Any], device: torch.device, arithmetic: str):
        self.device, self.dtype, self.heads, self.eps = device, _TYPES[arithmetic], weights.heads, weights.eps
        # For the weights of the whole vocabulary: nothing depends on their last bits.
        self.half = self.dtype if self.dtype != torch.float32 or device.type == "cpu" else torch.float16
        self.table = _tensor(table, device, torch.float32)
        self.width = table.shape[1]
        self.positions = _tensor(weights.positions, device, torch.float32)
        self.first_norm = (
            _tensor(weights.norm[0], device, torch.float32),
            _tensor(weights.norm[1], device, torch.float32),
        )
        self.steps: Steps = Steps()
        # Why there are no kernels, where there could be some.
        self.without_kernels = ""
        self.layers = [_Layer(layer, self, quantised=arithmetic == "int8") for layer in weights.layers]
        self.quantised = any(isinstance(part, Quantised) for layer in self.layers for part in layer.linears)
        self.transform = _Dense(weights.transform, device, self.dtype)
        self.transform_norm = self.norm(weights.transform_norm)
        self.tag_layers = 0, len(self.layers) // 2, len(self.layers)
        # A class that flips makes other phrases, so tags are as exact as on the CPU unless nothing is.
        self.tags = _tensor(weights.tags, device, self.dtype)
        self.tag_width = weights.tags.shape[1]
        self.use_plain()
        if self.quantised and device.type == "cuda":
            self._try_kernels()

    @property
    def has_kernels(self) -> bool:
        return type(self.steps) not in (Steps, ExactSteps)

    def use_plain(self) -> None:
        self.steps = ExactSteps() if self.quantised and self.device.type == "cpu" else Steps()

    def compile(self) -> None:
        """Let torch compile what is between matrix products, unless there are kernels for it."""
        if not self.has_kernels:
            self.steps = Steps()
            self.steps.compile()

    def norm(self, norm: tuple[Any, Any]) -> Norm:
        return _tensor(norm[0], self.device, self.dtype), _tensor(norm[1], self.device, self.dtype)

    def run(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """States [batch, length, width], what pieces give to tags [batch, length, 2 · tag width], mean [batch, width].

        `lengths` [batch] says how many of `ids` [batch, length] are pieces of a row.
        """
        rows = Rows(lengths.to(torch.int32), ids.shape[1])
        x = F.embedding(ids, self.table) + self.positions[: rows.length]
        x, ranges = self.steps.norm(x, self.first_norm, self.eps, rows)
        x = x.to(self.dtype)
        hidden = [x]
        for layer in self.layers:
            x, ranges = layer(x, ranges, rows)
            hidden.append(x)
        tags = (torch.cat([hidden[number] for number in self.tag_layers], 2) @ self.tags).float()
        states = F.gelu(self.transform(x))
        states = F.layer_norm(states, (self.width,), *self.transform_norm, self.eps)
        return states, tags, _mean(x, rows)

    def _try_kernels(self) -> None:
        """Take the kernels if they can be had, can be compiled here and give what torch gives."""
        ids = torch.arange(64, device=self.device).view(2, 32) % len(self.table)
        lengths = torch.tensor([32, 7], device=self.device)
        try:
            from erukg.backends.torch.fused import KernelSteps

            with torch.inference_mode(), torch.cuda.device(self.device):
                expected = self.run(ids, lengths)[2]
                self.steps = KernelSteps(self.heads, self.width)
                alike = float(F.cosine_similarity(self.run(ids, lengths)[2], expected).min())
        except Exception as error:  # no Triton, no compiler, an old card, other sizes: as many kinds as reasons
            self.without_kernels = f"{type(error).__name__}: {error}"
            self.use_plain()
            return
        if not alike > _ALIKE:
            self.without_kernels = f"their results differ from torch's (likeness {alike:.4f})"
            self.use_plain()


def _mean(x: Tensor, rows: Rows) -> Tensor:
    total = torch.where(rows.mask[:, :, None], x.float(), 0.0).sum(1)
    return F.normalize(total / rows.lengths[:, None].clamp(min=1), dim=1)


def _tensor(array: Any, device: torch.device, dtype: torch.dtype) -> Tensor:
    return torch.tensor(np.ascontiguousarray(array), dtype=dtype, device=device)

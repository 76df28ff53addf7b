"""The transformer in torch: the same arithmetic as the ONNX graph, for many texts at once.

A graph with 8-bit weights rounds activations to 8 bits too, with one scale a text. That is done here as well, so a
GPU gives what the CPU gives up to the rounding of float32, and its 8-bit matrix units do most of the work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F

from erukg.encoder.torch_weights import Linear, NetworkWeights

__all__ = ["ARITHMETIC", "Network"]

#: How the network may calculate: as the graph does, or with all weights in one floating-point type.
ARITHMETIC = ("int8", "fp32", "bf16", "fp16")

Tensor: TypeAlias = torch.Tensor
_TYPES = {"int8": torch.float32, "fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
_BLOCKED = -30000.0


class _Dense:
    """A linear layer in a floating-point type."""

    def __init__(self, linear: Linear, device: torch.device, dtype: torch.dtype) -> None:
        exact = linear.exact()
        self.weight = _tensor(exact.weight, device, dtype).T.contiguous()
        self.bias = _tensor(exact.bias, device, dtype)

    def __call__(self, x: Tensor, mask: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)


class _Quantised:
    """A linear layer with 8-bit weights and activations, as ONNX's DynamicQuantizeLinear and MatMulInteger."""

    def __init__(self, linear: Linear, device: torch.device, fused: _Fused) -> None:
        assert linear.scale is not None
        self.fused = fused
        weight = torch.from_numpy(np.ascontiguousarray(linear.weight.T)).to(device)
        self.on_cpu = device.type == "cpu"
        # Integer products of this size are exact in float32 as well, which is the fast way on a CPU.
        self.weight = weight.float() if self.on_cpu else weight
        self.sums = weight.float().sum(1)
        self.scale = _tensor(linear.scale, device, torch.float32)
        self.bias = _tensor(linear.bias, device, torch.float32)

    def __call__(self, x: Tensor, mask: Tensor) -> Tensor:
        batch, length, width = x.shape
        codes, scale, shift = self.fused.quantise(x, mask)
        flat = codes.view(batch * length, width)
        product = F.linear(flat.float(), self.weight) if self.on_cpu else torch._int_mm(flat, self.weight.T)
        return self.fused.rescale(product.view(batch, length, -1), shift, scale, self.sums, self.scale, self.bias)


def _quantise(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """x as codes -128 to 127 with one scale a text, and how far 0 is from code 0."""
    # The range always includes 0, so what is not text may count as 0.
    real = torch.where(mask, x, 0.0).flatten(1)
    low, high = real.amin(1).clamp(max=0.0), real.amax(1).clamp(min=0.0)
    scale = (high - low) / 255.0
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round((-low / scale).clamp(0.0, 255.0))
    codes = torch.round(x / scale[:, None, None]) + (zero - 128.0)[:, None, None]
    return codes.clamp(-128.0, 127.0).to(torch.int8), scale, 128.0 - zero


def _rescale(product: Tensor, shift: Tensor, scale: Tensor, sums: Tensor, columns: Tensor, bias: Tensor) -> Tensor:
    exact = product.float() + shift[:, None, None] * sums
    return exact * (scale[:, None, None] * columns) + bias


def _add_norm(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    return F.layer_norm(x + y, (x.shape[2],), weight, bias, eps)


class _Fused:
    """The steps between matrix products; compiled, each is one or two passes over memory instead of many."""

    def __init__(self) -> None:
        self.use_plain()

    def use_plain(self) -> None:
        self.quantise: Callable[..., tuple[Tensor, Tensor, Tensor]] = _quantise
        self.rescale: Callable[..., Tensor] = _rescale
        self.add_norm: Callable[..., Tensor] = _add_norm

    def compile(self) -> None:
        self.quantise, self.rescale, self.add_norm = (
            torch.compile(step, dynamic=True) for step in (_quantise, _rescale, _add_norm)
        )


class Network:
    """The encoder on one device. `run` takes padded rows of word pieces."""

    def __init__(self, weights: NetworkWeights, table: np.ndarray[Any, Any], device: torch.device, arithmetic: str):
        self.device, self.dtype, self.heads, self.eps = device, _TYPES[arithmetic], weights.heads, weights.eps
        # For what does not feed back into the network: tags and the weights of the whole vocabulary.
        self.half = self.dtype if self.dtype != torch.float32 or device.type == "cpu" else torch.float16
        self.table = _tensor(table, device, torch.float32)
        self.width = table.shape[1]
        self.positions = _tensor(weights.positions, device, torch.float32)
        self.norm = self._norm(weights.norm)
        self.fused = _Fused()

        def linear(part: Linear) -> Callable[[Tensor, Tensor], Tensor]:
            # The 8-bit matrix units of a GPU take sizes in steps of 8.
            fits = device.type == "cpu" or not (part.weight.shape[0] % 8 or part.weight.shape[1] % 8)
            if arithmetic == "int8" and part.scale is not None and fits:
                return _Quantised(part, device, self.fused)
            return _Dense(part, device, self.dtype)

        self.layers = [
            (
                linear(layer.attention),
                linear(layer.output),
                self._norm(layer.norm1),
                linear(layer.inner),
                linear(layer.outer),
                self._norm(layer.norm2),
            )
            for layer in weights.layers
        ]
        self.transform = _Dense(weights.transform, device, self.dtype)
        self.transform_norm = self._norm(weights.transform_norm)
        self.tag_layers = 0, len(self.layers) // 2, len(self.layers)
        self.tags = _tensor(weights.tags, device, self.half)
        self.tag_width = weights.tags.shape[1]

    def _norm(self, norm: tuple[Any, Any]) -> tuple[Tensor, Tensor]:
        return _tensor(norm[0], self.device, self.dtype), _tensor(norm[1], self.device, self.dtype)

    def _normalise(self, x: Tensor, norm: tuple[Tensor, Tensor]) -> Tensor:
        return F.layer_norm(x, (self.width,), *norm, self.eps)

    def run(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """States [batch, length, width], what pieces give to tags [batch, length, 2 · tag width], mean [batch, width].

        `mask` [batch, length] is true on the pieces of a row.
        """
        batch, length = ids.shape
        x = F.embedding(ids, self.table) + self.positions[:length]
        x = F.layer_norm(x, (self.width,), self.norm[0].float(), self.norm[1].float(), self.eps).to(self.dtype)
        real = mask[:, :, None]
        bias = torch.where(mask, 0.0, _BLOCKED).to(self.dtype)[:, None, None, :].expand(batch, 1, length, length)
        hidden = [x]
        for attention, output, norm1, inner, outer, norm2 in self.layers:
            q, k, v = attention(x, real).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=1.0)
            joined = mixed.transpose(1, 2).reshape(batch, length, self.width)
            x = self.fused.add_norm(x, output(joined, real), *norm1, self.eps)
            x = self.fused.add_norm(x, outer(F.gelu(inner(x, real)), real), *norm2, self.eps)
            hidden.append(x)
        read = torch.cat([hidden[layer] for layer in self.tag_layers], 2).to(self.half)
        tags = (read @ self.tags).float()
        states = self._normalise(F.gelu(self.transform(x, real)), self.transform_norm)
        return states, tags, self._mean(x, real)

    def _mean(self, x: Tensor, real: Tensor) -> Tensor:
        total = torch.where(real, x.float(), 0.0).sum(1)
        return F.normalize(total / real.sum(1).clamp(min=1), dim=1)


def _tensor(array: Any, device: torch.device, dtype: torch.dtype) -> Tensor:
    return torch.tensor(np.ascontiguousarray(array), dtype=dtype, device=device)

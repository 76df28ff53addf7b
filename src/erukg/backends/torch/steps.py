"""What happens between the matrix products of an 8-bit model, in the order in which ONNX Runtime does it on a CPU.

Activations are rounded to 8 bits before every product. A last bit of float32 that differs before such a step moves some
codes by one, and then everything after them by as much as the rounding itself: two passes that only agree up to
float32 rank phrases differently. So the steps here add in the same order and use the same polynomials, and what they
give is the same to the last bit (ONNX Runtime 1.30 and 1.31 on x86 with AVX-512; other processors and versions
differ in last bits).

attention   scores and mixtures as sums in the order of their terms, each term fused with its product
softmax     exp as 2^r · polynomial; the sum in 16 lanes, then halves, then neighbours; times 1 / sum
layer norm  the mean in float64; squares in 8 lanes, then halves; times 1 / root, then fused weight and offset
GELU        x/2 · (1 + erf(x/√2)) with a polynomial below 0.92 and 1 - exp(polynomial) above
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from erukg.backends.torch.weights import Linear

__all__ = ["Codes", "ExactSteps", "Norm", "Quantised", "Rows", "Steps", "Tensor"]

Tensor: TypeAlias = torch.Tensor
Norm: TypeAlias = tuple[Tensor, Tensor]

_BLOCKED = -30000.0
# Added and taken away again, it rounds to whole numbers, halves to even ones.
_ROUNDING = 12582912.0
_LOG2 = 1.44269504088896341, -6.93145752e-1, -1.42860677e-6
_LOWEST = -103.9720840454
_EXP_OF_SOFTMAX = (1.37805939e-3, 8.37312452e-3, 4.16695364e-2, 1.66664720e-1, 4.99999851e-1, 1.0, 1.0)
_EXP_OF_ERF = (1.38319808e-3, 8.37550033e-3, 4.16689515e-2, 1.66664466e-1, 4.99999851e-1, 1.0, 1.0)
_ERF_SMALL = (-5.99104969e-4, 4.99339588e-3, -2.67667342e-2, 1.12818025e-1, -3.76124859e-1, 1.28379151e-1)
_ERF_BIG = (1.72948930e-5, -3.83208680e-4, 3.88393435e-3, -2.42545605e-2, 1.06777847e-1, 6.34846687e-1, 1.28717512e-1)
_ERF_SPLIT, _ERF_END = 0.921875, 3.925
_ROOT_HALF = 0.70710678118654752440


@dataclass(frozen=True)
class Rows:
    """Padded rows that run together: `lengths` [batch] int32 says how many pieces each has."""

    lengths: Tensor
    length: int

    @property
    def batch(self) -> int:
        return len(self.lengths)

    @cached_property
    def mask(self) -> Tensor:
        """[batch, length]: true on the pieces of a row."""
        return torch.arange(self.length, device=self.lengths.device) < self.lengths[:, None]


@dataclass(frozen=True, slots=True)
class Codes:
    """Activations [batch · length, width] as int8, with one scale a row and how far 0 is from code 0."""

    values: Tensor
    scale: Tensor
    shift: Tensor


class Quantised:
    """A linear layer with 8-bit weights: its integer product, and what turns that into values."""

    def __init__(self, linear: Linear, device: torch.device) -> None:
        assert linear.scale is not None
        weight = torch.from_numpy(np.ascontiguousarray(linear.weight.T)).to(device)
        self.on_cpu = device.type == "cpu"
        # Integer products of this size are exact in float32 as well, which is the fast way on a CPU.
        self.weight = weight.float() if self.on_cpu else weight
        self.sums = weight.sum(1, dtype=torch.int32)
        self.scale = torch.tensor(linear.scale, dtype=torch.float32, device=device)
        self.bias = torch.tensor(linear.bias, dtype=torch.float32, device=device)

    def product(self, codes: Codes) -> Tensor:
        """Whole numbers [batch · length, outputs], not yet corrected by the shift."""
        if self.on_cpu:
            return F.linear(codes.values.float(), self.weight).to(torch.int32)
        return torch._int_mm(codes.values, self.weight.T)


class Steps:
    """The steps with what torch has: fast on any device, and exact up to the rounding of float32.

    `ranges` is what a step that makes values knows of their least and largest ones, None where it knows nothing.
    """

    def __init__(self) -> None:
        self._codes: Callable[..., tuple[Tensor, Tensor, Tensor]] = _codes
        self._rescaled: Callable[..., Tensor] = _rescaled
        self._summed: Callable[..., Tensor] = _summed

    def compile(self) -> None:
        """Let torch compile what takes most passes over memory."""
        self._codes, self._rescaled, self._summed = (
            torch.compile(step, dynamic=True) for step in (_codes, _rescaled, _summed)
        )

    def quantise(self, x: Tensor, ranges: Tensor | None, rows: Rows) -> Codes:
        """x [batch, length, width] as codes -128 to 127 with one scale a row."""
        values, scale, shift = self._codes(x, rows.mask)
        return Codes(values.flatten(0, 1), scale, shift)

    def rescale(self, product: Tensor, codes: Codes, linear: Quantised, rows: Rows) -> Tensor:
        """The values [batch, length, outputs] of a product."""
        product = product.view(rows.batch, rows.length, -1)
        return self._rescaled(product, codes.shift, codes.scale, linear.sums, linear.scale, linear.bias)

    def gelu(self, product: Tensor, codes: Codes, linear: Quantised, rows: Rows) -> Codes:
        """GELU of the values of a product, as codes again."""
        return self.quantise(self.activate(self.rescale(product, codes, linear, rows)), None, rows)

    def activate(self, x: Tensor) -> Tensor:
        """GELU of values."""
        return F.gelu(x)

    def norm(self, x: Tensor, norm: Norm, eps: float, rows: Rows) -> tuple[Tensor, Tensor | None]:
        """Layer norm of x, and its ranges."""
        return self._norm(x, norm, eps), None

    def sum_norm(self, x: Tensor, y: Tensor, norm: Norm, eps: float, rows: Rows) -> tuple[Tensor, Tensor | None]:
        """Layer norm of x + y, and its ranges."""
        return self._summed(x, y, *norm, eps), None

    def add_norm(
        self, x: Tensor, product: Tensor, codes: Codes, linear: Quantised, norm: Norm, eps: float, rows: Rows
    ) -> tuple[Tensor, Tensor | None]:
        """Layer norm of x and the values of a product, and its ranges."""
        return self.sum_norm(x, self.rescale(product, codes, linear, rows), norm, eps, rows)

    def attention(self, joined: Tensor, heads: int, rows: Rows) -> tuple[Tensor, Tensor | None]:
        """What each piece takes from all pieces of its row, of queries, keys and values side by side; its ranges."""
        q, k, v = joined.view(rows.batch, rows.length, 3, heads, -1).permute(2, 0, 3, 1, 4)
        mixed = self._attention(q, k, v, rows)
        return mixed.transpose(1, 2).reshape(rows.batch, rows.length, -1), None

    def _norm(self, x: Tensor, norm: Norm, eps: float) -> Tensor:
        return F.layer_norm(x, (x.shape[-1],), *norm, eps)

    def _attention(self, q: Tensor, k: Tensor, v: Tensor, rows: Rows) -> Tensor:
        bias = torch.where(rows.mask, 0.0, _BLOCKED).to(q.dtype)[:, None, None, :]
        bias = bias.expand(rows.batch, 1, rows.length, rows.length)
        # cuDNN would plan anew for every length and number of rows, at many times the cost of the attention itself.
        with sdpa_kernel([SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):
            return F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=1.0)


class ExactSteps(Steps):
    """The steps in the order of the CPU, with float64 where that fuses a product and a sum: for CPUs, and to check."""

    def sum_norm(self, x: Tensor, y: Tensor, norm: Norm, eps: float, rows: Rows) -> tuple[Tensor, Tensor | None]:
        return self.norm(x + y, norm, eps, rows)

    def activate(self, x: Tensor) -> Tensor:
        ratio = x * _near(_ROOT_HALF)
        size = ratio.abs().clamp(max=_near(_ERF_END))
        small = _fma(_polynomial(size * size, _ERF_SMALL), size, size)
        big = 1.0 - _exp(-_fma(_polynomial(size, _ERF_BIG), size, size), _EXP_OF_ERF)
        erf = torch.copysign(torch.where(size > _ERF_SPLIT, big, small), ratio)
        return (0.5 * x) * (erf + 1.0)

    def _norm(self, x: Tensor, norm: Norm, eps: float) -> Tensor:
        width = x.shape[-1]
        mean = (x.double().sum(-1, keepdim=True) / width).float()
        centred = x - mean
        whole = width - width % 8
        squares = torch.zeros_like(x[..., :8])
        for start in range(0, whole, 8):
            part = centred[..., start : start + 8]
            squares = _fma(part, part, squares)
        four = squares[..., :4] + squares[..., 4:]
        two = four[..., :2] + four[..., 2:]
        total = two[..., :1] + two[..., 1:]
        for column in range(whole, width):
            part = centred[..., column : column + 1]
            total = total + part * part
        # Torch's own root of float32 is not always the nearest number.
        root = torch.sqrt((total / torch.full_like(total, width) + _near(eps)).double()).float()
        return _fma(centred * (torch.ones_like(root) / root), *norm)

    def _attention(self, q: Tensor, k: Tensor, v: Tensor, rows: Rows) -> Tensor:
        scores = _ordered_product(q, k.transpose(2, 3))
        scores = scores.masked_fill(~rows.mask[:, None, None, :], -torch.inf)
        shares = _exp((scores - scores.amax(-1, keepdim=True)).clamp(min=_near(_LOWEST)), _EXP_OF_SOFTMAX)
        shares = shares.masked_fill(~rows.mask[:, None, None, :], 0.0)
        lanes = F.pad(shares, (0, -rows.length % 16)).unflatten(-1, (-1, 16))
        total = torch.zeros_like(lanes[..., 0, :])
        for block in range(lanes.shape[-2]):
            total = total + lanes[..., block, :]
        eight = total[..., :8] + total[..., 8:]
        four = eight[..., 0::2] + eight[..., 1::2]
        two = four[..., 0::2] + four[..., 1::2]
        whole = two[..., :1] + two[..., 1:]
        return _ordered_product(shares * (torch.ones_like(whole) / whole), v)


def _codes(x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    # The range always includes 0, so what is not text may count as 0.
    real = torch.where(mask[:, :, None], x, 0.0).flatten(1)
    low, high = real.amin(1).clamp(max=0.0), real.amax(1).clamp(min=0.0)
    # Torch turns a division by a number into a product with its inverse, which is another last bit.
    scale = (high - low) / torch.full_like(high, 255.0)
    scale = torch.where(scale == 0, 1.0, scale)
    zero = torch.round((-low / scale).clamp(0.0, 255.0))
    codes = torch.round(x / scale[:, None, None]) + (zero - 128.0)[:, None, None]
    return codes.clamp(-128.0, 127.0).to(torch.int8), scale, (128.0 - zero).to(torch.int32)


def _rescaled(product: Tensor, shift: Tensor, scale: Tensor, sums: Tensor, columns: Tensor, bias: Tensor) -> Tensor:
    whole = product + shift[:, None, None] * sums
    return whole.float() * (scale[:, None, None] * columns) + bias


def _summed(x: Tensor, y: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
    return F.layer_norm(x + y, (x.shape[-1],), weight, bias, eps)


def _near(value: float) -> float:
    """The float32 next to a number: what a constant is on the CPU."""
    return float(np.float32(value))


def _fma(a: Tensor, b: Tensor, c: Tensor | float) -> Tensor:
    """a · b + c, rounded once."""
    added = c.double() if isinstance(c, torch.Tensor) else _near(c)
    return (a.double() * b.double() + added).float()


def _polynomial(x: Tensor, factors: Sequence[float]) -> Tensor:
    out = torch.full_like(x, factors[0])
    for factor in factors[1:]:
        out = _fma(out, x, factor)
    return out


def _exp(x: Tensor, factors: Sequence[float]) -> Tensor:
    inverse, high, low = (torch.full_like(x, part) for part in _LOG2)
    whole = _fma(x, inverse, _ROUNDING) - _ROUNDING
    rest = _fma(whole, low, _fma(whole, high, x))
    return torch.ldexp(_polynomial(rest, factors), whole.int())


def _ordered_product(a: Tensor, b: Tensor) -> Tensor:
    """A matrix product whose sums begin with the first term and take one after the other."""
    out = torch.zeros((*a.shape[:-1], b.shape[-1]), dtype=torch.float64, device=a.device)
    a, b = a.double(), b.double()
    for term in range(a.shape[-1]):
        out = torch.addcmul(out, a[..., term : term + 1], b[..., term : term + 1, :]).float().double()
    return out.float()

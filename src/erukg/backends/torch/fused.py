"""The steps of an 8-bit model on a GPU, each one or two passes over memory (`kernels`, `attention`)."""

# mypy: disable-error-code="import-not-found, import-untyped"

from __future__ import annotations

import torch
import triton

from erukg.backends.torch.attention import attention
from erukg.backends.torch.kernels import (
    gelu_codes_kernel,
    gelu_range_kernel,
    norm_kernel,
    quantise_kernel,
    rescale_kernel,
)
from erukg.backends.torch.steps import Codes, Norm, Quantised, Rows, Steps, Tensor

__all__ = ["KernelSteps"]

# Rows of a block: the lengths of rows are a multiple of it, so that a block never holds rows of two texts.
_ROWS = 32
# Places of a row that a block looks through for the range of its text, unless rows are longer.
_LONGEST = 512
# A sum must not be fused with a product before it: the CPU does not.
_UNFUSED = {"enable_fp_fusion": False}


class KernelSteps(Steps):
    """The steps of an 8-bit model on a GPU."""

    def __init__(self, heads: int, width: int) -> None:
        super().__init__()
        size = width // heads
        if size < 16 or size & (size - 1):
            raise ValueError(f"heads of {size} columns do not fit blocks of a power of two")

    def quantise(self, x: Tensor, ranges: Tensor | None, rows: Rows) -> Codes:
        if ranges is None:
            return super().quantise(x, ranges, rows)
        total, width = rows.batch * rows.length, x.shape[-1]
        codes = _empty_codes(rows, width, x.device)
        quantise_kernel[(total // _ROWS,)](
            codes.values,
            codes.scale,
            codes.shift,
            x,
            ranges,
            total,
            rows.length,
            WIDTH=width,
            STEP=_step(width),
            ROWS=_ROWS,
            PARTS=ranges.shape[1],
            LONGEST=_longest(rows),
            **_UNFUSED,
        )
        return codes

    def rescale(self, product: Tensor, codes: Codes, linear: Quantised, rows: Rows) -> Tensor:
        total, width = product.shape
        out = torch.empty((rows.batch, rows.length, width), device=product.device)
        rescale_kernel[(total // _ROWS,)](
            out,
            *_parts(product, codes, linear),
            rows.length,
            WIDTH=width,
            STEP=_step(width),
            ROWS=_ROWS,
            **_UNFUSED,
        )
        return out

    def gelu(self, product: Tensor, codes: Codes, linear: Quantised, rows: Rows) -> Codes:
        total, width = product.shape
        ranges = torch.empty((2, 1, total), device=product.device)
        shape = {"WIDTH": width, "STEP": _step(width), "ROWS": _ROWS}
        parts = _parts(product, codes, linear)
        gelu_range_kernel[(total // _ROWS,)](ranges, *parts, rows.lengths, total, rows.length, **shape, **_UNFUSED)
        out = _empty_codes(rows, width, product.device)
        gelu_codes_kernel[(total // _ROWS,)](
            out.values,
            out.scale,
            out.shift,
            ranges,
            *parts,
            total,
            rows.length,
            LONGEST=_longest(rows),
            **shape,
            **_UNFUSED,
        )
        return out

    def norm(self, x: Tensor, norm: Norm, eps: float, rows: Rows) -> tuple[Tensor, Tensor | None]:
        return _normalised(x, [x] * 6, norm, eps, rows, added=False)

    def sum_norm(self, x: Tensor, y: Tensor, norm: Norm, eps: float, rows: Rows) -> tuple[Tensor, Tensor | None]:
        return self.norm(x + y, norm, eps, rows)

    def add_norm(
        self, x: Tensor, product: Tensor, codes: Codes, linear: Quantised, norm: Norm, eps: float, rows: Rows
    ) -> tuple[Tensor, Tensor | None]:
        return _normalised(x, _parts(product, codes, linear), norm, eps, rows, added=True)

    def attention(self, joined: Tensor, heads: int, rows: Rows) -> tuple[Tensor, Tensor | None]:
        return attention(joined, heads, rows)


def _normalised(
    x: Tensor, parts: list[Tensor], norm: Norm, eps: float, rows: Rows, *, added: bool
) -> tuple[Tensor, Tensor]:
    total, width = rows.batch * rows.length, x.shape[-1]
    out = torch.empty_like(x)
    ranges = torch.empty((2, 1, total), device=x.device)
    norm_kernel[(total // _ROWS,)](
        out,
        ranges,
        x,
        *parts,
        *norm,
        rows.lengths,
        total,
        rows.length,
        eps,
        WIDTH=width,
        ROWS=_ROWS,
        ADDED=added,
        **_UNFUSED,
    )
    return out, ranges


def _parts(product: Tensor, codes: Codes, linear: Quantised) -> list[Tensor]:
    return [product, codes.shift, codes.scale, linear.sums, linear.scale, linear.bias]


def _empty_codes(rows: Rows, width: int, device: torch.device) -> Codes:
    return Codes(
        torch.empty((rows.batch * rows.length, width), dtype=torch.int8, device=device),
        torch.empty(rows.batch, device=device),
        torch.empty(rows.batch, dtype=torch.int32, device=device),
    )


def _step(width: int) -> int:
    """Columns that a block takes at a time: a power of two that divides the width."""
    return min(128, width & -width)


def _longest(rows: Rows) -> int:
    longest: int = max(_LONGEST, triton.next_power_of_2(rows.length))
    return longest

"""Attention as Triton kernels, in the order of operations that `steps` describes.

Scores are written to memory once, for as many rows at a time as fit a fixed amount of it: the sum of a softmax has an
order, so it cannot be gathered on the way as is usual.
"""

# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator, misc"

from __future__ import annotations

import torch
import triton
import triton.language as tl

from erukg.backends.torch.steps import Rows, Tensor

__all__ = ["attention", "power"]

# Queries of a block, and keys that it goes on by; keys are also added up in 16 lanes.
_QUERIES = 64
_KEYS = 32
_LANES = 16
# Scores that are held at once.
_SCORES = 1 << 26
# Each term of a matrix product is fused with its sum: the CPU does so.
_FUSED = {"enable_fp_fusion": True}


@triton.jit
def power(r: tl.tensor) -> tl.tensor:
    """2^r of whole r from -126 on; below that, 2^-126."""
    bits = (tl.maximum(r, -126.0).to(tl.int32) + 127) << 23
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def _exp(x: tl.tensor) -> tl.tensor:
    x = tl.maximum(x, -103.9720840454)
    r = tl.fma(x, 1.44269504088896341, 12582912.0) - 12582912.0
    f = tl.fma(r, -6.93145752e-1, x)
    f = tl.fma(r, -1.42860677e-6, f)
    p = tl.fma(1.37805939e-3, f, 8.37312452e-3)
    p = tl.fma(p, f, 4.16695364e-2)
    p = tl.fma(p, f, 1.66664720e-1)
    p = tl.fma(p, f, 4.99999851e-1)
    p = tl.fma(p, f, 1.0)
    p = tl.fma(p, f, 1.0)
    return p * power(r)


@triton.jit
def _scores_kernel(
    scores: tl.tensor,
    joined: tl.tensor,
    lengths: tl.tensor,
    start: tl.tensor,
    length: tl.tensor,
    HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    blocks = tl.cdiv(length, BLOCK)
    query, key = tl.program_id(0) // blocks * BLOCK, tl.program_id(0) % blocks * BLOCK
    head, place = tl.program_id(1), tl.program_id(2)
    text = start + place
    real = tl.load(lengths + text)
    if (query < real) & (key < real):
        i, j, d = query + tl.arange(0, BLOCK), key + tl.arange(0, BLOCK), tl.arange(0, SIZE)
        column = head * SIZE + d
        width = 3 * HEADS * SIZE
        q = tl.load(
            joined + (text * length + i)[:, None] * width + column[None, :], mask=(i < length)[:, None], other=0.0
        )
        at = (text * length + j)[:, None] * width + (HEADS * SIZE + column)[None, :]
        k = tl.load(joined + at, mask=(j < length)[:, None], other=0.0)
        found = tl.dot(q, tl.trans(k), input_precision="ieee")
        to = ((place * HEADS + head) * length + i)[:, None] * length + j[None, :]
        tl.store(scores + to, found, mask=(i < length)[:, None] & (j < length)[None, :])


@triton.jit
def _sums_kernel(
    most: tl.tensor,
    inverse: tl.tensor,
    scores: tl.tensor,
    lengths: tl.tensor,
    start: tl.tensor,
    length: tl.tensor,
    HEADS: tl.constexpr,
    ROWS: tl.constexpr,
    LANES: tl.constexpr,
) -> None:
    query, head, place = tl.program_id(0) * ROWS, tl.program_id(1), tl.program_id(2)
    real = tl.load(lengths + start + place)
    if query < real:
        i, lane = query + tl.arange(0, ROWS), tl.arange(0, LANES)
        row = (place * HEADS + head) * length + i
        largest = tl.full([ROWS, LANES], float("-inf"), tl.float32)
        for key in range(0, real, LANES):
            inside = ((key + lane) < real)[None, :] & (i < real)[:, None]
            at = row[:, None] * length + (key + lane)[None, :]
            largest = tl.maximum(largest, tl.load(scores + at, mask=inside, other=float("-inf")))
        top = tl.max(largest, 1)
        # Rows behind the text have no scores; what they give is not used.
        top = tl.where(i < real, top, 0.0)
        total = tl.zeros([ROWS, LANES], tl.float32)
        for key in range(0, real, LANES):
            inside = ((key + lane) < real)[None, :] & (i < real)[:, None]
            at = row[:, None] * length + (key + lane)[None, :]
            share = _exp(tl.load(scores + at, mask=inside, other=0.0) - top[:, None])
            total += tl.where(inside, share, 0.0)
        eight = tl.sum(tl.reshape(total, [ROWS, 2, 8]), 1)
        four = tl.sum(tl.reshape(eight, [ROWS, 4, 2]), 2)
        two = tl.sum(tl.reshape(four, [ROWS, 2, 2]), 2)
        whole = tl.where(i < real, tl.sum(two, 1), 1.0)
        tl.store(most + row, top, mask=i < length)
        tl.store(inverse + row, tl.div_rn(1.0, whole), mask=i < length)


@triton.jit
def _mix_kernel(
    out: tl.tensor,
    ranges: tl.tensor,
    scores: tl.tensor,
    most: tl.tensor,
    inverse: tl.tensor,
    joined: tl.tensor,
    lengths: tl.tensor,
    start: tl.tensor,
    total: tl.tensor,
    length: tl.tensor,
    HEADS: tl.constexpr,
    SIZE: tl.constexpr,
    BLOCK: tl.constexpr,
    KEYS: tl.constexpr,
) -> None:
    query, head, place = tl.program_id(0) * BLOCK, tl.program_id(1), tl.program_id(2)
    text = start + place
    real = tl.load(lengths + text)
    i, d = query + tl.arange(0, BLOCK), tl.arange(0, SIZE)
    row = (place * HEADS + head) * length + i
    asked = i < real
    top = tl.load(most + row, mask=asked, other=0.0)
    factor = tl.load(inverse + row, mask=asked, other=0.0)
    mixed = tl.zeros([BLOCK, SIZE], tl.float32)
    column = head * SIZE + d
    if query < real:
        for key in range(0, real, KEYS):
            j = key + tl.arange(0, KEYS)
            inside = (j < real)[None, :] & asked[:, None]
            score = tl.load(scores + row[:, None] * length + j[None, :], mask=inside, other=0.0)
            share = tl.where(inside, _exp(score - top[:, None]) * factor[:, None], 0.0)
            at = (text * length + j)[:, None] * (3 * HEADS * SIZE) + (2 * HEADS * SIZE + column)[None, :]
            value = tl.load(joined + at, mask=(j < real)[:, None], other=0.0)
            mixed = tl.dot(share, value, mixed, input_precision="ieee")
    to = text * length + i
    inside = i < length
    tl.store(out + to[:, None] * (HEADS * SIZE) + column[None, :], mixed, mask=inside[:, None])
    tl.store(ranges + head * total + to, tl.min(mixed, 1), mask=inside)
    tl.store(ranges + (HEADS + head) * total + to, tl.max(mixed, 1), mask=inside)


def attention(joined: Tensor, heads: int, rows: Rows) -> tuple[Tensor, Tensor]:
    """Mixtures [batch, length, width] of queries, keys and values side by side; least and largest [2, heads, pieces].

    Pieces behind a row's length give zeros.
    """
    batch, length = rows.batch, rows.length
    width = joined.shape[-1] // 3
    size, device = width // heads, joined.device
    out = torch.empty((batch, length, width), device=device)
    ranges = torch.empty((2, heads, batch * length), device=device)
    step = min(batch, max(1, _SCORES // (heads * length * length)))
    scores = torch.empty(step * heads * length * length, device=device)
    most, inverse = torch.empty((2, step * heads * length), device=device)
    blocks = triton.cdiv(length, _QUERIES)
    for start in range(0, batch, step):
        some = min(step, batch - start)
        _scores_kernel[(blocks * blocks, heads, some)](
            scores, joined, rows.lengths, start, length, HEADS=heads, SIZE=size, BLOCK=_QUERIES, **_FUSED
        )
        _sums_kernel[(triton.cdiv(length, _KEYS), heads, some)](
            most, inverse, scores, rows.lengths, start, length, HEADS=heads, ROWS=_KEYS, LANES=_LANES, **_FUSED
        )
        _mix_kernel[(blocks, heads, some)](
            out,
            ranges,
            scores,
            most,
            inverse,
            joined,
            rows.lengths,
            start,
            batch * length,
            length,
            HEADS=heads,
            SIZE=size,
            BLOCK=_QUERIES,
            KEYS=_KEYS,
            **_FUSED,
        )
    return out, ranges

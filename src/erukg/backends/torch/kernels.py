"""The steps of `steps.ExactSteps` as Triton kernels: one or two passes over memory between two matrix products.

Only for CUDA devices (and for Triton's interpreter, which runs the same kernels on a CPU). Every kernel keeps to the
order of operations that `steps` describes: `tl.fma` where the CPU fuses a product with a sum and nowhere else,
which is why the compiler is told not to do so on its own; divisions and roots are those of IEEE 754.
"""

# mypy: disable-error-code="import-not-found, import-untyped, untyped-decorator, misc"

from __future__ import annotations

import triton
import triton.language as tl

from erukg.backends.torch.attention import power

__all__ = ["gelu_codes_kernel", "gelu_range_kernel", "norm_kernel", "quantise_kernel", "rescale_kernel"]


@triton.jit
def _nearest(x: tl.tensor) -> tl.tensor:
    # Halves go to even numbers. Good for anything below 2^22, and codes are below 2^8.
    return (x + 12582912.0) - 12582912.0


@triton.jit
def _gelu(x: tl.tensor) -> tl.tensor:
    y = x * 0.70710678118654752440
    a = tl.minimum(tl.abs(y), 3.925)
    s = a * a
    small = tl.fma(-5.99104969e-4, s, 4.99339588e-3)
    small = tl.fma(small, s, -2.67667342e-2)
    small = tl.fma(small, s, 1.12818025e-1)
    small = tl.fma(small, s, -3.76124859e-1)
    small = tl.fma(small, s, 1.28379151e-1)
    small = tl.fma(small, a, a)
    big = tl.fma(1.72948930e-5, a, -3.83208680e-4)
    big = tl.fma(big, a, 3.88393435e-3)
    big = tl.fma(big, a, -2.42545605e-2)
    big = tl.fma(big, a, 1.06777847e-1)
    big = tl.fma(big, a, 6.34846687e-1)
    big = tl.fma(big, a, 1.28717512e-1)
    big = -tl.fma(big, a, a)
    r = tl.fma(big, 1.44269504088896341, 12582912.0) - 12582912.0
    f = tl.fma(r, -6.93145752e-1, big)
    f = tl.fma(r, -1.42860677e-6, f)
    p = tl.fma(1.38319808e-3, f, 8.37550033e-3)
    p = tl.fma(p, f, 4.16689515e-2)
    p = tl.fma(p, f, 1.66664466e-1)
    p = tl.fma(p, f, 4.99999851e-1)
    p = tl.fma(p, f, 1.0)
    p = tl.fma(p, f, 1.0)
    erf = tl.where(a > 0.921875, 1.0 - p * power(r), small)
    erf = tl.where(y < 0, -erf, erf)
    return (0.5 * x) * (erf + 1.0)


@triton.jit
def _rescaled(
    product: tl.tensor,
    at: tl.tensor,
    columns: tl.tensor,
    shift: tl.tensor,
    scale: tl.tensor,
    sums: tl.tensor,
    scales: tl.tensor,
    bias: tl.tensor,
) -> tl.tensor:
    """Values [rows, columns] of an integer product; `shift` and `scale` are those of the text."""
    exact = tl.load(product + at) + shift * tl.load(sums + columns)[None, :]
    factor = scale * tl.load(scales + columns)
    return exact.to(tl.float32) * factor[None, :] + tl.load(bias + columns)[None, :]


@triton.jit
def _parameters(
    ranges: tl.tensor, text: tl.tensor, total: tl.tensor, length: tl.tensor, PARTS: tl.constexpr, LONGEST: tl.constexpr
) -> tl.tensor:
    """Scale and zero point of a text, from the least and largest values of its rows [2, parts, rows]."""
    place = tl.arange(0, LONGEST)
    inside = place < length
    low = tl.zeros([LONGEST], tl.float32)
    high = tl.zeros([LONGEST], tl.float32)
    for part in range(PARTS):
        at = part * total + text * length + place
        low = tl.minimum(low, tl.load(ranges + at, mask=inside, other=0.0))
        high = tl.maximum(high, tl.load(ranges + PARTS * total + at, mask=inside, other=0.0))
    least = tl.min(low, 0)
    span = tl.max(high, 0) - least
    scale = tl.div_rn(span, 255.0)
    scale = tl.where(scale == 0.0, 1.0, scale)
    zero = _nearest(tl.minimum(tl.maximum(tl.div_rn(-least, scale), 0.0), 255.0))
    return scale, zero


@triton.jit
def _code(x: tl.tensor, scale: tl.tensor, zero: tl.tensor) -> tl.tensor:
    code = _nearest(tl.div_rn(x, scale)) + (zero - 128.0)
    return tl.minimum(tl.maximum(code, -128.0), 127.0).to(tl.int8)


@triton.jit
def quantise_kernel(
    codes: tl.tensor,
    scale_out: tl.tensor,
    shift_out: tl.tensor,
    x: tl.tensor,
    ranges: tl.tensor,
    total: tl.tensor,
    length: tl.tensor,
    WIDTH: tl.constexpr,
    STEP: tl.constexpr,
    ROWS: tl.constexpr,
    PARTS: tl.constexpr,
    LONGEST: tl.constexpr,
) -> None:
    first = tl.program_id(0) * ROWS
    text = first // length
    scale, zero = _parameters(ranges, text, total, length, PARTS, LONGEST)
    if first % length == 0:
        tl.store(scale_out + text, scale)
        tl.store(shift_out + text, (128.0 - zero).to(tl.int32))
    rows = first + tl.arange(0, ROWS)
    for start in range(0, WIDTH, STEP):
        at = rows[:, None] * WIDTH + (start + tl.arange(0, STEP))[None, :]
        tl.store(codes + at, _code(tl.load(x + at), scale, zero))


@triton.jit
def gelu_range_kernel(
    ranges: tl.tensor,
    product: tl.tensor,
    shift: tl.tensor,
    scale: tl.tensor,
    sums: tl.tensor,
    scales: tl.tensor,
    bias: tl.tensor,
    lengths: tl.tensor,
    total: tl.tensor,
    length: tl.tensor,
    WIDTH: tl.constexpr,
    STEP: tl.constexpr,
    ROWS: tl.constexpr,
) -> None:
    first = tl.program_id(0) * ROWS
    text = first // length
    of_text, in_text = tl.load(shift + text), tl.load(scale + text)
    rows = first + tl.arange(0, ROWS)
    low = tl.zeros([ROWS, STEP], tl.float32)
    high = tl.zeros([ROWS, STEP], tl.float32)
    for start in range(0, WIDTH, STEP):
        columns = start + tl.arange(0, STEP)
        at = rows[:, None] * WIDTH + columns[None, :]
        value = _gelu(_rescaled(product, at, columns, of_text, in_text, sums, scales, bias))
        low, high = tl.minimum(low, value), tl.maximum(high, value)
    real = rows - text * length < tl.load(lengths + text)
    tl.store(ranges + rows, tl.where(real, tl.min(low, 1), 0.0))
    tl.store(ranges + total + rows, tl.where(real, tl.max(high, 1), 0.0))


@triton.jit
def gelu_codes_kernel(
    codes: tl.tensor,
    scale_out: tl.tensor,
    shift_out: tl.tensor,
    ranges: tl.tensor,
    product: tl.tensor,
    shift: tl.tensor,
    scale: tl.tensor,
    sums: tl.tensor,
    scales: tl.tensor,
    bias: tl.tensor,
    total: tl.tensor,
    length: tl.tensor,
    WIDTH: tl.constexpr,
    STEP: tl.constexpr,
    ROWS: tl.constexpr,
    LONGEST: tl.constexpr,
) -> None:
    first = tl.program_id(0) * ROWS
    text = first // length
    new_scale, zero = _parameters(ranges, text, total, length, 1, LONGEST)
    if first % length == 0:
        tl.store(scale_out + text, new_scale)
        tl.store(shift_out + text, (128.0 - zero).to(tl.int32))
    of_text, in_text = tl.load(shift + text), tl.load(scale + text)
    rows = first + tl.arange(0, ROWS)
    for start in range(0, WIDTH, STEP):
        columns = start + tl.arange(0, STEP)
        at = rows[:, None] * WIDTH + columns[None, :]
        value = _gelu(_rescaled(product, at, columns, of_text, in_text, sums, scales, bias))
        tl.store(codes + at, _code(value, new_scale, zero))


@triton.jit
def rescale_kernel(
    out: tl.tensor,
    product: tl.tensor,
    shift: tl.tensor,
    scale: tl.tensor,
    sums: tl.tensor,
    scales: tl.tensor,
    bias: tl.tensor,
    length: tl.tensor,
    WIDTH: tl.constexpr,
    STEP: tl.constexpr,
    ROWS: tl.constexpr,
) -> None:
    first = tl.program_id(0) * ROWS
    text = first // length
    of_text, in_text = tl.load(shift + text), tl.load(scale + text)
    rows = first + tl.arange(0, ROWS)
    for start in range(0, WIDTH, STEP):
        columns = start + tl.arange(0, STEP)
        at = rows[:, None] * WIDTH + columns[None, :]
        tl.store(out + at, _rescaled(product, at, columns, of_text, in_text, sums, scales, bias))


@triton.jit
def _sum_of(
    x: tl.tensor,
    product: tl.tensor,
    at: tl.tensor,
    columns: tl.tensor,
    shift: tl.tensor,
    scale: tl.tensor,
    sums: tl.tensor,
    scales: tl.tensor,
    bias: tl.tensor,
    ADDED: tl.constexpr,
) -> tl.tensor:
    value = tl.load(x + at)
    if ADDED:
        value = value + _rescaled(product, at, columns, shift, scale, sums, scales, bias)
    return value


@triton.jit
def norm_kernel(
    out: tl.tensor,
    ranges: tl.tensor,
    x: tl.tensor,
    product: tl.tensor,
    shift: tl.tensor,
    scale: tl.tensor,
    sums: tl.tensor,
    scales: tl.tensor,
    bias: tl.tensor,
    weight: tl.tensor,
    offset: tl.tensor,
    lengths: tl.tensor,
    total: tl.tensor,
    length: tl.tensor,
    eps: tl.tensor,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    ADDED: tl.constexpr,
) -> None:
    first = tl.program_id(0) * ROWS
    text = first // length
    of_text, in_text = 0, 1.0
    if ADDED:
        of_text, in_text = tl.load(shift + text), tl.load(scale + text)
    rows = first + tl.arange(0, ROWS)
    lane = tl.arange(0, 8)
    sum8 = tl.zeros([ROWS, 8], tl.float64)
    for start in range(0, WIDTH, 8):
        at = rows[:, None] * WIDTH + (start + lane)[None, :]
        value = _sum_of(x, product, at, start + lane, of_text, in_text, sums, scales, bias, ADDED)
        sum8 += value.to(tl.float64)
    mean = (tl.sum(sum8, 1) / WIDTH).to(tl.float32)[:, None]
    squares = tl.zeros([ROWS, 8], tl.float32)
    for start in range(0, WIDTH, 8):
        at = rows[:, None] * WIDTH + (start + lane)[None, :]
        value = _sum_of(x, product, at, start + lane, of_text, in_text, sums, scales, bias, ADDED) - mean
        squares = tl.fma(value, value, squares)
    four = tl.sum(tl.reshape(squares, [ROWS, 2, 4]), 1)
    variance = tl.sum(tl.sum(tl.reshape(four, [ROWS, 2, 2]), 1), 1)
    spread = tl.sqrt_rn(tl.div_rn(variance, WIDTH * 1.0) + eps)
    inverse = tl.div_rn(1.0, spread)[:, None]
    low = tl.zeros([ROWS, 8], tl.float32)
    high = tl.zeros([ROWS, 8], tl.float32)
    for start in range(0, WIDTH, 8):
        columns = start + lane
        at = rows[:, None] * WIDTH + columns[None, :]
        value = _sum_of(x, product, at, columns, of_text, in_text, sums, scales, bias, ADDED) - mean
        factor = tl.load(weight + columns)[None, :] + tl.zeros([ROWS, 8], tl.float32)
        value = tl.fma(value * inverse, factor, tl.load(offset + columns)[None, :] + tl.zeros([ROWS, 8], tl.float32))
        tl.store(out + at, value)
        low, high = tl.minimum(low, value), tl.maximum(high, value)
    real = rows - text * length < tl.load(lengths + text)
    tl.store(ranges + rows, tl.where(real, tl.min(low, 1), 0.0))
    tl.store(ranges + total + rows, tl.where(real, tl.max(high, 1), 0.0))

"""Max-pooled term weights without ever holding the logits of a whole batch."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import torch
import torch.nn.functional as F

__all__ = ["compiled", "max_pool_terms", "padding"]

T = TypeVar("T")
_FORWARD_ELEMENTS = 1 << 30  # logits alive at once on a GPU: 2 GB in bf16
_FORWARD_ELEMENTS_CPU = 1 << 26
_BACKWARD_ROWS = 1 << 21  # gathered rows alive at once in the sparse gradient


@functools.cache
def compiled(function: Callable[..., T]) -> Callable[..., T]:
    """The function through `torch.compile`: one graph per padded shape, plain code where compiling fails."""
    torch._dynamo.config.recompile_limit = 128
    torch._dynamo.config.suppress_errors = True
    return cast("Callable[..., T]", torch.compile(function, dynamic=False))


def padding(vocabulary: int) -> int:
    """How many columns to add to logits: GPUs multiply far faster when rows begin at aligned addresses."""
    return -vocabulary % 64


def max_pool_terms(
    states: torch.Tensor, mask: torch.Tensor, embeddings: torch.Tensor, bias: torch.Tensor, compile: bool = False
) -> torch.Tensor:
    """Term weights [batch, V] of Eq. 1 from transformed states [batch, length, H].

    Every row of `mask` must begin with a real token. Keeps only the position of each maximum and sends the
    gradient back to it alone, which is exact.
    """
    # A padded position repeats the first state: the maximum stays the same and no logit needs masking.
    filled = torch.where(mask[:, :, None] != 0, states, states[:, :1])
    if torch.is_autocast_enabled(states.device.type):
        filled = filled.to(torch.get_autocast_dtype(states.device.type))
    pooled: torch.Tensor = _MaxPool.apply(filled, embeddings, bias, compile)
    return pooled


def _max(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    value, index = logits.max(1)
    return value.float(), index.to(torch.int16)


class _MaxPool(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(
        ctx: Any, states: torch.Tensor, embeddings: torch.Tensor, bias: torch.Tensor, compile: bool
    ) -> torch.Tensor:
        batch, length, _ = states.shape
        vocabulary = embeddings.shape[0]
        table = F.pad(embeddings.to(states.dtype), (0, 0, 0, padding(vocabulary))).T
        budget = _FORWARD_ELEMENTS if states.is_cuda else _FORWARD_ELEMENTS_CPU
        rounds = max(1, -(-batch * length * vocabulary // budget))
        chunk = max(1, -(-batch // rounds))  # equal chunks: fewer shapes to compile for
        # Compiled it is one kernel; the stock one is far below memory speed along a middle axis.
        reduce = compiled(_max) if compile else _max
        best = torch.empty(batch, vocabulary, dtype=torch.float32, device=states.device)
        where = torch.empty(batch, vocabulary, dtype=torch.int16, device=states.device)
        with torch.autocast(states.device.type, enabled=False):
            for start in range(0, batch, chunk):
                value, index = reduce(torch.matmul(states[start : start + chunk], table))
                best[start : start + chunk] = value[:, :vocabulary]
                where[start : start + chunk] = index[:, :vocabulary]
        weights = torch.log1p(torch.relu_(best.add_(bias)))
        ctx.save_for_backward(states, embeddings, weights, where)
        return weights

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, None]:
        states, embeddings, weights, where = ctx.saved_tensors
        # d log(1+z) / dz = 1/(1+z) = exp(-w); relu passes nothing where w = 0.
        grad = torch.where(weights > 0, grads[0].float() * torch.exp(-weights), 0.0)
        with torch.autocast(states.device.type, enabled=False):
            spread = _sparse_gradient if states.is_cuda else _dense_gradient
            to_states, to_embeddings = spread(states, embeddings, grad, where)
        return to_states.to(states.dtype), to_embeddings.to(embeddings.dtype), grad.sum(0), None


def _sparse_gradient(
    states: torch.Tensor, embeddings: torch.Tensor, grad: torch.Tensor, where: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gather the non-zero (document, term) pairs and add each to its two rows."""
    batch, length, width = states.shape
    flat = states.reshape(batch * length, width)
    to_states = torch.zeros(batch * length, width, dtype=torch.float32, device=states.device)
    to_embeddings = torch.zeros(embeddings.shape, dtype=torch.float32, device=states.device)
    rows, terms = torch.nonzero(grad, as_tuple=True)
    for start in range(0, rows.numel(), _BACKWARD_ROWS):
        row, term = rows[start : start + _BACKWARD_ROWS], terms[start : start + _BACKWARD_ROWS]
        g = grad[row, term][:, None]
        position = row * length + where[row, term].long()
        to_states.index_add_(0, position, embeddings[term].float() * g)
        to_embeddings.index_add_(0, term, flat[position].float() * g)
    return to_states.view(batch, length, width), to_embeddings


def _dense_gradient(
    states: torch.Tensor, embeddings: torch.Tensor, grad: torch.Tensor, where: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The same by matrix products, document chunk by chunk: faster on a CPU, where `index_add_` is slow."""
    batch, length, width = states.shape
    vocabulary = embeddings.shape[0]
    to_states = torch.empty(batch, length, width, dtype=torch.float32, device=states.device)
    to_embeddings = torch.zeros(embeddings.shape, dtype=torch.float32, device=states.device)
    table = embeddings.float()
    chunk = max(1, _FORWARD_ELEMENTS_CPU // (length * vocabulary))
    for start in range(0, batch, chunk):
        part = slice(start, start + chunk)
        spread = torch.zeros(grad[part].shape[0], length, vocabulary, device=states.device)
        spread.scatter_(1, where[part].long()[:, None, :], grad[part][:, None, :])
        to_states[part] = spread @ table
        to_embeddings += spread.reshape(-1, vocabulary).T @ states[part].reshape(-1, width).float()
    return to_states, to_embeddings

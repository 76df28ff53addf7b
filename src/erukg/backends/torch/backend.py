"""The encoder on torch: the shipped model folder, many texts a pass, on a GPU or a CPU."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from erukg.backends.batch import Packed, PackedEncodings, pack, unpack
from erukg.backends.folder import ModelFolder
from erukg.backends.model import ModelBackend
from erukg.backends.torch.network import ARITHMETIC, Network
from erukg.backends.torch.weights import read_weights
from erukg.core.backend import Encoding, Pieces
from erukg.errors import InputError

__all__ = ["TorchBackend"]

Tensor: TypeAlias = torch.Tensor

# Rows of a pass are padded to a multiple of this, terms to the next; both are what matrix units like.
_LENGTH_STEP = 32
_TERM_STEP = 64
# Pieces of a pass, and states times terms: what bounds the memory of a pass.
_PIECES = {"cpu": 1 << 9, "cuda": 1 << 17}
# From this many pieces on, a pass rather ends than take rows that would leave much of it to padding.
_ENOUGH = 1 << 15
_WASTE = 1.15
# About what a piece takes on its way through the network; a pass may have this part of a GPU's memory.
_PIECE_BYTES = 40_000
_MEMORY_SHARE = 0.15
_PRODUCTS = {"cpu": 1 << 23, "cuda": 1 << 27}
# Texts that ask for more terms than this (very long ones) run in passes of their own.
_MANY_TERMS = 1024
# Columns of the whole vocabulary that are multiplied at a time.
_COLUMNS = 64 * 96


class TorchBackend(ModelBackend):
    """The term-importance model (Eq. 1) with its tag head, run by torch.

    It gives what `OnnxBackend` gives up to rounding. With the arithmetic "int8" of an 8-bit model, the default there,
    it follows the order of operations of the CPU, on a GPU by kernels that need Triton, which torch for CUDA brings on
    Linux; without them both still round alike, but single codes differ. Safe to use from several threads, one pass at
    a time.
    """

    def __init__(
        self,
        folder: ModelFolder,
        device: str | torch.device = "cuda",
        arithmetic: str | None = None,
        compiled: bool = False,
    ) -> None:
        super().__init__(folder)
        try:
            self.device = torch.device(device)
        except RuntimeError:
            self.device = torch.device("meta")
        if self.device.type not in _PIECES:
            raise InputError(f"There is no device '{device}' for this program; use cpu or cuda.")
        if self.device.type == "cuda" and (self.device.index or 0) >= torch.cuda.device_count():
            raise InputError(f"torch sees no device '{device}' here; use the device cpu, or auto.")
        self.device_name = str(self.device)
        if arithmetic is None:
            default = "fp32" if self.device.type == "cpu" else "bf16"
            arithmetic = "int8" if folder.precision == "int8" else default
        if arithmetic not in ARITHMETIC:
            raise InputError(f"There is no arithmetic '{arithmetic}'; use one of: {', '.join(ARITHMETIC)}.")
        self.arithmetic = arithmetic
        self.compiled = compiled
        self._turn = threading.Lock()

    def _how(self) -> dict[str, Any]:
        return {"device": self.device_name, "arithmetic": self.arithmetic, "compiled": self.compiled}

    @cached_property
    def _network(self) -> Network:
        """Loaded when first used: a process that only hands texts to another one needs none."""
        table = self.head.scaled_rows(self.every_term)
        network = Network(read_weights(self.folder), table, self.device, self.arithmetic)
        self.check_tag_width(network.tag_width)
        return network

    def warm_up(self, *, compiled: bool = False) -> bool:
        """Load everything now, and warn of a collapsed model; `compiled` also compiles the steps between matrix
        products that have no kernels.

        Returns whether all are compiled: where that fails they stay as they are, slower and otherwise the same.
        """
        probe = Pieces(self.probe, np.arange(len(self.probe) + 1))
        self.warn_if_collapsed(self.encode(probe, self.probe).weights)
        empty = np.empty(0, np.int32)
        texts = [(Pieces(np.full(n, self.vocabulary.sep, np.int32), np.arange(n + 1)), empty) for n in (5, 40, 300)]
        if compiled:
            self._network.compile()
            try:
                for some in (texts[:1], texts):
                    self.encode_batch(some)
                return True
            except Exception:  # a missing compiler, an old card: compiling may fail in as many ways as there are
                self._network.use_plain()
        self.encode_batch(texts)
        return self._network.has_kernels

    @cached_property
    def _room(self) -> int:
        """How many pieces a pass may have."""
        most = _PIECES[self.device.type]
        if self.device.type == "cuda":
            memory = torch.cuda.get_device_properties(self.device).total_memory
            most = min(most, max(1024, int(memory * _MEMORY_SHARE / _PIECE_BYTES)))
        return most

    @cached_property
    def _head_bias(self) -> Tensor:
        return torch.tensor(self.head.bias, device=self.device)

    @cached_property
    def _tag_parts(self) -> list[Tensor]:
        return [torch.tensor(part, device=self.device) for part in self.head.tag_head]

    @cached_property
    def _special(self) -> Tensor:
        return torch.from_numpy(self.is_special).to(self.device)

    @cached_property
    def _columns(self) -> Tensor:
        """The embedding table turned and padded to what matrix units like, for the whole vocabulary at once."""
        table = torch.zeros((self.hidden_size, _up(self.vocab_size, 64)), device=self.device)
        table[:, : self.vocab_size] = self._network.table.T
        return table.to(self._network.half).contiguous()

    @classmethod
    def load(
        cls,
        path: str | Path,
        precision: str | None = None,
        *,
        device: str | torch.device = "cuda",
        arithmetic: str | None = None,
        compiled: bool = False,
    ) -> TorchBackend:
        """Open the model in the folder `path` on a device; `arithmetic` is one of int8, fp32, bf16 and fp16.

        With `compiled`, streams let torch compile the steps between matrix products first, which pays for long ones.
        """
        return cls(ModelFolder.open(Path(path), precision), device, arithmetic, compiled)

    def encode(self, pieces: Pieces, terms: NDArray[np.int32]) -> Encoding:
        """Run the model over one text of any length."""
        return self.encode_batch([(pieces, terms)])[0]

    def encode_batch(self, texts: Sequence[tuple[Pieces, NDArray[np.int32]]]) -> list[Encoding]:
        """Run the model over several texts at once."""
        packed = pack(texts, self.window)
        return unpack(packed, self.encode_packed(packed), [pieces for pieces, _ in texts])

    def encode_packed(self, packed: Packed, top: int = 0) -> PackedEncodings:
        """Run the model over packed texts; with `top`, also the terms of largest weight of the whole vocabulary."""
        # Kernels run on whatever device is the current one.
        current = torch.cuda.device(self.device) if self.device.type == "cuda" else nullcontext()
        with self._turn, torch.inference_mode(), current:
            return self._encode(packed, top)

    def _encode(self, packed: Packed, top: int) -> PackedEncodings:
        device, texts = self.device, len(packed)
        ids, terms = self._send(packed.ids), self._send(packed.terms)
        # One place more than there are terms takes what padding gives.
        peaks = torch.full((len(packed.terms) + 1,), -torch.inf, device=device)
        tags = torch.zeros(len(packed.word_rows), dtype=torch.int8, device=device)
        vectors = torch.zeros((texts, self.hidden_size), device=device)
        best = torch.full((texts, self._columns.shape[1]), -torch.inf, device=device) if top else None
        words = _Words(packed)
        for rows in self._passes(packed):
            lengths, owner = self._send(packed.row_lengths[rows])[:, None], self._send(packed.row_texts[rows])
            place = torch.arange(_up(int(packed.row_lengths[rows].max()) + 2, _LENGTH_STEP), device=device)
            index = self._send(packed.row_starts[rows])[:, None] + place - 1
            row_ids = torch.where(place > 0, ids[index.clamp(0, len(packed.ids) - 1)], self.vocabulary.cls)
            row_ids = torch.where(place > lengths, self.vocabulary.sep, row_ids)
            mask = place < lengths + 2
            states, parts, pooled = self._network.run(row_ids, lengths[:, 0] + 2)
            vectors.index_add_(0, owner, pooled * lengths)
            chosen, first, last = (self._send(part) for part in words.of(rows, len(place)))
            tags[chosen] = self._classify(parts.flatten(0, 1), first, last)
            self._pool(packed, rows, states, mask, terms, peaks)
            if best is not None:
                found = self._whole_vocabulary(states, mask)
                best.scatter_reduce_(0, owner[:, None].expand_as(found), found, "amax")
        weights = torch.log1p((peaks[:-1] + self._head_bias[terms]).clamp(min=0))
        weights = torch.where(self._special[terms], 0.0, weights)
        most = None if best is None else self._best(best, top)
        return PackedEncodings(
            weights.cpu().numpy(),
            tags.cpu().numpy(),
            F.normalize(vectors, dim=1).cpu().numpy(),
            None if most is None else most[1].int().cpu().numpy(),
            None if most is None else most[0].cpu().numpy(),
        )

    def _pool(
        self, packed: Packed, rows: NDArray[np.int64], states: Tensor, mask: Tensor, terms: Tensor, peaks: Tensor
    ) -> None:
        """Multiply the rows' states with the terms that their texts ask for, and raise `peaks` to the largest."""
        texts = packed.row_texts[rows]
        counts = packed.term_counts[texts]
        if not counts.max(initial=0):
            return
        starts = np.cumsum(packed.term_counts, dtype=np.int64)[texts] - counts
        column = torch.arange(_up(int(counts.max()), _TERM_STEP), device=self.device)
        at = self._send(starts)[:, None] + column
        at = torch.where(column < self._send(counts)[:, None], at, len(packed.terms))
        asked = terms[at.clamp(max=len(packed.terms) - 1)]
        products = states.float() @ self._network.table[asked].transpose(1, 2)
        found = products.masked_fill(~mask[:, :, None], -torch.inf).amax(1)
        peaks.scatter_reduce_(0, at.flatten(), found.flatten(), "amax")

    def _send(self, array: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device, torch.int64)

    def _passes(self, packed: Packed) -> Iterator[NDArray[np.int64]]:
        """Rows that run together: alike in length, and no more than memory is meant for."""
        if not len(packed.row_lengths):
            return
        most, room = self._room, _PRODUCTS[self.device.type]
        counts = packed.term_counts[packed.row_texts]
        order = np.lexsort((packed.row_lengths, counts > _MANY_TERMS))
        # Lengths ascend within each kind, so the last row of a pass says how long it is.
        lengths = (packed.row_lengths[order] + 2).tolist()
        terms = counts[order].tolist()
        begin = widest = real = 0
        for i, (length, count) in enumerate(zip(lengths, terms, strict=True)):
            padded = (i + 1 - begin) * _up(length, _LENGTH_STEP)
            width = _up(max(widest, count), _TERM_STEP)
            changed = (count > _MANY_TERMS) != (terms[begin] > _MANY_TERMS)
            wasteful = real >= _ENOUGH and padded > _WASTE * (real + length)
            if i > begin and (changed or wasteful or padded > most or padded * width > room):
                yield order[begin:i]
                begin, widest, real = i, 0, 0
            widest, real = max(widest, count), real + length
        yield order[begin:]

    def _classify(self, parts: Tensor, first: Tensor, last: Tensor) -> Tensor:
        bias, out, out_bias = self._tag_parts
        width = len(bias)
        hidden = torch.relu(parts[first, :width] + parts[last, width:] + bias)
        return F.linear(hidden, out, out_bias).argmax(1).to(torch.int8)

    def _whole_vocabulary(self, states: Tensor, mask: Tensor) -> Tensor:
        """Peaks of every term; never more than some columns of all states at a time."""
        table = self._columns
        states = states.to(table.dtype)
        # A row's first piece stands in for its padding, which then never is the largest alone.
        states = torch.where(mask[:, :, None], states, states[:, :1])
        step = _COLUMNS if self.device.type == "cuda" else table.shape[1]
        parts = [(states @ table[:, at : at + step]).amax(1) for at in range(0, table.shape[1], step)]
        return torch.cat(parts, 1).float()

    def _best(self, peaks: Tensor, top: int) -> tuple[Tensor, Tensor]:
        weights = torch.log1p((peaks[:, : self.vocab_size] + self._head_bias).clamp(min=0))
        weights = torch.where(self._special, 0.0, weights)
        values, terms = weights.topk(min(top, self.vocab_size), dim=1)
        return values, terms


class _Words:
    """The words of packed texts by the row they are tagged in."""

    def __init__(self, packed: Packed) -> None:
        self._packed = packed
        self._order = np.argsort(packed.word_rows, kind="stable")
        self._bounds = np.searchsorted(packed.word_rows[self._order], np.arange(len(packed.row_texts) + 1))

    def of(self, rows: NDArray[np.int64], length: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """The words of some rows, and the places of their first and last pieces in those rows laid end to end."""
        starts, stops = self._bounds[rows], self._bounds[rows + 1]
        words = np.concatenate([self._order[a:b] for a, b in zip(starts.tolist(), stops.tolist(), strict=True)])
        at = np.repeat(np.arange(len(rows)) * length, stops - starts)
        return words, at + self._packed.word_first[words], at + self._packed.word_last[words]


def _up(value: int, step: int) -> int:
    return -(-value // step) * step

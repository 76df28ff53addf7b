"""The network: a bidirectional GRU reads a document, a GRU writes phrases and may copy words of the document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, log_softmax, logsigmoid
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from erukg.errors import ModelError
from erukg.research.baselines.neural.vocabulary import MOST_WORDS, PAD, SPECIALS, START, UNKNOWN

__all__ = ["Batch", "CopyNetwork", "Memory", "NetworkConfig"]

_LEAST = -1e4  # ln p of what cannot be
_SMALLEST = 1e-12


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """The sizes of a network. `most_words` is how much of a document it reads."""

    vocabulary: int
    embedding: int = 160
    hidden: int = 512
    most_words: int = 256
    dropout: float = 0.2

    def __post_init__(self) -> None:
        bounds = {
            "vocabulary": (len(SPECIALS) + 1, MOST_WORDS),
            "embedding": (1, 2048),
            "hidden": (2, 4096),
            "most_words": (1, 4096),
        }
        for name, (low, high) in bounds.items():
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise ModelError(f"The network's '{name}' must be a whole number from {low} to {high}, not {value!r}.")
        if self.hidden % 2:
            raise ModelError(f"The network's 'hidden' must be even, as it is shared by two directions: {self.hidden}.")
        if not isinstance(self.dropout, int | float) or not 0 <= self.dropout < 1:
            raise ModelError(f"The network's 'dropout' must be from 0 to below 1, not {self.dropout!r}.")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> NetworkConfig:
        """The configuration in a JSON object, every field checked."""
        names = {field.name for field in fields(cls)}
        if set(values) != names:
            raise ModelError(f"The network's configuration must have exactly the fields {', '.join(sorted(names))}.")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class Batch(NamedTuple):
    """Documents with their targets, padded.

    source   [documents, words] numbers
    lengths  words of each document, on the CPU
    targets  [documents, phrases, words]: each phrase, its </s>, and <pad> behind them
    """

    source: Tensor
    lengths: Tensor
    targets: Tensor


class Memory(NamedTuple):
    """What was read of a batch of documents, and the state from which writing begins ([documents, hidden])."""

    source: Tensor
    keys: Tensor
    padding: Tensor
    first: Tensor

    def rows(self, index: Tensor) -> Memory:
        """Those of some documents."""
        return Memory(*(part[index] for part in self))


class CopyNetwork(nn.Module):  # type: ignore[misc]
    """A pointer-generator: at every word it weighs its vocabulary against the words of the document.

    Words share one table of embeddings, which also gives the words' scores. Attention is multiplicative, and its
    result is fed to the next step.
    """

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        self.config = config
        size, hidden = config.embedding, config.hidden
        self.embedding = nn.Embedding(config.vocabulary, size, padding_idx=PAD)
        self.encoder = nn.GRU(size, hidden // 2, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(hidden, hidden)
        self.decoder = nn.GRUCell(size + hidden, hidden)
        self.attention = nn.Linear(hidden, hidden, bias=False)
        self.combine = nn.Linear(2 * hidden, hidden)
        self.gate = nn.Linear(hidden, 1)
        self.output = nn.Linear(hidden, size)
        self.bias = nn.Parameter(torch.zeros(config.vocabulary))
        nn.init.normal_(self.embedding.weight, std=size**-0.5)

    def encode(self, source: Tensor, lengths: Tensor) -> Memory:
        """Read documents: `source` [documents, words], `lengths` on the CPU and above 0."""
        embedded = self._drop(self.embedding(self._known(source)))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.encoder(packed)
        keys, _ = pad_packed_sequence(states, batch_first=True, total_length=source.shape[1])
        first = torch.tanh(self.bridge(torch.cat([last[0], last[1]], -1)))
        return Memory(source, self._drop(keys), source == PAD, first)

    def step(self, memory: Memory, last: Tensor, state: Tensor, fed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One more word of every phrase: the new state, what it is written from, and the attention to the source.

        `last` [documents, phrases] are the words before, `state` and `fed` [documents, phrases, hidden] what the step
        before gave as state and output.
        """
        shape = state.shape
        entered = torch.cat([self._drop(self.embedding(self._known(last))), fed], -1)
        state = self.decoder(entered.flatten(0, 1), state.flatten(0, 1)).view(shape)
        scores = self.attention(state) @ memory.keys.transpose(1, 2)
        weights = scores.float().masked_fill(memory.padding[:, None, :], -torch.inf).softmax(-1)
        context = weights.to(memory.keys.dtype) @ memory.keys
        written = torch.tanh(self.combine(torch.cat([context, state], -1)))
        return state, self._drop(written), weights

    def start(self, memory: Memory, phrases: int) -> tuple[Tensor, Tensor, Tensor]:
        """What the first step of so many phrases of every document is given: last word, state and output."""
        state = memory.first[:, None, :].expand(-1, phrases, -1).contiguous()
        last = torch.full(state.shape[:2], START, dtype=torch.long, device=state.device)
        return last, state, torch.zeros_like(state)

    def log_probabilities(self, memory: Memory, written: Tensor, weights: Tensor, extra: int) -> Tensor:
        """ln p of each word, [documents, phrases, vocabulary + extra], for what a step gave."""
        gate = self.gate(written).float()
        out = log_softmax(self._scores(written), -1) + logsigmoid(-gate)
        if extra:
            out = torch.cat([out, out.new_full((*out.shape[:2], extra), _LEAST)], -1)
        # A word that stands in the source several times can be copied from each place; only its column changes.
        same = (memory.source[:, :, None] == memory.source[:, None, :]).float()
        copied = (weights @ same).clamp_min(_SMALLEST).log() + logsigmoid(gate)
        places = memory.source[:, None, :].expand(-1, written.shape[1], -1)
        return out.scatter(2, places, torch.logaddexp(out.gather(2, places), copied))

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Sum of -ln p over the words of all targets with their ends, and how many words these are."""
        memory = self.encode(batch.source, batch.lengths)
        last, state, fed = self.start(memory, batch.targets.shape[1])
        outputs, attentions = [], []
        for place in range(batch.targets.shape[2]):
            state, fed, weights = self.step(memory, last, state, fed)
            outputs.append(fed)
            attentions.append(weights)
            last = batch.targets[:, :, place]
        real = batch.targets != PAD
        written, weights, wanted = torch.stack(outputs, 2)[real], torch.stack(attentions, 2)[real], batch.targets[real]
        document = real.nonzero()[:, 0]
        gate = self.gate(written).float()[:, 0]
        known = wanted < self.config.vocabulary
        scores = log_softmax(self._scores(written), -1)
        generated = scores.gather(1, (wanted * known)[:, None])[:, 0] + logsigmoid(-gate)
        generated = generated.masked_fill(~known, _LEAST)
        copied = (weights * (memory.source[document] == wanted[:, None])).sum(-1).clamp_min(_SMALLEST).log()
        return -torch.logaddexp(generated, copied + logsigmoid(gate)).sum(), real.sum()

    def _scores(self, written: Tensor) -> Tensor:
        return (self.output(written) @ self.embedding.weight.T).float() + self.bias

    def _known(self, numbers: Tensor) -> Tensor:
        return numbers.masked_fill(numbers >= self.config.vocabulary, UNKNOWN)

    def _drop(self, values: Tensor) -> Tensor:
        return dropout(values, self.config.dropout, self.training)

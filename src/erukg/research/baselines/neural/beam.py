"""Beam search: the phrases of every length that the network finds likeliest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from erukg.research.baselines.neural.network import CopyNetwork, Memory
from erukg.research.baselines.neural.vocabulary import END, PAD, START, UNKNOWN, SourceDocument

__all__ = ["Found", "Guide", "beam_search", "read_batch"]

Found = list[tuple[tuple[str, ...], float]]
"""Phrases as words, each with its log probability, best first."""
Guide = Callable[[int, Sequence[tuple[str, ...]]], NDArray[np.float32]]
"""Called with the number of a document and the beginnings of phrases. For each of these it gives a row of log scores
that are added to those of the network: one for every word of the vocabulary and then of the document's `extra`."""

_BATCH = {"cpu": 2, "cuda": 64}


def beam_search(
    network: CopyNetwork,
    documents: Sequence[SourceDocument],
    width: int = 50,
    depth: int = 6,
    guide: Guide | None = None,
) -> list[Found]:
    """The phrases of up to `depth` words that a beam of `width` comes upon, for every document.

    As in CopyRNN phrases of all lengths are kept: every beginning in the beam is also a phrase that ends there. A
    document without words has none.
    """
    network.eval()
    out: list[Found] = [[] for _ in documents]
    order = sorted((n for n in range(len(documents)) if len(documents[n].ids)), key=lambda n: len(documents[n].ids))
    size = _BATCH[next(network.parameters()).device.type]
    for at in range(0, len(order), size):
        numbers = order[at : at + size]
        with torch.inference_mode():
            found = _Search(network, numbers, [documents[n] for n in numbers], width, guide).run(depth)
        for number, phrases in zip(numbers, found, strict=True):
            out[number] = phrases
    return out


def read_batch(network: CopyNetwork, documents: Sequence[SourceDocument]) -> Memory:
    """What the network makes of documents that have words."""
    lengths = torch.tensor([len(document.ids) for document in documents])
    source = torch.full((len(documents), int(lengths.max())), PAD)
    for row, document in enumerate(documents):
        source[row, : len(document.ids)] = torch.from_numpy(document.ids.astype(np.int64))
    return network.encode(source.to(next(network.parameters()).device), lengths)


class _Search:
    """The search for one batch of documents."""

    def __init__(
        self,
        network: CopyNetwork,
        numbers: Sequence[int],
        documents: Sequence[SourceDocument],
        width: int,
        guide: Guide | None,
    ) -> None:
        self.network, self.guide = network, guide
        self.numbers, self.documents, self.width = numbers, documents, width
        self.extra = max(len(document.extra) for document in documents)
        self.memory = read_batch(network, documents)
        device = self.memory.keys.device
        sizes = torch.tensor([len(document) for document in documents], device=device)
        columns = torch.arange(network.config.vocabulary + self.extra, device=device)
        self.impossible = columns[None, :] >= sizes[:, None]

    def run(self, depth: int) -> list[Found]:
        last, state, fed = self.network.start(self.memory, 1)
        totals = torch.zeros(last.shape, device=last.device)
        prefixes: list[list[tuple[int, ...]]] = [[()] for _ in self.documents]
        found: list[list[tuple[tuple[int, ...], float]]] = [[] for _ in self.documents]
        for place in range(depth + 1):
            state, fed, weights = self.network.step(self.memory, last, state, fed)
            scores = self.network.log_probabilities(self.memory, fed, weights, self.extra)
            if self.guide is not None:
                scores += self._guided(prefixes, scores)
            scores += totals[:, :, None]
            if place:
                self._end(found, prefixes, scores[:, :, END])
            if place == depth:
                break
            scores[:, :, [PAD, UNKNOWN, START, END]] = -torch.inf
            scores.masked_fill_(self.impossible[:, None, :], -torch.inf)
            # The best of each row first, which is far quicker than the best of all rows at once.
            best, words = scores.topk(min(self.width, scores.shape[2]), -1)
            totals, chosen = best.flatten(1).topk(min(self.width, best[0].numel()), -1)
            parents, last = chosen // best.shape[2], words.flatten(1).gather(1, chosen)
            state, fed = (part.gather(1, parents[:, :, None].expand(-1, -1, part.shape[2])) for part in (state, fed))
            prefixes = [
                [(*before[parent], word) for parent, word in zip(*pair, strict=True)]
                for before, pair in zip(prefixes, zip(parents.tolist(), last.tolist(), strict=True), strict=True)
            ]
        return [
            [(self._words(phrase, row), score) for phrase, score in sorted(phrases, key=lambda p: -p[1])]
            for row, phrases in enumerate(found)
        ]

    def _end(
        self, found: list[list[tuple[tuple[int, ...], float]]], prefixes: list[list[tuple[int, ...]]], ends: Tensor
    ) -> None:
        """Every beginning in the beam is a phrase too, if it can end there."""
        for phrases, before, scores in zip(found, prefixes, ends.tolist(), strict=True):
            phrases += [(phrase, score) for phrase, score in zip(before, scores, strict=True) if score > -np.inf]

    def _guided(self, prefixes: list[list[tuple[int, ...]]], scores: Tensor) -> Tensor:
        assert self.guide is not None
        out = torch.zeros_like(scores)
        for row, (number, document) in enumerate(zip(self.numbers, self.documents, strict=True)):
            given = np.ascontiguousarray(self.guide(number, [self._words(p, row) for p in prefixes[row]]), np.float32)
            out[row, :, : len(document)] = torch.from_numpy(given).to(out.device)
        return out

    def _words(self, phrase: tuple[int, ...], row: int) -> tuple[str, ...]:
        # A beam wider than what a small vocabulary offers holds impossible words, whose score is -inf.
        document = self.documents[row]
        return tuple(document.word(number) if number < len(document) else "" for number in phrase)

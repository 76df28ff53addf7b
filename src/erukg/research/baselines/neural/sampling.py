"""Sampling: texts drawn word by word from the likeliest words, many of each document."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from erukg.research.baselines.neural.beam import read_batch
from erukg.research.baselines.neural.network import CopyNetwork
from erukg.research.baselines.neural.vocabulary import END, PAD, START, UNKNOWN, SourceDocument

__all__ = ["sample"]


def sample(
    network: CopyNetwork,
    documents: Sequence[SourceDocument],
    seeds: Sequence[int],
    count: int,
    depth: int,
    choices: int = 10,
) -> list[list[tuple[str, ...]]]:
    """`count` texts of up to `depth` words for every document, each word drawn from the `choices` likeliest.

    What is drawn for a document depends on its seed and on no other document. A document without words has none.
    """
    network.eval()
    out: list[list[tuple[str, ...]]] = [[] for _ in documents]
    rows = [number for number, document in enumerate(documents) if len(document.ids)]
    if not rows:
        return out
    batch = [documents[number] for number in rows]
    # A number for every word that may be drawn, [documents, texts, depth].
    chances = np.stack([np.random.default_rng(seeds[number]).random((count, depth)) for number in rows])
    with torch.inference_mode():
        written = _written(network, batch, torch.from_numpy(chances.astype(np.float32)), choices).tolist()
    for number, document, texts in zip(rows, batch, written, strict=True):
        out[number] = [_words(document, text) for text in texts]
    return out


def _written(network: CopyNetwork, batch: Sequence[SourceDocument], chances: Tensor, choices: int) -> Tensor:
    """Numbers of words, in the shape of `chances`: after </s> there are none."""
    memory = read_batch(network, batch)
    device = memory.keys.device
    chances = chances.to(device)
    count, depth = chances.shape[1:]
    extra = max(len(document.extra) for document in batch)
    last, state, fed = network.start(memory, count)
    written = torch.full((len(batch), count, depth), PAD, device=device)
    for place in range(depth):
        state, fed, weights = network.step(memory, last, state, fed)
        scores = network.log_probabilities(memory, fed, weights, extra)
        scores[:, :, [PAD, UNKNOWN, START, END][: 3 if place else 4]] = -torch.inf
        best, words = scores.topk(min(choices, scores.shape[2]), -1)
        # The word in whose share of the sum of probabilities the number falls.
        shares = best.softmax(-1).cumsum(-1)
        chosen = (shares < chances[:, :, place, None]).sum(-1, keepdim=True).clamp_max(words.shape[2] - 1)
        drawn_words = words.gather(2, chosen)[:, :, 0]
        last = torch.where(last == END, END, drawn_words)
        written[:, :, place] = last
        if bool((last == END).all()):
            break
    return written


def _words(document: SourceDocument, text: list[int]) -> tuple[str, ...]:
    until = next((place for place, word in enumerate(text) if word in (END, PAD)), len(text))
    return tuple(document.word(number) if number < len(document) else "" for number in text[:until])

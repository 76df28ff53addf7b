"""Small examples and networks for the trained baselines."""

from __future__ import annotations

from random import Random

import torch

from erukg.research.baselines.neural.model import CopyModel
from erukg.research.baselines.neural.network import CopyNetwork, NetworkConfig
from erukg.research.baselines.neural.vocabulary import SPECIALS, Vocabulary
from erukg.training.baselines.fit import Example, FitOptions

WORDS = "sea ice radar image graph search engine query index term model network deep sparse neural about".split()
TINY = FitOptions(steps=10, batch=16, vocabulary=40, embedding=16, hidden=32, learning_rate=1e-2, dropout=0.1)


def tiny_examples(count: int = 96, seed: int = 0) -> list[Example]:
    """What follows the word "about" is the target: a known word and one of the document's own."""
    random = Random(seed)
    out = []
    for number in range(count):
        before, after = (random.sample(WORDS[:-1], 4) for _ in range(2))
        known, rare = random.choice(WORDS[:-1]), f"rare{number}x"
        text = f"{' '.join(before)} about {known} {rare} {' '.join(after)}."
        out.append(Example(text, (f"{known} {rare}",)))
    return out


def tiny_copy_model(seed: int = 0) -> CopyModel:
    """An untrained network that knows a few words."""
    vocabulary = Vocabulary([*SPECIALS, *WORDS, "."])
    torch.manual_seed(seed)
    return CopyModel(CopyNetwork(NetworkConfig(len(vocabulary), 8, 12, 16, 0.0)), vocabulary, {"baseline": "test"})

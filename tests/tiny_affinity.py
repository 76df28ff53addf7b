"""What tells how near phrases come to texts, learned from nothing: random numbers in which every word has a say."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from erukg.backends.folder import ModelFolder
from erukg.core.affinity import AffinityArrays
from erukg.training.affinity.run import write_with_affinity

FACTS = {"teacher": "chance", "texts": 5, "agreement": 0.5, "steps": 1, "texts_a_step": 2, "rate": 0.1, "seed": 0}


def random_affinity(hidden: int, vocabulary: int, seed: int = 0, size: int = 6, width: int = 10) -> AffinityArrays:
    rng = np.random.default_rng(seed)
    shapes = {
        "inner": (width, hidden),
        "inner_bias": (width,),
        "outer": (size, width),
        "outer_bias": (size,),
        "pieces": (size, hidden),
        "pieces_bias": (size,),
        "weights": (vocabulary,),
    }
    return AffinityArrays.of({name: rng.normal(0, 1, shape) for name, shape in shapes.items()}, hidden, vocabulary)


def write_near(model: Path, out: Path, seed: int = 0) -> Path:
    """Write the model with random numbers and return its path."""
    folder = ModelFolder.open(model)
    arrays = random_affinity(folder.hidden_size, folder.vocab_size, seed)
    write_with_affinity(folder, out, arrays, FACTS, overwrite=False)
    return out

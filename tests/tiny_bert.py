"""A tiny BERT in the shipped format, fp32 and int8, with the tokenizer of `tiny`: random weights, real graphs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from erukg.training.export.folder import write_model_folder
from erukg.training.model import Shape, TermModel
from tiny import vocabulary, write_model


def write_bert(
    path: Path,
    precision: str = "fp32",
    *,
    window: int = 64,
    seed: int = 0,
    exclude: Sequence[str] = (),
    nouns: float = 2.0,
) -> Path:
    """Write a model folder and return its path; of one seed both precisions have the same weights.

    `exclude` names nodes of the graph that int8 leaves exact; with more for `nouns` more words are nouns, at 30 all.
    """
    torch.manual_seed(seed)
    tokenizer = write_model(path.with_name(path.name + "-tokenizer")) / "tokenizer.json"
    shape = Shape(len(vocabulary()), 48, layers=2, heads=4, intermediate_size=96, max_positions=128)
    model = TermModel(shape)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 2:
                parameter.normal_(std=0.25)
            elif not name.endswith("LayerNorm.weight"):
                parameter.normal_(std=0.1)
        # Half of all terms weigh something, and about half of all words are nouns.
        model.tag.out.bias.copy_(torch.tensor([0.0, nouns, 0.0, -3.0, 0.0, 0.0, 0.0, 0.0, 0.0, -12.0]))
    return write_model_folder(model, tokenizer, path, "tiny-bert", precision, window=window, exclude=exclude)

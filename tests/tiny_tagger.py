"""A tagger of words by chance, for the tiny models."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from erukg.training.words.network import WordNetwork, write_graph
from tiny import listed


def make_tagger(path: Path, seed: int = 0) -> WordNetwork:
    torch.manual_seed(seed)
    network = WordNetwork()
    network.eval()
    write_graph(network, path)
    return network


def give_tagger(folder: Path, seed: int = 0) -> Path:
    """The model folder with a random tagger."""
    make_tagger(folder / "tagger.onnx", seed)
    config = json.loads((folder / "config.json").read_text())
    config["files"]["tagger.onnx"] = listed(folder / "tagger.onnx")
    (folder / "config.json").write_text(json.dumps({**config, "tagger": {"teacher": "chance"}}))
    return folder

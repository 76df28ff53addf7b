"""Copies of a model and of a collection that are worth nothing although every checksum in them is right."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from safetensors.numpy import load_file, save_file

from erukg.collection.arrays import PackedLists
from erukg.collection.manifest import write_manifest
from erukg.collection.opening import open_parts
from tiny import listed

Shuffle = Callable[[NDArray[Any]], NDArray[Any]]


def spoil_model(model: Path, out: Path, part: str, seed: int = 0) -> Path:
    """Copy a model folder to `out` with the weights shuffled within each tensor of one of its files (`SPOILS`)."""
    shutil.copytree(model, out)
    rng = np.random.default_rng(seed)
    file = SPOILS[part](out, lambda values: rng.permutation(values.ravel()).reshape(values.shape))
    config = json.loads((out / "config.json").read_text("utf-8"))
    config["files"][file.name] = listed(file)
    (out / "config.json").write_text(json.dumps(config), "utf-8")
    return out


def _spoil_graph(file: Path, shuffle: Shuffle) -> Path:
    graph = onnx.load(str(file))
    for tensor in graph.graph.initializer:
        values = numpy_helper.to_array(tensor)
        # Shapes and axes are short lists of whole numbers, and no weights.
        if values.size > 8:
            tensor.CopyFrom(numpy_helper.from_array(shuffle(values), tensor.name))
    onnx.save(graph, str(file))
    return file


def _spoil_head(folder: Path, shuffle: Shuffle) -> Path:
    return _rewrite(folder / "head.safetensors", lambda _, values: shuffle(values))


def _spoil_ranker(folder: Path, shuffle: Shuffle) -> Path:
    # What the trees' splits lead to; with its other arrays shuffled it would not be a tree, and refused.
    return _rewrite(folder / "ranker.safetensors", lambda name, values: shuffle(values) if name == "value" else values)


def _rewrite(file: Path, change: Callable[[str, NDArray[Any]], NDArray[Any]]) -> Path:
    save_file({name: change(name, values) for name, values in load_file(file).items()}, file)
    return file


#: The files of a model that can be spoilt: what does it, and returns the file.
SPOILS: Mapping[str, Callable[[Path, Shuffle], Path]] = {
    "encoder": lambda folder, shuffle: _spoil_graph(folder / "encoder.int8.onnx", shuffle),
    "head": _spoil_head,
    "ranker": _spoil_ranker,
    "tagger": lambda folder, shuffle: _spoil_graph(folder / "tagger.onnx", shuffle),
}


def spoil_collection(collection: Path, out: Path, seed: int = 0) -> Path:
    """Copy a collection of one segment to `out` with the phrases permuted among its documents."""
    manifest, (segment,), _ = open_parts(collection)
    out.mkdir()
    shutil.copy(collection / manifest.commit.name, out)
    phrases = segment.phrases
    mixed = PackedLists(np.random.default_rng(seed).permutation(phrases.values), phrases.offsets)
    entry = replace(segment, phrases=mixed).write(out / segment.path.name)
    write_manifest(out, replace(manifest, segments=(entry,)))
    return out

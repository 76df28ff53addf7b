"""`ranker.safetensors` of a model folder: the learned ranking of absent phrases."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from erukg.backends.folder import ModelFolder
from erukg.core.absent_features import FEATURES
from erukg.core.ranker import Ranker
from erukg.core.trees import Trees
from erukg.errors import ModelError

__all__ = ["read_ranker", "write_ranker"]

_TYPES = {f.name: np.float32 if f.name in ("threshold", "value") else np.int32 for f in dataclasses.fields(Trees)}


def read_ranker(folder: ModelFolder) -> Ranker | None:
    """The ranking that the model folder holds, checked; None where it holds none."""
    described = folder.config.get("ranker")
    if described is None:
        return None
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = folder.ranker
    try:
        arrays = load_file(path)
        trees = Trees(**{name: arrays[name] for name in _TYPES})
        features = list(described["features"])
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {error}; the model is damaged, copy it again.") from error
    if any(arrays[name].dtype != kind or arrays[name].ndim != 1 for name, kind in _TYPES.items()):
        raise ModelError(f"{path} has arrays of other types than a ranking has; the model is damaged, copy it again.")
    return Ranker.checked(trees, features)


def write_ranker(path: Path, ranker: Ranker) -> list[str]:
    """Write the ranking to `path`; returns the features that `config.json` is to name."""
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(getattr(ranker.trees, name)) for name in _TYPES}, path)
    return list(FEATURES)

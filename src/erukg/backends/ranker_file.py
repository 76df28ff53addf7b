"""`ranker.safetensors` of a model folder: the learned ranking of absent phrases."""

from __future__ import annotations

from pathlib import Path

from erukg.backends.folder import ModelFolder
from erukg.core.ranker import Ranker
from erukg.core.trees import Trees
from erukg.errors import ModelError

__all__ = ["read_ranker", "write_ranker"]


def read_ranker(folder: ModelFolder) -> Ranker | None:
    """The ranking that the model folder holds, checked; None where it holds none."""
    described = folder.config.get("ranker")
    if described is None:
        return None
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = folder.ranker
    try:
        trees = Trees.of(load_file(path))
        features = [str(name) for name in described["features"]]
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{path} cannot be read: {error}; the model is damaged, copy it again.") from error
    if not trees.typed:
        raise ModelError(f"{path} has arrays of other types than a ranking has; the model is damaged, copy it again.")
    return Ranker.checked(trees, features)


def write_ranker(path: Path, ranker: Ranker) -> list[str]:
    """Write the ranking to `path`; returns the features that `config.json` is to name."""
    from safetensors.numpy import save_file

    save_file(ranker.trees.arrays(), path)
    return ranker.names

"""`affinity.safetensors` of a model folder: what tells how near a phrase comes to a text in meaning."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np

from erukg.backends.folder import ModelFolder
from erukg.core.affinity import AffinityArrays
from erukg.errors import ModelError

__all__ = ["read_affinity", "write_affinity"]


def read_affinity(folder: ModelFolder) -> AffinityArrays | None:
    """What the model folder holds of it, checked; None where it holds none."""
    if "affinity" not in folder.extras:
        return None
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return AffinityArrays.of(load_file(folder.affinity), folder.hidden_size, folder.vocab_size)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{folder.affinity} cannot be read: {error}; the model is damaged, copy it again.") from error


def write_affinity(path: Path, arrays: AffinityArrays) -> None:
    """Write it to `path`, with sixteen bits a number."""
    from safetensors.numpy import save_file

    save_file({f.name: np.asarray(getattr(arrays, f.name), np.float16) for f in fields(arrays)}, path)

"""Training the baselines that begin from a model of the transformers library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from erukg.errors import InputError, TrainingError
from erukg.research.baselines.base import digest, model_folder
from erukg.training.baselines import BASED
from erukg.training.baselines.fit import FitOptions
from erukg.training.folders import replace_folder, write_json

__all__ = ["CARD", "train_based"]

CARD = "card.json"
_FITTED = ("seconds", "steps", "seed", "batch")

Train = Callable[[Sequence[Path], Path, Path, FitOptions], int]


def train_based(name: str, files: Sequence[Path], base: Path | None, folder: Path, options: FitOptions) -> int:
    """Fit the baseline from the model in `base` and write it to `folder`; returns the steps that were made.

    The folder is there when the training has ended; one that is there before must be a baseline of this kind.
    """
    kind = BASED[name]
    if base is None:
        raise InputError(f"Training {name} begins from a model; give --base FOLDER, {kind.base}.")
    for path in files:
        if not path.is_file():
            raise InputError(f"There is no file {path}; {name} learns from {kind.files}.")
    source = model_folder(str(base), f"training {name}")
    if folder.exists() and any(folder.iterdir()) and not (folder / CARD).is_file():
        raise TrainingError(f"{folder} exists and is no trained baseline; give another folder or remove it.")
    train: Train = import_module(kind.module).train
    with replace_folder(folder) as part:
        steps = train(files, source, part, options)
        card = {
            "baseline": name,
            "base": {"name": source.name, "sha256": digest(source)},
            "files": {path.name: digest(path) for path in files},
            "options": {key: value for key, value in asdict(options).items() if key in _FITTED},
            "steps": steps,
        }
        write_json(part / CARD, card)
    return steps

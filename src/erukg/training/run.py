"""Training, stage by stage: MLM warm-up, SPLADE (with tags and dense vectors), tags alone.

`python -m erukg.training.run CONFIG.json` runs it without the command line interface's dependencies.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from erukg.errors import ErukgError, TrainingError
from erukg.training.base import load_base
from erukg.training.model import TermModel
from erukg.training.parts import read_weights, write_parts
from erukg.training.presets import TrainConfig, read_values
from erukg.training.trainer import Trainer

__all__ = ["load_trained", "main", "train", "write_model_parts"]


def train(config: TrainConfig, resume: bool = True) -> Path:
    """Run every stage of `config` and return the folder of the finished model (config.output/model).

    With `resume` a run that was interrupted goes on from its last checkpoint: with the same result to the bit
    on a CPU if its stages end by steps. The model is the one with the best development score, or the last
    where the data has no development documents.
    """
    return Trainer(config).run(resume)


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `python -m erukg.training.run`."""
    parser = argparse.ArgumentParser(prog="python -m erukg.training.run", description="Train a term-importance model.")
    parser.add_argument("config", type=Path, help="JSON configuration; may name a preset")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="change a setting, e.g. splade.steps=100",
    )
    parser.add_argument("--no-resume", action="store_true", help="start over even where checkpoints exist")
    parser.add_argument("--parts", type=Path, help="also write the weights here in fp16 files of at most 15 MiB")
    options = parser.parse_args(arguments)
    try:
        trainer = Trainer(TrainConfig.from_dict(read_values(options.config, options.set)))
        try:
            trainer.run(resume=not options.no_resume)
        finally:
            # Also a refused model travels: its figures may be what one wants to see.
            if options.parts is not None and trainer.finished:
                write_model_parts(trainer.output / "model", options.parts)
    except (ErukgError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def write_model_parts(model: str | Path, target: str | Path) -> None:
    """Copy a finished model folder with its weights in fp16 parts; `load_base` reads either."""
    model, target = Path(model), Path(target)
    write_parts(read_weights(model), target)
    for name in ("config.json", "run.json"):
        if (model / name).is_file():
            shutil.copyfile(model / name, target / name)


def load_trained(folder: str | Path) -> TermModel:
    """The model of a finished run, whole or in parts."""
    model, has_head = load_base(folder)
    if not has_head:
        raise TrainingError(f"{folder} has no term-weight head; train it first.")
    model.eval()
    return model


if __name__ == "__main__":
    sys.exit(main())

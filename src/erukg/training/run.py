"""Training, stage by stage: MLM warm-up, SPLADE (with tags and dense vectors), tags alone.

`python -m erukg.training.run CONFIG.json` runs it without the command line interface's dependencies.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from erukg.errors import ErukgError
from erukg.training.base import read_weights, split_weights
from erukg.training.config import TrainConfig, read_values
from erukg.training.trainer import Trainer

__all__ = ["main", "train"]


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
    change = "change a setting, e.g. splade.steps=100"
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help=change)
    parser.add_argument("--no-resume", action="store_true", help="start over even where checkpoints exist")
    parser.add_argument("--parts", type=Path, help="also write the weights here in fp16 files of at most 15 MiB")
    options = parser.parse_args(arguments)
    try:
        trainer = Trainer(TrainConfig.from_dict(read_values(options.config, options.set)))
        try:
            trainer.run(resume=not options.no_resume)
        finally:
            # A model that is refused is written too: its figures may be what one wants to see.
            if options.parts is not None and trainer.finished:
                model = trainer.output / "model"
                split_weights(read_weights(model), options.parts)  # `load_base` reads either
                for name in ("config.json", "run.json"):
                    shutil.copyfile(model / name, options.parts / name)
    except (ErukgError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

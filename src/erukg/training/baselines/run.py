"""Training a baseline from files in one go, or in two halves: examples packed here, the network trained elsewhere.

    python -m erukg.training.baselines.run pack tpg corpus.jsonl.xz -o tpg.npz.xz
    python -m erukg.training.baselines.run fit tpg.npz.xz -o tpg --seconds 480

The second half needs no more than torch, NumPy and safetensors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from erukg.errors import ErukgError, InputError
from erukg.research.baselines.base import digest
from erukg.research.baselines.neural.model import CopyModel
from erukg.training.baselines import BASELINES, baseline
from erukg.training.baselines.fit import FitOptions, fit
from erukg.training.baselines.packing import Packed, pack

__all__ = ["main", "train_baseline"]


def train_baseline(name: str, files: Sequence[Path], folder: Path, options: FitOptions) -> CopyModel:
    """Make the examples of a baseline and fit its network.

    What was stopped goes on when it is called again, with the examples made then: they lie beside the folder until
    the end.
    """
    kind = baseline(name)
    for path in files:
        if not path.is_file():
            raise InputError(f"There is no file {path}; {name} learns from {kind.files}.")
    sources = {path.name: digest(path) for path in files}
    choices = [name, sources, options.seed, options.vocabulary, options.most_words, options.longest]
    key = hashlib.sha256(json.dumps(choices).encode()).hexdigest()
    made = folder.with_name(f".{folder.name}.{key[:16]}.npz")
    if not made.is_file():
        packed = pack(kind.examples(files, options.seed), options.vocabulary, options.most_words, options.longest)
        made.parent.mkdir(parents=True, exist_ok=True)
        packed.save(made)
    model = fit(Packed.load(made), folder, options, card={"baseline": name, "files": sources})
    made.unlink()
    return model


def _pack(given: argparse.Namespace) -> None:
    kind = baseline(given.name)
    packed = pack(kind.examples(given.files, given.seed), given.vocabulary, given.words, kind.longest)
    packed.save(given.output)
    print(f"{given.output}: {json.dumps(packed.describe())}")


def _fit(given: argparse.Namespace) -> None:
    options = FitOptions(
        seconds=given.seconds,
        steps=given.steps,
        seed=given.seed,
        batch=given.batch,
        learning_rate=given.rate,
        device=given.device,
        embedding=given.embedding,
        hidden=given.hidden,
        dropout=given.dropout,
        most_words=given.words,
        longest=baseline(given.name).longest,
    )
    fit(Packed.load(given.packed), given.output, options, card={"baseline": given.name})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m erukg.training.baselines.run", description=__doc__)
    commands = parser.add_subparsers(required=True)
    first = commands.add_parser("pack", help="Make examples of files and write them as arrays.")
    first.set_defaults(run=_pack)
    first.add_argument("name", choices=list(BASELINES))
    first.add_argument("files", nargs="+", type=Path)
    first.add_argument("--vocabulary", type=int, default=FitOptions.vocabulary, help="Words known.")
    second = commands.add_parser("fit", help="Train a network on packed examples.")
    second.set_defaults(run=_fit)
    second.add_argument("packed", type=Path)
    second.add_argument("--name", choices=list(BASELINES), required=True)
    duration = second.add_mutually_exclusive_group(required=True)
    duration.add_argument("--seconds", type=float)
    duration.add_argument("--steps", type=int)
    second.add_argument("--batch", type=int, default=FitOptions.batch, help="Documents in a step.")
    second.add_argument("--rate", type=float, default=FitOptions.learning_rate, help="Learning rate.")
    second.add_argument("--dropout", type=float, default=FitOptions.dropout)
    second.add_argument("--embedding", type=int, default=FitOptions.embedding)
    second.add_argument("--hidden", type=int, default=FitOptions.hidden)
    second.add_argument("--device", help="cpu or cuda.")
    for command in (first, second):
        command.add_argument("-o", "--output", type=Path, required=True)
        command.add_argument("--seed", type=int, default=0)
        command.add_argument("--words", type=int, default=FitOptions.most_words, help="Words read of a document.")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one half; what goes wrong is one sentence on standard error."""
    given = _parser().parse_args(arguments)
    try:
        given.run(given)
    except ErukgError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

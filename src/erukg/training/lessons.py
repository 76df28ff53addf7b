"""What teachers say of each document, asked once: its largest term weights, with its title and without.

A folder of arrays, two rows a document (first without its title), of the mean of the teachers' term weights. Students
read it instead of running every teacher at every step, which for large teachers takes most of the time.

`python -m erukg.training.lessons DATA --teacher MODEL --teacher MODEL -o FOLDER` writes it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from erukg.errors import ErukgError, TrainingError
from erukg.io.progress import progress
from erukg.training.base import load_base
from erukg.training.config import TrainConfig
from erukg.training.data import Batches, Group, TrainingData
from erukg.training.folders import prepared_folder, read_json, write_json
from erukg.training.model import TermModel

__all__ = ["FORMAT", "Lessons", "main", "write_lessons"]

FORMAT = "erukg-lessons"
# So many of the largest weights are kept; models have some two hundred that are not zero.
_KEPT = 320
_BATCH = 512


class Lessons:
    """The lessons of a folder, in a device's memory."""

    def __init__(self, folder: str | Path, data: TrainingData, device: torch.device) -> None:
        folder = Path(folder)
        try:
            meta = read_json(folder / "meta.json")
            arrays = [np.load(folder / name, allow_pickle=False) for name in ("terms.npy", "weights.npy")]
        except (OSError, ValueError) as error:
            raise TrainingError(f"{folder} holds no lessons ({error}); write them anew.") from error
        rows = 2 * (len(data.offsets) - 1)
        if meta.get("format") != FORMAT or any(array.shape != (rows, _KEPT) for array in arrays):
            raise TrainingError(f"The lessons in {folder} are of other documents than {data.folder}; write them anew.")
        self._terms, self._weights = (torch.from_numpy(array).to(device) for array in arrays)
        self._vocabulary = data.vocab_size

    def terms(self, documents: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
        """Term weights [n, V] of documents, of which some are `kept` with their title."""
        rows = 2 * documents + kept.long()
        out = torch.zeros(len(rows), self._vocabulary, device=rows.device)
        return out.scatter_(1, self._terms[rows].long(), self._weights[rows].float())


def write_lessons(
    teachers: Sequence[TermModel], data: TrainingData, out: str | Path, config: TrainConfig, device: torch.device
) -> None:
    """Ask the teachers, on `device`, of every document of `data`, and write what they say to the folder `out`."""
    if data.vocab_size > np.iinfo(np.int16).max:
        raise TrainingError(f"Lessons know vocabularies of at most {np.iinfo(np.int16).max} pieces.")
    batches = Batches(data, config)
    numbers = np.repeat(np.arange(len(data.offsets) - 1), 2)
    starts, lengths = batches.spans(numbers, np.arange(len(numbers)) % 2 == 1)
    # By length, so that little is padding and few shapes are compiled for.
    order = np.argsort(lengths, kind="stable")
    with prepared_folder(Path(out), FORMAT) as folder, progress("lessons", total=len(order), lines=True) as bar:
        shape = (len(order), _KEPT)
        terms = np.lib.format.open_memmap(folder / "terms.npy", "w+", np.int16, shape)
        weights = np.lib.format.open_memmap(folder / "weights.npy", "w+", np.float16, shape)
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            found, values = _ask(teachers, batches.documents(starts[rows], lengths[rows]), device)
            terms[rows], weights[rows] = found, values
            bar.advance(len(rows))
        terms.flush()
        weights.flush()
        write_json(folder / "meta.json", {"format": FORMAT, "version": 1, "documents": len(data.offsets) - 1})


def _ask(
    teachers: Sequence[TermModel], group: Group, device: torch.device
) -> tuple[NDArray[np.int16], NDArray[np.float16]]:
    """The terms of largest mean weight of some texts, and these weights."""
    ids, mask = torch.from_numpy(group.ids).to(device).long(), torch.from_numpy(group.mask).to(device)
    with torch.no_grad(), torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
        said = [teacher.terms(teacher.encode(ids, mask)) for teacher in teachers]
    best = torch.topk(sum(said[1:], start=said[0]) / len(said), _KEPT)
    return best.indices.to(torch.int16).cpu().numpy(), best.values.to(torch.float16).cpu().numpy()


def main(arguments: list[str] | None = None) -> int:
    """Entry point of `python -m erukg.training.lessons`."""
    parser = argparse.ArgumentParser(prog="python -m erukg.training.lessons", description=__doc__)
    parser.add_argument("data", type=Path, help="folder written by 'erukg train prepare'")
    parser.add_argument("--teacher", action="append", required=True, type=Path, help="model folder; may be repeated")
    parser.add_argument("-o", "--output", required=True, type=Path, help="folder to write")
    parser.add_argument("--length", type=int, default=256, help="how many pieces of a document are read")
    options = parser.parse_args(arguments)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        teachers = [load_base(folder)[0].to(device).eval().requires_grad_(False) for folder in options.teacher]
        for teacher in teachers:
            teacher.compiled = device.type == "cuda"
        config = TrainConfig(document_length=options.length)
        write_lessons(teachers, TrainingData(options.data), options.output, config, device)
    except (ErukgError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Fitting the network of the trained baselines: one loop for all of them, which goes on where it was stopped."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from erukg.errors import ModelError, TrainingError
from erukg.research.baselines.base import usual_device
from erukg.research.baselines.neural.model import CopyModel
from erukg.research.baselines.neural.network import Batch, CopyNetwork, NetworkConfig
from erukg.research.baselines.neural.vocabulary import END, PAD
from erukg.training import checkpoint
from erukg.training.baselines.packing import Example, Packed, pack
from erukg.training.folders import read_json, write_json

__all__ = ["Example", "FitOptions", "cut_alike", "find_device", "fit"]

_CHECKPOINTS = "checkpoints"
_EVERY_SECONDS = 60.0
_SHOWN_EVERY = 10.0
_WARM_UP = 200
_EVALUATIONS = 10
_MOST_HELD_OUT = 500


@dataclass(frozen=True)
class FitOptions:
    """How to fit: for so many seconds or so many steps. Under the same seed a fit by steps on a CPU is repeatable.

    batch          documents in a step
    vocabulary     words; `embedding` and `hidden` are the other sizes of the network
    most_words     how much of a document is read
    longest        words of a target at most
    """

    seconds: float | None = None
    steps: int | None = None
    seed: int = 0
    batch: int = 128
    learning_rate: float = 1e-3
    device: str | None = None
    vocabulary: int = 50_000
    embedding: int = 160
    hidden: int = 512
    dropout: float = 0.2
    most_words: int = 256
    longest: int = 6

    def __post_init__(self) -> None:
        if (self.seconds is None) == (self.steps is None):
            raise TrainingError("Say for how long to train: a time or a number of steps, one of them.")
        if not (self.seconds or self.steps or 0) > 0 or self.batch < 1 or not self.learning_rate > 0:
            raise TrainingError("Time, steps, batch and learning rate of a training must be above 0.")

    def progress(self, step: int, elapsed: float) -> float:
        """How much of the training is done, from 0 to 1."""
        done = step / self.steps if self.steps is not None else elapsed / (self.seconds or 1.0)
        return min(1.0, done)


def fit(
    examples: Iterable[Example] | Packed,
    folder: Path,
    options: FitOptions,
    *,
    card: Mapping[str, Any] | None = None,
    say: Callable[[str], None] = print,
) -> CopyModel:
    """Train a network and write it to `folder`: the one with the least loss on the hundredth of documents held out.

    A fit that was stopped goes on from its last checkpoint, at most a minute old, when it is called again with the
    same examples and options; one that was finished is loaded. `card` is added to the model's card.
    """
    packed = (
        examples
        if isinstance(examples, Packed)
        else pack(examples, options.vocabulary, options.most_words, options.longest)
    )
    options = replace(options, vocabulary=len(packed.vocabulary))
    run = _fingerprint(packed, options)
    if (finished := _finished(folder, run)) is not None:
        say(f"{folder} holds the finished model already.")
        return finished
    return _Fit(packed, folder, options, run, dict(card or {}), say).run()


def _fingerprint(packed: Packed, options: FitOptions) -> str:
    values = {name: value for name, value in asdict(options).items() if name != "device"}
    return hashlib.sha256(json.dumps([packed.sha256, values], sort_keys=True).encode()).hexdigest()


def _finished(folder: Path, run: str) -> CopyModel | None:
    """The model of the same run if it is complete; anything else in the folder must be of this run."""
    begun = folder / _CHECKPOINTS / "run.json"
    if begun.is_file():
        try:
            same = read_json(begun) == {"run": run}
        except (OSError, ValueError):
            same = False
        if not same:
            raise TrainingError(
                f"{folder} holds a training of other examples or options; give another folder or remove it."
            )
        return None
    if not folder.exists() or not any(folder.iterdir()):
        return None
    try:
        model = CopyModel.load(folder)
    except ModelError:
        model = None
    if model is None or model.card.get("run") != run:
        raise TrainingError(f"{folder} exists and is not of this training; give another folder or remove it.")
    return model


def find_device(name: str | None) -> torch.device:
    """The device asked for, by default the GPU where there is one."""
    if name not in (None, "cpu", "cuda"):
        raise TrainingError(f"There is no device '{name}' to train on; use cpu or cuda.")
    if name == "cuda" and not torch.cuda.is_available():
        raise TrainingError("torch finds no GPU to train on; leave --device out to train on the CPU.")
    return torch.device(name or usual_device())


def cut_alike(pool: NDArray[np.int64], lengths: NDArray[np.int64], size: int) -> list[NDArray[np.int64]]:
    """A pool of documents in batches of about the same length, which leave little to pad."""
    ordered = pool[np.argsort(lengths[pool], kind="stable")]
    return [ordered[n : n + size] for n in range(0, len(ordered), size)]


class _Data:
    """Batches of packed examples, put together on the device."""

    def __init__(self, packed: Packed, options: FitOptions, device: torch.device) -> None:
        self.packed, self.options, self.device = packed, options, device
        self.source, self.targets = (
            torch.from_numpy(part.astype(np.int32)).to(device) for part in (packed.source, packed.targets)
        )
        self.lengths = np.diff(packed.source_at)
        order = np.random.default_rng([options.seed, 1]).permutation(len(packed))
        held = min(_MOST_HELD_OUT, max(1, len(packed) // 100)) if len(packed) > 1 else 0
        self.held_out, self.learned = order[:held], np.sort(order[held:])
        self.per_epoch = -(-len(self.learned) // options.batch)
        self._epoch: tuple[int, list[NDArray[np.int64]]] = (-1, [])

    def at(self, step: int) -> Batch:
        """The batch of a step: every epoch takes all documents, in an order of its own."""
        epoch, place = divmod(step, self.per_epoch)
        if self._epoch[0] != epoch:
            random = np.random.default_rng([self.options.seed, 2, epoch])
            batches = self._alike(random.permutation(self.learned))
            self._epoch = epoch, [batches[n] for n in random.permutation(len(batches))]
        return self.batch(self._epoch[1][place])

    def held_out_batches(self) -> Iterable[Batch]:
        return map(self.batch, self._alike(self.held_out))

    def _alike(self, documents: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        size = self.options.batch
        pools = range(0, len(documents), 64 * size)
        return [batch for at in pools for batch in cut_alike(documents[at : at + 64 * size], self.lengths, size)]

    def batch(self, documents: NDArray[np.int64]) -> Batch:
        packed = self.packed
        source = self._padded(self.source, packed.source_at[documents], self.lengths[documents])
        first, counts = packed.document_at[documents], packed.document_at[documents + 1] - packed.document_at[documents]
        places = np.arange(counts.max())
        real = places < counts[:, None]
        targets = np.where(real, first[:, None] + places, 0)
        lengths = np.where(real, packed.target_at[targets + 1] - packed.target_at[targets], 0)
        flat = self._padded(self.targets, packed.target_at[targets].ravel(), lengths.ravel(), 1)
        ends = torch.from_numpy(np.where(real, lengths, 0).ravel()).to(self.device)
        flat.scatter_(1, ends[:, None], torch.from_numpy(np.where(real, END, PAD).reshape(-1, 1)).to(self.device))
        return Batch(source, torch.from_numpy(self.lengths[documents]), flat.view(*real.shape, -1))

    def _padded(self, flat: Tensor, at: NDArray[np.int64], lengths: NDArray[np.int64], more: int = 0) -> Tensor:
        begin, length = torch.from_numpy(at).to(self.device), torch.from_numpy(lengths).to(self.device)
        places = torch.arange(int(lengths.max()) + more, device=self.device)
        index = (begin[:, None] + places).clamp_max(len(flat) - 1)
        return flat[index].long().masked_fill(places >= length[:, None], PAD)


class _Fit:
    """One run, from its last checkpoint to the end."""

    def __init__(
        self,
        packed: Packed,
        folder: Path,
        options: FitOptions,
        run: str,
        card: dict[str, Any],
        say: Callable[[str], None],
    ) -> None:
        self.options, self.folder, self.say, self.packed, self.run_id = options, folder, say, packed, run
        self.device = find_device(options.device)
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
        torch.manual_seed(options.seed)
        sizes = NetworkConfig(
            len(packed.vocabulary), options.embedding, options.hidden, options.most_words, options.dropout
        )
        self.network = CopyNetwork(sizes).to(self.device)
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), options.learning_rate, fused=self.device.type == "cuda"
        )
        self.data = _Data(packed, options, self.device)
        self.state = checkpoint.State(stage="fit", best=math.inf)
        self.card = card

    def run(self) -> CopyModel:
        self._resume()
        state, options = self.state, self.options
        began = self.saved = self.shown = time.monotonic()
        before, first = state.elapsed, state.step
        losses: list[Tensor] = []
        evaluated = int(options.progress(state.step, state.elapsed) * _EVALUATIONS)
        while (progress := options.progress(state.step, state.elapsed)) < 1:
            losses.append(self._step(progress))
            state.step += 1
            now = time.monotonic()
            state.elapsed = before + now - began
            progress = options.progress(state.step, state.elapsed)
            if now - self.shown > _SHOWN_EVERY:
                speed = (state.step - first) / (now - began)
                self._show(progress, float(torch.stack(losses).mean()), speed)
                losses = []
            if progress >= 1 or int(progress * _EVALUATIONS) > evaluated:
                evaluated = int(progress * _EVALUATIONS)
                self._evaluate()
                self._save()
            elif now - self.saved > _EVERY_SECONDS:
                self._save()
        return self._finish()

    def _step(self, progress: float) -> Tensor:
        # Seeded by the step, so that a run that was stopped drops out the same values when it goes on.
        torch.manual_seed(self.options.seed * 1_000_003 + self.state.step)
        rate = min(1.0, (self.state.step + 1) / _WARM_UP) * (0.02 + 0.98 * (0.5 + 0.5 * math.cos(math.pi * progress)))
        for group in self.optimizer.param_groups:
            group["lr"] = rate * self.options.learning_rate
        self.network.train()
        total, count = self.network(self.data.at(self.state.step))
        loss = total / count
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()
        return loss.detach()

    def _evaluate(self) -> None:
        """The loss on what is held out; the best network so far is kept in the folder."""
        self.network.eval()
        with torch.no_grad():
            sums = [self.network(batch) for batch in self.data.held_out_batches()]
        loss = sum(float(total) for total, _ in sums) / max(1, sum(int(count) for _, count in sums))
        if not math.isfinite(loss):
            raise TrainingError("The training diverged: its loss is no number any more; try a lower learning rate.")
        self.say(f"step {self.state.step}  held-out loss {loss:.4f}")
        if loss < self.state.best:
            self.state.best, self.state.best_step = loss, self.state.step
            self._model().save(self.folder)

    def _model(self, **more: Any) -> CopyModel:
        card = {
            **self.card,
            "run": self.run_id,
            "data": self.packed.describe(),
            "options": {name: value for name, value in asdict(self.options).items() if name != "device"},
            "device": torch.cuda.get_device_name() if self.device.type == "cuda" else "cpu",
            "torch": torch.__version__,
            "held_out_loss": self.state.best,
            "best_step": self.state.best_step,
            "finished": False,
            **more,
        }
        return CopyModel(self.network, self.packed.vocabulary, card, self.folder)

    def _show(self, progress: float, loss: float, speed: float) -> None:
        self.shown = time.monotonic()
        documents = speed * self.options.batch
        self.say(f"step {self.state.step}  {progress:.0%}  loss {loss:.4f}  {documents:.0f} documents/s")

    def _save(self) -> None:
        checkpoint.save(self.folder / _CHECKPOINTS, self.network, self.optimizer, self.state)
        self.saved = time.monotonic()

    def _resume(self) -> None:
        folder = self.folder / _CHECKPOINTS
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "run.json", {"run": self.run_id})
        found = checkpoint.latest(folder)
        if found is not None:
            path, self.state = found
            checkpoint.load_into(path, self.network, self.optimizer)
            self.say(f"Going on from step {self.state.step}.")

    def _finish(self) -> CopyModel:
        best = CopyModel.load(self.folder, str(self.device))
        seconds = round(self.state.elapsed, 1)
        card = {**best.card, "steps": self.state.step, "seconds": seconds, "finished": True}
        model = CopyModel(best.network, best.vocabulary, card, self.folder)
        model.save(self.folder)
        shutil.rmtree(self.folder / _CHECKPOINTS)
        self.say(f"{self.state.step} steps in {seconds:.0f} s; held-out loss {self.state.best:.4f}")
        return model

"""Work that takes longer, killed: a training run, a part of a Ray job."""

from __future__ import annotations

import hashlib
import importlib
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from campaign.killing import Struck
from campaign.kinds import Kind, Outcome
from campaign.operations import Operation, Undisturbed
from campaign.points import WAYS, Points
from campaign.samples import Samples, has
from campaign.serving import Service

__all__ = ["Long"]


class RayPart(Operation):
    """One partition of a job, as a worker of the cluster does it: results and mark appear whole, the mark last."""

    def __init__(self, samples: Samples) -> None:
        super().__init__("ray part")
        from erukg.integrations.ray.keyphrase_job import KeyphraseJob
        from erukg.integrations.ray.partitions import Partition

        self._job = KeyphraseJob(command="extract", model=str(samples.model), collection=False)
        self._partition = Partition(0, str(samples.corpus), str(samples.corpus), "jsonl", rows=14)

    def prepare(self, folder: Path) -> None:
        pass

    def work(self, folder: Path) -> None:
        from erukg.integrations.ray.plan import DONE
        from erukg.integrations.ray.storage import Store
        from erukg.integrations.ray.tasks import run_partition

        outcome = run_partition(self._job, "campaign", Store(str(folder)), self._partition, {})
        assert outcome.status == DONE, outcome

    def state(self, folder: Path) -> str | None:
        part, marks = folder / "part-000000.jsonl", list((folder / "_erukg" / "done").glob("*"))
        if not part.exists():
            assert not marks, "a mark vouches for what is not there"
            return None
        return f"{hashlib.sha256(part.read_bytes()).hexdigest()} {[hash_of(mark) for mark in marks]}"

    def leftovers(self, folder: Path) -> set[str]:
        return {path.name for path in folder.iterdir()} - {"_erukg", "part-000000.jsonl"}


def hash_of(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Training(Operation):
    """A few steps of every stage; resumed, it comes to the same weights, bit for bit."""

    seconds = 300.0
    strangers_inside = False
    leaves_threads = True

    def __init__(self, samples: Samples) -> None:
        super().__init__("train")
        importlib.import_module("erukg.training.run")
        from training.conftest import write_base, write_prepared

        self._data = write_prepared(samples.folder / "prepared", documents=40, triplets=60)
        self._base = write_base(samples.folder / "train-base", self._data / "tokenizer.json")

    def prepare(self, folder: Path) -> None:
        pass

    def work(self, folder: Path) -> None:
        import torch

        from erukg.training.config import Stage, preset
        from erukg.training.run import train

        torch.set_num_threads(1)
        stage = Stage(steps=6, batch=4, learning_rate=1e-3)
        places = {"data": str(self._data), "base": str(self._base), "output": str(folder / "run"), "device": "cpu"}
        often = {"checkpoint_every": 2, "log_every": 2, "dev_every": 3, "dev_docs": 4, "min_terms": 0.0}
        train(preset("tiny").replace(**places, **often, max_terms_share=1.0, mlm=stage, splade=stage, tags=stage))

    def state(self, folder: Path) -> str | None:
        model = folder / "run" / "model"
        if not model.exists():
            return None
        from erukg.training.base import read_weights

        digest = hashlib.sha256()
        for name, tensor in sorted(read_weights(model).items()):
            digest.update(name.encode() + tensor.numpy().tobytes())
        return digest.hexdigest()


class Long(Kind):
    """Killed at a random moment; parts of a job at calls that change files, too."""

    share = 2.0

    def __init__(self, samples: Samples) -> None:
        super().__init__(samples)
        makers: list[Callable[[Samples], Operation]] = []
        if has("pyarrow"):
            makers.append(RayPart)
        if has("torch"):
            makers.append(Training)
        self._runs = [Undisturbed(make(samples), samples.folder / "undisturbed") for make in makers]
        self._service = Service(samples) if has("uvicorn") and has("starlette") else None

    def blow(self, rng: random.Random, number: int, scratch: Path) -> Outcome:
        chosen = rng.choice([*self._runs, None] if self._service is not None else self._runs)
        if chosen is None:
            assert self._service is not None
            return Outcome(Counter([f"service: {self._service.kill(rng)}"]))
        struck = Struck(chosen, scratch)
        if rng.random() < 0.6:
            ending = struck.killed(rng.uniform(0.0, 1.1 * chosen.seconds))
        else:
            ending = struck.killed(0, Points(struck.folder, rng.randrange(len(chosen.points)), rng.choice(WAYS)))
        found = struck.check()
        struck.complete()
        return Outcome(Counter([f"{chosen.operation.name}: {found if ending.killed else 'too late'}"]))

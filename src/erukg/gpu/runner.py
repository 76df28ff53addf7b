"""A generator's runner with the model on a device, and the same for what collections keep of documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from erukg.backends.threads import ThreadRunner
from erukg.collection import Collection
from erukg.core.results import Keyphrases
from erukg.core.runner import Request
from erukg.core.streams import Answer
from erukg.errors import InputError
from erukg.gpu.jobs import KeyphraseJob
from erukg.gpu.pipeline import CHUNK, DeviceStream
from erukg.gpu.queries import SPARE, SearchPlan
from erukg.gpu.server import ServerPlan

if TYPE_CHECKING:
    from erukg.backends.torch.backend import TorchBackend
    from erukg.core.generator import Generator

__all__ = ["DeviceRunner", "SearchOn", "server_plan"]

SearchOn: TypeAlias = Literal["device", "workers"]
ItemT = TypeVar("ItemT")


class DeviceRunner(ThreadRunner):
    """Runs a generator's streams in processes around a device: one runs the model, `workers` do the rest.

    `search` is where neighbours are searched for: where the model runs ("device"), or in the worker processes
    ("workers"), which also do so when the device has too little memory; None is the device if that is a GPU.
    """

    def __init__(
        self,
        backend: TorchBackend,
        collection: Collection | None = None,
        *,
        search: SearchOn | None = None,
        chunk: int = CHUNK,
    ) -> None:
        self._backend, self._collection = backend, collection
        self._search: SearchOn = search or ("workers" if backend.device_name == "cpu" else "device")
        self._chunk = chunk

    def generate(
        self, generator: Generator, items: Iterable[ItemT], request: Request, workers: int | None
    ) -> Iterator[Answer[ItemT, Keyphrases]]:
        # Opened here and not with the first item, so that what cannot be streamed is refused at once.
        return self._run(self.open(generator, request, workers), items)

    def _run(self, stream: DeviceStream[Keyphrases], items: Iterable[ItemT]) -> Iterator[Answer[ItemT, Keyphrases]]:
        with stream:
            yield from stream.run(items, self._chunk)

    def open(self, generator: Generator, request: Request, workers: int | None = None) -> DeviceStream[Keyphrases]:
        """A stream whose processes stay for several runs."""
        return DeviceStream(*self.plan(generator, request), workers)

    def plan(self, generator: Generator, request: Request) -> tuple[ServerPlan, KeyphraseJob]:
        """What the server and the workers of such a stream are told."""
        collection = self._collection
        if generator.backend is not self._backend or generator.background is not collection:
            raise InputError("This runner was made for another model or collection than the generator's.")
        if generator.tagger is not None:
            raise InputError(
                "Streams on a device take the model's own tags; leave the tagger out, or use the device cpu."
            )
        job = KeyphraseJob.of(self._backend.folder, generator, collection, request)
        plan = server_plan(self._backend, job.top)
        if job.collection is not None and request.settings.uses_neighbours and self._search == "device":
            search = SearchPlan(job.collection, job.commit, request.settings.neighbours + SPARE)
            plan = replace(plan, search=search)
        return plan, job


def server_plan(backend: TorchBackend, top: int) -> ServerPlan:
    """How the process that runs the model is to run it."""
    return ServerPlan(
        backend.folder.path.absolute(),
        backend.folder.precision,
        backend.device_name,
        backend.arithmetic,
        backend.compiled,
        top,
    )

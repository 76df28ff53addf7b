"""The analyser of collections with its model on a device: processes beside it parse texts and find their phrases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from erukg.collection.analyser import choices_of
from erukg.collection.encoded import TOP_PHRASES, EncodedDocument
from erukg.collection.weights import MOST_TERMS
from erukg.core.settings import Settings
from erukg.core.streams import Answer
from erukg.gpu.jobs import CollectionJob
from erukg.gpu.pipeline import DeviceStream
from erukg.gpu.runner import server_plan

if TYPE_CHECKING:
    from erukg.backends.torch.backend import TorchBackend

__all__ = ["DeviceAnalyser"]


class DeviceAnalyser:
    """`Analyser` over a model on a device: what `ModelAnalyser` gives, up to rounding.

    Of the vocabulary's weights it keeps as many as a collection can, the largest. With `keep_open` the processes stay
    from one call of `encode` to the next, until `close`.
    """

    def __init__(
        self,
        backend: TorchBackend,
        *,
        workers: int | None = None,
        phrases: int = TOP_PHRASES,
        settings: Settings | None = None,
        keep_open: bool = False,
    ) -> None:
        self._keep_open = keep_open
        self.fingerprint = backend.term_space
        self.vocab_size = backend.vocab_size
        settings = settings or Settings()
        self.choices = choices_of(phrases, settings)
        job = CollectionJob(backend.folder.path.absolute(), MOST_TERMS + 1, phrases, settings)
        self._stream = DeviceStream(server_plan(backend, job.top), job, workers)

    def encode(self, texts: Iterable[str]) -> Iterator[Answer[str, EncodedDocument]]:
        """What a collection keeps of each text, in order."""
        try:
            yield from self._stream.run(texts)
        finally:
            if not self._keep_open:
                self.close()

    def close(self) -> None:
        """End the processes."""
        self._stream.close()

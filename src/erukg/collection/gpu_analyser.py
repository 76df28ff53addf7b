"""The analyser with its model on a GPU: processes beside it parse texts and find their phrases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from erukg.collection.encoded import TOP_PHRASES, EncodedDocument
from erukg.collection.weights import MOST_TERMS
from erukg.encoder import BatchEncoder
from erukg.settings import Settings

__all__ = ["GpuAnalyser"]


class GpuAnalyser:
    """`StreamAnalyser` over an encoder on a device: what `ModelAnalyser` gives, up to rounding.

    Of the vocabulary's weights it keeps as many as a collection can, the largest.
    """

    def __init__(
        self,
        encoder: BatchEncoder,
        *,
        workers: int | None = None,
        phrases: int = TOP_PHRASES,
        settings: Settings | None = None,
    ) -> None:
        self._encoder = encoder
        self._workers = workers
        self._phrases = phrases
        self._settings = settings or Settings()

    @property
    def fingerprint(self) -> str:
        return self._encoder.term_space

    @property
    def vocab_size(self) -> int:
        return self._encoder.vocab_size

    def __call__(self, texts: Sequence[str]) -> list[EncodedDocument]:
        return list(self.stream(texts))

    def stream(self, texts: Iterable[str]) -> Iterator[EncodedDocument]:
        from erukg.gpu import stream_encoded

        return stream_encoded(
            self._encoder,
            texts,
            top=MOST_TERMS + 1,
            phrases=self._phrases,
            settings=self._settings,
            workers=self._workers,
        )

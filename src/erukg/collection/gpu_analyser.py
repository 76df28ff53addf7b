"""The analyser with its model on a GPU: processes beside it parse texts and find their phrases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from erukg.backends import BatchEncoder
from erukg.collection.encoded import TOP_PHRASES, EncodedDocument
from erukg.collection.weights import MOST_TERMS
from erukg.core.settings import Settings

if TYPE_CHECKING:
    from erukg.gpu.pipeline import Standing

__all__ = ["GpuAnalyser"]


class GpuAnalyser:
    """`StreamAnalyser` over an encoder on a device: what `ModelAnalyser` gives, up to rounding.

    Of the vocabulary's weights it keeps as many as a collection can, the largest. With `standing` the processes stay
    from one stream to the next.
    """

    def __init__(
        self,
        encoder: BatchEncoder,
        *,
        workers: int | None = None,
        phrases: int = TOP_PHRASES,
        settings: Settings | None = None,
        standing: bool = False,
    ) -> None:
        self._encoder = encoder
        self._workers = workers
        self._phrases = phrases
        self._settings = settings or Settings()
        self._standing: Standing | None = None
        if standing:
            from erukg.gpu import standing_encoded

            self._standing = standing_encoded(
                encoder, top=MOST_TERMS + 1, phrases=phrases, settings=self._settings, workers=workers
            )

    @property
    def fingerprint(self) -> str:
        return self._encoder.term_space

    @property
    def vocab_size(self) -> int:
        return self._encoder.vocab_size

    def __call__(self, texts: Sequence[str]) -> list[EncodedDocument]:
        return list(self.stream(texts))

    def stream(self, texts: Iterable[str]) -> Iterator[EncodedDocument]:
        if self._standing is not None:
            return self._standing.stream(texts)
        from erukg.gpu import stream_encoded

        return stream_encoded(
            self._encoder,
            texts,
            top=MOST_TERMS + 1,
            phrases=self._phrases,
            settings=self._settings,
            workers=self._workers,
        )

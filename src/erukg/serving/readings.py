"""The texts read last, kept so that another setting re-ranks their phrases without running the model again."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TypeAlias

from erukg.core.backend import Encoding
from erukg.core.results import Keyphrases
from erukg.core.settings import Settings
from erukg.generator import KeyphraseGenerator, Reading

__all__ = ["RecentReadings"]

_Key: TypeAlias = tuple[bytes, str | None, int, int]


class RecentReadings:
    """`generate` with a memory of the last few texts; gives what the generator gives. Thread-safe.

    Texts are remembered by their hash, `most` of them and `characters` characters in all.
    """

    def __init__(self, generator: KeyphraseGenerator, most: int = 16, characters: int = 1_000_000) -> None:
        self._generator = generator
        self._most = most
        self._characters = characters
        self._kept: OrderedDict[_Key, tuple[int, Reading, Encoding]] = OrderedDict()
        self._lock = threading.Lock()

    def generate(
        self, text: str, top_k: int, settings: Settings, *, explain: bool = False, id: str | None = None
    ) -> Keyphrases:
        """As `KeyphraseGenerator.generate`."""
        key = _key(text, id, settings)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
        if found is None:
            reading = self._generator.read(text, top_k, settings, id=id)
            found = (len(text), reading, self._generator.backend.encode(reading.pieces, reading.terms))
            self._keep(key, found)
        _, reading, encoding = found
        return self._generator.finish(reading, encoding, top_k, settings, explain=explain, id=id)

    def _keep(self, key: _Key, found: tuple[int, Reading, Encoding]) -> None:
        with self._lock:
            self._kept[key] = found
            while self._kept and (
                len(self._kept) > self._most or sum(size for size, _, _ in self._kept.values()) > self._characters
            ):
                self._kept.popitem(last=False)


def _key(text: str, id: str | None, settings: Settings) -> _Key:
    """What a reading depends on: the text, and of the settings only which neighbours and how many of their phrases."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    if not settings.uses_neighbours:
        return digest, id, 0, 0
    return digest, id, settings.neighbours, settings.neighbour_candidates

"""The encodings of recent texts, kept so that other settings rank their phrases without running the model again."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TypeAlias

from erukg.core.analysis import Prepared
from erukg.core.backend import Encoding
from erukg.core.results import Keyphrases
from erukg.core.settings import Settings
from erukg.generator import KeyphraseGenerator

__all__ = ["EncodingCache"]

_Key: TypeAlias = tuple[bytes, str | None, int, int, int]


class EncodingCache:
    """`generate` with a least-recently-used cache; gives what the generator gives. Thread-safe.

    Texts are identified by their hash; at most `entries` of them with `characters` characters in all are kept.
    """

    def __init__(self, generator: KeyphraseGenerator, entries: int = 16, characters: int = 1_000_000) -> None:
        self._generator = generator
        self._most = entries
        self._characters = characters
        self._entries: OrderedDict[_Key, tuple[int, Prepared, Encoding]] = OrderedDict()
        self._lock = threading.Lock()

    def generate(
        self, text: str, top_k: int, settings: Settings, *, explain: bool = False, id: str | None = None
    ) -> Keyphrases:
        """As `KeyphraseGenerator.generate`."""
        key = _key(text, id, settings)
        with self._lock:
            entry = self._entries.get(key)
            if entry is not None:
                self._entries.move_to_end(key)
        if entry is None:
            prepared = self._generator.prepare((id, text), settings)
            entry = (len(text), prepared, self._generator.backend.encode(prepared.pieces, prepared.terms))
            self._add(key, entry)
        _, prepared, encoding = entry
        return self._generator.complete(prepared, encoding, top_k, settings, explain=explain)

    def _add(self, key: _Key, entry: tuple[int, Prepared, Encoding]) -> None:
        with self._lock:
            self._entries[key] = entry
            while self._entries and (
                len(self._entries) > self._most or sum(size for size, _, _ in self._entries.values()) > self._characters
            ):
                self._entries.popitem(last=False)


def _key(text: str, id: str | None, settings: Settings) -> _Key:
    """What an entry depends on: the text, and of the settings only which neighbours and how many of their phrases."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    if not settings.uses_neighbours:
        return digest, id, 0, 0, 0
    return digest, id, settings.neighbours, settings.search_words, settings.neighbour_candidates

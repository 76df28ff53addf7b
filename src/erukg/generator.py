"""`KeyphraseGenerator`: the method put together with a model, a collection and what runs them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from erukg.backends import OnnxBackend, find_device, find_model
from erukg.backends.threads import ThreadRunner, ordered_map
from erukg.collection import Collection, bundled_collection
from erukg.core.search_generator import SearchGenerator
from erukg.core.settings import Settings
from erukg.core.tagging import Tagger
from erukg.errors import InputError
from erukg.languages import language_of

if TYPE_CHECKING:
    from erukg.collection import Analyser

__all__ = ["KeyphraseGenerator", "load_analyser"]


class KeyphraseGenerator(SearchGenerator):
    """Finds the phrases that describe a text, both those in it and those not. Thread-safe.

    >>> generator = KeyphraseGenerator.from_pretrained()
    >>> [k.phrase for k in generator.generate(text).present]
    """

    _default_runner = ThreadRunner

    @classmethod
    def from_pretrained(
        cls,
        model: str | Path | None = None,
        collection: str | Path | Literal[False] | None = None,
        *,
        tagger: Tagger | None = None,
        settings: Settings | None = None,
        threads: int = 1,
        device: str | None = None,
        language: Literal["en"] | None = None,
    ) -> KeyphraseGenerator:
        """Load a model and a collection: None means the bundled one, otherwise a folder.

        `collection=False` works without one: only present phrases are found. `threads` is how many cores a single
        document may use; `generate_batch` uses all cores by itself, one document each. `device` is where the model
        runs: the CPU, "cuda" or "cuda:1", or "auto" for a GPU if there is one; a GPU needs `erukg[gpu]`.
        `language="en"` says that all texts are English, so that none is looked at for its language.
        """
        if language not in (None, "en"):
            raise InputError(f"The language is 'en', or None to look at each text, not {language!r}.")
        path, chosen, detector = find_model(model), find_device(device), language_of if language is None else None
        if chosen is None:
            backend = OnnxBackend.load(path, threads=threads)
            opened = _open(collection, backend.term_space)
            return cls(backend, opened, tagger=tagger, settings=settings, language_of=detector)
        from erukg.backends.torch.backend import TorchBackend
        from erukg.gpu import DeviceRunner

        torch_backend = TorchBackend.load(path, device=chosen)
        opened = _open(collection, torch_backend.term_space)
        runner = DeviceRunner(torch_backend, opened)
        return cls(torch_backend, opened, tagger=tagger, settings=settings, runner=runner, language_of=detector)


def load_analyser(
    model: str | Path | None = None,
    device: str | None = None,
    threads: int | None = None,
    *,
    phrases: int | None = None,
    settings: Settings | None = None,
    term_weights: bool = True,
    keep_open: bool = False,
) -> Analyser:
    """What turns texts into what a collection keeps of them, on all cores (or `threads`), or on a device.

    `phrases` is how many are kept of each document, chosen by `settings`. Without `term_weights`, for a collection that
    keeps none, a CPU takes half the time. With `keep_open` the processes around a device stay open between calls.
    """
    from erukg.collection.analyser import ModelAnalyser
    from erukg.collection.encoded import TOP_PHRASES

    path, chosen = find_model(model), find_device(device)
    kept = TOP_PHRASES if phrases is None else phrases
    if chosen is None:
        mapper = partial(ordered_map, threads=threads)
        loaded = OnnxBackend.load(path)
        return ModelAnalyser(loaded, phrases=kept, settings=settings, mapper=mapper, term_weights=term_weights)
    from erukg.backends.torch.backend import TorchBackend
    from erukg.gpu import DeviceAnalyser

    backend = TorchBackend.load(path, device=chosen)
    return DeviceAnalyser(backend, workers=threads, phrases=kept, settings=settings, keep_open=keep_open)


def _open(collection: str | Path | Literal[False] | None, term_space: str) -> Collection | None:
    if collection is False:
        return None
    path = Path(collection) if collection is not None else bundled_collection(term_space)
    return Collection.open(path) if path is not None else None

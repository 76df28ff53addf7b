"""`KeyphraseGenerator`: the method put together with a model, a collection and what runs them."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Collection as AnyCollection
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from erukg.backends import OnnxBackend, find_device, find_model
from erukg.backends.threads import ThreadRunner, cores
from erukg.collection import Collection, bundled_collection
from erukg.core.arguments import checked
from erukg.core.inputs import Text, single_item
from erukg.core.results import Keyphrases
from erukg.core.search_generator import SearchGenerator
from erukg.core.settings import Settings
from erukg.core.tagging import Tagger
from erukg.errors import InputError
from erukg.languages import language_of

if TYPE_CHECKING:
    from erukg.collection import Analyser
    from erukg.subjects import SubjectRanking, Suggester, Suggestions, Vocabulary

__all__ = ["KeyphraseGenerator", "default_generator", "extract", "generate", "load_analyser"]


class Wanted(TypedDict, total=False):
    """What `generate` takes by name."""

    diversity: float | None
    min_confidence: float | None
    exclude: AnyCollection[str] | None
    must_have: AnyCollection[str] | None
    explain: bool
    id: str | int | None


class KeyphraseGenerator(SearchGenerator):
    """Finds the phrases that describe a text, both those in it and those not. Thread-safe.

    A pickled one names its model and collection, which are opened again where it is unpickled; a copy shares them.

    >>> generator = KeyphraseGenerator.from_pretrained()
    >>> [k.phrase for k in generator.generate(text).present]
    """

    _default_runner = ThreadRunner

    def __repr__(self) -> str:
        documents = "None" if self.background is None else f"<{len(self.background):,} documents>"
        return f"{type(self).__name__}(model={self.backend.name!r}, collection={documents})"

    @classmethod
    @checked
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
        processes: bool = False,
    ) -> KeyphraseGenerator:
        """Load a model and a collection: None means the bundled one, otherwise a folder or a bundled model's name.

        `collection=False` works without one: only present phrases are found. `threads` is how many cores a single
        document may use; streams such as `generate_batch` use four cores, one document each. With `processes` streams
        of more than some hundred documents have a process for each core, which is faster and takes some 220 MB a
        process. `device` is where the model runs: the CPU, "cuda" or "cuda:1", or "auto" for a GPU if there is one; a
        GPU needs `erukg[gpu]`. `language="en"` says that all texts are English, so that none is looked at for its
        language.
        """
        if language not in (None, "en"):
            raise InputError(f"The language is 'en', or None to look at each text, not {language!r}.")
        path, chosen, detector = find_model(model), find_device(device), language_of if language is None else None
        if chosen is None:
            backend = OnnxBackend.load(path, threads=threads)
            opened = _open(collection, backend.term_space)
            return cls(
                backend, opened, tagger=tagger, settings=settings, runner=_runner(processes), language_of=detector
            )
        from erukg.backends.torch.backend import TorchBackend
        from erukg.gpu import DeviceRunner

        torch_backend = TorchBackend.load(path, device=chosen)
        opened = _open(collection, torch_backend.term_space)
        runner = DeviceRunner(torch_backend, opened)
        return cls(torch_backend, opened, tagger=tagger, settings=settings, runner=runner, language_of=detector)

    async def agenerate(
        self, text: Text, top_k: int = 10, settings: Settings | None = None, **wanted: Unpack[Wanted]
    ) -> Keyphrases:
        """`generate` for programs on asyncio: the event loop goes on while threads work, one per core."""
        work = partial(self.generate, text, top_k, settings, **wanted)
        return await asyncio.get_running_loop().run_in_executor(_threads(os.getpid()), work)

    def suggest(
        self,
        text: Text,
        vocabulary: Vocabulary | str | Path | Sequence[str] | None = None,
        top_k: int = 10,
        *,
        tagged: Collection | str | Path | None = None,
        ranking: SubjectRanking | str | Path | None = None,
        min_confidence: float = 0.0,
        new_terms: int = 0,
        id: str | int | None = None,
    ) -> Suggestions:
        """The best `top_k` concepts of a vocabulary for a text, and up to `new_terms` terms that it lacks.

        `vocabulary` is one that was read, a file or folder of one, or a list of tags. `tagged` is a collection whose
        documents carry tags; without a vocabulary the tags themselves are suggested. `ranking` was learned from such a
        collection by `erukg train suggest`. What these are prepared to is kept for the next call; `suggester` gives it
        to use for many texts.
        """
        chosen = self.suggester(vocabulary, tagged=tagged, ranking=ranking)
        item = single_item(text, id)
        return chosen.suggest(item, top_k, min_confidence=min_confidence, new_terms=new_terms)

    def suggester(
        self,
        vocabulary: Vocabulary | str | Path | Sequence[str] | None = None,
        *,
        tagged: Collection | str | Path | None = None,
        ranking: SubjectRanking | str | Path | None = None,
    ) -> Suggester:
        """What `suggest` works with, prepared once; the one for the same files is kept until others are given."""
        from erukg.subjects import SubjectRanking, Suggester, Vocabulary

        key = _identity(vocabulary), _identity(tagged), _identity(ranking)
        held: tuple[Any, Suggester] | None = getattr(self, "_suggester", None)
        if held is not None and held[0] == key:
            return held[1]
        if isinstance(vocabulary, str | Path):
            vocabulary = Vocabulary.load(vocabulary)
        elif vocabulary is not None and not isinstance(vocabulary, Vocabulary):
            vocabulary = Vocabulary.of(vocabulary)
        opened = Collection.open(tagged) if isinstance(tagged, str | Path) else tagged
        learned = SubjectRanking.load(ranking) if isinstance(ranking, str | Path) else ranking
        made = Suggester(self, vocabulary, opened, learned)
        self._suggester = key, made
        return made


class _Default:
    """The generator that `erukg.generate` works with."""

    lock = threading.Lock()
    loaded: KeyphraseGenerator | None = None


def default_generator() -> KeyphraseGenerator:
    """The generator with the bundled model and collection, loaded when first asked for and shared by all threads."""
    with _Default.lock:
        if _Default.loaded is None:
            _Default.loaded = KeyphraseGenerator.from_pretrained()
        return _Default.loaded


def _unlock() -> None:
    # A process that was forked has no thread that would let go of the lock.
    _Default.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_unlock)


def generate(text: Text, top_k: int = 10, settings: Settings | None = None, **wanted: Unpack[Wanted]) -> Keyphrases:
    """The keyphrases of a text, by the default generator: `KeyphraseGenerator.generate`, with all that it takes:
    `diversity`, `min_confidence`, `exclude`, `must_have`, `explain` and `id`.

    >>> erukg.generate("...", top_k=5, exclude=["patients"]).phrases
    """
    return default_generator().generate(text, top_k, settings, **wanted)


def extract(text: Text, top_k: int = 10, settings: Settings | None = None, **wanted: Unpack[Wanted]) -> Keyphrases:
    """The keyphrases in a text, by the default generator: `KeyphraseGenerator.extract`, with all that it takes."""
    return default_generator().extract(text, top_k, settings, **wanted)


@cache
def _threads(process: int) -> ThreadPoolExecutor:
    """The threads of a process; one that was forked has none of its parent's."""
    return ThreadPoolExecutor(cores(), thread_name_prefix="erukg-async")


@checked
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
    from erukg.collection.encoded import TOP_PHRASES

    path, chosen = find_model(model), find_device(device)
    kept = TOP_PHRASES if phrases is None else phrases
    if chosen is None:
        from erukg.gpu.processes import ProcessAnalyser

        loaded = OnnxBackend.load(path)
        return ProcessAnalyser(loaded, phrases=kept, settings=settings, term_weights=term_weights, workers=threads)
    from erukg.backends.torch.backend import TorchBackend
    from erukg.gpu import DeviceAnalyser

    backend = TorchBackend.load(path, device=chosen)
    return DeviceAnalyser(backend, workers=threads, phrases=kept, settings=settings, keep_open=keep_open)


def _runner(processes: bool) -> ThreadRunner:
    if not processes:
        return ThreadRunner()
    from erukg.gpu.processes import ProcessRunner

    return ProcessRunner()


def _identity(given: object) -> object:
    """What tells whether the same is given again: a file's state, a list's content, or the object itself."""
    if isinstance(given, str | Path):
        path = Path(given)
        newest = max((each.stat().st_mtime_ns for each in [path, *path.glob("*.json")] if each.exists()), default=0)
        return str(path.absolute()), newest
    return tuple(given) if isinstance(given, list | tuple) else given


def _open(collection: str | Path | Literal[False] | None, term_space: str) -> Collection | None:
    if collection is False:
        return None
    path = Path(collection) if collection is not None else bundled_collection(term_space)
    return Collection.open(path) if path is not None else None

"""This package's own generator as a system to evaluate."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sized
from functools import cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from erukg.core.settings import Settings
from erukg.research.evaluation.metrics import DEPTH
from erukg.research.evaluation.records import Record
from erukg.research.evaluation.systems import Options, changed

if TYPE_CHECKING:
    from erukg.generator import KeyphraseGenerator
    from erukg.taggers import Tagger

__all__ = ["Ours", "extracting", "generating"]

# Parts of the package on which no prediction depends: whoever makes a collection or runs many documents at once changes
# nothing about a document's phrases that the collection's own hash would not show.
_BESIDE = (
    *(
        "evaluation",
        "cli",
        "training",
        "baselines",
        "benchmark",
        "serving",
        "report",
        "integrations",
        "readers",
        "assets",
    ),
    *("gpu", "parallel.py", "expansion.py", "_version.py"),
    *(f"collection/{name}.py" for name in ("benchmark", "build", "writer", "merging", "slimming", "checking", "lock")),
    *(f"collection/{name}.py" for name in ("analyser", "gpu_analyser", "encoded", "disk")),
)


class Ours:
    """`KeyphraseGenerator` with given settings; `extract` sets α = β = 1 and leaves the collection closed."""

    def __init__(self, name: str, options: Options, extract: bool) -> None:
        self.name = name
        make = Settings.paper if options.paper else Settings
        settings = make().replace(**options.settings)
        self.settings = settings.extraction() if extract else settings
        self._options = options
        self._extract = extract

    @cached_property
    def generator(self) -> KeyphraseGenerator:
        loaded = _load(self._options.model, False if self._extract else self._options.collection)
        if self._tagger is None:
            return loaded
        from erukg.generator import KeyphraseGenerator

        return KeyphraseGenerator(loaded.encoder, loaded.background, tagger=self._tagger[0])

    @cached_property
    def _tagger(self) -> tuple[Tagger, dict[str, str]] | None:
        if self._options.tagger is None:
            return None
        from erukg.research.baselines.tagged import named_tagger

        return named_tagger(self._options.tagger)

    def describe(self) -> Mapping[str, Any]:
        return {
            "settings": self.settings.to_dict(),
            "model": describe_model(self.generator),
            "collection": describe_collection(self.generator) if self.settings.uses_neighbours else None,
            **({} if self._tagger is None else {"tagger": self._tagger[1]}),
            "top_k": DEPTH,
            "code": code_hash(),
        }

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        texts = ((record.id, record.text) for record in records)
        for result in self.generator.generate_batch(texts, DEPTH, self.settings, threads=self._options.threads):
            yield (
                [k.phrase for k in result.present if k.score > 0],
                [k.phrase for k in result.absent if k.score > 0],
            )


@lru_cache(maxsize=2)  # variants that differ in settings share a model and a collection
def _load(model: str | None, collection: str | Literal[False] | None) -> KeyphraseGenerator:
    from erukg.generator import KeyphraseGenerator

    return KeyphraseGenerator.from_pretrained(model, collection)


def generating(name: str, options: Options) -> Ours:
    return Ours(name, changed(options, name), extract=False)


def extracting(name: str, options: Options) -> Ours:
    return Ours(name, changed(options, name), extract=True)


def describe_model(generator: KeyphraseGenerator) -> dict[str, Any]:
    """What tells one model from another, its precision included."""
    encoder = generator.backend
    out: dict[str, Any] = {"weights": encoder.fingerprint}
    folder = getattr(encoder, "folder", None)
    if folder is not None:
        listed = json.dumps(folder.config["files"], sort_keys=True).encode()
        out |= {
            "name": folder.name,
            "precision": folder.precision,
            "files": hashlib.sha256(listed).hexdigest(),
        }
    return out


def describe_collection(generator: KeyphraseGenerator) -> dict[str, Any] | None:
    """How many documents it has, and the hash of its manifest, which itself holds the checksums of its parts."""
    background = generator.background
    if background is None:
        return None
    out: dict[str, Any] = {"made_with": background.fingerprint}
    if isinstance(background, Sized):
        out["documents"] = len(background)
    folder = getattr(background, "folder", None)
    if folder is not None:
        digest = hashlib.sha256()
        for file in sorted(Path(folder).glob("*.json")):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
        out["manifest"] = digest.hexdigest()
    return out


def code_hash(parts: Collection[str] | None = None) -> str:
    """A hash of the code that makes predictions, so that changed code does not meet stored ones.

    `parts` are the files and folders of the package that count; None: all on which our own depend.
    """
    root = Path(str(files("erukg")))
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        part = file.relative_to(root)
        names = (part.parts[0], part.as_posix())
        if not any(name in _BESIDE for name in names) if parts is None else names[0] in parts:
            digest.update(part.as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()

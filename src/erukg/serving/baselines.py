"""Other extractors, for comparison: those of `erukg.research.baselines` that need nothing but installed packages."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.core.document import Document
from erukg.core.tagging import tag_classes
from erukg.generator import KeyphraseGenerator
from erukg.research.baselines.base import Baseline
from erukg.research.baselines.tagged import Reader, WordTagger
from erukg.serving.problems import Problem

__all__ = ["Baselines"]


class _ServiceTags:
    """Tags by the model that the service has loaded already."""

    def __init__(self, generator: KeyphraseGenerator) -> None:
        self._generator = generator

    def classes(self, document: Document) -> NDArray[np.int8]:
        if self._generator.tagger is not None:
            return tag_classes(self._generator.tagger, document)
        encoder = self._generator.backend
        return encoder.encode(encoder.pieces(document.words), np.zeros(0, np.int32)).tags

    def describe(self) -> Mapping[str, Any]:
        return {"tagger": "model", "weights": self._generator.backend.fingerprint}


@dataclass(frozen=True)
class _ServiceReader(Reader):
    tags: _ServiceTags | None = None

    @cached_property
    def words(self) -> WordTagger:
        assert self.tags is not None
        return self.tags


@dataclass(frozen=True, slots=True)
class _Entry:
    label: str
    packages: tuple[str, ...]
    make: Callable[[Reader], Baseline]


def _yake(reader: Reader) -> Baseline:
    from erukg.research.baselines.yake import Yake

    return Yake()


def _textrank(reader: Reader) -> Baseline:
    from erukg.research.baselines.textrank import TextRank

    return TextRank(reader)


def _positionrank(reader: Reader) -> Baseline:
    from erukg.research.baselines.positionrank import PositionRank

    return PositionRank(reader)


def _multipartiterank(reader: Reader) -> Baseline:
    from erukg.research.baselines.multipartiterank import MultipartiteRank

    return MultipartiteRank(reader)


_ENTRIES = {
    "multipartiterank": _Entry("MultipartiteRank", ("scipy",), _multipartiterank),
    "positionrank": _Entry("PositionRank", (), _positionrank),
    "textrank": _Entry("TextRank", (), _textrank),
    "yake": _Entry("YAKE", ("yake",), _yake),
}


class Baselines:
    """The baselines whose packages are there."""

    def __init__(self, generator: KeyphraseGenerator) -> None:
        reader = _ServiceReader(tags=_ServiceTags(generator))
        self._made = {
            name: entry.make(reader)
            for name, entry in _ENTRIES.items()
            if all(find_spec(package) is not None for package in entry.packages)
        }

    def list(self) -> list[dict[str, str]]:
        return [{"name": name, "label": _ENTRIES[name].label} for name in self._made]

    def get(self, name: str) -> Baseline:
        """The baseline of this name; raises a Problem (404) that names the nearest."""
        if name in self._made:
            return self._made[name]
        near = difflib.get_close_matches(name.lower(), list(self._made), 1, 0.4)
        hint = f"did you mean '{near[0]}'?" if near else "GET /v1/baselines lists those there are."
        raise Problem(404, f"There is no baseline '{name}'; {hint}")

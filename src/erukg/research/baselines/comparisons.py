"""Baselines to compare a loaded generator with: those whose packages are installed, with the generator's own tags."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from erukg.core.document import Document
from erukg.core.tagging import tag_classes
from erukg.generator import KeyphraseGenerator
from erukg.research.baselines.base import Baseline
from erukg.research.baselines.multipartiterank import MultipartiteRank
from erukg.research.baselines.positionrank import PositionRank
from erukg.research.baselines.tagged import Reader, TaggedText
from erukg.research.baselines.textrank import TextRank
from erukg.research.baselines.yake import Yake

__all__ = ["comparisons"]


@dataclass(frozen=True)
class _GeneratorReader(Reader):
    """Tags texts with the tagger or the model that a generator has loaded already."""

    generator: KeyphraseGenerator | None = None

    def read(self, text: str) -> TaggedText:
        assert self.generator is not None
        document = Document.parse(text)
        if self.generator.tagger is not None:
            return TaggedText(document, tag_classes(self.generator.tagger, document.words))
        backend = self.generator.backend
        encoding = backend.encode(backend.pieces(document.words), np.zeros(0, np.int32))
        return TaggedText(document, encoding.tags)


def comparisons(
    generator: KeyphraseGenerator,
) -> dict[str, tuple[str, Callable[[str, int], list[tuple[str, float]]]]]:
    """By name, the label of each baseline and its function from a text and top_k to phrases with scores."""
    reader = _GeneratorReader(generator=generator)
    baselines: list[tuple[str, str, Baseline]] = [
        ("MultipartiteRank", "scipy", MultipartiteRank(reader)),
        ("PositionRank", "numpy", PositionRank(reader)),
        ("TextRank", "numpy", TextRank(reader)),
        ("YAKE", "yake", Yake()),
    ]
    return {
        label.lower(): (label, baseline.extract)
        for label, package, baseline in baselines
        if find_spec(package) is not None
    }

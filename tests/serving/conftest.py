"""A generator with the tiny model and a collection of its own, and one whose documents wait until they are let go."""

from __future__ import annotations

from pathlib import Path

import pytest

from erukg import Collection, KeyphraseGenerator
from erukg.backends import OnnxBackend
from serving.serving_tools import GatedGenerator

TEXT = (
    "Neural retrieval for the sparse index\nWe propose a distributed search engine and show that graph data is exact."
)


@pytest.fixture(scope="session")
def generator(tiny_encoder: OnnxBackend, tiny_collection: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator(tiny_encoder, Collection.open(tiny_collection))


@pytest.fixture
def gated(tiny_encoder: OnnxBackend) -> GatedGenerator:
    return GatedGenerator(tiny_encoder)


@pytest.fixture(scope="session")
def text() -> str:
    return TEXT

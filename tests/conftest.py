"""Fixtures shared by all tests: a tiny model, built once a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from erukg import KeyphraseGenerator
from erukg.encoder import Encoder
from tiny import write_model


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny, complete model."""
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def tiny_encoder(tiny_model: Path) -> Encoder:
    return Encoder.load(tiny_model)


@pytest.fixture(scope="session")
def tiny_generator(tiny_encoder: Encoder) -> KeyphraseGenerator:
    """A generator with the tiny model and no collection."""
    return KeyphraseGenerator(tiny_encoder)

"""A generator with the tiny model and a collection of its own, and one whose documents wait until they are let go."""

from __future__ import annotations

from pathlib import Path

import pytest

from erukg import Collection, KeyphraseGenerator
from erukg.backends import OnnxBackend
from erukg.serving.subjects import SubjectsByName, load_subjects
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


@pytest.fixture(scope="session")
def vocabulary_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four concepts in Annif's TSV."""
    file = tmp_path_factory.mktemp("vocabularies") / "vocabulary.tsv"
    labels = ("Search engines", "Graph data", "Neural retrieval", "Steam engines")
    file.write_text("".join(f"<http://example.org/{i}>\t{label}\n" for i, label in enumerate(labels)))
    return file


@pytest.fixture(scope="session")
def subjects(generator: KeyphraseGenerator, vocabulary_file: Path) -> SubjectsByName:
    """Two vocabularies: one of URIs, one of plain words."""
    words = vocabulary_file.with_name("words.txt")
    words.write_text("index\nneural retrieval\nsteam\n")
    return load_subjects(generator, [f"engines={vocabulary_file}", f"words={words}"])

"""Fixtures shared by all tests: a tiny model and a tiny collection, built once a session.

A session that leaves a process behind has failed.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

# The networks of the tests are tiny: torch's threads would only wait for one another. Before torch is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

from erukg import KeyphraseGenerator
from erukg.backends import OnnxBackend
from left_processes import left_behind
from tiny import write_corpus, write_model
from tiny_affinity import write_near
from tiny_ranker import write_ranked


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny, complete model."""
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def ranked_model(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny model with a learned ranking of absent phrases."""
    return write_ranked(tiny_model, tmp_path_factory.mktemp("models") / "ranked")


@pytest.fixture(scope="session")
def near_model(ranked_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, which also tells how near phrases come to texts."""
    return write_near(ranked_model, tmp_path_factory.mktemp("models") / "near")


@pytest.fixture(scope="session")
def tiny_encoder(tiny_model: Path) -> OnnxBackend:
    return OnnxBackend.load(tiny_model)


@pytest.fixture(scope="session")
def tiny_generator(tiny_encoder: OnnxBackend) -> KeyphraseGenerator:
    """A generator with the tiny model and no collection."""
    return KeyphraseGenerator(tiny_encoder)


@pytest.fixture(scope="session")
def tiny_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 made-up documents on six topics as JSON Lines."""
    return write_corpus(tmp_path_factory.mktemp("corpus") / "corpus.jsonl")


@pytest.fixture(scope="session")
def tiny_collection(tiny_encoder: OnnxBackend, tiny_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real collection over the tiny corpus."""
    from erukg.collection.analyser import ModelAnalyser
    from erukg.collection.build import build

    folder = tmp_path_factory.mktemp("collections") / "tiny"
    build(folder, [tiny_corpus], ModelAnalyser(tiny_encoder))
    return folder


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput") and (found := left_behind()):
        print(f"\nThese processes were left behind by the tests: {found}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

"""A torch model with the tiny vocabulary, a tagger that knows it, and a Lucene where the machine has one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from erukg.research.benchmark.lucene import LuceneProgram
from tiny import ADJECTIVES, NOUNS, vocabulary


class WordListTagger:
    """Penn tags of the tiny vocabulary."""

    def tag(self, words: Sequence[str]) -> list[str]:
        return ["NN" if w.lower() in NOUNS else "JJ" if w.lower() in ADJECTIVES else "IN" for w in words]


@pytest.fixture(scope="session")
def tagger() -> WordListTagger:
    return WordListTagger()


@pytest.fixture(scope="session")
def torch_weights(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a random BERT in the layout of a SparseEncoder, reading the tiny vocabulary."""
    import torch

    from erukg.training.base import random_base
    from erukg.training.export.sparse_encoder import write_sparse_encoder
    from erukg.training.model import Shape

    model = random_base(Shape(len(vocabulary()), 16, 2, 2, 32))
    with torch.no_grad():  # larger weights than a fresh model's, so that some terms matter
        model.word_embeddings.mul_(20)
    return write_sparse_encoder(model, tiny_model / "tokenizer.json", tmp_path_factory.mktemp("torch") / "weights")


@pytest.fixture(scope="session")
def lucene() -> LuceneProgram:
    """The one place where tests with Lucene are left out: it is no Python package, so machines may lack it."""
    jars = sorted(Path("/usr/share/java").glob("lucene-core-*.jar"))
    if not jars or shutil.which("javac") is None:
        pytest.skip("needs javac and /usr/share/java/lucene-core-*.jar (Debian: liblucene4.10-java)")
    return LuceneProgram.check(str(jars[0]))

"""A sentence-transformers folder around a random BERT of one layer."""

from __future__ import annotations

from pathlib import Path

import pytest

WORDS = """[PAD] [UNK] [CLS] [SEP] [MASK] </s> sparse retrieval of documents we propose a index neural network and
the are not . book : " this mainly talks about""".split()


def write_sentence_encoder(folder: Path) -> Path:
    """Write it into the folder and return its path."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
    )
    transformers.BertModel(config).save_pretrained(folder / "bert")
    vocab = {word: i for i, word in enumerate(WORDS)}
    transformers.BertTokenizerFast(vocab=vocab).save_pretrained(folder / "bert")
    sentence_transformers.SentenceTransformer(str(folder / "bert"), device="cpu").save(str(folder / "whole"))
    return folder / "whole"

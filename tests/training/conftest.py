"""A tiny world to train in: 500 word pieces, 20 topics, 200 triplets, as a prepared folder."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from erukg.core.folding import fold

VOCABULARY = 500
_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def write_tokenizer(path: Path) -> None:
    """A WordPiece tokenizer of 500 pieces: specials, letters, and made-up words."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    pieces = [*_SPECIAL, *letters, *(f"##{c}" for c in letters), ".", ","]
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    for first in syllables:
        for second in syllables[::7]:
            if len(pieces) < VOCABULARY:
                pieces.append(first + second + "n")
    assert len(pieces) == VOCABULARY
    tokenizer = Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(path))


def write_prepared(folder: Path, seed: int = 0, documents: int = 120, triplets: int = 200) -> Path:
    """A prepared folder whose references share their documents' topic words."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder / "tokenizer.json")
    words = np.arange(60, VOCABULARY, dtype=np.uint16)
    topics = rng.permutation(words)[:400].reshape(20, 20)
    common = words[:30]
    texts, titles, topic_of = [], [], []
    for _ in range(documents):
        topic = int(rng.integers(20))
        title = rng.choice(topics[topic], 4, replace=False)
        body = np.where(rng.random(30) < 0.4, rng.choice(topics[topic], 30), rng.choice(common, 30))
        texts.append(np.concatenate((title, body)))
        titles.append(len(title))
        topic_of.append(topic)
    references, rows, kinds = [], [], []
    for number in range(triplets):
        document = number % documents
        kind = (0, 1, 2, 2)[number % 4]
        text = texts[document][: titles[document]]
        if kind != 2:
            text = rng.choice(topics[topic_of[document]], 6 if kind == 1 else 2)
        negative = int(rng.integers(documents))
        references.append(text)
        rows.append((number, document, -1 if negative == document or number % 5 == 0 else negative))
        kinds.append(kind)
    _save_texts(folder, "documents", texts)
    _save_texts(folder, "references", references)
    np.save(folder / "documents.titles.npy", np.array(titles, np.uint16))
    np.save(folder / "triplets.npy", np.array(rows, np.int32))
    np.save(folder / "types.npy", np.array(kinds, np.uint8))
    (folder / "dev").mkdir()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    with (folder / "dev" / "made-up.jsonl").open("w") as file:
        for document in range(30):
            file.write(json.dumps(_dev_row(texts[document], topics[topic_of[document]], tokenizer)) + "\n")
    (folder / "tagged").mkdir()
    _save_tags(folder / "tagged", texts, common)
    digest = hashlib.sha256((folder / "tokenizer.json").read_bytes()).hexdigest()
    types = ["query", "citation", "title"]
    meta = {"format": "erukg-triplets", "version": 1, "types": types, "seed": seed, "vocab_size": VOCABULARY}
    counts = {name: kinds.count(i) for i, name in enumerate(types)}
    (folder / "meta.json").write_text(json.dumps({**meta, "counts": counts, "tokenizer_sha256": digest}))
    return folder


def _save_texts(folder: Path, name: str, texts: list[NDArray[np.uint16]]) -> None:
    np.save(folder / f"{name}.ids.npy", np.concatenate(texts).astype(np.uint16))
    np.save(folder / f"{name}.offsets.npy", np.cumsum([0] + [len(t) for t in texts]).astype(np.int64))


def _dev_row(text: NDArray[np.uint16], topic: NDArray[np.uint16], tokenizer: Tokenizer) -> dict[str, object]:
    """Every word a noun with a comma behind it, so that the words are the candidates; those of the topic are gold."""
    words = [str(tokenizer.id_to_token(int(piece))) for piece in text]
    gold = list(dict.fromkeys(word for word, piece in zip(words, text, strict=True) if piece in topic))[:5]
    return {
        "text": " , ".join(words),
        "tags": "0".join("1" * len(words)),
        "stems": {fold(word): word for word in words},
        "gold": {word: number for number, word in enumerate(gold)},
    }


def _save_tags(folder: Path, texts: list[NDArray[np.uint16]], common: NDArray[np.uint16]) -> None:
    flat = np.concatenate(texts).astype(np.uint16)
    labels = np.where(np.isin(flat, common), 0, 1 + flat % 3).astype(np.int8)
    labels[::11] = -1
    np.save(folder / "ids.npy", flat)
    np.save(folder / "offsets.npy", np.cumsum([0] + [len(t) for t in texts]).astype(np.int64))
    np.save(folder / "labels.npy", labels)
    np.save(folder / "split.npy", (np.arange(len(texts)) % 10 == 9).astype(np.uint8))


def write_base(folder: Path, tokenizer: Path) -> Path:
    """A random base of 2 layers and 64 dimensions, without a trained head."""
    pytest.importorskip("torch")
    from erukg.training.base import random_base, save_base
    from erukg.training.model import Shape

    shape = Shape(VOCABULARY, 64, layers=2, heads=4, intermediate_size=128, max_positions=128)
    save_base(random_base(shape, seed=1), folder, tokenizer)
    return folder


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_prepared(tmp_path_factory.mktemp("prepared") / "data")


@pytest.fixture(scope="session")
def tiny_base(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> Path:
    return write_base(tmp_path_factory.mktemp("base") / "base", prepared / "tokenizer.json")


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory: pytest.TempPathFactory, prepared: Path, tiny_base: Path) -> Path:
    """The output folder of one whole training run: warm-up, SPLADE, tags."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    from erukg.training.config import preset
    from erukg.training.run import train

    output = tmp_path_factory.mktemp("run") / "run"
    train(preset("tiny").replace(data=str(prepared), base=str(tiny_base), output=str(output)))
    return output

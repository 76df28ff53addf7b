"""A tiny but real model folder, made here in milliseconds: its ONNX graph, tokenizer and head are the real formats.

The first four numbers of a word piece's embedding say its tag class, so that the tag head is a plain look-up (of a
word's first piece, and with half the weight of its last) and a test can choose what is a noun; the rest are random, so
that term weights are arbitrary but repeatable.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

NOUNS = """network networks peer file search query index document documents ice sea radar image images model models
memory cache graph graphs vertex set algorithm algorithms data stream streams engine keyphrase keyphrases phrase
retrieval language library archive term terms weight weights neighbour collection corpus method system systems
machine support vector classifier learning tree forest protocol node nodes storage satellite temperature""".split()
ADJECTIVES = "neural deep sparse large small fast exact distributed random passive semantic modern".split()
OTHERS = """the a an of in on for and or with we is are to by that this it from as at be not our show propose
quickly than which using . , ; : ( ) ! ? - / ' " """.split()
HIDDEN = 24
CLASSES = {"OTHER": 0, "NOUN": 1, "ADJECTIVE": 2, "NUMBER": 3}


def vocabulary() -> dict[str, int]:
    letters = [chr(c) for c in range(ord("a"), ord("z") + 1)]
    digits = list("0123456789")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *NOUNS, *ADJECTIVES, *OTHERS]
    pieces += [*letters, *digits, *(f"##{c}" for c in letters + digits)]
    return {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}


def write_model(path: Path, *, seed: int = 0, window: int = 64, int8: bool = False, **config: object) -> Path:
    """Write a complete model folder and return its path."""
    path.mkdir(parents=True, exist_ok=True)
    vocab = vocabulary()
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.save(str(path / "tokenizer.json"))
    rng = np.random.default_rng(seed)
    embeddings = rng.normal(0, 1, (len(vocab), HIDDEN)).astype(np.float32)
    embeddings[:, :4] = 0
    for piece, i in vocab.items():
        embeddings[i, CLASSES[_class(piece)]] = 4
    bias = rng.normal(-1, 0.5, len(vocab)).astype(np.float32)
    head = {"bias": bias, **tag_head()}
    if int8:
        scales = (np.abs(embeddings).max(axis=1) / 127).astype(np.float32)
        rows = np.round(embeddings / scales[:, None]).astype(np.int8)
        save_file({**head, "embeddings": rows, "scales": scales}, path / "head.safetensors")
    else:
        save_file({**head, "embeddings": embeddings}, path / "head.safetensors")
    graph = "encoder.int8.onnx" if int8 else "encoder.onnx"
    onnx.save(_graph(rng), str(path / graph))
    parts = ["tokenizer.json", "head.safetensors", graph]
    files = {name: listed(path / name) for name in parts}
    settings = {
        "format": "erukg-model",
        "version": 1,
        "name": "tiny",
        "architecture": "tiny",
        "vocab_size": len(vocab),
        "hidden_size": HIDDEN,
        "layers": 1,
        "max_length": 512,
        "window": window,
        "tag_classes": list(CLASSES),
        "weights": hashlib.sha256(embeddings.tobytes()).hexdigest(),
        "files": files,
        **config,
    }
    (path / "config.json").write_text(json.dumps(settings))
    return path


def listed(path: Path) -> dict[str, object]:
    """What `config.json` says of a file of the model."""
    data = path.read_bytes()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def tag_head() -> dict[str, np.ndarray]:
    """The end of the tag head: of width 4, one number for each class."""
    return {
        "tag_bias": np.zeros(4, np.float32),
        "tag_out": np.eye(4, dtype=np.float32),
        "tag_out_bias": np.zeros(4, np.float32),
    }


def _class(piece: str) -> str:
    if piece in OTHERS:
        return "OTHER"
    if piece in NOUNS or (len(piece) == 1 and piece.isalpha()):
        return "NOUN"
    if piece in ADJECTIVES:
        return "ADJECTIVE"
    return "NUMBER" if piece.isdigit() else "OTHER"


def _graph(rng: np.random.Generator) -> onnx.ModelProto:
    """states = 3 tanh(x W + mean(x) U), tags = [t, t / 2] of t = the first four numbers of x, vector = mean(states)
    scaled to length one."""
    constants = {
        "W": rng.normal(0, 0.6, (HIDDEN, HIDDEN)).astype(np.float32),
        "U": rng.normal(0, 0.6, (HIDDEN, HIDDEN)).astype(np.float32),
        "T": np.hstack((np.eye(HIDDEN, 4), np.eye(HIDDEN, 4) / 2)).astype(np.float32),
        "three": np.float32(3),
    }
    nodes = [
        helper.make_node("MatMul", ["embeddings", "W"], ["own"]),
        helper.make_node("ReduceMean", ["embeddings"], ["average"], axes=[1], keepdims=1),
        helper.make_node("MatMul", ["average", "U"], ["context"]),
        helper.make_node("Add", ["own", "context"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["bounded"]),
        helper.make_node("Mul", ["bounded", "three"], ["states"]),
        helper.make_node("MatMul", ["embeddings", "T"], ["tags"]),
        helper.make_node("ReduceMean", ["states"], ["pooled"], axes=[1], keepdims=0),
        helper.make_node("LpNormalization", ["pooled"], ["vector"], axis=-1, p=2),
        helper.make_node("Shape", ["mask"], ["unused"]),
    ]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [
            helper.make_tensor_value_info("embeddings", TensorProto.FLOAT, ["batch", "length", HIDDEN]),
            helper.make_tensor_value_info("mask", TensorProto.INT64, ["batch", "length"]),
        ],
        [
            helper.make_tensor_value_info("states", TensorProto.FLOAT, ["batch", "length", HIDDEN]),
            helper.make_tensor_value_info("tags", TensorProto.FLOAT, ["batch", "length", 8]),
            helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["batch", HIDDEN]),
        ],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def write_corpus(path: Path, documents: int = 120, seed: int = 0) -> Path:
    """Made-up abstracts as JSON Lines: a few topics, each with phrases that come again in its documents."""
    rng = np.random.default_rng(seed)
    topics = [
        [
            f"{rng.choice(ADJECTIVES)} {a} {b}" if rng.random() < 0.5 else f"{a} {b}"
            for a, b in rng.choice(NOUNS, (9, 2))
        ]
        for _ in range(6)
    ]
    lines = []
    for number in range(documents):
        phrases = [str(p) for p in rng.choice(topics[number % 6], 5, replace=False)]
        a, b, c, d, e = phrases
        abstract = f"We propose {c} and show that {d} is fast. It is not the {e} of our {a}, which is {number}."
        lines.append({"id": f"doc:{number}", "title": f"{a} for the {b}", "abstract": abstract})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path

from __future__ import annotations

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from erukg.backends import ModelFolder, OnnxBackend, find_model
from erukg.backends.batch import windows
from erukg.backends.session import PEAKS, open_session
from erukg.core.word_classes import CLASSES
from erukg.errors import ModelError
from tiny import listed, write_model

SENTENCE = "we propose a deep neural network for sea ice radar image search , quickly .".split()


def every_term(encoder: OnnxBackend) -> np.ndarray:
    return np.arange(encoder.vocab_size, dtype=np.int32)


def test_weights_are_the_full_head_max_pooled(tiny_encoder: OnnxBackend) -> None:
    pieces = tiny_encoder.pieces(SENTENCE)
    weights = tiny_encoder.encode(pieces, every_term(tiny_encoder)).weights
    states, _, _ = tiny_encoder._run(pieces.ids)
    logits = states @ tiny_encoder.head.embeddings.T + tiny_encoder.head.bias
    expected = np.log1p(np.maximum(logits, 0)).max(axis=0)
    expected[tiny_encoder.vocabulary.special] = 0
    np.testing.assert_allclose(weights, expected, rtol=1e-5, atol=1e-6)
    assert 0 < (weights > 0).sum() < len(weights)


def test_peaks_are_the_largest_products() -> None:
    rng = np.random.default_rng(0)
    session = open_session(PEAKS, 1)
    for length, terms in ((1, 1), (7, 300), (250, 40)):
        states, rows = rng.normal(size=(length, 24)).astype(np.float32), rng.normal(size=(terms, 24)).astype(np.float32)
        for texts in {1, length}:  # all of one text, or as many texts of one state each
            shape = np.array([terms, texts, length // texts])
            (found,) = session.run(["peaks"], {"states": states, "rows": rows, "shape": shape})
            expected = (states @ rows.T).reshape(texts, -1, terms).max(axis=1)
            np.testing.assert_allclose(found.T, expected, rtol=1e-5, atol=1e-5)


def test_a_batch_gives_what_single_calls_give(tiny_encoder: OnnxBackend) -> None:
    every, some = every_term(tiny_encoder), np.array([7, 3, 99], np.int32)
    texts = [
        ["sea", "ice"],
        ["radar", "image"],
        [],
        ["neural", "network", "search"],
        SENTENCE * 9,
        ["ice"],
        ["sea", "a"],
    ]
    asked = [(tiny_encoder.pieces(words), terms) for terms in (every, some) for words in texts]
    for (pieces, terms), found in zip(asked, tiny_encoder.encode_batch(asked), strict=True):
        expected = tiny_encoder.encode(pieces, terms)
        np.testing.assert_array_equal(found.weights, expected.weights)
        np.testing.assert_array_equal(found.tags, expected.tags)
        np.testing.assert_allclose(found.vector, expected.vector, rtol=1e-6)


def test_asking_for_some_terms_gives_the_same_weights(tiny_encoder: OnnxBackend) -> None:
    pieces = tiny_encoder.pieces(SENTENCE)
    full = tiny_encoder.encode(pieces, every_term(tiny_encoder))
    some = np.array([7, 3, 99, 3], np.int32)
    part = tiny_encoder.encode(pieces, some)
    np.testing.assert_allclose(part.weights, full.weights[some], rtol=1e-6)
    np.testing.assert_array_equal(part.tags, full.tags)


def test_tags_follow_the_lexicon(tiny_encoder: OnnxBackend) -> None:
    tags = tiny_encoder.encode(tiny_encoder.pieces(SENTENCE), np.empty(0, np.int32)).tags
    assert dict(zip(SENTENCE, tags.tolist(), strict=True)) == {
        **dict.fromkeys(["we", "propose", "a", "for", ",", "quickly", "."], 0),
        **dict.fromkeys(["network", "sea", "ice", "radar", "image", "search"], 1),
        **dict.fromkeys(["deep", "neural"], 2),
    }


def test_long_texts_run_in_windows(tiny_encoder: OnnxBackend) -> None:
    pieces = tiny_encoder.pieces(SENTENCE * 40)
    ranges = windows(len(pieces.ids), tiny_encoder.window)
    assert len(ranges) > 5
    assert {i for a, b in ranges for i in range(a, b)} == set(range(len(pieces.ids)))
    whole = tiny_encoder.encode(pieces, every_term(tiny_encoder))
    parts = [
        tiny_encoder._run(pieces.ids[a:b])[0] @ tiny_encoder.head.embeddings.T + tiny_encoder.head.bias
        for a, b in ranges
    ]
    expected = np.log1p(np.maximum(np.concatenate(parts).max(axis=0), 0))
    expected[tiny_encoder.vocabulary.special] = 0
    np.testing.assert_allclose(whole.weights, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(whole.tags.reshape(40, -1), np.tile(whole.tags[: len(SENTENCE)], (40, 1)))


def load_and_run(folder: Path) -> None:
    encoder = OnnxBackend.load(folder)
    encoder.encode(encoder.pieces(SENTENCE), every_term(encoder))


def with_head(model: Path, target: Path, **changes: np.ndarray | None) -> Path:
    """A copy of a model with other tensors in its head; None takes one out."""
    folder = Path(shutil.copytree(model, target))
    head = {**load_file(folder / "head.safetensors"), **changes}
    save_file({k: v for k, v in head.items() if v is not None}, folder / "head.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config["files"]["head.safetensors"] = listed(folder / "head.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize("classes", [4, len(CLASSES)])
def test_a_tag_comes_from_first_and_last_piece(tiny_model: Path, tmp_path: Path, classes: int) -> None:
    """Against the formula word by word, in windows that cut words, with a head of arbitrary numbers."""
    rng = np.random.default_rng(4)
    shapes = {"tag_bias": (4,), "tag_out": (classes, 4), "tag_out_bias": (classes,)}
    head = {name: rng.normal(size=shape) for name, shape in shapes.items()}
    head = {name: values.astype(np.float32) for name, values in head.items()}
    encoder = OnnxBackend.load(with_head(tiny_model, tmp_path / "m", **head))
    vocabulary = ["network", "neural", "2020", "7a", "quickly", "abc", "the", "", "graphical", "y9", "x" * 30]
    words = [vocabulary[i] for i in rng.integers(len(vocabulary), size=300)]
    pieces = encoder.pieces(words)
    ranges = windows(len(pieces.ids), encoder.window)
    outputs = [encoder._run(pieces.ids[a:b])[1] for a, b in ranges]
    cut = 0
    tags = encoder.encode(pieces, np.empty(0, np.int32)).tags.tolist()
    assert max(tags) < classes
    for word, tag in enumerate(tags):
        first, end = int(pieces.starts[word]), int(pieces.starts[word + 1])
        if first == end:
            assert tag == 0
            continue
        (a, b), parts = max(zip(ranges, outputs, strict=True), key=lambda w: min(first - w[0][0], w[0][1] - 1 - first))
        last = min(end, b) - 1
        cut += last < end - 1
        hidden = np.maximum(parts[first - a + 1, :4] + parts[last - a + 1, 4:] + head["tag_bias"], 0)
        assert tag == (head["tag_out"] @ hidden + head["tag_out_bias"]).argmax()
    assert cut


def tag_out(classes: int) -> dict[str, np.ndarray | None]:
    return {"tag_out": np.zeros((classes, 4), np.float32), "tag_out_bias": np.zeros(classes, np.float32)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tag_bias": None}, "lacks the tag head"),
        ({"tag_out": None}, "lacks the tag head"),
        ({"tag_bias": np.zeros(5, np.float32)}, "tag head of shapes"),
        ({"tag_bias": np.zeros((2, 2), np.float32)}, "tag head of shapes"),
        ({"tag_bias": np.zeros(0, np.float32), "tag_out": np.zeros((4, 0), np.float32)}, "tag head of shapes"),
        ({"tag_out": np.zeros((3, 4), np.float32)}, "tag head of shapes"),
        (tag_out(3), "tag head of shapes"),
        (tag_out(len(CLASSES) + 1), "tag head of shapes"),
        ({"tag_out_bias": np.zeros(4, np.float16)}, "not float32"),
        ({"tag_bias": np.zeros(6, np.float32), "tag_out": np.zeros((4, 6), np.float32)}, "width 8 .* asks for 12"),
    ],
)
def test_a_tag_head_that_does_not_fit_is_refused(
    tiny_model: Path, tmp_path: Path, changes: dict[str, np.ndarray | None], message: str
) -> None:
    folder = with_head(tiny_model, tmp_path / "m", **changes)
    with pytest.raises(ModelError, match=message):
        load_and_run(folder)


def test_int8_is_close_to_fp32(tiny_encoder: OnnxBackend, tmp_path: Path) -> None:
    small = OnnxBackend.load(write_model(tmp_path / "int8", int8=True))
    assert small.folder.precision == "int8"
    assert small.fingerprint == tiny_encoder.fingerprint
    pieces = tiny_encoder.pieces(SENTENCE)
    a = tiny_encoder.encode(pieces, every_term(tiny_encoder)).weights
    b = small.encode(pieces, every_term(small)).weights
    assert np.abs(a - b).max() < 0.1


@pytest.mark.parametrize("words", [[], [""], ["\ud800"], ["漢字"], ["🙂"], ["\x00"], ["x" * 5000]])
def test_odd_words(tiny_encoder: OnnxBackend, words: list[str]) -> None:
    encoding = tiny_encoder.encode(tiny_encoder.pieces(words), every_term(tiny_encoder))
    assert len(encoding.tags) == len(words)
    assert np.isfinite(encoding.weights).all()


def test_threads_share_one_encoder(tiny_model: Path) -> None:
    encoder = OnnxBackend.load(tiny_model)
    texts = [SENTENCE[i:] + SENTENCE[:i] for i in range(len(SENTENCE))] * 4
    alone = [encoder.encode(encoder.pieces(t), every_term(encoder)).weights for t in texts]
    fresh = OnnxBackend.load(tiny_model)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda t: fresh.encode(fresh.pieces(t), every_term(fresh)).weights, texts))
    for a, b in zip(alone, together, strict=True):
        np.testing.assert_array_equal(a, b)


def test_phrase_terms(tiny_encoder: OnnxBackend) -> None:
    terms = tiny_encoder.phrase_terms(["neural networks", "", "sea ice radar"])
    assert np.diff(terms.indptr).tolist() == [2, 0, 3]
    assert tiny_encoder.tokens(terms.ids) == ["neural", "networks", "sea", "ice", "radar"]


def edit(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text())
    config.update(changes)
    (folder / "config.json").write_text(json.dumps(config))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "does not describe an erukg model"),
        ({"version": 9}, "format version 9"),
        ({"vocab_size": "many"}, "vocab_size"),
        ({"vocab_size": 12}, "other shapes"),
        ({"window": 10_000}, "window"),
        ({"weights": "../../x"}, "fingerprint"),
        ({"files": {}}, "says None"),
    ],
)
def test_wrong_configuration_is_refused(
    tiny_model: Path, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    folder = Path(shutil.copytree(tiny_model, tmp_path / "m"))
    edit(folder, **changes)
    with pytest.raises(ModelError, match=message):
        OnnxBackend.load(folder)


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "head.safetensors", "encoder.onnx"])
def test_missing_or_cut_files_are_named(tiny_model: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(tiny_model, tmp_path / "m"))
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelError, match=name.replace(".", r"\.")):
        OnnxBackend.load(folder)
    (folder / name).unlink()
    with pytest.raises(ModelError, match=name.replace(".", r"\.")):
        OnnxBackend.load(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "head.safetensors", "encoder.onnx"])
def test_damage_is_found_when_loading_and_never_crashes(tiny_model: Path, tmp_path: Path, name: str) -> None:
    ModelFolder.open(tiny_model).verify()
    folder = Path(shutil.copytree(tiny_model, tmp_path / "m"))
    rng = np.random.default_rng(1)
    clean = (folder / name).read_bytes()
    for _ in range(20):
        data = bytearray(clean)
        data[rng.integers(len(data))] ^= 1 << rng.integers(8)
        (folder / name).write_bytes(data)
        for look in (ModelFolder.open(folder).verify, partial(OnnxBackend.load, folder)):
            with pytest.raises(
                ModelError, match=rf"{re.escape(name)} does not match its checksum; the model is damaged"
            ):
                look()
    (folder / name).write_bytes(bytes(len(clean)))
    with pytest.raises(ModelError):
        load_and_run(folder)


def test_finding_models(tiny_model: Path, tmp_path: Path) -> None:
    assert find_model(tiny_model) == tiny_model
    with pytest.raises(ModelError, match="no model folder or bundled model 'nowhere'"):
        find_model("nowhere")
    with pytest.raises(ModelError, match=r"no encoder\.int8\.onnx"):
        ModelFolder.open(tiny_model, "int8")
    with pytest.raises(ModelError, match="no precision"):
        ModelFolder.open(tiny_model, "int4")

"""The torch encoder gives what the ONNX encoder gives, on the CPU here, for texts of all lengths in one batch."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")

from erukg import KeyphraseGenerator  # noqa: E402
from erukg.backends import ModelBackend, OnnxBackend, find_device  # noqa: E402
from erukg.backends.batch import Packed, join, pack, unpack  # noqa: E402
from erukg.backends.torch.backend import TorchBackend  # noqa: E402
from erukg.backends.torch.steps import Quantised  # noqa: E402
from erukg.core.backend import Pieces  # noqa: E402
from erukg.errors import InputError, ModelError  # noqa: E402
from tiny import ADJECTIVES, NOUNS, OTHERS, listed, write_model  # noqa: E402
from tiny_bert import write_bert  # noqa: E402

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("bert")
    return {precision: write_bert(root / precision, precision) for precision in ("fp32", "int8")}


def made_up(encoder: ModelBackend, lengths: list[int], seed: int = 0) -> list[tuple[Pieces, NDArray[np.int32]]]:
    """Pieces and asked-for terms of random texts, some words of which have no pieces or many."""
    rng = np.random.default_rng(seed)
    words = np.array([*NOUNS, *ADJECTIVES, *OTHERS, "", "graphical", "xylophonist"], dtype=object)
    texts = []
    for length in lengths:
        pieces = encoder.pieces(rng.choice(words, length).tolist())
        more = rng.integers(encoder.vocab_size, size=9, dtype=np.int32)
        texts.append((pieces, np.unique(np.concatenate((pieces.ids, more)))))
    return texts


LENGTHS = [1, 30, 7, 62, 64, 0, 500, 3, 61, 200]


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_equals_onnx(folders: dict[str, Path], precision: str) -> None:
    plain = OnnxBackend.load(folders[precision])
    torched = TorchBackend.load(folders[precision], device="cpu")
    assert torched.arithmetic == precision
    texts = made_up(plain, LENGTHS)
    packed = pack(texts, torched.window)
    assert len(packed.row_lengths) > len(texts)
    answers = unpack(packed, torched.encode_packed(packed), [pieces for pieces, _ in texts])
    for (pieces, terms), got in zip(texts, answers, strict=True):
        expected = plain.encode(pieces, terms)
        # A last bit that differs before activations are rounded to 8 bits moves them by a whole step.
        tolerance = {"fp32": 1e-4, "int8": 0.2}[precision]
        np.testing.assert_allclose(got.weights, expected.weights, atol=tolerance)
        assert np.abs(got.weights - expected.weights).mean() < tolerance / 10
        assert got.tags.shape == expected.tags.shape
        assert (got.tags != expected.tags).sum() <= (0 if precision == "fp32" else 0.05 * len(got.tags))
        np.testing.assert_allclose(got.vector, expected.vector, atol=tolerance)
        alone = torched.encode(pieces, terms)
        np.testing.assert_allclose(got.weights, alone.weights, atol=tolerance)


@pytest.mark.parametrize("exact", ["layer.1.outer", "layer.0.inner", "layer.0.output", "layer.1.key"])
def test_layers_that_are_partly_8_bit(tmp_path: Path, exact: str) -> None:
    folder = write_bert(tmp_path / "m", "int8", exclude=[exact])
    plain, torched = OnnxBackend.load(folder), TorchBackend.load(folder, device="cpu")
    for pieces, terms in made_up(plain, [40, 9]):
        off = np.abs(torched.encode(pieces, terms).weights - plain.encode(pieces, terms).weights)
        assert off.max() < 0.2
        assert off.mean() < 0.02


def test_int8_arithmetic_is_nearer_than_exact_weights(folders: dict[str, Path]) -> None:
    plain = OnnxBackend.load(folders["int8"])
    texts = made_up(plain, [40] * 12)
    errors = {}
    for arithmetic in ("int8", "fp32"):
        torched = TorchBackend.load(folders["int8"], device="cpu", arithmetic=arithmetic)
        pairs = [(torched.encode(*text).weights, plain.encode(*text).weights) for text in texts]
        errors[arithmetic] = np.mean([np.abs(a - b).mean() for a, b in pairs])
    assert errors["int8"] < errors["fp32"] / 2


@pytest.mark.parametrize("arithmetic", ["bf16", "fp16"])
def test_half_precision_is_near(folders: dict[str, Path], arithmetic: str) -> None:
    plain = OnnxBackend.load(folders["fp32"])
    torched = TorchBackend.load(folders["fp32"], device="cpu", arithmetic=arithmetic)
    for pieces, terms in made_up(plain, [30, 60]):
        assert np.abs(torched.encode(pieces, terms).weights - plain.encode(pieces, terms).weights).mean() < 0.02


def test_best_terms_of_the_whole_vocabulary(folders: dict[str, Path]) -> None:
    plain, torched = OnnxBackend.load(folders["fp32"]), TorchBackend.load(folders["fp32"], device="cpu")
    texts = made_up(plain, LENGTHS, seed=1)
    answers = torched.encode_packed(pack(texts, torched.window), top=12)
    assert answers.top_terms is not None
    assert answers.top_weights is not None
    every = np.arange(plain.vocab_size, dtype=np.int32)
    for row, (pieces, _) in enumerate(texts):
        weights = plain.encode(pieces, every).weights
        np.testing.assert_allclose(answers.top_weights[row], np.sort(weights)[::-1][:12], atol=1e-4)
        np.testing.assert_allclose(weights[answers.top_terms[row]], answers.top_weights[row], atol=1e-4)


def test_small_passes_change_nothing(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    torched = TorchBackend.load(folders["fp32"], device="cpu")
    packed = pack(made_up(torched, LENGTHS), torched.window)
    whole = torched.encode_packed(packed, top=5)
    torched.__dict__["_room"] = 100
    monkeypatch.setattr("erukg.backends.torch.backend._MANY_TERMS", 40)
    assert len(list(torched._passes(packed))) > 10
    assert sorted(np.concatenate(list(torched._passes(packed))).tolist()) == list(range(len(packed.row_lengths)))
    parts = torched.encode_packed(packed, top=5)
    np.testing.assert_allclose(whole.weights, parts.weights, atol=1e-5)
    np.testing.assert_array_equal(whole.tags, parts.tags)
    np.testing.assert_allclose(whole.vectors, parts.vectors, atol=1e-5)
    assert whole.top_weights is not None and parts.top_weights is not None  # noqa: PT018
    np.testing.assert_allclose(whole.top_weights, parts.top_weights, atol=1e-5)


def test_joined_batches_come_apart_again(folders: dict[str, Path]) -> None:
    torched = TorchBackend.load(folders["fp32"], device="cpu")
    batches = [
        pack(made_up(torched, lengths, seed), torched.window) for seed, lengths in enumerate(([5, 90], [], [0], [33]))
    ]
    answers = torched.encode_packed(join(batches)).parts(batches)
    for batch, answer in zip(batches, answers, strict=True):
        alone = torched.encode_packed(Packed(*batch.arrays()))
        np.testing.assert_allclose(answer.weights, alone.weights, atol=1e-5)
        np.testing.assert_array_equal(answer.tags, alone.tags)
        np.testing.assert_allclose(answer.vectors, alone.vectors, atol=1e-5)


def test_compiling_is_optional(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch cannot compile, the steps stay plain and the results the same."""
    torched = TorchBackend.load(folders["int8"], device="cpu")
    text = made_up(torched, [20])[0]
    before = torched.encode(*text).weights

    def broken(*_: object, **__: object) -> object:
        def fail(*_: object) -> None:
            raise RuntimeError("no compiler")

        return fail

    monkeypatch.setattr(torch, "compile", broken)
    assert not torched.warm_up(compiled=True)
    np.testing.assert_array_equal(torched.encode(*text).weights, before)


def test_devices() -> None:
    assert find_device(None) is None
    assert find_device("cpu") is None
    if not torch.cuda.is_available():
        assert find_device("auto") is None
        with pytest.raises(InputError, match="sees no device 'cuda'"):
            find_device("cuda")
    for name in ("gpu", "cuda:x", "cuda:-1", "mps"):
        with pytest.raises(InputError, match="no device"):
            find_device(name)


def test_loading_for_a_device(folders: dict[str, Path]) -> None:
    assert type(KeyphraseGenerator.from_pretrained(folders["fp32"], False).backend) is OnnxBackend
    assert isinstance(TorchBackend.load(folders["fp32"], device="cpu"), ModelBackend)
    with pytest.raises(InputError, match="no device 'tpu'"):
        TorchBackend.load(folders["fp32"], device="tpu")
    with pytest.raises(InputError, match="no arithmetic 'int4'"):
        TorchBackend.load(folders["fp32"], device="cpu", arithmetic="int4")


def damaged(folder: Path, target: Path, change: object) -> Path:
    """A copy of a model whose graph was changed, with a config.json that fits."""
    copy = Path(shutil.copytree(folder, target))
    path = next(copy.glob("encoder*.onnx"))
    proto = onnx.load(str(path))
    change({tensor.name: tensor for tensor in proto.graph.initializer}, proto)  # type: ignore[operator]
    onnx.save(proto, str(path))
    config = json.loads((copy / "config.json").read_text())
    config["files"][path.name] = listed(path)
    (copy / "config.json").write_text(json.dumps(config))
    return copy


def shrink(name: str) -> object:
    def change(tensors: dict[str, Any], _: object) -> None:
        array = onnx.numpy_helper.to_array(tensors[name])
        tensors[name].CopyFrom(onnx.numpy_helper.from_array(np.ascontiguousarray(array[:-1]), name))

    return change


def rename(name: str) -> object:
    def change(tensors: dict[str, Any], _: object) -> None:
        tensors[name].name = "other"

    return change


def outside(tensors: dict[str, Any], _: object) -> None:
    tensor = tensors["layer.1.query.bias"]
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.ClearField("raw_data")
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "../../secret"


def not_a_number(tensors: dict[str, Any], _: object) -> None:
    array = np.full(48, np.nan, np.float32)
    tensors["states.bias"].CopyFrom(onnx.numpy_helper.from_array(array, "states.bias"))


def lying(tensors: dict[str, Any], _: object) -> None:
    tensors["layer.0.inner.bias"].dims[0] = 1 << 40


@pytest.mark.parametrize(
    ("precision", "change", "message"),
    [
        ("fp32", shrink("layer.0.query.weight"), "layer.0.query"),
        ("int8", shrink("layer.1.outer.weight_quantized"), "layer.1.outer"),
        ("int8", shrink("layer.1.outer.weight_scale"), "scales of 'layer.1.outer'"),
        ("fp32", shrink("tag.project.weight"), "tag.project.weight"),
        ("fp32", rename("positions.table"), "does not hold 'positions.table'"),
        ("fp32", rename("axes.0.0.4.12"), "attention heads"),
        ("fp32", outside, "does not hold 'layer.1.query.bias'"),
        ("fp32", not_a_number, "not as numbers"),
        ("fp32", lying, "damaged 'layer.0.inner.bias'"),
    ],
)
def test_damaged_graphs_are_refused(
    folders: dict[str, Path], tmp_path: Path, precision: str, change: object, message: str
) -> None:
    encoder = TorchBackend.load(damaged(folders[precision], tmp_path / "m", change), device="cpu")
    with pytest.raises(ModelError, match=message):
        encoder.warm_up()


def test_other_architectures_are_refused(tmp_path: Path) -> None:
    encoder = TorchBackend.load(write_model(tmp_path / "tiny"), device="cpu")
    with pytest.raises(ModelError, match="not a BERT encoder"):
        encoder.warm_up()


def test_integer_products_are_those_in_floating_point(folders: dict[str, Path]) -> None:
    """What a GPU multiplies as 8-bit integers, a CPU multiplies as floating-point numbers with the same values."""
    torched = TorchBackend.load(folders["int8"], device="cpu")
    text = made_up(torched, [40])[0]
    expected = torched.encode(*text).weights
    for layer in torched._network.layers:
        for linear in layer.linears:
            assert isinstance(linear, Quantised)
            linear.on_cpu = False
            linear.weight = linear.weight.to(torch.int8)
    np.testing.assert_allclose(torched.encode(*text).weights, expected, atol=1e-6)

"""The tagger of words: its traits, long texts, damaged files, and that every backend asks it."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from erukg.backends import OnnxBackend, word_tagger
from erukg.backends.batch import PackedEncodings, pack, unpack
from erukg.backends.folder import ModelFolder
from erukg.backends.word_tagger import AFFIXES, FORMS, SHAPES, TRAITS, WordTagger, traits_of
from erukg.core.word_classes import CLASSES
from erukg.errors import ModelError
from tiny import write_model
from tiny_tagger import give_tagger, make_tagger

NOTHING = np.empty(0, np.int32)
WORDS = "The bell buoy rang at night , and 17 boilers of the U.S. Navy run on data-driven models .".split()


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tagger") / "tagger.onnx"
    make_tagger(path)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return give_tagger(write_model(tmp_path / "model"))


@given(st.text(min_size=1))
def test_traits_of_any_word_have_their_place_in_the_tables(word: str) -> None:
    traits = traits_of(word)
    assert len(traits) == TRAITS
    limits = (FORMS, FORMS, AFFIXES, AFFIXES, AFFIXES, AFFIXES, SHAPES)
    assert all(0 <= trait < limit for trait, limit in zip(traits, limits, strict=True))


def test_case_and_digits_are_no_part_of_the_form() -> None:
    assert traits_of("Boiler")[:-1] == traits_of("boiler")[:-1] == traits_of("BOILER")[:-1]
    assert traits_of("1987") == traits_of("2024")
    shapes = [traits_of(word)[-1] for word in (".", "17", "+-", "a", "A", "AB", "Ab", "Ab-Cd", "aB", "a1", "a-b")]
    assert len(set(shapes)) == len(shapes)


def test_the_last_part_of_a_word_says_how_it_ends() -> None:
    own, joined = traits_of("driven"), traits_of("data-driven")
    assert own[:2] != joined[:2]
    assert own[2:5] == joined[2:5]


def test_graph_tells_what_the_network_tells(tmp_path: Path) -> None:
    network = make_tagger(tmp_path / "tagger.onnx", seed=3)
    traits = np.array([traits_of(word) for word in WORDS * 3], np.int64)
    with torch.no_grad():
        scores = network(torch.from_numpy(traits), torch.ones(len(traits))).numpy()
    found = WordTagger(tmp_path / "tagger.onnx").classes(WORDS * 3)
    # Tables have 8 bits in the graph, so that classes that are next to equal may change places.
    assert (scores[np.arange(len(found)), found] >= scores.max(1) - 0.01).all()
    assert len(set(found.tolist())) > 1


def test_a_tagger_of_fewer_forms_is_asked_by_them(tmp_path: Path) -> None:
    """The graphs before this size told half as many forms apart and did not say so."""
    import onnx

    network = make_tagger(tmp_path / "tagger.onnx", seed=3)
    proto = onnx.load(str(tmp_path / "tagger.onnx"))
    del proto.metadata_props[:]
    onnx.save(proto, str(tmp_path / "tagger.onnx"))
    traits = np.array([traits_of(word, FORMS // 2) for word in WORDS], np.int64)
    assert traits[:, :2].max() < FORMS // 2
    with torch.no_grad():
        scores = network(torch.from_numpy(traits), torch.ones(len(traits))).numpy()
    found = WordTagger(tmp_path / "tagger.onnx").classes(WORDS)
    assert (scores[np.arange(len(found)), found] >= scores.max(1) - 0.01).all()


@pytest.mark.parametrize("forms", ["", "0", "-5", "many", "9" * 30])
def test_a_graph_with_an_impossible_number_of_forms_is_refused(tmp_path: Path, forms: str) -> None:
    import onnx

    make_tagger(tmp_path / "tagger.onnx")
    proto = onnx.load(str(tmp_path / "tagger.onnx"))
    proto.metadata_props[0].value = forms
    onnx.save(proto, str(tmp_path / "tagger.onnx"))
    with pytest.raises(ModelError, match="no usable 'forms'"):
        WordTagger(tmp_path / "tagger.onnx").classes(WORDS)


def test_long_texts_are_read_in_parts_that_see_beyond_their_ends(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [f"{word}{'s' * (i % 3)}" for i, word in enumerate(WORDS * 20)]
    whole = WordTagger(graph).classes(words)
    monkeypatch.setattr(word_tagger, "_STEP", 37)
    assert np.array_equal(WordTagger(graph).classes(words), whole)
    monkeypatch.setattr(word_tagger, "_MARGIN", 0)
    assert not np.array_equal(WordTagger(graph).classes(words), whole)


def test_known_words_are_bounded(graph: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_tagger, "_CACHE_WORDS", 30)
    tagger = WordTagger(graph)
    expected = WordTagger(graph).classes(WORDS).tolist()
    for start in range(0, 200, 20):
        tagger.classes([f"word{chr(97 + k % 26)}{'x' * (k // 26)}" for k in range(start, start + 20)])
        assert len(tagger._traits) <= 30
        assert tagger.classes(WORDS).tolist() == expected


def test_no_words_have_no_classes(graph: Path) -> None:
    assert WordTagger(graph).classes([]).tolist() == []


def test_tags_are_the_taggers_and_weights_the_encoders(model: Path, tmp_path: Path) -> None:
    plain = OnnxBackend.load(write_model(tmp_path / "plain"))
    tagged = OnnxBackend.load(model)
    pieces = tagged.pieces(WORDS)
    every = plain.every_term
    expected = WordTagger(model / "tagger.onnx").classes(WORDS)
    encoding = tagged.encode(pieces, every)
    assert np.array_equal(encoding.tags, expected)
    assert not np.array_equal(plain.encode(plain.pieces(WORDS), every).tags, expected)
    assert np.array_equal(encoding.weights, plain.encode(plain.pieces(WORDS), every).weights)
    alike = tagged.encode_batch([(tagged.pieces(WORDS[:3]), every), (tagged.pieces(WORDS[3:6]), every)])
    assert [each.tags.tolist() for each in alike] == [
        WordTagger(model / "tagger.onnx").classes(words).tolist() for words in (WORDS[:3], WORDS[3:6])
    ]


def test_what_comes_back_from_a_device_has_the_taggers_tags(model: Path) -> None:
    backend = OnnxBackend.load(model)
    pieces = backend.pieces(WORDS)
    packed = pack([(pieces, NOTHING)], backend.window)
    none = np.zeros(len(packed.word_rows), np.int8)
    said = PackedEncodings(np.empty(0, np.float32), none, np.zeros((1, 4), np.float32))
    assert pieces.tags is not None
    assert np.array_equal(unpack(packed, said, [pieces])[0].tags, pieces.tags)


def test_a_changed_tagger_is_refused(model: Path) -> None:
    make_tagger(model / "tagger.onnx", seed=1)
    with pytest.raises(ModelError, match=r"tagger\.onnx does not match its checksum"):
        OnnxBackend.load(model)
    (model / "tagger.onnx").unlink()
    with pytest.raises(ModelError, match=r"has no tagger\.onnx; copy or export it again"):
        ModelFolder.open(model)


def test_another_graph_is_refused(model: Path) -> None:
    shutil.copy(model / "encoder.onnx", model / "tagger.onnx")
    with pytest.raises(ModelError, match="has other inputs and outputs than a tagger of words"):
        WordTagger(model / "tagger.onnx").classes(WORDS)


def test_classes_that_do_not_exist_are_refused(tmp_path: Path) -> None:
    import onnx

    make_tagger(tmp_path / "tagger.onnx")
    proto = onnx.load(str(tmp_path / "tagger.onnx"))
    far = onnx.helper.make_tensor("far", onnx.TensorProto.INT64, [], [len(CLASSES)])
    proto.graph.initializer.append(far)
    cast = proto.graph.node.pop()
    proto.graph.node.append(onnx.helper.make_node("Add", [cast.input[0], "far"], ["moved"]))
    cast.input[0] = "moved"
    proto.graph.node.append(cast)
    onnx.save(proto, str(tmp_path / "tagger.onnx"))
    with pytest.raises(ModelError, match="tells no classes of words"):
        WordTagger(tmp_path / "tagger.onnx").classes(WORDS)

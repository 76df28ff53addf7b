"""The network of the trained baselines: its words, what it computes, its search, and the folder it is kept in."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from erukg.errors import ModelError
from erukg.research.baselines.neural.beam import beam_search
from erukg.research.baselines.neural.model import CopyModel
from erukg.research.baselines.neural.network import Batch
from erukg.research.baselines.neural.vocabulary import DIGIT, END, PAD, SPECIALS, UNKNOWN, Vocabulary, words
from tiny_copy import WORDS, tiny_copy_model

TEXT = "Sea-ice radar of Xanadu: 25 images, Xanadu's ice"


def test_words_of_texts() -> None:
    assert words("Multi-agent, 3D and 1,998.5 IPv6_x") == "multi agent , 3d and <digit> ipv6 x".split()
    assert words(" \n") == []
    assert words("İstanbul a\u2010b") == [*words("İstanbul"), "a", "b"]


def test_documents_have_numbers_for_words_outside_the_vocabulary() -> None:
    vocabulary = Vocabulary.from_counts({"sea": 1, "radar": 1, "ice": 3, "<unk>": 9}, len(SPECIALS) + 3)
    assert vocabulary.words[len(SPECIALS) :] == ("ice", "radar", "sea")
    document = vocabulary.document(TEXT, 9)
    size = len(vocabulary)
    assert document.extra == ("of", "xanadu", ":", "images", ",")
    sea, ice, radar = map(vocabulary.number, ("sea", "ice", "radar"))
    assert document.ids.tolist() == [sea, ice, radar, size, size + 1, size + 2, DIGIT, size + 3, size + 4]
    assert vocabulary.target(["xanadu", "ice"], document.extra) is not None
    assert vocabulary.target(["kubla", "ice"], document.extra) is None
    # As in the text where the words stand there one after the other, numbers only there.
    assert document.spell(["sea", "ice"]) == "sea-ice"
    assert document.spell(["<digit>", "images"]) == "25 images"
    assert document.spell(["xanadu", "'", "s", "ice"]) == "xanadu's ice"
    assert document.spell(["ice", "sea"]) == "ice sea"
    assert document.spell(["ice", "<digit>"]) is None
    assert document.spell([]) is None


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (["ice"], "special words"),
        ([*SPECIALS, "a", "a"], "every word once"),
        ([*SPECIALS, *map(str, range(60_000))], "more than the 60000"),
    ],
)
def test_vocabularies_that_are_none(known: list[str], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Vocabulary(known)


def test_probabilities_sum_to_one_and_training_sees_the_same_ones() -> None:
    model = tiny_copy_model()
    network = model.network.eval()
    document = model.document("radar of sea ice near xanadu xanadu")
    source = torch.from_numpy(document.ids.astype(np.int64))[None]
    lengths = torch.tensor([source.shape[1]])
    target = [len(model.vocabulary) + 2, model.vocabulary.number("ice"), END]
    assert document.word(target[0]) == "xanadu"
    with torch.no_grad():
        memory = network.encode(source, lengths)
        last, state, fed = network.start(memory, 1)
        expected = 0.0
        for word in target:
            state, fed, weights = network.step(memory, last, state, fed)
            found = network.log_probabilities(memory, fed, weights, len(document.extra))[0, 0]
            assert float(found.exp().sum()) == pytest.approx(1, abs=1e-5)
            expected -= float(found[word])
            last = torch.tensor([[word]])
        # A second target, shorter and padded, and a longer document beside it change nothing.
        targets = torch.tensor([[[*target, PAD], [target[1], END, PAD, PAD]], [[END, PAD, PAD, PAD], [PAD] * 4]])
        both = torch.cat([torch.cat([source, torch.full((1, 3), PAD)], 1), torch.full((1, 10), UNKNOWN)])
        alone, count = network(Batch(source, lengths, targets[:1, :1, :3]))
        assert float(alone) == pytest.approx(expected, rel=1e-4)
        assert int(count) == 3
        other, _ = network(Batch(both[1:], torch.tensor([10]), targets[1:, :1, :1]))
        second, _ = network(Batch(source, lengths, targets[:1, 1:, :2]))
        total, count = network(Batch(both, torch.tensor([7, 10]), targets))
        assert float(total) == pytest.approx(float(alone + second + other), rel=1e-4)
        assert int(count) == 6


def test_a_beam_as_wide_as_everything_finds_the_likeliest_phrases() -> None:
    model = tiny_copy_model(3)
    documents = [model.document(text) for text in ("sea ice xanadu", "", "radar kubla khan of ice and sea")]
    short, empty, long = beam_search(model.network, documents, width=900, depth=2)
    assert empty == []
    known = [*WORDS, ".", "<digit>", "xanadu"]
    wanted = {tuple(each) for length in (1, 2) for each in product(known, repeat=length)}
    assert {phrase for phrase, _ in short} == wanted
    assert [score for _, score in short] == sorted((score for _, score in short), reverse=True)
    scores = dict(short)
    some: list[tuple[str, ...]] = [("xanadu",), ("ice", "xanadu"), ("graph", "sea")]
    for phrase in some:
        document = documents[0]
        numbers = model.vocabulary.target(phrase, document.extra)
        assert numbers is not None
        target = torch.tensor([[[*numbers.astype(int).tolist(), END]]])
        with torch.no_grad():
            source = torch.from_numpy(document.ids.astype(np.int64))[None]
            total, _ = model.network(Batch(source, torch.tensor([3]), target))
        assert scores[phrase] == pytest.approx(-float(total), rel=1e-4)
    # A narrow beam keeps phrases of all lengths, and what it finds has the same scores whatever stands beside it.
    narrow = beam_search(model.network, documents[2:], width=4, depth=3)[0]
    assert {len(phrase) for phrase, _ in narrow} == {1, 2, 3}
    for phrase, score in narrow:
        if len(phrase) <= 2:
            assert dict(long)[phrase] == pytest.approx(score, rel=1e-4)


def test_a_guide_adds_to_the_scores_of_words() -> None:
    model = tiny_copy_model(1)
    documents = [model.document(text) for text in ("sea ice near xanadu", "radar of kubla")]
    plain = [dict(found) for found in beam_search(model.network, documents, 900, 2)]

    def guide(number: int, prefixes: Sequence[tuple[str, ...]]) -> NDArray[np.float32]:
        assert all(isinstance(prefix, tuple) for prefix in prefixes)
        out = np.zeros((len(prefixes), len(documents[number])), np.float32)
        out[:, -1] = -np.inf if number else 5.0
        return out

    first, second = (dict(found) for found in beam_search(model.network, documents, 900, 2, guide))
    assert first[("xanadu", "ice")] == pytest.approx(plain[0][("xanadu", "ice")] + 5, rel=1e-4)
    assert first[("sea",)] == pytest.approx(plain[0][("sea",)], rel=1e-4)
    assert not any("kubla" in phrase for phrase in second)
    assert any("kubla" in phrase for phrase in plain[1])


def test_phrases_of_a_model_are_written_as_in_the_text() -> None:
    model = tiny_copy_model()
    found, nothing = model.generate([TEXT, ""], width=40, depth=3)
    phrases = [phrase for phrase, _ in found]
    assert nothing == []
    assert len(set(phrases)) == len(phrases)
    assert all(any(map(str.isalpha, phrase)) for phrase in phrases)
    assert not any("<" in phrase for phrase in phrases)
    assert "sea-ice" in [phrase for phrase, _ in model.generate([TEXT], width=900, depth=2)[0]]


def test_sampled_texts_depend_on_their_own_seed_alone() -> None:
    model = tiny_copy_model()
    both = model.sample([TEXT, "radar", ""], [1, 2, 3], count=6, depth=5)
    assert model.sample(["radar"], [2], count=6, depth=5) == both[1:2]
    assert model.sample(["radar"], [3], count=6, depth=5) != both[1:2]
    assert both[2] == []
    assert all(0 < len(words(query)) <= 5 for query in both[0])
    assert len(set(both[0])) > 1


def test_a_model_is_the_same_after_it_was_saved(tmp_path: Path) -> None:
    model = tiny_copy_model()
    model.save(tmp_path / "model")
    loaded = CopyModel.load(tmp_path / "model", "cpu")
    for (name, one), other in zip(
        model.network.state_dict().items(), loaded.network.state_dict().values(), strict=True
    ):
        assert torch.allclose(one, other, atol=1e-3), name
    assert loaded.vocabulary.words == model.vocabulary.words
    described = loaded.describe()
    assert described["name"] == "model"
    assert described["card"] == {"baseline": "test"}
    assert len(described["sha256"]) == 64
    assert math.isclose(loaded.generate([TEXT])[0][0][1], model.generate([TEXT])[0][0][1], abs_tol=0.1)


def test_folders_that_hold_no_model(tmp_path: Path) -> None:
    def damaged(name: str, content: bytes | None) -> Path:
        folder = tmp_path / f"{name}-{len(list(tmp_path.iterdir()))}"
        tiny_copy_model().save(folder)
        (folder / name).unlink()
        if content is not None:
            (folder / name).write_bytes(content)
        return folder

    good = tmp_path / "good"
    tiny_copy_model().save(good)
    config = json.loads((good / "config.json").read_text())
    weights = (good / "model.safetensors").read_bytes()

    def changed(**network: object) -> bytes:
        return json.dumps({**config, "network": {**config["network"], **network}}).encode()

    for folder, message in (
        (tmp_path / "nowhere", "There is no folder"),
        (damaged("config.json", None), "cannot be read"),
        (damaged("config.json", b"[" * 100_000), "cannot be read as JSON"),
        (damaged("config.json", b"{}"), "does not describe a baseline"),
        (damaged("config.json", json.dumps({**config, "card": 3}).encode()), "no 'network' or no 'card'"),
        (damaged("config.json", changed(hidden=10**9)), "'hidden' must be a whole number"),
        (damaged("config.json", changed(hidden=14)), "does not fit the network"),
        (damaged("config.json", changed(vocabulary=30)), "its vocabulary has"),
        (damaged("config.json", changed(more=1)), "must have exactly the fields"),
        (damaged("vocabulary.txt", b"\xff\xfe"), "is damaged"),
        (damaged("vocabulary.txt", b"a\n"), "special words"),
        (damaged("model.safetensors", weights[:-10]), "is damaged"),
        (damaged("model.safetensors", b"\xff" * 100), "is damaged"),
        (damaged("model.safetensors", weights[:-400] + b"\xff" * 400), "no numbers"),
    ):
        with pytest.raises(ModelError, match=message):
            CopyModel.load(folder)

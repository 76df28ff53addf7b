"""EmbedRank, KeyBERT and PromptRank with tiny models made here."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from erukg.errors import InputError, ModelError
from erukg.research.baselines.embedders import SentenceModel, WordVectors, embedder
from erukg.research.baselines.embedrank import EmbedRank
from erukg.research.baselines.keybert import KeyBert
from erukg.research.baselines.promptrank import PROMPTS, EncoderDecoder, PromptRank, Prompts
from erukg.research.baselines.tagged import Reader
from tiny_sentences import WORDS, write_sentence_encoder

TEXT = "Sparse retrieval of documents\nWe propose a sparse index. A neural network and the documents are not."
ODD = ("", " \n\t ", "...", "the of and", "1 2 3", "\x00\ufffd \ud83d", "(" * 500)


@pytest.fixture(scope="module")
def reader(tiny_model: Path) -> Reader:
    return Reader(model=str(tiny_model))


@pytest.fixture(scope="module")
def sentence_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_sentence_encoder(tmp_path_factory.mktemp("sentences"))


@pytest.fixture(scope="module")
def t5_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random T5 of one layer that reads whole words."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    folder = tmp_path_factory.mktemp("t5")
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    words.normalizer = normalizers.Lowercase()
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="[PAD]", unk_token="[UNK]", eos_token="</s>"
    ).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.T5Config(
        vocab_size=len(WORDS),
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_heads=2,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=5,
    )
    model = transformers.T5ForConditionalGeneration(config)
    with torch.no_grad():  # larger weights, so that the text makes a difference
        for weight in model.parameters():
            weight.mul_(3)
    model.save_pretrained(folder)
    return folder


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    rows = [
        "sparse 1 0 0",
        "index 1 1 0",
        "retrieval 0 1 0",
        "documents 0 0 1",
        "and -9 -9 -9",
        "we -9 -9 -9",
    ]
    path.write_text("6 3\n" + "\n".join(rows) + "\n")
    return path


def test_word_vectors_give_the_mean_of_known_words(vectors: Path) -> None:
    out = WordVectors(str(vectors)).embed(["Sparse retrieval", "unknown words", "", "index index retrieval"])
    assert out == pytest.approx(np.array([[0.5, 0.5, 0], [0, 0, 0], [0, 0, 0], [2 / 3, 1, 0]]))


def test_word_vector_files_that_are_none(tmp_path: Path) -> None:
    for content, message in (
        ("a 1 2\nb 1\n", "line 2 has 1 numbers where others have 2"),
        ("a 1 x\n", "line 1 is not a word vector"),
        ("a 1 nan\n", "line 1 holds a number that is not finite"),
        ("a 1 2\nb 1 1e300\n", "line 2 holds a number that is not finite"),
        ("", "holds no word vectors"),
        ("word\n", "holds no word vectors"),
    ):
        path = tmp_path / "v.txt"
        path.write_text(content)
        with pytest.raises(InputError, match=message):
            WordVectors(str(path)).embed(["a"])


def test_embedrank_by_hand_on_word_vectors(reader: Reader, vectors: Path) -> None:
    system = EmbedRank(embedder(str(vectors)), reader)
    found = dict(system.extract(TEXT))
    # Nouns and adjectives: sparse retrieval documents sparse index (neural network unknown) documents.
    whole = np.array([3.0, 2, 2])
    expected = {"Sparse retrieval": [1, 1, 0], "documents": [0, 0, 1], "sparse index": [2, 1, 0]}
    for form, vector in expected.items():
        cosine = np.dot(whole, vector) / np.linalg.norm(whole) / np.linalg.norm(vector)
        assert found[form] == pytest.approx((1 + cosine) / 2)
    assert found["neural network"] == pytest.approx(0.5)
    assert list(found)[:2] == ["sparse index", "Sparse retrieval"]
    for text in ODD:
        assert system.extract(text) == []
    assert system.extract("Radar image")[0][1] == pytest.approx(0.5)


def test_embedrank_with_a_sentence_model(reader: Reader, sentence_folder: Path) -> None:
    model = embedder(str(sentence_folder))
    assert isinstance(model, SentenceModel)
    found = EmbedRank(model, reader).extract(TEXT)
    assert {form for form, _ in found} == {"Sparse retrieval", "documents", "sparse index", "neural network"}
    whole, *rows = model.model.encode([TEXT, *(form for form, _ in found)])
    cosines = [np.dot(whole, row) / np.linalg.norm(whole) / np.linalg.norm(row) for row in rows]
    assert [score for _, score in found] == pytest.approx([(1 + c) / 2 for c in cosines], abs=1e-5)
    assert cosines == sorted(cosines, reverse=True)
    assert found == EmbedRank(SentenceModel(str(sentence_folder)), reader).extract(TEXT)
    for text in ODD:
        assert EmbedRank(model, reader).extract(text) == []


def test_keybert_with_a_sentence_model(sentence_folder: Path) -> None:
    pytest.importorskip("keybert")
    system = KeyBert(SentenceModel(str(sentence_folder)))
    found = system.extract(TEXT, 50)
    phrases = [phrase for phrase, _ in found]
    assert "sparse index" in phrases
    assert len(phrases) == len(set(phrases)) > 10
    assert max(len(phrase.split()) for phrase in phrases) == 3
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert found[:4] == system.extract(TEXT, 4)
    for text in ODD:
        assert all(score > 0 for _, score in system.extract(text))
    assert system.extract("") == system.extract(TEXT, 0) == system.extract("the of and") == []
    ((form, value),) = system.extract("index")
    assert form == "index"
    assert value == pytest.approx(1, abs=1e-3)


def test_t5_likelihoods_are_those_of_the_model_one_phrase_at_a_time(t5_folder: Path) -> None:
    torch = pytest.importorskip("torch")
    t5 = EncoderDecoder(str(t5_folder))
    phrases = ["sparse index", "documents", "neural network and documents", "unheard of"] * 10
    logs, lengths = t5.likelihoods("Sparse retrieval", phrases)
    assert lengths == [2, 1, 4, 2] * 10
    _, tokenizer, model = t5._loaded
    read = tokenizer('Book:"Sparse retrieval"', return_tensors="pt").input_ids
    for i, phrase in enumerate(phrases[:4]):
        said = [0, *tokenizer("this book mainly talks about " + phrase, add_special_tokens=False).input_ids]
        with torch.no_grad():
            logits = model(input_ids=read, decoder_input_ids=torch.tensor([said])).logits[0].log_softmax(-1)
        expected = sum(float(logits[place - 1, said[place]]) for place in range(6, len(said)))
        assert logs[i::4] == pytest.approx([expected] * 10, abs=1e-4)


def test_promptrank_by_hand(reader: Reader, t5_folder: Path) -> None:
    t5 = EncoderDecoder(str(t5_folder))
    found = dict(PromptRank(t5, reader, gamma=1000).extract(TEXT))
    length = 17
    positions = {"Sparse retrieval": 0, "documents": 3, "sparse index": 7, "neural network": 10}
    quoted = TEXT.replace("\n", " ")
    logs, tokens = t5.likelihoods(quoted, [p.lower() for p in positions])
    for (form, position), log, count in zip(positions.items(), logs, tokens, strict=True):
        score = (position / length + 1000 / length**3) * log / count**0.6
        assert found[form] == pytest.approx(1 / (1 - score))
    scores = list(found.values())
    assert scores == sorted(scores, reverse=True)


def test_prompts_of_a_folder_take_the_place_of_the_papers(t5_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    shutil.copytree(t5_folder, folder)
    paper, own = EncoderDecoder(str(t5_folder)), EncoderDecoder(str(folder))
    assert paper.prompts == own.prompts == Prompts()
    (folder / PROMPTS).write_text('{"template": "{text}", "prompt": "We propose"}')
    own = EncoderDecoder(str(folder))
    assert own.prompts.asked("a {text}") == "a {text}"
    assert paper.likelihoods("Sparse", ["index"])[0] != pytest.approx(own.likelihoods("Sparse", ["index"])[0])
    assert paper.describe()["sha256"] != own.describe()["sha256"]
    for wrong in (
        "{",
        "[]",
        '{"template": "text", "prompt": ""}',
        '{"template": "{text}", "prompt": 1}',
        '{"prompt": "x"}',
    ):
        (folder / PROMPTS).write_text(wrong)
        with pytest.raises(ModelError, match=r"prompts\.json must be"):
            EncoderDecoder(str(folder)).likelihoods("Sparse", ["index"])


def test_promptrank_of_odd_and_long_texts(reader: Reader, t5_folder: Path) -> None:
    system = PromptRank(EncoderDecoder(str(t5_folder)), reader)
    for text in ODD:
        assert system.extract(text) == []
    (only,) = system.extract("Index")
    assert only[0] == "Index"
    assert only[1] > 0
    long = TEXT + " we propose" * 600 + " a satellite protocol"
    assert "satellite protocol" not in dict(system.extract(long))  # beyond the words it reads
    assert system.extract(long) == PromptRank(EncoderDecoder(str(t5_folder)), reader).extract(long)


def test_folders_that_are_no_models(tmp_path: Path) -> None:
    for make in (SentenceModel, EncoderDecoder):
        with pytest.raises(ModelError, match="There is no folder"):
            make(str(tmp_path / "none")).describe()
        with pytest.raises(ModelError, match=r"neither config\.json nor modules\.json"):
            make(str(tmp_path)).describe()

"""PromptKP and language models as baselines, with tiny models made here."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from erukg.errors import MissingExtraError, ModelError
from erukg.research.baselines import llm
from erukg.research.baselines.base import GenerativeBaseline
from erukg.research.baselines.llm import LanguageModel, Llm, conversation, phrases_in, repeated, whole_part
from erukg.research.baselines.promptkp import HEADS, SLOTS, Filler, PromptKp, WordPieces, lay_out, prompt_of
from erukg.research.evaluation.baseline_system import BaselineSystem
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.systems import make_system
from tiny_transformers import WORDS, tiny_bert, tiny_chat

TEXT = "Sparse retrieval of documents\nWe propose a content-based index. Radar images show sea ice."
ODD = ("", " \n\t ", "...", "the of and", "\x00\ufffd", "(" * 500)


@pytest.fixture(scope="module")
def bert_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    folder = tiny_bert(tmp_path_factory.mktemp("bert"))
    torch.manual_seed(1)
    heads = {"present.weight": torch.randn(3, 16), "present.bias": torch.zeros(3)}
    heads |= {"key.weight": torch.randn(1, 16), "key.bias": torch.zeros(1)}
    safetensors.save_file(heads, str(folder / HEADS))
    weights = safetensors.load_file(str(folder / "model.safetensors"))
    weights["cls.predictions.bias"][[WORDS.index("model"), WORDS.index("[SEP]")]] = 3.0  # what is filled in most
    safetensors.save_file(weights, str(folder / "model.safetensors"), {"format": "pt"})
    return folder


@pytest.fixture(scope="module")
def chat_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_chat(tmp_path_factory.mktemp("chat"))


def test_words_and_their_pieces(bert_folder: Path) -> None:
    words = WordPieces.of("Keys of content-based Documents", Filler(str(bert_folder)).tokenizer)
    assert words.words == ["keys", "of", "content", "-", "based", "documents"]
    assert words.stems == ["key", "of", "content", "-", "base", "document"]
    assert words.first.tolist() == [0, 2, 3, 4, 5, 6]
    assert [WORDS[piece] for piece in words.pieces(0)] == ["key", "##s"]
    assert words.form(2, 6) == "content-based Documents"
    assert len(WordPieces.of("sea " * 1000, Filler(str(bert_folder)).tokenizer).ids) == 382


def test_prompts_stand_beside_each_other_and_see_only_the_text() -> None:
    assert prompt_of([7, 8], 4, before=[9], after=[5, 6]) == [4, 4, 4, 9, 7, 8, 5, 6, 4, 4]
    ids, places, segments, sees = lay_out(np.array([10, 11]), [[4, 7, 4], [4, 8]], (2, 3), 512)
    assert ids.tolist() == [2, 10, 11, 3, 4, 7, 4, 4, 8]
    assert places.tolist() == [0, 1, 2, 3, 496, 497, 498, 496, 497]
    assert segments.tolist() == [0] * 4 + [1] * 5
    assert sees[:4, :4].all()
    assert not sees[:4, 4:].any()
    assert sees[4:, :4].all()
    assert sees[4:7, 4:7].all()
    assert not sees[4:7, 7:].any()
    assert not sees[7:, 4:7].any()


def test_a_prompt_is_filled_in_alike_with_any_others(bert_folder: Path) -> None:
    filler = Filler(str(bert_folder))
    words = WordPieces.of(TEXT, filler.tokenizer)
    prompts = [prompt_of([6], 4), prompt_of([7, 8], 4, [9]), prompt_of([9], 4, [], [3] * SLOTS)]
    slots = [[3, 5], [2], [3]]
    together = list(filler.fill(words, prompts, slots, 5))
    for prompt, own, found in zip(prompts, slots, together, strict=True):
        (alone,) = filler.fill(words, [prompt], [own], 5)
        for one, other in zip(found, alone, strict=True):
            assert [piece for piece, _ in one] == [piece for piece, _ in other]
            assert [log for _, log in one] == pytest.approx([log for _, log in other], abs=1e-5)
    # What a prompt knows changes what is filled in.
    (plain,) = filler.fill(words, [prompt_of([7, 8], 4)], [[2]], 5)
    assert plain[0] != together[1][0]


def test_promptkp_finds_phrases_of_the_text_and_others(bert_folder: Path) -> None:
    system = PromptKp(Filler(str(bert_folder)))
    assert isinstance(system, GenerativeBaseline)
    present, absent = system.phrases(TEXT, 50)
    assert "radar images" in [phrase.lower() for phrase in present]
    flat = " ".join(TEXT.split())
    assert all(phrase in flat for phrase in present)
    assert absent
    assert all(phrase not in flat.lower() for phrase in absent)
    assert len(set(present)) == len(present)
    assert len(set(absent)) == len(absent)
    words = WordPieces.of(TEXT, system.model.tokenizer).words
    assert all(
        set(phrase.replace("-", " ").split()) & set(words) for phrase in absent
    )  # each around a word of the text
    first = system.phrases(TEXT, 3)
    assert (present[:3], absent[:3]) == first
    for text in ODD:
        assert system.phrases(text) == ([], [])


def test_marks_decide_the_order_of_present_phrases(bert_folder: Path) -> None:
    system = PromptKp(Filler(str(bert_folder)))
    words = WordPieces.of("sparse index and neural network", system.model.tokenizer)
    marks = np.array([[0.8, 0.2, 0.0], [0.85, 0.15, 0.0], [1, 0, 0], [0.1, 0.9, 0.0], [0.2, 0.0, 0.8]])
    # "network" goes on with probability 0.8/0.9, so "neural" alone has 0.1.
    assert system._present(words, marks) == ["neural network", "sparse", "index", "neural"]


def test_folders_that_promptkp_cannot_use(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "bert")
    with pytest.raises(ModelError, match="train the model with 'erukg train baseline promptkp'"):
        PromptKp(Filler(str(folder))).phrases(TEXT)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"There is no .*tokenizer\.json"):
        PromptKp(Filler(str(folder))).phrases(TEXT)
    with pytest.raises(ModelError, match="There is no folder"):
        Filler(str(tmp_path / "none")).describe()


@pytest.mark.parametrize(
    ("answer", "phrases"),
    [
        ("a b; c; A b", ["a b", "c"]),
        ("Here are the keyphrases:\n\n1. **Deep learning**\n2. graphs", ["Deep learning", "graphs"]),
        ("- one, two and three\n- four", ["one", "two and three", "four"]),
        ("one, two, three, and four.", ["one", "two", "three", "four"]),
        ("Keywords in the text: sea ice; radar\nOther topics: remote sensing", ["sea ice", "radar", "remote sensing"]),
        ('* `x y`: it is explained\n* "z"', ["x y", "z"]),
        ("This is a sentence of more than six words.", []),
        ("12; 3.5; ; ;", []),
        ("", []),
    ],
)
def test_phrases_of_an_answer(answer: str, phrases: list[str]) -> None:
    assert phrases_in(answer) == phrases


def test_what_may_come_next_in_an_answer() -> None:
    assert repeated([1, 2, 3, 1, 2], 3) == {3}
    assert repeated([1, 2, 3, 1, 2], 4) == set()
    assert repeated([7, 7, 7], 2) == {7}
    assert repeated([1, 2], 3) == repeated([1, 2, 1, 2], 0) == set()
    assert whole_part("one; two; thr") == "one; two"
    assert whole_part("thr") == ""


def test_answers_are_the_models_likeliest_tokens(chat_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(llm, "whole_part", str)  # answers that are cut off stay as they are
    model = LanguageModel(str(chat_folder))
    said = [
        [{"role": "user", "content": "sparse index"}],
        [{"role": "user", "content": "list sea ice and radar images"}],
    ]
    answers = model.answers(said, 12)
    _, tokenizer, network = model._loaded
    for turns, answer in zip(said, answers, strict=True):
        ids = tokenizer("user " + turns[0]["content"]).input_ids
        assert answer.tokens_read == len(ids)
        written: list[int] = []
        for _ in range(12):
            with torch.no_grad():
                written.append(int(network(torch.tensor([ids + written])).logits[0, -1].argmax()))
            if written[-1] == 5:
                break
        assert answer.tokens_written == len(written) - (written[-1] == 5)
        assert answer.text == tokenizer.decode(written, skip_special_tokens=True)
        assert answer.seconds > 0
    (free,), (new,) = (model.answers(said[:1], 30, run) for run in (0, 2))
    assert free.tokens_written == 30
    assert free.text != new.text  # a random model repeats itself when it may


def test_language_model_as_a_system(chat_folder: Path) -> None:
    system = make_system(f"llm:{chat_folder},most_tokens=20,new_run=2")
    assert isinstance(system, BaselineSystem)
    records = [Record("1", "Sparse retrieval", "We propose an index.", ("index",)), Record("2", "...", "", ("x",))]
    (first, second) = system.predict(records)
    assert all(phrase in records[0].text.lower() for phrase in first[0])
    assert all(phrase not in records[0].text.lower() for phrase in first[1])
    assert second == ([], [])
    assert list(system.predict(records[:1])) == [first]
    described = system.describe()
    assert described["settings"] == {"most_words": 512, "most_tokens": 20, "examples": 1, "new_run": 2}
    assert len(described["model"]["sha256"]) == 64


def test_what_is_said_to_a_language_model() -> None:
    (only,) = conversation("a {text}", 0)
    assert "\n\na {text}\n\n" in only["content"]
    turns = Llm(LanguageModel("x"), most_words=3, examples=2).conversation("one\ntwo  three four")
    assert [turn["role"] for turn in turns] == ["user", "assistant"] * 2 + ["user"]
    assert len(phrases_in(turns[1]["content"])) > 8
    assert "one\ntwo three" in turns[-1]["content"]
    assert "four" not in turns[-1]["content"]


def test_language_models_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="There is no file"):
        LanguageModel(str(tmp_path / "none.gguf")).describe()
    with pytest.raises(ModelError, match="There is no folder"):
        LanguageModel(str(tmp_path / "none")).describe()
    if find_spec("gguf") is None:
        (tmp_path / "a.gguf").write_bytes(b"GGUF")
        with pytest.raises(MissingExtraError, match="pip install gguf"):
            Llm(LanguageModel(str(tmp_path / "a.gguf"))).phrases("a text")
    folder = tiny_bert(tmp_path / "bert")
    with pytest.raises(ModelError, match="no chat template"):
        Llm(LanguageModel(str(folder))).phrases("a text")

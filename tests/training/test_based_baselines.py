"""Training PromptRank's and PromptKP's models: what they learn from, and the command, with tiny models made here."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from typer.testing import CliRunner

from erukg.cli.train import app
from erukg.errors import TrainingError
from erukg.research.baselines.promptkp import Filler, PromptKp, WordPieces
from erukg.research.baselines.promptrank import EncoderDecoder
from erukg.training.baselines import promptkp, promptrank
from erukg.training.baselines.loop import batches_of
from erukg.training.baselines.packing import Example
from tiny_transformers import WORDS, tiny_bert, tiny_marian

PAPERS = [
    {
        "title": f"Sparse retrieval of {thing} documents",
        "abstract": f"We propose a content-based index. The {thing} images show sea ice. The model is a network.",
        "keyphrases": ["Sea ice", "neural index", "radar maps", "sparse retrieval"],
    }
    for thing in ("radar", "sea", "search", "ice")
]


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = tiny_bert(tmp_path_factory.mktemp("tokenizer"))
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    path = tmp_path / "papers.jsonl"
    path.write_text("".join(json.dumps(paper) + "\n" for paper in PAPERS))
    return path


def spelled(ids: list[int]) -> str:
    return " ".join(WORDS[i] for i in ids)


def test_phrases_of_a_title_begin_after_function_words_and_marks() -> None:
    title = "on sparse retrieval: a neural index of sea-ice maps"
    assert [title[at:].split()[0] for at in promptrank.phrase_starts(title)] == ["sparse", "neural", "sea-ice"]
    assert promptrank.phrase_starts("of the and") == promptrank.phrase_starts("") == []


def test_title_examples(tokenizer: Tokenizer) -> None:
    pairs = [(PAPERS[0]["title"], PAPERS[0]["abstract"]), ("the of", "We propose."), ("Sea ice", "")]
    examples = promptrank.pack_titles([(str(title), str(abstract)) for title, abstract in pairs], tokenizer)
    assert len(examples) == 1
    sentences = [spelled(part.tolist()) for part in examples.sentences(0)]
    assert sentences[1] == "the radar images show sea ice ."
    batches = promptrank.TitleBatches(examples, [WORDS.index("about")], start=0, end=5, pad=0)
    titles, left_out, kept = set(), 0, 0
    for seed in range(60):
        batch = batches.batch([0], np.random.default_rng(seed), 1.0)
        read = spelled(batch["input_ids"][0].tolist())
        written, labels = batch["decoder_input_ids"][0].tolist(), batch["labels"][0].tolist()
        assert read.endswith(" </s>")
        if written[1] == WORDS.index("about"):
            assert labels[0] == -100  # the prompt is given, not to be learned
            assert labels[1:] == [*written[2:], 5]
            titles.add(spelled(written[2:]))
        else:
            assert labels == [*written[1:], 5]
            left_out += spelled(written[1:]) not in read
            kept += spelled(written[1:]) in read
    assert titles == {"sparse retrieval of radar documents", "radar documents"}
    assert left_out > kept > 0
    with pytest.raises(TrainingError, match="no document with a title and an abstract"):
        promptrank.pack_titles([], tokenizer)


def test_words_of_keyphrases_are_marked_and_prompts_made(tokenizer: Tokenizer) -> None:
    def pieces(text: str) -> WordPieces:
        return WordPieces.of(text, tokenizer)

    words = pieces("Sparse content-based index of the sea, sea ice")
    phrases = [
        pieces(p) for p in ("content based indexes", "sea ice", "neural sea ice maps", "radar", "search of index")
    ]
    present, key, prompts = promptkp.label(words, phrases)
    marked = dict(zip(enumerate(words.words), zip(present, key, strict=True), strict=True))
    assert [mark for mark, _ in marked.values()] == [0, 1, 2, 2, 2, 0, 0, 0, 0, 1, 2]
    assert [word for (_, word), (_, is_key) in marked.items() if is_key] == ["index", "sea", "sea", "ice"]
    spelled_out = [tuple(spelled(part) for part in prompt) for prompt in prompts]
    assert spelled_out == [
        ("neural", "sea", "ice maps"),
        ("sea neural", "ice", "maps"),  # nearest first
        ("neural", "sea ice", "maps"),
        ("of search", "index", ""),
    ]


def test_prompt_batches_ask_for_the_masked_slots_only(tokenizer: Tokenizer) -> None:
    made = [Example(f"{p['title']}\n{p['abstract']}", tuple(p["keyphrases"])) for p in PAPERS]
    examples = promptkp.pack_prompts([*made, Example("the of", ("x",))], tokenizer)
    assert len(examples) == len(PAPERS)
    batches = promptkp.PromptBatches(examples, (2, 3), 4, 512)
    known = set()
    for seed in range(40):
        batch = batches.batch([0, 1], np.random.default_rng(seed), 0.0)
        flat = batch["ids"].flatten()
        assert (flat[batch["slots"]] == 4).all()
        assert int((flat == 4).sum()) == len(batch["slots"])
        known.add(len(batch["slots"]))
        words = [WORDS[i] for i in flat[batch["words"]].tolist()]
        assert [w for w, mark in zip(words, batch["present"].tolist(), strict=True) if mark == 1].count("sparse") == 2
    assert len(known) > 3  # now more is known, now less


def test_batches_hold_every_document_once_an_epoch() -> None:
    lengths = np.arange(10)[::-1].copy()
    made = batches_of(lengths, 4, 0)
    epochs = [[next(made) for _ in range(3)] for _ in range(2)]
    for epoch in epochs:
        assert sorted(number for batch in epoch for number in batch) == list(range(10))
    assert sorted(map(sorted, epochs[0])) == [[0, 1], [2, 3, 4, 5], [6, 7, 8, 9]]


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["baseline", *map(str, arguments)])
    return result.exit_code, result.output + str(result.exception or "")


def test_promptrank_learns_titles(tmp_path: Path, papers: Path) -> None:
    base = tiny_marian(tmp_path / "base")
    out = tmp_path / "model"
    assert run("promptrank", papers, "-o", out, "--base", base, "--steps", 40, "--batch", 4, "--device", "cpu")[0] == 0
    model = EncoderDecoder(str(out))
    assert model.prompts == promptrank.PROMPT
    abstract = str(PAPERS[0]["abstract"])
    (title, other), _ = model.likelihoods(abstract, ["sparse retrieval", "neural keys"])
    before = EncoderDecoder(str(base)).likelihoods(abstract, ["sparse retrieval"])[0][0]
    assert title > other
    assert title > before
    card = json.loads((out / "card.json").read_text())
    assert card["steps"] == 40
    assert card["files"].keys() == {"papers.jsonl"}
    # The same again gives the same weights, in place of the old.
    weights = (out / "model.safetensors").read_bytes()
    assert run("promptrank", papers, "-o", out, "--base", base, "--steps", 40, "--batch", 4, "--device", "cpu")[0] == 0
    assert (out / "model.safetensors").read_bytes() == weights


def test_promptkp_learns_keywords(tmp_path: Path, papers: Path) -> None:
    base = tiny_bert(tmp_path / "base")
    out = tmp_path / "model"
    assert run("promptkp", papers, "-o", out, "--base", base, "--steps", 150, "--batch", 4, "--device", "cpu")[0] == 0
    system = PromptKp(Filler(str(out)))
    words = WordPieces.of(f"{PAPERS[0]['title']}\n{PAPERS[0]['abstract']}", system.model.tokenizer)
    marks, key = system.model.marked(words)
    inside = {word: 1 - mark[0] for word, mark in zip(words.words, marks, strict=True)}
    assert inside["sparse"] > inside["we"]
    by_word = dict(zip(words.words, key, strict=True))
    assert by_word["index"] > by_word["show"]
    assert torch.isfinite(torch.from_numpy(marks)).all()
    assert system.phrases(words.text)[0]


def test_what_the_command_refuses(tmp_path: Path, papers: Path) -> None:
    base = tiny_bert(tmp_path / "base")
    full = tmp_path / "full"
    full.mkdir()
    (full / "thesis.txt").write_text("mine")
    cases = [
        (("promptkp", papers, "-o", tmp_path / "o"), "give --base FOLDER, a BERT"),
        (("promptkp", tmp_path / "no.jsonl", "-o", tmp_path / "o", "--base", base), "There is no file"),
        (("promptkp", papers, "-o", full, "--base", base), "is no trained baseline"),
        (("promptkp", papers, "-o", tmp_path / "o", "--base", tmp_path / "none"), "There is no folder"),
        (("copyrnn", papers, "-o", tmp_path / "o", "--base", base), "leave --base out"),
        (("promptk", papers, "-o", tmp_path / "o"), "did you mean 'promptkp'"),
    ]
    for arguments, message in cases:
        code, output = run(*arguments, "--steps", 1)
        assert code != 0
        assert message in output
    assert (full / "thesis.txt").read_text() == "mine"

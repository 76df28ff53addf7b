"""Tagged text: labels sit on the first piece of each word, whatever the tagger and the form of the text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from erukg.core.document import Document
from erukg.core.word_classes import ADJECTIVE, CLASSES, NOUN, NUMBER, OTHER, penn_class
from erukg.errors import TrainingError
from erukg.training.pieces import load_tokenizer
from erukg.training.tagged import LONGEST, prepare_tagged, read_tagged, tag_files
from training.texts import write_rows, write_tokenizer


class EndingTagger:
    """Tags a word by its form: numbers, short words, "-al" adjectives, else nouns."""

    def tag(self, words: Sequence[str]) -> list[str]:
        return [self._one(word) for word in words]

    def _one(self, word: str) -> str:
        if word.isdigit():
            return "CD"
        if len(word) < 4:
            return "IN"
        return "JJ" if word.endswith("al") else "NNS"


def corpus(folder: Path, name: str, count: int) -> Path:
    rows = [
        {"id": f"{name}{i}", "title": f"Tidal harbour {i}", "abstract": f"A {name} of {i} waves."} for i in range(count)
    ]
    return write_rows(folder / f"{name}.jsonl.xz", rows)


def load(folder: Path) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    names = ("ids", "offsets", "labels", "split")
    ids, offsets, labels, split = (np.load(folder / f"{name}.npy", allow_pickle=False) for name in names)
    assert (ids.dtype, offsets.dtype, labels.dtype, split.dtype) == (np.uint16, np.int64, np.int8, np.uint8)
    assert offsets[0] == 0
    assert offsets[-1] == ids.size == labels.size
    assert split.size == offsets.size - 1
    return ids, offsets, labels, split


def test_a_corpus_is_sampled_evenly_and_tagged(tmp_path: Path) -> None:
    files = [corpus(tmp_path, "table", 50), corpus(tmp_path, "few", 3), corpus(tmp_path, "gauge", 400)]
    tokenizer = write_tokenizer(tmp_path / "t.json")
    summary = prepare_tagged(
        tag_files(files, EndingTagger(), 30, seed=2), tokenizer, tmp_path / "tagged", 5, seed=2, quiet=True
    )
    ids, offsets, labels, split = load(tmp_path / "tagged")
    assert summary.documents == split.size == 30
    assert summary.held_out == split.sum() == 5
    decode = load_tokenizer(tokenizer).decode
    texts = [decode(ids[a:b].tolist()) for a, b in pairwise(offsets)]
    by_file = [sum(mark in text.replace(" ##", "") for text in texts) for mark in ("table", "few", "gauge")]
    assert by_file[1] == 3
    assert abs(by_file[0] - by_file[2]) <= 7, "what a small file lacks comes from the next"
    assert sum(by_file) == 30
    assert set(np.unique(labels)) == {-1, OTHER, NOUN, ADJECTIVE, NUMBER}
    assert summary.words == (labels >= 0).sum() == sum(summary.classes.values())
    assert json.loads((tmp_path / "tagged" / "meta.json").read_text())["format"] == "erukg-tagged"


def test_labels_sit_on_first_pieces(tmp_path: Path) -> None:
    tokenizer = write_tokenizer(tmp_path / "t.json")
    source = corpus(tmp_path, "gauge", 1)
    prepare_tagged(tag_files([source], EndingTagger(), 1, 0), tokenizer, tmp_path / "tagged", 0, quiet=True)
    ids, _, labels, _ = load(tmp_path / "tagged")
    words = Document.parse("Tidal harbour 0\nA gauge of 0 waves.").words
    encoding = load_tokenizer(tokenizer).encode(list(words), is_pretokenized=True, add_special_tokens=False)
    assert ids.tolist() == encoding.ids
    expected, seen = [], set()
    for word in encoding.word_ids:
        expected.append(-1 if word in seen else penn_class(EndingTagger().tag([words[word]])[0]))
        seen.add(word)
    assert labels.tolist() == expected


def test_the_same_seed_gives_the_same_sample(tmp_path: Path) -> None:
    files, tokenizer = [corpus(tmp_path, "gauge", 200)], write_tokenizer(tmp_path / "t.json")
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        texts = tag_files(files, EndingTagger(), 20, seed)
        prepare_tagged(texts, tokenizer, tmp_path / name, 5, seed, quiet=True)
    same, other = ([load(tmp_path / name) for name in pair] for pair in ("ab", "ac"))
    assert all(np.array_equal(x, y) for x, y in zip(*same, strict=True))
    assert not all(np.array_equal(x, y) for x, y in zip(*other, strict=True))


def test_tagged_text_is_taken_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "tagged.tsv"
    path.write_text("# text 1\nThe\tDT\ntidal\tJJ\ntables\tNNS\n\n\nnine\tNUM\nharbours\tNOUN\n", encoding="utf-8")
    assert [list(words) for words, _ in read_tagged(path)] == [
        ["The", "tidal", "tables"],
        ["nine", "harbours"],
    ]
    tokenizer = write_tokenizer(tmp_path / "t.json")
    summary = prepare_tagged(read_tagged(path), tokenizer, tmp_path / "out", held_out=1, quiet=True)
    counts = {"OTHER": 1, "NOUN": 2, "ADJECTIVE": 1, "NUMBER": 1}
    assert summary.classes == {**dict.fromkeys(CLASSES, 0), **counts}
    pairs = [(["wave"], ["NN"]), (["of"], ["IN"])]
    assert prepare_tagged(pairs, tokenizer, tmp_path / "out", held_out=1, quiet=True).documents == 2
    path.write_text("The DT\n")
    with pytest.raises(TrainingError, match=r"Line 1 of .*tagged\.tsv"):
        list(read_tagged(path))


def test_long_texts_end_with_a_whole_word(tmp_path: Path) -> None:
    words = ["tide"] * (LONGEST - 2) + ["zzzzz", "tide"]
    tokenizer = write_tokenizer(tmp_path / "t.json")
    prepare_tagged([(words, ["NN"] * len(words))], tokenizer, tmp_path / "out", held_out=0, quiet=True)
    assert load(tmp_path / "out")[0].size == LONGEST - 2


def test_what_cannot_be_used_is_refused(tmp_path: Path) -> None:
    tokenizer = write_tokenizer(tmp_path / "t.json")
    with pytest.raises(TrainingError, match="2 words and 1 tags"):
        prepare_tagged([(["a", "b"], ["IN"])], tokenizer, tmp_path / "out", quiet=True)
    with pytest.raises(TrainingError, match="1 tagged texts and 1 are to be held out"):
        prepare_tagged([(["a"], ["IN"])], tokenizer, tmp_path / "out", held_out=1, quiet=True)
    bad = write_rows(tmp_path / "bad.jsonl", ["no"])
    with pytest.raises(TrainingError, match="holds no document"):
        prepare_tagged(tag_files([bad], EndingTagger(), 1, 0), tokenizer, tmp_path / "out", quiet=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.jsonl", "t.json"]

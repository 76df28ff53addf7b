"""Texts that people tagged: their words are the product's, and each has the class of the tokens in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from erukg.core.word_classes import CLASSES
from erukg.errors import InputError
from erukg.training.words.conllu import HandTagged, read_conllu
from erukg.training.words.texts import hand_tagged


def token(number: int | str, form: str, tag: str, *, glued: bool = False) -> str:
    misc = "SpaceAfter=No" if glued else "_"
    return "\t".join([str(number), form, "_", "_", tag, "_", "_", "_", "_", misc]) + "\n"


BUOY = (
    "# newdoc id = buoy\n# text = The keeper's three-way valve won't fit.\n"
    + token(1, "The", "DT")
    + token("2-3", "keeper's", "_")
    + token(2, "keeper", "NN")
    + token(3, "'s", "POS")
    + token(4, "three", "CD", glued=True)
    + token(5, "-", "HYPH", glued=True)
    + token(6, "way", "NN")
    + token(7, "valve", "NN")
    + token("8-9", "won't", "_")
    + token(8, "will", "MD")
    + token(9, "not", "RB")
    + token(10, "fit", "VB", glued=True)
    + token(11, ".", ".")
    + "\n# newpar\n"
    + token(1, "Salt", "NN", glued=True)
    + token(2, "-", "HYPH", glued=True)
    + token(3, "stained", "VBN")
    + token(4, "boats", "NNS")
    + token("4.1", "that", "WDT")
    + token(5, "de-icing", "VBG")
    + token(6, "Vell", "NNP")
    + "\n"
)
MINK = (
    "# newdoc id = mink\n" + token(1, "Minks", "NNS") + token(2, "swim", "VBP", glued=True) + token(3, ".", ".") + "\n"
)


def told(text: HandTagged) -> list[str]:
    return [f"{word} {CLASSES[number]}" for word, number in zip(text.words, text.classes.tolist(), strict=True)]


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_words_are_the_products_and_have_the_class_of_their_tokens(tmp_path: Path) -> None:
    buoy, mink = read_conllu(write(tmp_path / "a.conllu", BUOY + MINK))
    assert told(buoy) == [
        "The OTHER",
        "keeper's NOUN",
        "three-way ADJECTIVE",
        "valve NOUN",
        "won't VERB",
        "fit VERB",
        ". OTHER",
        "Salt-stained ADJECTIVE",
        "boats NOUN",
        "de-icing ADJECTIVE",
        "Vell NAME",
    ]
    assert told(mink) == ["Minks NOUN", "swim VERB", ". OTHER"]


def test_a_file_without_documents_is_one_text(tmp_path: Path) -> None:
    (text,) = read_conllu(write(tmp_path / "a.conllu", MINK.partition("\n")[2] * 2))
    assert len(text.words) == 6
    assert list(read_conllu(write(tmp_path / "b.conllu", "# newdoc id = nothing\n\n"))) == []


def test_what_is_no_conllu_is_named_by_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conllu", BUOY + "1 Minks NNS\n")
    with pytest.raises(InputError, match=r"a\.conllu, line 26: .* 10 columns, not 1"):
        list(read_conllu(path))


@pytest.mark.parametrize("number", ["", "one", "1-", "-2", "1-two", "1_2", "5-3", "1" * 5_000])
def test_tokens_without_a_number_are_refused(tmp_path: Path, number: str) -> None:
    row = "\t".join([number, "Minks", *"_" * 8])
    with pytest.raises(InputError, match=r"a\.conllu, line 1: .* no number of a token"):
        list(read_conllu(write(tmp_path / "a.conllu", f"{row}\n")))


def test_a_word_of_parts_ends_with_its_sentence(tmp_path: Path) -> None:
    cut = "\t".join(["1-9", "won't", *"_" * 8])
    (text,) = read_conllu(write(tmp_path / "a.conllu", f"{cut}\n\n{MINK.partition(chr(10))[2]}"))
    assert told(text)[1:] == ["Minks NOUN", "swim VERB", ". OTHER"]


def test_texts_are_drawn_by_the_seed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conllu", BUOY + MINK)
    orders = {tuple(hand_tagged(path, seed).offsets.tolist()) for seed in range(20)}
    assert orders == {(0, 11, 14), (0, 3, 14)}
    assert hand_tagged(path, 3).offsets.tolist() == hand_tagged(path, 3).offsets.tolist()

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from erukg.core.document import Document
from erukg.core.notices import (
    HEADINGS,
    MOSTLY_MARKUP,
    MOSTLY_NUMBERS,
    NOT_ENGLISH,
    TOO_SHORT,
    UNLIKE_COLLECTION,
    UNLIKE_TAGGED,
    not_english,
    notices_of,
    unlike_collection,
    withholds_absent,
)
from erukg.core.results import Notice

ENGLISH = (
    "The council has decided to open a new line of the tram between the station and the university. It is to be built "
    "in four years, and it will be used by 40,000 people a day."
)
FOREIGN = {
    "da": "Regeringen besluttede onsdag at fremskynde udbygningen af vindenergi på land, og det er for tidligt at "
    "sige, hvad det betyder for kommunerne.",
    "nl": "De regering heeft woensdag besloten de uitbreiding van windenergie op land te versnellen. Wat dat betekent, "
    "is nog niet bekend, en we weten niet of het was of is.",
    "no": "Det er for tidlig å si hva dette betyr for kommunene, men vi kan se at de har to muligheter for det.",
    "zh": "我们使用 BERT 和 GPT-4 在 the Stack 上进行 fine-tuning, 结果 state of the art 更好。",
    "ja": "政府は水曜日、陸上風力発電の拡大を加速することを決定した。",
    "ru": "Правительство в среду решило ускорить развитие наземной ветроэнергетики.",
    "hi": "सरकार ने बुधवार को तटवर्ती पवन ऊर्जा के विस्तार में तेजी लाने का निर्णय लिया।",
    "zh, one word": "机器学习",
}


class Asked:
    """A detector that says Klingon of everything and keeps what it was asked."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, text: str) -> str | None:
        self.texts.append(text)
        return "Klingon"


def codes(text: str, language_of: Callable[[str], str | None] | None = None) -> list[str]:
    return [notice.code for notice in notices_of(Document.parse(text), language_of)]


def test_english_prose_is_not_asked_about() -> None:
    asked = Asked()
    for text in (ENGLISH, ENGLISH * 50, f"<p class='a'>{ENGLISH}</p>", f"{ENGLISH} α and β are measured in μm."):
        assert codes(text, asked) == []
    assert asked.texts == []


def test_a_long_text_needs_fewer_english_words() -> None:
    asked = Asked()
    filler = " ".join(["model", "scores", "robust"] * 16)
    assert codes(f"{filler} with this", asked) == [], "2 of 50"
    assert asked.texts == []
    assert codes(f"{filler} with", asked) == codes(f"{filler[:280]} with this", asked) == ["not-english"]
    assert len(asked.texts) == 2


@pytest.mark.parametrize("text", FOREIGN.values(), ids=FOREIGN)
def test_anything_else_is_asked_about(text: str) -> None:
    asked = Asked()
    (notice,) = notices_of(Document.parse(text), asked)
    assert notice == not_english("Klingon")
    assert "seems to be Klingon" in notice.message
    assert len(asked.texts) == 1
    assert codes(text, lambda _: None) == []
    assert codes(text) == []


@pytest.mark.parametrize("text", ["", "Crème brûlée", "Sturm Drang", "El Niño 1997", "12 13 14", "犬", "x = 1"])
def test_no_language_is_guessed_from_next_to_nothing(text: str) -> None:
    asked = Asked()
    assert NOT_ENGLISH not in codes(text, asked)
    assert asked.texts == []


def test_what_is_asked_about_is_words_from_the_middle() -> None:
    asked = Asked()
    filler = "eins zwei drei "
    codes(f"<b>Anfang</b> {filler * 300} mitte 17 wort {filler * 300} schluss", asked)
    (text,) = asked.texts
    assert "mitte wort" in text
    assert not {"Anfang", "schluss", "17", "b"} & set(text.split())
    assert len(text.split()) < 500


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [TOO_SHORT]),
        ("... !!!", [TOO_SHORT]),
        ("photosynthesis", [TOO_SHORT]),
        ("  COVID-19 \n", [TOO_SHORT]),
        ("deep learning", []),
        ("rain jacket women size 12", []),
        ("ISO 9001 2015", []),
        ("2019", [MOSTLY_NUMBERS]),
        ("year sales\n" + "2019 17.5\n2020 18.1\n2021 16.0\n2022 19.4\n" * 3, [MOSTLY_NUMBERS]),
        ("for (i = 0; i < n; i++) { a[i] += b[i] * c; } return f(a, &b);", [MOSTLY_MARKUP]),
        ('{"name": "x", "list": [1, 2, {"deep": "tree"}], "more": {"a": "b", "c": null}}', [MOSTLY_MARKUP]),
        (
            "<div class='a b c d e f' data-role='some-long-attribute-value-of-the-page'>Sea ice</div>" * 5,
            [MOSTLY_MARKUP],
        ),
        (ENGLISH, []),
        (f"{ENGLISH}\n2019 17.5 18.0 3\n2020 18.1 14.2 4", []),
    ],
)
def test_texts_with_little_to_find(text: str, expected: list[str]) -> None:
    assert codes(text, lambda _: None) == expected


def test_marked_up_prose_may_be_foreign_too() -> None:
    asked = Asked()
    tags = "<div class='a b c d e f' data-role='some-long-attribute-value-of-the-page'>Die Stadt baut Wege</div>"
    assert codes(tags * 5, asked) == [NOT_ENGLISH, MOSTLY_MARKUP]


def test_only_some_notices_withhold_absent_phrases() -> None:
    for notice in (not_english("German"), unlike_collection()):
        assert withholds_absent((Notice(TOO_SHORT, "It is."), notice))
        assert "absent" in notice.message
    assert not withholds_absent(notices_of(Document.parse("word")))
    assert not withholds_absent(())
    assert {TOO_SHORT, MOSTLY_MARKUP, MOSTLY_NUMBERS, NOT_ENGLISH, UNLIKE_COLLECTION, UNLIKE_TAGGED} == HEADINGS.keys()


@given(st.text())
def test_any_text_has_sound_notices(text: str) -> None:
    for notice in notices_of(Document.parse(text), Asked()):
        assert notice.code in HEADINGS
        assert notice.message.endswith(".")

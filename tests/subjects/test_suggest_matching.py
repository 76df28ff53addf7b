"""Labels in a text: whole words, the longest first, in any spelling, and never where only letters agree."""

from __future__ import annotations

import pytest

from erukg.core.document import Document
from erukg.subjects.concepts import Concept
from erukg.subjects.matching import Occurrences, find_labels
from erukg.subjects.vocabulary import Vocabulary

CONCEPTS = (
    Concept("u:stem", "stem"),
    Concept("u:mi", "Infarction, Myocardial", alternatives=("heart attack",)),
    Concept("u:infarction", "Infarction"),
    Concept("u:pci", "Percutaneous Coronary Interventions"),
    Concept("u:aids", "AIDS"),
    Concept("u:help", "aid"),
    Concept("u:calcium", "Calcium"),
    Concept("u:behaviour", "Cognitive Behavioral Therapy"),
    Concept("u:oedema", "oedema"),
    Concept("u:planet", "Mercury (planet)"),
    Concept("u:element", "Mercury (element)"),
    Concept("u:harp", "harp"),
    Concept("u:pci-bus", "PCI"),
)
VOCABULARY = Vocabulary.of(CONCEPTS)


def found(text: str) -> dict[str, list[str]]:
    """What stands in the text for each concept."""
    out: dict[str, list[str]] = {}
    occurrences = find_labels(Document.parse(text), VOCABULARY)
    for k in range(len(occurrences)):
        uri = VOCABULARY.uri(int(occurrences.concepts[k]))
        out.setdefault(uri, []).append(text[int(occurrences.starts[k]) : int(occurrences.ends[k])])
    return out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("STEMI and stemming, stems of it", {"u:stem": ["stems"]}),
        ("A heart attack is no heart-attacks joke", {"u:mi": ["heart attack", "heart-attacks"]}),
        ("They aid us with first aids", {"u:help": ["aid", "aids"]}),
        ("AIDS is not an aid", {"u:aids": ["AIDS"], "u:help": ["aid"]}),
        ("hiv and aids in lower case", {"u:aids": ["aids"], "u:help": ["aids"]}),
        ("calcium-dependent channels", {"u:calcium": ["calcium"]}),
        ("low-calcium diet", {"u:calcium": ["calcium"]}),
        (
            "cognitive behavioural therapy for edema",
            {"u:behaviour": ["cognitive behavioural therapy"], "u:oedema": ["edema"]},
        ),
        ("seen by HARPS", {}),
        ("SEEN BY HARPS AND OTHERS", {"u:harp": ["HARPS"]}),
        ("myocardial. Infarction", {"u:infarction": ["Infarction"]}),
        ("", {}),
    ],
)
def test_labels_are_found_as_whole_words(text: str, expected: dict[str, list[str]]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ("influenza virus", "influenza viruses"),
        ("analysis", "analyses"),
        ("crisis", "crises"),
        ("bacterium", "bacteria"),
        ("criterion", "criteria"),
        ("phenomenon", "phenomena"),
        ("nucleus", "nuclei"),
        ("larva", "larvae"),
        ("formula", "formulae"),
        ("matrix", "matrices"),
        ("index", "indices"),
        ("woman", "women"),
        ("child", "children"),
    ],
)
def test_a_label_in_one_number_is_found_in_the_other(one: str, several: str) -> None:
    for label, said in ((one, several), (several, one)):
        assert len(find_labels(Document.parse(f"It is about the {said} here."), Vocabulary.of([label]))) == 1


@pytest.mark.parametrize(
    ("label", "said"),
    [("base", "basis"), ("medium", "media"), ("media", "medium"), ("thesis", "these"), ("Samarium", "Samaria")],
)
def test_other_words_are_no_plurals(label: str, said: str) -> None:
    assert len(find_labels(Document.parse(f"He said of {said} what he had to."), Vocabulary.of([label]))) == 0


def test_labels_of_many_words_are_found() -> None:
    label = "international convention for the safety of life at sea and in the air above it"
    vocabulary = Vocabulary.of([label, f"{label} and below"])
    occurrences = find_labels(Document.parse(f"They signed the {label} in London."), vocabulary)
    assert [vocabulary.uri(int(each)) for each in occurrences.concepts] == [label]


def test_a_label_inside_a_longer_one_is_nested() -> None:
    occurrences = find_labels(Document.parse("Myocardial infarctions and infarction"), VOCABULARY)
    by_place = {
        (VOCABULARY.uri(int(c)), int(s)): bool(n)
        for c, s, n in zip(occurrences.concepts, occurrences.starts, occurrences.nested, strict=True)
    }
    assert by_place == {("u:mi", 0): False, ("u:infarction", 11): True, ("u:infarction", 27): False}


def test_an_acronym_of_the_text_means_what_the_text_says() -> None:
    text = "Percutaneous coronary intervention (PCI) was done. PCI is safe."
    assert found(text) == {"u:pci": ["Percutaneous coronary intervention", "PCI", "PCI"]}
    assert found("The PCI bus") == {"u:pci-bus": ["PCI"]}


def test_words_that_may_mean_several_concepts_say_so() -> None:
    occurrences = find_labels(Document.parse("mercury"), VOCABULARY)
    assert occurrences.shared.tolist() == [2, 2]
    assert find_labels(Document.parse("calcium"), VOCABULARY).shared.tolist() == [1]


def test_nothing_is_found_with_no_labels() -> None:
    assert len(find_labels(Document.parse("a text"), Vocabulary.of(["???"]))) == 0
    assert len(Occurrences.none()) == 0

"""Taggers: one tag a word, clitics tagged as Penn does, and clear words when something is missing."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence

import nltk
import numpy as np
import pytest

from erukg.core.candidates import noun_phrases
from erukg.core.document import Document
from erukg.core.tagging import tag_classes
from erukg.core.word_classes import (
    ADJECTIVE,
    ADVERB,
    COMPARATIVE,
    GERUND,
    NAME,
    NOUN,
    NUMBER,
    OTHER,
    PARTICIPLE,
    VERB,
    penn_class,
)
from erukg.errors import InputError, MissingExtraError
from erukg.taggers import NltkTagger, SpacyTagger

SENTENCES = [
    [
        ("Newton", "NNP"),
        ("'s", "POS"),
        ("method", "NN"),
        ("solves", "VBZ"),
        ("large", "JJ"),
        ("systems", "NNS"),
    ],
    [
        ("We", "PRP"),
        ("do", "VBP"),
        ("n't", "RB"),
        ("need", "VB"),
        ("Windows", "NNP"),
        ("95", "CD"),
        (".", "."),
    ],
    [("The", "DT"), ("method", "NN"), ("is", "VBZ"), ("fast", "JJ"), (".", ".")],
] * 5


@pytest.fixture(scope="module")
def perceptron() -> object:
    tagger = nltk.tag.PerceptronTagger(load=False)
    tagger.train(SENTENCES, nr_iter=8)
    return tagger


def test_penn_classes() -> None:
    tags = ["NN", "NNS", "NNP", "NNPS", "JJ", "JJR", "JJS", "CD", "VBG", "N", "", "CDX"]
    expected = [NOUN, NOUN, NAME, NAME, ADJECTIVE, COMPARATIVE, COMPARATIVE, NUMBER, GERUND, OTHER, OTHER, OTHER]
    assert [penn_class(t) for t in tags] == expected
    more = {"VBN": PARTICIPLE, "RB": ADVERB, "RBR": ADVERB, "VB": VERB, "VBD": VERB, "VBZ": VERB, "MD": VERB}
    assert {t: penn_class(t) for t in more} == more


def test_nltk_tags_our_words(perceptron: object) -> None:
    document = Document.parse("Newton's method solves large systems. We don't need Windows 95.")
    tagger = NltkTagger(perceptron)
    tags = tagger.tag(document.words)
    assert len(tags) == len(document.words)
    assert dict(zip(document.words, tags, strict=True))["don't"] == "VBP"
    candidates = noun_phrases(document, tag_classes(tagger, document.words))
    assert [c.form for c in candidates] == ["Newton's method", "large systems", "Windows 95"]
    assert tagger.tag([]) == []


def test_very_long_texts_are_tagged_in_passages(perceptron: object) -> None:
    words = ["method"] * 9000
    assert len(NltkTagger(perceptron).tag(words)) == 9000


def test_a_tagger_must_give_one_tag_a_word() -> None:
    class Short:
        def tag(self, words: Sequence[str]) -> Sequence[str]:
            return ["NN"]

    with pytest.raises(InputError, match=r"Short\.tag gave 1 tags for 3 words"):
        tag_classes(Short(), Document.parse("one two three").words)


@pytest.mark.parametrize(("module", "make"), [("spacy", SpacyTagger), ("nltk", NltkTagger)])
def test_a_missing_package_is_named(module: str, make: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=f"pip install {module}"):
        make()


def test_missing_nltk_data_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nltk.data, "path", [])
    with pytest.raises(MissingExtraError, match="averaged_perceptron_tagger_eng"):
        NltkTagger()


if importlib.util.find_spec("spacy"):

    def test_spacy_tags_our_words() -> None:
        import spacy
        from spacy.training import Example

        pipeline = spacy.blank("en")
        with pytest.raises(InputError, match="has no tagger"):
            SpacyTagger(pipeline)
        pipeline.add_pipe("tagger")
        examples = [
            Example.from_dict(spacy.tokens.Doc(pipeline.vocab, words=[w for w, _ in s]), {"tags": [t for _, t in s]})
            for s in SENTENCES[:3]
        ]
        pipeline.initialize(lambda: examples)
        for _ in range(25):
            pipeline.update(examples)
        document = Document.parse("Newton's method solves large systems. We don't need Windows 95.")
        classes = tag_classes(SpacyTagger(pipeline), document.words)
        assert classes.dtype == np.int8
        assert [c.form for c in noun_phrases(document, classes)] == ["Newton's method", "large systems", "Windows 95"]
        assert SpacyTagger(pipeline).tag([]) == []

    def test_a_missing_spacy_model_is_named() -> None:
        with pytest.raises(MissingExtraError, match="python -m spacy download no_such_model"):
            SpacyTagger("no_such_model")

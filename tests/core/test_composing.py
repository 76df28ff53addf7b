"""Phrases that a text says in other words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from erukg import KeyphraseGenerator, Settings
from erukg.core.backend import Pieces
from erukg.core.chunking import TaggedText
from erukg.core.composing import Composed, add_composed, compose
from erukg.core.document import Document
from erukg.core.folding import fold
from erukg.core.hashing import hash_phrases
from erukg.core.neighbours import Neighbourhood, Support, Terms, WeightedTerms
from erukg.core.pool import build_pool
from erukg.core.word_classes import ADJECTIVE, NAME, NOUN, OTHER

CLASSES = {"N": NOUN, "J": ADJECTIVE, "P": NAME, "O": OTHER}


def composed(tagged: str) -> dict[str, tuple[Composed, str]]:
    """What is made of words that are given with the letters of their classes: "images/N of/O"."""
    words, letters = zip(*(word.rsplit("/", 1) for word in tagged.split()), strict=True)
    document = Document.parse(" ".join(words))
    assert document.words == words
    text = TaggedText(document, np.array([CLASSES[letter] for letter in letters], np.int8))
    return {each.form(text): (each, each.wording(text)) for each in compose(text)}


@pytest.mark.parametrize(
    ("text", "forms"),
    [
        ("we/O tried/O classification/N of/O images/N", {"image classification"}),
        ("the/O robust/J control/N of/O the/O vehicles/N", {"vehicle robust control", "vehicle control"}),
        ("an/O assessment/N of/O chest/N pain/N", {"chest pain assessment", "pain assessment"}),
        ("linear/J and/O nonlinear/J systems/N differ/O", {"linear systems"}),
        ("urban/J or/O rural/J road/N traffic/N", {"urban road traffic"}),
        ("patient/N safety/N and/O outcomes/N", {"patient outcomes"}),
        ("an/O analysis/N of/O DNA/N", {"DNA analysis"}),
        # Names, times, what points, and what goes on behind a mark.
        ("Bank/P of/O England/P", set()),
        ("the/O end/N of/O the/O week/N", set()),
        ("classification/N of/O new/J images/N", {"image classification"}),
        ("classification/N ./O of/O images/N", set()),
        ("classification/N by/O images/N", set()),
        ("systems/N of/O systems/N", set()),
    ],
)
def test_what_is_made_of_a_text(text: str, forms: set[str]) -> None:
    assert set(composed(text)) == forms


def test_it_knows_the_words_and_the_wording() -> None:
    made, wording = composed("we/O tried/O classification/N of/O images/N")["image classification"]
    assert made.words == (4, 2)
    assert wording == "classification of images"
    assert made.fold == fold("image classification")


def test_what_the_text_holds_is_not_composed() -> None:
    assert not composed("classification/N of/O images/N ./O image/N classification/N works/O")


class Few:
    """A glossary of three phrases, each of one piece with its number."""

    known = hash_phrases(["graph", "image classification", "query"]).tolist()

    def __len__(self) -> int:
        return len(self.known)

    def find(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        return np.array([self.known.index(h) if h in self.known else -1 for h in hashes.tolist()])

    def hashes(self, ids: NDArray[np.int64]) -> NDArray[np.uint64]:
        return np.array(self.known, np.uint64)[ids]

    def phrases(self, ids: NDArray[np.int64]) -> list[str]:
        raise AssertionError("nobody reads them")

    def terms(self, ids: NDArray[np.int64]) -> Terms:
        return Terms(np.arange(len(ids) + 1), ids.astype(np.int32))

    def counts(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.full(len(ids), 5)

    titled = counts


@pytest.mark.parametrize(("kept", "rows"), [([0, 1, 2], [1]), ([0, 2], []), ([], [])])
def test_what_was_left_out_of_the_pool_is_not_composed_again(kept: list[int], rows: list[int]) -> None:
    words = "we/O tried/O classification/N of/O images/N".split()
    document = Document.parse(" ".join(word[:-2] for word in words))
    text = TaggedText(document, np.array([CLASSES[word[-1]] for word in words], np.int8))
    shares, holders = np.array([0.5, 0.3, 0.2], np.float32), np.ones(3, np.int64)
    terms = WeightedTerms(np.empty(0, np.int32), np.empty(0, np.float32))
    near = Neighbourhood(np.arange(1), shares[:1], np.arange(3), shares, terms, 1.0, holders, Support.none(3))
    own = Terms(np.zeros(1, np.int64), np.empty(0, np.int32))
    pool = build_pool([], own, near, Few(), Settings(), lambda ids, terms: np.isin(ids, kept))
    assert pool.glossary_ids.tolist() == kept
    assert pool.left_out is not None
    assert sorted([*pool.left_out.tolist(), *kept]) == [0, 1, 2]
    pieces = Pieces(np.arange(5, dtype=np.int32), np.arange(6))
    whole, made = add_composed(pool, compose(text), document.folded, pieces, Few(), Settings())
    assert (len(whole), list(made)) == (len(kept), rows)


TEXT = (
    "Graph of queries\nWe study the routing of queries in large networks, the graph of queries and the query of a "
    "graph. Routing tables and queries grow with the network, and so does the network of the graph model. Every query "
    "of the network follows the graph model, the routing table and the index of the network."
)


@pytest.fixture(scope="module")
def ranked(ranked_model: Path, tiny_collection: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator.from_pretrained(ranked_model, tiny_collection, language="en")


def test_they_are_phrases_like_others(ranked: KeyphraseGenerator, tiny_corpus: Path) -> None:
    """Of the same list, on the same scale, with their wording as a variant and no source; bit for bit in batches."""
    settings = Settings(coined=True, abstain=False, min_confidence=0.0)
    texts = [TEXT, *(json.loads(line)["abstract"] for line in tiny_corpus.read_text().splitlines()[:30])]
    results = [ranked.generate(text, 200, settings, explain=True) for text in texts]
    made = [(text, k) for text, each in zip(texts, results, strict=True) for k in each.absent if k.variants]
    assert made
    for text, k in made:
        (wording,) = k.variants
        assert wording in " ".join(text.split())
        assert fold(k.phrase) not in fold(text)
        assert set(fold(k.phrase).split()) <= set(fold(wording).split())
        assert k.explanation is not None
        assert k.score == pytest.approx(np.prod(list(k.explanation.factors.values())), rel=1e-9)
    assert any(not k.sources for _, k in made)
    assert list(ranked.generate_batch(texts, 200, settings, explain=True)) == results


@pytest.mark.parametrize(
    "settings", [Settings.paper(), Settings(absent_composed=0), Settings(absent_learned=0, coined=True)]
)
def test_settings_without_them(ranked: KeyphraseGenerator, settings: Settings) -> None:
    result = ranked.generate(TEXT, 200, settings.replace(abstain=False, min_confidence=0.0))
    assert not any(k.variants for k in result.absent)


def test_what_the_collection_does_not_know_has_to_be_asked_for(ranked: KeyphraseGenerator) -> None:
    plain = Settings(abstain=False, min_confidence=0.0)
    known = {k.phrase for k in ranked.generate(TEXT, 200, plain).absent}
    coined = {k.phrase for k in ranked.generate(TEXT, 200, plain.replace(coined=True)).absent}
    assert known < coined


def test_what_is_excluded_is_not_composed(ranked: KeyphraseGenerator) -> None:
    settings = Settings(coined=True, abstain=False, min_confidence=0.0)
    assert any("routing" in k.phrase for k in ranked.generate(TEXT, 200, settings).absent if k.variants)
    without = ranked.generate(TEXT, 200, settings, exclude=["routing"])
    assert not any("routing" in k.phrase for k in without.absent)

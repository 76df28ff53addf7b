from __future__ import annotations

import json
import math
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erukg import Collection, KeyphraseGenerator, Keyphrases, Settings, fold
from erukg.backends import OnnxBackend
from erukg.core.document import Document
from erukg.core.factors import FACTORS
from erukg.core.inputs import InputDocument
from erukg.core.notices import not_english
from erukg.errors import InputError, ModelError, SettingsError
from tiny import ADJECTIVES, NOUNS, OTHERS, write_model

TEXT = (
    "Sparse retrieval of sea ice images\nWe propose neural networks for the passive radar; a Neural Network is used "
    "in neural network search engines of 3 large systems. The neural network finds sea-ice images quickly."
)
TEXTS = [TEXT[i:] + TEXT[:i] for i in range(0, len(TEXT), 3)]

nasty = st.text() | st.lists(
    st.sampled_from(
        [
            *NOUNS,
            *ADJECTIVES,
            *OTHERS,
            "Neural-\nNetworks",
            "graphs'",
            "$x^2$",
            "\\emph{deep model}",
            "&amp;",
            "ﬁle",
            "<i>",
            "\n",
            "\n\n",
            "\t",
            "[12]",
            "\u00ad",
            "🙂",
            "漢字",
            "\ud800",
            "\x00",
            "C++",
            "3.5",
            "|",
            "•",
            "http://a.b/c",
        ]
    ),
    max_size=60,
).map(" ".join)


def test_a_text_that_is_not_english_gets_a_notice_and_no_absent_phrases(
    tiny_encoder: OnnxBackend, tiny_collection: Path
) -> None:
    text = "neural network, sparse graph, radar images, sea ice, search engine"
    collection = Collection.open(tiny_collection)
    english = KeyphraseGenerator(tiny_encoder, collection, language_of=lambda _: None)
    foreign = KeyphraseGenerator(tiny_encoder, collection, language_of=lambda _: "Klingon")
    assert english.generate(text) == KeyphraseGenerator(tiny_encoder, collection).generate(text)
    found = foreign.generate(text)
    assert english.generate(text).absent
    assert found == replace(english.generate(text), absent=(), notices=(not_english("Klingon"),))
    assert Keyphrases.from_json(found.to_json()) == found
    (ranked,) = foreign.rank_batch([text], ["sea ice", "radar"])
    assert ranked.notices == found.notices
    assert json.loads(ranked.to_json())["notices"] == [{"code": "not-english", "message": found.notices[0].message}]
    assert list(ranked.phrases) == foreign.rank(text, ["sea ice", "radar"])


def test_phrases_of_a_text(tiny_generator: KeyphraseGenerator) -> None:
    result = tiny_generator.generate(TEXT, top_k=50, id="x")
    phrases = {k.phrase for k in result.present}
    assert {
        "neural network",
        "sea ice images",
        "Sparse retrieval",
        "passive radar",
        "large systems",
    } <= phrases
    assert "Neural Network" not in phrases, "variants come out once, under the form most used"
    assert result.absent == ()
    assert result.id == "x"
    scores = [k.score for k in result.present]
    assert scores == sorted(scores, reverse=True)
    assert all(s > 0 for s in scores)
    spans = {k.phrase: k.spans for k in result.present}
    assert [TEXT[a:b] for a, b in spans["sea ice images"]] == ["sea ice images", "sea-ice images"]


def test_a_model_of_four_classes_finds_whole_phrases(tiny_encoder: OnnxBackend) -> None:
    text = "The library of images is large, and we show that the library of images is not the archive that we propose."
    assert len(tiny_encoder.folder.config["tag_classes"]) == 4
    generator = KeyphraseGenerator(tiny_encoder)
    assert "library of images" in {k.phrase for k in generator.generate(text).present}
    paper = {k.phrase for k in generator.generate(text, settings=Settings.paper()).present}
    assert paper == {"library", "images", "archive"}


def test_top_k_is_a_prefix(tiny_generator: KeyphraseGenerator) -> None:
    everything = tiny_generator.generate(TEXT, top_k=50).present
    assert tiny_generator.generate(TEXT, top_k=3).present == everything[:3]
    assert tiny_generator.generate(TEXT, top_k=0).present == ()


def test_extract_is_generate_with_alpha_and_beta_one(tiny_generator: KeyphraseGenerator) -> None:
    ones = Settings.paper(alpha=1, beta=1)
    assert tiny_generator.extract(TEXT, settings=Settings.paper()) == tiny_generator.generate(TEXT, settings=ones)


def test_explanations_multiply_to_the_score(tiny_generator: KeyphraseGenerator) -> None:
    for chosen in (Settings.paper(), Settings(), Settings(diversity=0.7)):
        for k in tiny_generator.generate(TEXT, 50, chosen, explain=True).present:
            e = k.explanation
            assert e is not None
            assert math.prod(e.factors.values()) == pytest.approx(k.score, rel=1e-9)
            assert list(e.factors) == [factor.name for factor in FACTORS if factor.present and factor.needs is None]
            total = sum(t.weight for t in e.terms)
            assert total / (len(e.terms) - chosen.length_penalty) == pytest.approx(e.informativeness)
            for t in e.terms:
                assert t.weight == pytest.approx(chosen.alpha * t.document + (1 - chosen.alpha) * t.neighbours)
            assert e.words_before is not None
            assert e.position == pytest.approx(1 + 1 / math.log2(e.words_before + 2))
            mixed = chosen.beta * e.phraseness_document + (1 - chosen.beta) * e.phraseness_neighbours
            assert e.phraseness == pytest.approx(mixed)


def test_diversity_pushes_repeats_down(tiny_generator: KeyphraseGenerator) -> None:
    text = "neural network. neural networks search. neural network engine. satellite temperature. random forest."
    plain = [k.phrase for k in tiny_generator.generate(text, settings=Settings.paper()).present]
    spread = tiny_generator.generate(text, settings=Settings.paper(diversity=1)).present
    assert {k.phrase for k in spread} <= set(plain)
    assert spread[0].phrase == plain[0]
    used: set[str] = set()
    repeats = []
    for k in spread:
        words = set(fold(k.phrase).split())
        repeats.append(bool(words & used))
        used |= words
    assert repeats == sorted(repeats), "phrases that bring something new come before those that repeat"


def test_drop_contained_leaves_out_single_words(tiny_generator: KeyphraseGenerator) -> None:
    text = "Neural network search. The network is a graph. The graph is small."
    kept = {fold(k.phrase) for k in tiny_generator.generate(text, settings=Settings.paper(drop_contained=True))}
    every = [fold(k.phrase) for k in tiny_generator.generate(text, settings=Settings.paper())]
    better_than_network = every[: every.index("network")]
    assert "graph" in kept
    assert ("network" in kept) == (not any("network" in p.split() for p in better_than_network))


def test_batch_equals_one_at_a_time(tiny_generator: KeyphraseGenerator) -> None:
    alone = [tiny_generator.generate(t) for t in TEXTS]
    for threads in (1, 2, 8, None):
        assert list(tiny_generator.generate_batch(TEXTS, threads=threads)) == alone
    assert list(tiny_generator.extract_batch(TEXTS)) == [tiny_generator.extract(t) for t in TEXTS]
    assert [list(r) for r in tiny_generator.rank_batch(TEXTS, NOUNS)] == [tiny_generator.rank(t, NOUNS) for t in TEXTS]
    named = list(tiny_generator.generate_batch([("a", TEXT), (None, TEXT), TEXT]))
    assert [r.id for r in named] == ["a", None, None]


GOOD_AND_BAD = [
    TEXT,
    None,
    ("a", TEXT),
    (1, TEXT),
    ("b", 7),
    {"id": 3, "title": "Sparse retrieval", "text": TEXT},
    {"id": "empty", "body": TEXT},
    {"id": ["x"], "text": TEXT},
    b"bytes",
    InputDocument("c", TEXT, "here:1"),
    Document.parse(TEXT),
    ("too", "many", "parts"),
]


def test_a_stream_answers_every_item(tiny_generator: KeyphraseGenerator) -> None:
    for threads in (1, 3):
        answers = list(tiny_generator.stream(iter(GOOD_AND_BAD), threads=threads))
        assert [answer.item for answer in answers] == GOOD_AND_BAD, "the caller's own items come back, in order"
        for answer in answers:
            assert (answer.result is None) != (answer.error is None)
            with nullcontext() if answer.error is None else pytest.raises(InputError):
                answer.unwrap()
        assert [i for i, answer in enumerate(answers) if answer.error] == [1, 4, 6, 7, 8, 11]
    results = list(tiny_generator.generate_batch(GOOD_AND_BAD))
    assert [r.id for r in results] == [None, None, "a", "1", None, "3", None, None, None, "c", None, None]
    assert results[0].present == results[2].present == results[9].present == results[10].present
    assert [bool(r.error) for r in results] == [answer.error is not None for answer in answers]
    assert results[1].error is not None
    assert "a mapping with 'text'" in results[1].error, "it says what to pass"
    assert results[1].to_dict() == {"id": None, "present": [], "absent": [], "error": results[1].error}
    assert Keyphrases.from_json(results[1].to_json()) == results[1]
    ranked = list(tiny_generator.rank_batch(GOOD_AND_BAD, ["sea ice"]))
    assert [bool(r.error) for r in ranked] == [bool(r.error) for r in results]
    assert [r.id for r in ranked if not r.error] == [r.id for r in results if not r.error]
    assert ranked[0][0].phrase == "sea ice"


class Frame:
    columns = ("title", "text")

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


@pytest.mark.parametrize("items", [TEXT, b"bytes", {"id": 1, "text": TEXT}, Frame(), None, 7, Document.parse(TEXT)])
def test_what_is_not_many_documents_is_refused_at_once(tiny_generator: KeyphraseGenerator, items: Any) -> None:
    for call in (tiny_generator.stream, tiny_generator.generate_batch, tiny_generator.extract_batch):
        with pytest.raises(InputError, match="a list or another iterable of a text"):
            call(items)
    with pytest.raises(InputError, match="a list or another iterable of a text"):
        tiny_generator.rank_batch(items, ["sea ice"])


def test_an_error_that_is_not_an_items_own_ends_the_stream(tiny_model: Path) -> None:
    class Broken:
        def tag(self, words: Sequence[str]) -> list[str]:
            raise RuntimeError("broken")

    generator = KeyphraseGenerator.from_pretrained(tiny_model, collection=False, tagger=Broken())
    with pytest.raises(RuntimeError, match="broken"):
        list(generator.generate_batch([TEXT]))


def test_batch_takes_an_endless_stream(tiny_generator: KeyphraseGenerator) -> None:
    taken = 0

    def stream() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield TEXT

    results = tiny_generator.generate_batch(stream(), threads=2)
    for _ in range(20):
        next(results)
    assert taken < 20 + 2 * 4 + 2
    assert isinstance(results, Generator)
    results.close()


def test_eight_threads_share_one_generator(tiny_model: Path) -> None:
    generator = KeyphraseGenerator.from_pretrained(tiny_model, collection=False)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(generator.generate, TEXTS * 3))
    fresh = KeyphraseGenerator.from_pretrained(tiny_model, collection=False)
    assert together == [fresh.generate(t) for t in TEXTS * 3]


@settings(max_examples=300, deadline=None)
@given(nasty)
def test_spans_fold_to_the_phrase(tiny_generator: KeyphraseGenerator, text: str) -> None:
    for k in tiny_generator.generate(text, top_k=1000).present:
        assert k.spans
        for a, b in k.spans:
            assert fold(text[a:b]) == fold(k.phrase)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t ",
        "x",
        ".",
        "?!.,;" * 100,
        "the of and to in",
        "🙂🎉",
        "مرحبا بالعالم",
        "שלום עולם",
        "漢字仮名交じり文",
        "\x00\x00",
        "\ud800\udfff\ud800",
        "neural\x00network",
        "a" * 100_000,
        "$" * 10_000,
        "\\" * 10_000,
        "<" * 10_000,
    ],
)
def test_odd_texts_get_a_sensible_answer(tiny_generator: KeyphraseGenerator, text: str) -> None:
    result = tiny_generator.generate(text)
    assert len(result.present) <= 1
    assert len(tiny_generator.rank(text, ["neural network"])) == 1


def test_a_million_characters(tiny_generator: KeyphraseGenerator) -> None:
    text = (TEXT + "\n\n") * (1_000_000 // (len(TEXT) + 2) + 1)
    result = tiny_generator.generate(text)
    assert len(result.present) == 10 - max(0, 10 - len(result.present))
    assert {"neural network"} <= {k.phrase for k in result.present}


def test_rank_scores_any_phrases(tiny_generator: KeyphraseGenerator) -> None:
    phrases = ["Sea Ice", "random forest", "neural networks", "Neural Network", "", "漢字"]
    ranked = tiny_generator.rank(TEXT, phrases, explain=True)
    assert [k.phrase for k in ranked if k.spans] == [
        k.phrase for k in ranked if k.phrase in ("Sea Ice", "neural networks")
    ]
    assert len(ranked) == 4, "the same phrase twice comes out once, and nothing is lost"
    assert [k.score for k in ranked] == sorted((k.score for k in ranked), reverse=True)
    assert tiny_generator.rank(TEXT, phrases, top_k=2) == tiny_generator.rank(TEXT, phrases)[:2]
    for k in ranked:
        if k.explanation is not None:
            assert math.prod(k.explanation.factors.values()) == pytest.approx(k.score)


def test_rank_with_a_prepared_list(tiny_generator: KeyphraseGenerator) -> None:
    phrases = [f"{a} {n}" for a in ADJECTIVES for n in NOUNS]
    prepared = tiny_generator.phrase_list(phrases)
    assert tiny_generator.rank(TEXT, prepared) == tiny_generator.rank(TEXT, phrases)


@pytest.mark.parametrize("text", [None, b"bytes", 3, ["list"]])
def test_only_strings_are_documents(tiny_generator: KeyphraseGenerator, text: object) -> None:
    with pytest.raises(InputError, match=r"^A document must be a text, an"):
        tiny_generator.generate(text)  # type: ignore[arg-type]


@pytest.mark.parametrize("top_k", [-1, 2.5, True, "10"])
def test_top_k_is_checked(tiny_generator: KeyphraseGenerator, top_k: object) -> None:
    with pytest.raises(InputError, match="top_k"):
        tiny_generator.generate(TEXT, top_k)  # type: ignore[arg-type]


def test_mistakes_are_named(tiny_generator: KeyphraseGenerator, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="alpha"):
        tiny_generator.generate(TEXT, settings=Settings(alpha=2))
    with pytest.raises(ModelError, match="no model folder"):
        KeyphraseGenerator.from_pretrained(tmp_path / "none")


def test_a_plugged_in_tagger_decides(tiny_model: Path) -> None:
    class Everything:
        def tag(self, words: Sequence[str]) -> list[str]:
            return ["NN" if w == "quickly" else "RB" for w in words]

    generator = KeyphraseGenerator.from_pretrained(tiny_model, collection=False, tagger=Everything())
    assert [k.phrase for k in generator.generate(TEXT)] == ["quickly"]


def test_window_size_does_not_lose_phrases(tmp_path: Path) -> None:
    narrow = KeyphraseGenerator.from_pretrained(write_model(tmp_path / "narrow", window=16), collection=False)
    wide = KeyphraseGenerator.from_pretrained(write_model(tmp_path / "wide", window=512), collection=False)
    assert {k.phrase for k in narrow.generate(TEXT, 99)} == {k.phrase for k in wide.generate(TEXT, 99)}

"""Weighted queries: what is added to a query, and how much it counts beside the query's own words."""

from __future__ import annotations

import pytest

from erukg import KeyphraseGenerator, QueryOptions
from erukg.core.query_expansion import ExpandedQuery, SearchPhrase, weigh_query
from erukg.core.results import Keyphrase, Keyphrases
from erukg.core.search_words import search_words
from erukg.errors import InputError

FOUND = Keyphrases(
    (Keyphrase("sea ice", 0.6), Keyphrase("radar", 0.2)),
    (Keyphrase("remote sensing of ice", 0.09), Keyphrase("arctic", 0.01), Keyphrase("nothing", 0.0)),
)


def mass(query: ExpandedQuery, kind: str) -> float:
    return sum(p.weight * len(search_words(p.phrase)) for p in query.phrases if p.kind == kind)


@pytest.mark.parametrize("weight", [0.1, 0.3, 0.5])
def test_the_query_keeps_its_share(weight: float) -> None:
    query = weigh_query("the radar of sea ice", FOUND, [("floes", 1.0), ("snow", 0.5)], QueryOptions(weight=weight))
    whole = 3 / (1 - weight)
    assert mass(query, "present") == pytest.approx(2 / 3 * weight * whole, rel=1e-3)
    assert mass(query, "absent") == pytest.approx(1 / 3 * weight * whole, rel=1e-3)
    assert mass(query, "term") == pytest.approx(1 / 3 * weight * whole, rel=1e-3)


def test_within_a_kind_weights_follow_the_scores() -> None:
    by_phrase = {p.phrase: p.weight for p in weigh_query("radar of sea ice", FOUND).phrases}
    assert by_phrase["sea ice"] / by_phrase["radar"] == pytest.approx(3, rel=1e-3)
    assert by_phrase["remote sensing of ice"] / by_phrase["arctic"] == pytest.approx(3, rel=1e-3)
    assert "nothing" not in by_phrase


def test_options_limit_each_kind() -> None:
    query = weigh_query("radar of sea ice", FOUND, (), QueryOptions(present=1, absent=0))
    assert [p.phrase for p in query.phrases] == ["sea ice"]
    assert weigh_query("radar of sea ice", FOUND, (), QueryOptions(weight=0)).phrases == ()


@pytest.mark.parametrize("wrong", [{"weight": 1.0}, {"weight": "a"}, {"present": -1}, {"terms": 1.5}, {"absent": True}])
def test_wrong_options_are_named(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        QueryOptions(**wrong)  # type: ignore[arg-type]


def test_word_weights_add_up() -> None:
    query = ExpandedQuery("Sea ice and the sea", (SearchPhrase("sea ice", "present", 0.5),))
    assert query.word_weights() == {"sea": 2.5, "ice": 1.5}


def test_queries_without_words_are_answered(tiny_generator: KeyphraseGenerator) -> None:
    for text in ("", "?!", "to be or not to be"):
        query = tiny_generator.expand_query(text, QueryOptions(terms=10))
        assert (query.text, [p for p in query.phrases if p.kind == "term"]) == (text, [])


def test_shipped_models_add_words_that_are_neither_pieces_nor_in_the_query() -> None:
    generator = KeyphraseGenerator.from_pretrained("tiny")
    query = generator.expand_query("Do cholesterol statin drugs cause breast cancer?", QueryOptions(terms=30), id="q")
    kinds = {kind: [p.phrase for p in query.phrases if p.kind == kind] for kind in ("present", "absent", "term")}
    assert query.id == "q"
    assert "breast cancer" in kinds["present"]
    assert len(kinds["absent"]) > 5
    assert len(kinds["term"]) == 30
    assert not {"cho", "stat", "cancers", "drug"} & set(kinds["term"])
    assert query.word_weights()["cancer"] > query.word_weights()["cause"]
    answers = list(generator.expand_queries([("q", "Do cholesterol statin drugs cause breast cancer?"), 3]))
    assert answers[0].unwrap().phrases == generator.expand_query(query.text).phrases
    assert answers[1].error is not None

"""Lists without repetition: which of phrases inside one another is kept, and that none is lost."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erukg import KeyphraseGenerator, Settings
from erukg.core.document import Document
from erukg.core.folding import fold
from erukg.core.locating import locate
from erukg.core.merging import rank_present
from erukg.core.neighbours import Neighbourhood, Terms
from erukg.core.pool import Pool
from erukg.core.ranking import Weights

# Nothing but what a phrase's kind is worth counts, so that a test can set its score; `lead` is told, but hardly counts.
PLAIN = Settings(position=0, phraseness=0, beta=1, single_word=1, length_penalty=0, balance=1e-12)


def merged(
    text: str,
    scores: Mapping[str, float],
    *,
    parts: Collection[str] = (),
    known: Collection[str] = (),
    light: Collection[str] = (),
    chosen: Settings = PLAIN,
    limit: int = 100,
) -> dict[str, tuple[str, ...]]:
    """The phrases of a text that are kept when they have these scores, each with the forms that it stands for.

    `parts` never stand alone in the text, `known` are phrases of the collection, `light` words weigh a quarter.
    """
    document = Document.parse(text)
    folds = [fold(phrase) for phrase in scores]
    found = locate(document, folds, [0 if phrase in parts else 1 for phrase in scores])
    places = {row: place for row, place in enumerate(found) if place is not None}
    assert len(places) == len(scores), "every phrase is in the text"
    n = len(scores)
    pool = Pool.of(
        Terms(np.arange(n + 1), np.zeros(n, np.int32)),
        glossary_ids=np.array([0 if phrase in known else -1 for phrase in scores]),
        phraseness_document=np.ones(n),
        present=list(places.values()),
        form=np.array(list(scores.values())),
    )
    words = np.array([0.25 if word in light else 1.0 for word in document.words])
    weights = Weights(np.zeros(1, np.int32), np.ones(1), Neighbourhood.empty(), words)
    result = rank_present(pool, weights, chosen, document, places, limit)
    forms = [places[row].form for row in result.ranked.pool.tolist()]
    return dict(zip(forms, result.variants, strict=True))


def test_a_name_stands_for_what_is_never_alone() -> None:
    text = "Yesterday Ingrid van der Laan spoke of van der Waals forces at the Institute of Technology in town."
    kept = merged(
        text,
        {"van der Laan": 3.0, "Ingrid van der Laan": 1.0, "Institute": 2.0, "Institute of Technology": 1.0},
        parts=["van der Laan"],
    )
    assert list(kept) == ["Ingrid van der Laan", "Institute of Technology"]
    headline = "EFFECTS of Sleep Loss on Mood\nEffects of Sleep Loss with Age"
    assert "Loss" in merged(headline, {"Loss": 2.0, "Effects of Sleep Loss": 0.1})


def test_what_scores_nothing_is_not_listed() -> None:
    assert list(merged("An area of trams.", {"trams": 1.0, "area": 0.0})) == ["trams"]


def test_an_unrepeated_phrase_loses_its_ornament() -> None:
    text = "A remarkable suspension bridge fell."
    scores = {"remarkable suspension bridge": 1.0, "suspension bridge": 0.8}
    assert merged(text, scores, light=["remarkable"]) == {"suspension bridge": ("remarkable suspension bridge",)}
    whole = {"remarkable suspension bridge": ("suspension bridge",)}
    assert merged(text, scores) == whole, "the first word weighs as much as the others"
    assert merged(text, scores, light=["remarkable"], known=["remarkable suspension bridge"]) == whole
    scores["suspension bridge"] = 0.6
    assert merged(text, scores, light=["remarkable"]) == whole, "the part is much worse"
    again = f"{text} The remarkable suspension bridge stood."
    scores["suspension bridge"] = 0.8
    assert merged(again, scores, light=["remarkable"]) == whole, "what is said twice is no ornament"


def test_a_part_that_never_stands_alone_gives_way_to_its_whole() -> None:
    text = "The tidal range gauge broke in the storm. A tidal range gauge is dear."
    scores = {"tidal range": 1.0, "tidal range gauge": 0.85}
    assert merged(text, scores, parts=["tidal range"]) == {"tidal range gauge": ("tidal range",)}
    assert merged(text, scores) == {"tidal range": ("tidal range gauge",)}
    poor = {"tidal range": 1.0, "tidal range gauge": 0.3}
    assert merged(text, poor, parts=["tidal range"]) == {"tidal range": ("tidal range gauge",)}, "it is far worse"
    query = "tidal range gauge price"
    assert merged(query, poor, parts=["tidal range"]) == {"tidal range gauge": ("tidal range",)}, "scores say little"
    often = text + " The tidal range, a tidal range, or tidal range."
    assert merged(often, scores, parts=["tidal range"]) == {"tidal range": ("tidal range gauge",)}


def test_a_whole_has_the_score_of_the_part_that_it_stands_for() -> None:
    document = Document.parse("The tidal range gauge broke in the storm. A tidal range gauge is dear.")
    found = locate(document, ["tidal range", "tidal range gauge"], [0, 1])
    places = {row: place for row, place in enumerate(found) if place is not None}
    pool = Pool.of(
        Terms(np.arange(3), np.zeros(2, np.int32)),
        phraseness_document=np.ones(2),
        present=list(places.values()),
        form=np.array([1.0, 0.85]),
    )
    weights = Weights(np.zeros(1, np.int32), np.ones(1), Neighbourhood.empty(), np.ones(len(document)))
    ranked = rank_present(pool, weights, PLAIN, document, places, 10).ranked
    assert ranked.scores.tolist() == pytest.approx([1.0])
    assert ranked.factors["standing"].tolist() == pytest.approx([1 / 0.85])
    assert np.prod([values[0] for values in ranked.factors.values()]) == pytest.approx(ranked.scores[0])


def test_a_whole_that_is_nearly_as_good_takes_the_place_of_its_part() -> None:
    text = "The ferry terminal opened. A ferry is late."
    assert merged(text, {"ferry": 1.0, "opened": 0.97, "ferry terminal": 0.95}) == {
        "ferry terminal": ("ferry",),
        "opened": (),
    }
    assert merged(text, {"ferry": 1.0, "ferry terminal": 0.9}) == {"ferry": ("ferry terminal",)}


def test_a_term_said_far_more_often_stands_for_longer_ones() -> None:
    text = "Peat bog fires. Peat bog. The peat bog."
    scores = {"Peat bog fires": 1.0, "peat bog": 0.8}
    assert merged(text, scores) == {"Peat bog": ("Peat bog fires",)}
    assert merged(text, scores, parts=["peat bog"]) == {"Peat bog fires": ("Peat bog",)}
    established = "Deep peat bog fires burn, and peat bog fires last. The peat bog is wet."
    scores = {"peat bog fires": 1.0, "peat bog": 0.8}
    assert merged(established, scores) == {"peat bog fires": ("peat bog",)}
    assert merged(established, scores, known=["peat bog"]) == {"peat bog": ("peat bog fires",)}
    always_longer = "Deep peat bog fires burn, and peat bog fires last."
    assert merged(always_longer, scores, known=["peat bog"]) == {"peat bog fires": ("peat bog",)}
    assert merged(established, scores, known=list(scores)) == {"peat bog fires": ("peat bog",)}


def test_names_swallow_their_parts() -> None:
    text = "Yesterday the engineer Mia Holt spoke about ferries. Then Holt left."
    scores = {"Holt": 1.0, "ferries": 0.9, "Mia Holt": 0.4}
    assert merged(text, scores) == {"Mia Holt": ("Holt",), "ferries": ()}
    text = "Yesterday many people visited the Royal Albert Dock while others slept."
    scores = {"Royal Albert Dock": 1.0, "Albert Dock": 0.9}
    assert merged(text, scores, known=["Albert Dock"]) == {"Royal Albert Dock": ("Albert Dock",)}
    small = {phrase.lower(): score for phrase, score in scores.items()}
    assert merged(text.lower(), small, known=["albert dock"]) == {"albert dock": ("royal albert dock",)}
    shouted = "The Engineer Mia Holt Spoke About Ferries. Then Holt Left."
    assert merged(shouted, {"Holt": 1.0, "Mia Holt": 0.4}) == {"Holt": ("Mia Holt",)}, "all words have capitals"


def test_an_acronym_is_merged_with_its_long_form() -> None:
    text = "Light rail transit (LRT) grows. LRT is cheap, and light rail transit is quiet. Trams grow."
    long_first = {"light rail transit": 1.0, "LRT": 0.9, "trams": 0.5}
    assert merged(text, long_first) == {"Light rail transit": ("LRT",), "Trams": ()}
    short_first = {"LRT": 1.0, "trams": 0.7, "light rail transit": 0.5}
    assert merged(text, short_first) == {"LRT": ("Light rail transit",), "Trams": ()}
    assert list(merged(text.replace("(LRT)", ""), long_first)) == ["Light rail transit", "LRT", "Trams"]
    apart = PLAIN.replace(merge=False)
    assert list(merged(text, long_first, chosen=apart)) == ["Light rail transit", "LRT", "Trams"]


def test_parts_of_what_an_acronym_stands_for_are_not_listed_beside_it() -> None:
    text = "Light rail transit (LRT) grows. LRT is cheap. Trams grow."
    scores = {"LRT": 1.0, "rail transit": 0.9, "trams": 0.5}
    part = ["rail transit"]
    assert list(merged(text, scores, parts=part)) == ["LRT", "Trams"]
    assert list(merged(text, scores)) == ["LRT", "rail transit", "Trams"], "it stands alone elsewhere"
    assert list(merged(text.replace("(LRT)", "or LRT"), scores, parts=part)) == ["LRT", "rail transit", "Trams"]


def test_plurals_that_keep_an_e_are_one_phrase() -> None:
    assert merged("The buses run. A bus stands.", {"buses": 1.0, "bus": 0.9}) == {"buses": ("bus",)}
    assert merged("Night buses run. The night bus.", {"night bus": 1.0, "night buses": 0.9}) == {
        "night bus": ("Night buses",)
    }
    assert list(merged("The buns rise. A bus stands.", {"buns": 1.0, "bus": 0.9})) == ["buns", "bus"]


def test_only_so_many_variants_are_listed() -> None:
    words = "salt marsh plant root growth rate study".split()
    text = " ".join(words) + "."
    wholes = {" ".join(words[:n]): 1 - n / 100 for n in range(7, 0, -1)}
    wholes[text[:-1]] = 2.0
    ((kept, variants),) = merged(text, wholes).items()
    assert kept == text[:-1]
    assert len(variants) == 5
    assert variants[0] == "salt"


def test_the_complete_style_keeps_phrases_inside_one_another() -> None:
    complete = PLAIN.replace(merge=False)
    text = "Coastal erosion rates rise. Coastal erosion is old. Erosion hurts. Rates rise, tidal range gauges break."
    scores = {
        "coastal erosion rates": 1.0,
        "coastal erosion": 0.9,
        "erosion": 0.8,
        "tidal range": 0.7,
        "tidal range gauges": 0.6,
    }
    expected = ["Coastal erosion rates", "Coastal erosion", "tidal range gauges"]
    assert list(merged(text, scores, parts=["tidal range"], chosen=complete)) == expected
    assert list(merged(text, {"erosion": 1.0, "coastal erosion": 0.9}, chosen=complete)) == [
        "erosion",
        "Coastal erosion",
    ]
    with_plural = {"coastal erosion": 1.0, "rates": 0.9}
    assert list(merged(text, with_plural, chosen=complete)) == ["Coastal erosion", "rates"]


def test_the_papers_list_drops_only_single_words_of_better_phrases() -> None:
    drops = PLAIN.replace(merge=False, whole_phrases=False)
    text = "Coastal erosion rates rise. Erosion hurts. Coastal erosion is old."
    scores = {"coastal erosion rates": 1.0, "erosion": 0.9, "coastal erosion": 0.8, "rise": 0.7}
    kept = ["Coastal erosion rates", "Coastal erosion", "rise"]
    assert list(merged(text, scores, parts=list(scores), chosen=drops)) == kept
    nothing = drops.replace(drop_contained=False)
    assert len(merged(text, scores, chosen=nothing)) == 4
    assert list(merged(text, scores, chosen=nothing, limit=2)) == ["Coastal erosion rates", "erosion"]


def test_a_short_list_holds_as_many_as_asked_for() -> None:
    text = "Elm, elm bark, oak, oak leaf, ash, fir, yew."
    scores = {"elm": 1.0, "elm bark": 0.99, "oak": 0.98, "oak leaf": 0.97, "ash": 0.9, "fir": 0.8, "yew": 0.7}
    assert merged(text, scores, limit=3) == {"elm bark": ("Elm",), "oak leaf": ("oak",), "ash": ()}
    assert merged(text, scores, limit=0) == {}
    later = {"elm": 1.0, "oak": 0.98, "elm bark": 0.97}
    assert merged(text, later, limit=1) == {"elm bark": ("Elm",)}, "what comes behind the last may replace it"


@given(st.lists(st.sampled_from("elm oak ash fir bus buses Yew".split()), min_size=1, max_size=12), st.data())
@settings(max_examples=300, deadline=None)
def test_nothing_is_lost_and_nothing_repeated(words: list[str], data: st.DataObject) -> None:
    runs = [" ".join(words[i:j]) for i in range(len(words)) for j in range(i + 1, min(i + 3, len(words)) + 1)]
    by_fold = {fold(run): run for run in runs}
    phrases = data.draw(st.lists(st.sampled_from(sorted(by_fold.values())), unique=True, min_size=1))
    number = st.sampled_from([1.0, 0.97, 0.9, 0.8, 0.75, 0.5, 0.2])
    some, some_words = st.sets(st.sampled_from(phrases)), st.sets(st.sampled_from(words))
    scores = {phrase: data.draw(number) for phrase in phrases}
    text = " ".join(words)
    kept = merged(text, scores, parts=data.draw(some), known=data.draw(some), light=data.draw(some_words))
    every = merged(text, scores, chosen=PLAIN.replace(merge=False, drop_contained=False))
    full = any(len(variants) == 5 for variants in kept.values())
    for form in every:
        assert full or form in kept or any(form in variants for variants in kept.values())
    keys = [f" {fold(form).replace('buse', 'bus')} " for form in kept]
    assert not any(a in b for a in keys for b in keys if a is not b)


def test_variants_reach_the_result(tiny_generator: KeyphraseGenerator) -> None:
    text = "Sea ice search engine (SISE). The sea ice search engine is fast. The SISE is small."
    found = tiny_generator.generate(text, 20)
    assert any(set(k.variants) & {"SISE", "Sea ice search engine", "sea ice search engine"} for k in found.present)
    kept = {k.phrase for k in found.present}
    assert not kept & {form for k in found.present for form in k.variants}

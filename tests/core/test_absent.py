"""When absent phrases are withheld, and how sure the others are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from erukg import KeyphraseGenerator, Settings
from erukg.core.analysis import Prepared
from erukg.core.backend import INNER, MARK, WORD
from erukg.core.confidence import ABSENT, PLAIN_ABSENT, PRESENT, SURE_FIT, band_of
from erukg.core.neighbours import Terms
from erukg.core.notices import unlike_collection
from erukg.core.pool import Pool
from erukg.core.results import Keyphrase, Keyphrases
from erukg.core.scoring import cover, whole_share
from erukg.core.stems import stem_phrase

EVERYTHING = Settings(abstain=False, min_confidence=0, drop_contained=False, merge=False)


@pytest.fixture(scope="module")
def generator(tiny_model: Path, tiny_collection: Path) -> KeyphraseGenerator:
    return KeyphraseGenerator.from_pretrained(tiny_model, tiny_collection)


@pytest.fixture(scope="module")
def prepared(generator: KeyphraseGenerator, tiny_corpus: Path) -> list[Prepared]:
    rows = [json.loads(line) for line in tiny_corpus.read_text().splitlines()[:12]]
    texts = [f"A title. {row['abstract']} We show that it is fast, and that this is not of a number." for row in rows]
    return [generator.prepare(text, EVERYTHING) for text in texts]


def complete(
    generator: KeyphraseGenerator, prepared: Prepared, settings: Settings, fit: float | None = 1.0, top_k: int = 50
) -> Keyphrases:
    encoding = generator.backend.encode(prepared.pieces, prepared.terms)
    known = replace(prepared, neighbourhood=replace(prepared.neighbourhood, fit=fit))
    return generator.complete(known, encoding, top_k, settings)


def test_a_text_unlike_the_collection_gets_none_and_is_told(
    generator: KeyphraseGenerator, prepared: list[Prepared]
) -> None:
    answered = complete(generator, prepared[0], Settings(), 0.9)
    assert answered.absent
    assert answered.notices == ()
    withheld = complete(generator, prepared[0], Settings(), -0.01)
    assert withheld.absent == ()
    assert withheld.notices == (unlike_collection(),)
    assert [k.phrase for k in withheld.present] == [k.phrase for k in answered.present]
    assert Keyphrases.from_json(withheld.to_json()) == withheld
    for settings in (Settings(abstain=False, min_confidence=0), Settings.paper()):
        assert complete(generator, prepared[0], settings, -3.0).absent
    assert complete(generator, prepared[0], Settings(), None).absent


def test_confidence_is_the_calibrations_and_orders_as_scores_do(
    generator: KeyphraseGenerator, prepared: list[Prepared]
) -> None:
    for one in prepared:
        result = complete(generator, one, EVERYTHING, 0.7)
        for phrases, calibration, fit in ((result.present, PRESENT, None), (result.absent, PLAIN_ABSENT, 0.7)):
            scores = np.array([k.score for k in phrases])
            assert [k.confidence for k in phrases] == pytest.approx(calibration.confidence(scores, fit).tolist())
            sure = [k.confidence or 0.0 for k in phrases]
            assert sure == sorted(sure, reverse=True)


def test_phrases_below_the_least_confidence_are_left_out_and_not_made_up_for(
    generator: KeyphraseGenerator, prepared: list[Prepared]
) -> None:
    every = complete(generator, prepared[1], EVERYTHING)
    least = sorted(k.confidence or 0.0 for k in every.absent)[len(every.absent) // 2]
    some = complete(generator, prepared[1], EVERYTHING.replace(min_confidence=least))
    assert some.absent == tuple(k for k in every.absent if (k.confidence or 0.0) >= least)
    assert 0 < len(some.absent) < len(every.absent)
    sure = sorted(k.confidence or 0.0 for k in every.present)[-2]
    few = complete(generator, prepared[1], EVERYTHING.replace(min_confidence=sure))
    assert len(few.present) == 2


def test_settings_of_another_scale_have_no_confidence(generator: KeyphraseGenerator, prepared: list[Prepared]) -> None:
    paper = complete(generator, prepared[0], Settings.paper())
    assert paper.absent
    assert paper.present
    assert {k.confidence for k in paper} == {None}
    assert {k.band for k in paper} == {None}
    turned = complete(generator, prepared[0], Settings(absent_phraseness=1, min_confidence=0.9))
    assert {k.confidence for k in turned.absent} == {None}
    assert None not in {k.confidence for k in turned.present}
    alone = generator.extract(prepared[0].document)
    assert all(k.confidence is not None for k in alone.present)


def test_short_texts_need_three_neighbours_that_agree(generator: KeyphraseGenerator) -> None:
    loose, strict = Settings(abstain=False, min_confidence=0), Settings(min_confidence=0)
    fewer = 0
    for text in ("sparse graph", "sea ice radar", "neural network model", "semantic search"):
        every, agreed = (generator.generate(text, 50, settings) for settings in (loose, strict))
        assert agreed.absent == tuple(k for k in every.absent if len(k.sources) >= 3)
        fewer += len(agreed.absent) < len(every.absent)
    assert fewer


def with_more(generator: KeyphraseGenerator, prepared: Prepared, more: str, settings: Settings) -> Keyphrases:
    """What the text gets when it also says that "we propose" something more."""
    return generator.generate(f"We propose {more}. {prepared.document.text}", 500, settings)


def test_no_variant_of_a_present_phrase(generator: KeyphraseGenerator, prepared: list[Prepared]) -> None:
    for one in prepared[:4]:
        phrase = complete(generator, one, EVERYTHING).absent[0].phrase
        variant = f"{phrase.removesuffix('s')}ing"
        every = with_more(generator, one, variant, EVERYTHING)
        assert variant in {k.phrase for k in every.present[:10]}
        assert phrase in {k.phrase for k in every.absent}
        kept = with_more(generator, one, variant, EVERYTHING.replace(drop_contained=True))
        assert [k.phrase for k in kept.absent] == [k.phrase for k in every.absent if k.phrase != phrase]


def test_more_phrases_begin_with_the_same_ones(generator: KeyphraseGenerator, prepared: list[Prepared]) -> None:
    for one in prepared:
        few, many = (complete(generator, one, Settings(), top_k=k) for k in (10, 30))
        assert many.absent[: len(few.absent)] == few.absent


def test_related_phrases_contain_or_lie_in_a_present_one(
    generator: KeyphraseGenerator, prepared: list[Prepared]
) -> None:
    everything = EVERYTHING.replace(generic=0.4)  # their last words say little alone
    for one in prepared[:4]:
        before = complete(generator, one, everything)
        phrase = next(k.phrase for k in before.absent if not k.related)
        for more in (f"{phrase.removesuffix('s')}ing model", phrase.split()[-1]):
            result = with_more(generator, one, more, everything)
            assert more in {k.phrase for k in result.present[:10]}
            found = {k.phrase: k for k in result.absent}[phrase]
            assert found.related
            assert Keyphrase.from_dict(found.to_dict()) == found


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("learned indexes", "learning index", True),
        ("Network optimization", "optimizing networks", False),
        ("image segmentation", "segmented images", False),
        ("optimization", "optimizer", True),
        ("peer-to-peer network", "peer to peer networks", True),
        ("cats", "caters", False),
        ("graph", "graphs", True),
    ],
)
def test_variants(one: str, other: str, same: bool) -> None:
    assert (stem_phrase(one) == stem_phrase(other)) is same


def test_bands() -> None:
    assert [band_of(p, present=True) for p in (0.5, 0.2, 0.01)] == ["strong", "fair", "weak"]
    assert [band_of(p, present=False) for p in (0.2, 0.04, 0.01)] == ["strong", "fair", "weak"]
    assert band_of(0.04, present=False, related=True) == "strong"
    assert Keyphrase("a", 1.0, 0.04).band == "fair"
    assert Keyphrase("a", 1.0, 0.05, spans=((0, 1),)).band == "weak"


def test_confidence_fades_to_nothing_where_a_text_is_hardly_alike() -> None:
    scores = np.array([0.3])
    full, half, none = (float(ABSENT.confidence(scores, fit)[0]) for fit in (SURE_FIT, SURE_FIT / 2, 0.0))
    assert full > 2 * half > none == 0
    assert PRESENT.confidence(scores, -1.0) == PRESENT.confidence(scores, None)
    assert ABSENT.confidence(scores, 1.0) == ABSENT.confidence(scores, None)


def test_a_word_inside_others_counts_less() -> None:
    """Pieces: 0 met, 1 ##oprolol, 2 trial, 3 -; the text is "metoprolol trial", the phrases "met trial" and "trial"."""
    kinds = np.array([WORD, INNER, WORD, MARK], np.int8)
    terms = Terms(np.array([0, 2, 3, 6]), np.array([0, 2, 2, 2, 3, 2], np.int32))
    pool = Pool.of(terms).with_words(np.array([0, 1, 2], np.int32), kinds)
    assert pool.hidden is not None
    assert pool.begins is not None
    assert pool.hidden.tolist() == [True, False, False, False, False, False]
    assert pool.single.tolist() == [False, True, False]
    weights = np.array([3.0, 0.0, 1.0, 0.0])
    assert whole_share(weights, terms, pool.hidden, 0.5) == pytest.approx([2.5 / 4, 1, 1])
    whole = Pool.of(terms).with_words(np.array([0, 1, 2, 0], np.int32), kinds)
    assert whole.hidden is not None
    assert not whole.hidden.any()


def test_cover_is_the_share_of_words_with_weight() -> None:
    terms = Terms(np.array([0, 3, 4, 4]), np.array([0, 1, 2, 0], np.int32))
    begins = np.array([True, False, True, True])
    assert cover(np.array([0.0, 2.0, 0.0]), terms, begins) == pytest.approx([0.5, 0.0, 1.0])
    assert cover(np.array([1.0, 0.0, 0.5]), terms, begins) == pytest.approx([1.0, 1.0, 1.0])
    assert cover(np.ones(3), terms, np.zeros(4, bool)) == pytest.approx([1.0, 1.0, 1.0])

from __future__ import annotations

import math

import pytest

from erukg import Settings
from erukg.core.settings import STYLES
from erukg.errors import SettingsError


def test_paper_settings() -> None:
    paper = Settings.paper()
    assert (paper.alpha, paper.beta, paper.phraseness, paper.length_penalty) == (0.8, 0.8, 1.5, -0.25)
    assert (paper.neighbours, paper.neighbour_candidates, paper.max_words) == (100, 100, 5)
    assert (paper.absent_phraseness, paper.absent_length_penalty, paper.position) == (1.5, -0.25, 1.0)
    assert not paper.frequency
    assert not paper.drop_contained
    assert not paper.whole_phrases
    assert not paper.merge
    neutral = {"generic": 1.0, "loose": 1.0, "part": 1.0, "embedded": 1.0, "known": 1.0, "balance": 0.0}
    assert {name: paper.to_dict()[name] for name in neutral} == neutral


def test_replace_and_round_trip() -> None:
    changed = Settings.paper().replace(alpha=1, neighbours=10.0)
    assert changed.alpha == 1.0
    assert isinstance(changed.alpha, float)
    assert changed.neighbours == 10
    assert isinstance(changed.neighbours, int)
    assert Settings.from_mapping(changed.to_dict()) == changed
    assert Settings.paper(alpha=0.5).alpha == 0.5


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("alpha", 1.01, "'alpha' must be a number from 0 to 1"),
        ("alpha", -0.01, "from 0 to 1"),
        ("alpha", math.nan, "not nan"),
        ("beta", "0.5", "'beta'"),
        ("beta", None, "'beta'"),
        ("phraseness", math.inf, "'phraseness'"),
        ("length_penalty", 1, "from -20 to 0.9"),
        ("neighbours", 2.5, "'neighbours' must be a whole number from 0 to 10000"),
        ("neighbours", True, "'neighbours'"),
        ("frequency", 1, "'frequency' must be true or false"),
        ("max_words", 0, "from 1 to 10"),
    ],
)
def test_out_of_range_is_refused_naming_field_and_range(field: str, value: object, words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        Settings.from_mapping({field: value})


def test_unknown_names_are_refused_with_the_nearest() -> None:
    with pytest.raises(SettingsError, match="did you mean 'alpha'"):
        Settings().replace(alhpa=0.5)
    with pytest.raises(SettingsError, match="known settings: alpha"):
        Settings.from_mapping({"xyzzy": 1})


def test_extraction_does_not_use_neighbours() -> None:
    assert Settings.paper().uses_neighbours
    assert not Settings.paper(alpha=1, beta=1).uses_neighbours
    assert not Settings.paper(neighbours=0).uses_neighbours


def test_styles_change_the_defaults() -> None:
    assert set(STYLES) == {"balanced", "complete", "short", "long", "paper"}
    assert Settings.styled("balanced") == Settings()
    assert not Settings.styled("complete").merge
    assert Settings.styled("paper") == Settings.paper()
    short, long = Settings.styled("short"), Settings.styled("long")
    assert short.length_penalty > Settings().length_penalty > long.length_penalty
    assert short.single_word > Settings().single_word > long.single_word
    assert Settings.styled("long", length_penalty=-3).length_penalty == -3
    assert Settings.styled("complete", max_words=3) == Settings.styled("complete").replace(max_words=3)


def test_an_unknown_style_is_refused_in_one_sentence() -> None:
    with pytest.raises(SettingsError) as refused:
        Settings.styled("completed")
    assert str(refused.value) == "There is no style 'completed'; did you mean 'complete'?"
    with pytest.raises(
        SettingsError, match=r"^There is no style 'xyzzy'; use balanced, complete, short, long, paper\.$"
    ):
        Settings.styled("xyzzy")

"""No change makes the bundled tiny model worse for readers unnoticed; one that makes it better moves the floors."""

from __future__ import annotations

from pathlib import Path

import pytest

from erukg.research.evaluation.readers import FIGURES, ReadersResult, load_readers, run_readers
from erukg.research.evaluation.systems import make_system

MARGIN = 0.02  # what another processor's rounding of 8-bit weights may change
ALL = {
    "must": 0.640,
    "must_not": 0.542,
    "leaks": 0.000,
    "repetition": 0.129,
    "unwanted": 0.103,
    "unwanted_count": 0.480,
    "on_topic": 0.690,
    "right": 0.758,
    "absurd": 0.058,
    "language": 1.000,
}
KINDS = {
    "news": 0.600,
    "contract": 0.633,
    "recipe": 0.645,
    "ticket": 0.702,
    "minutes": 0.806,
    "product": 0.735,
    "furniture": 0.644,
    "encyclopaedia": 0.596,
    "fiction": 0.657,
    "long": 0.500,
    "query": 0.429,
    "medicine": 0.598,
    "computing": 0.713,
    "natural-science": 0.783,
    "social-science": 0.783,
}


@pytest.fixture(scope="module")
def tiny() -> ReadersResult:
    return run_readers([make_system("erukg-generate:model=tiny")], load_readers([Path(__file__).parent]), samples=1)[0]


@pytest.mark.parametrize("name", ALL)
def test_over_all_english_texts(tiny: ReadersResult, name: str) -> None:
    _, more = FIGURES[name]
    value = tiny.total[name]
    assert value >= ALL[name] - MARGIN if more else value <= ALL[name] + MARGIN


@pytest.mark.parametrize("kind", KINDS)
def test_phrases_that_must_come_by_kind(tiny: ReadersResult, kind: str) -> None:
    # Some kinds have six texts, so a phrase more or less is some points.
    assert tiny.kinds[kind]["must"] >= KINDS[kind] - 2.5 * MARGIN

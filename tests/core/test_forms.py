"""Kinds of phrases: what single words that say little, parts, loose and known phrases count."""

from __future__ import annotations

import numpy as np
import pytest

from erukg import Settings
from erukg.core.document import Document
from erukg.core.folding import fold
from erukg.core.forms import form_factors, is_title_cased
from erukg.core.locating import Located, locate

PRIMES = Settings(generic=0.3, loose=0.5, part=0.7, embedded=0.11, known=1.3)
TEXT = (
    "The results of harbour dredging. The Port of Antwerp pays for harbour dredging, the loss of crabs, results, and "
    "a sea wall of rock. It wants a sea wall of rock; others do not."
)


def places(*phrases: tuple[str, int]) -> list[Located]:
    found = locate(Document.parse(TEXT), [fold(phrase) for phrase, _ in phrases], [alone for _, alone in phrases])
    assert None not in found
    return [place for place in found if place is not None]


@pytest.mark.parametrize(
    ("phrase", "alone", "known", "factor"),
    [
        ("harbour dredging", 2, False, 1.0),
        ("harbour dredging", 2, True, 1.3),
        ("harbour dredging", 0, False, 0.7),
        ("harbour dredging", -1, True, 1.3 * 0.11),
        ("results", 1, False, 0.3),
        ("results", 0, True, 0.3 * 0.7 * 1.3),
        ("others", 1, False, 0.3),
        ("crabs", 1, False, 1.0),
        ("loss of crabs", 1, False, 0.5),
        ("loss of crabs", 1, True, 1.3),
        ("Port of Antwerp", 1, False, 1.0),
        ("sea wall of rock", 2, False, 1.0),
    ],
)
def test_what_a_kind_of_phrase_counts(phrase: str, alone: int, known: bool, factor: float) -> None:
    candidates = places((phrase, alone), ("crabs", 1))
    assert form_factors(candidates, np.array([known, False]), PRIMES).tolist() == pytest.approx([factor, 1])
    without = form_factors(candidates, None, PRIMES)
    assert without[1] == 1
    if not known:
        assert without[0] == pytest.approx(factor)


def test_the_papers_phrases_are_all_of_one_kind() -> None:
    candidates = places(("results", 1), ("loss of crabs", 0), ("crabs", -1))
    known = np.array([True, False, True])
    assert form_factors(candidates, known, Settings.paper()).tolist() == [1, 1, 1]
    assert form_factors(candidates, known, Settings.paper(known=2)).tolist() == [2, 1, 2]


def test_no_word_of_a_query_is_left_out() -> None:
    candidates = places(("results", 1), ("crabs", 1))
    assert form_factors(candidates, None, Settings()).tolist() == [0, 1]
    assert form_factors(candidates, None, Settings(), query=True).tolist() == [0.4, 1]


def test_title_case() -> None:
    assert is_title_cased("Bank of England")
    assert is_title_cased("Charles de Gaulle")
    assert not is_title_cased("Bank of england")
    assert not is_title_cased("sea wall")

"""Acronyms: only where a text puts one in brackets behind words that begin with its letters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.test_document import texts
from erukg.core.acronyms import find_acronyms
from erukg.core.folding import fold


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We study light rail transit (LRT) here.", {"lrt": "light rail transit"}),
        ("Light Rail Transit (LRT)", {"lrt": "light rail transit"}),
        ("of heat recovery ventilators ( HRVs )", {"hrv": "heat recovery ventilator"}),
        ("the Ministry of Public Works (MPW)", {"mpw": "ministry of public work"}),
        ("quality of life (QoL)", {"qol": "quality of life"}),
        ("research and development (R&D)", {"r&d": "research and development"}),
        ("a dog's body weight (DBW)", {"dbw": "dog's body weight"}),
        ("salt marsh (SM) and peat bog (PB)", {"sm": "salt marsh", "pb": "peat bog"}),
        ("salt marsh (SM); later sand mine (SM)", {"sm": "salt marsh"}),
    ],
)
def test_long_forms_are_found(text: str, expected: dict[str, str]) -> None:
    assert find_acronyms(text) == {short: fold(long) for short, long in expected.items()}


@pytest.mark.parametrize(
    "text",
    [
        "We study trams (LRT) here.",
        "LRT means light rail transit.",
        "light rail transit [LRT]",
        "light electrified rail transit (LRT)",
        "rail transit (LRT)",
        "plan B (B)",
        "two boats (Bs)",
        "east in the dark at night (EN)",
        "a wide open year (2019)",
        "the light rail transit (lrt)",
        "",
        "(LRT)",
    ],
)
def test_what_is_no_acronym(text: str) -> None:
    assert find_acronyms(text) == {}


@given(texts, st.text(st.characters(categories=["Lu", "Ll", "Nd"]), max_size=6))
def test_any_text_may_hold_brackets(text: str, inside: str) -> None:
    found = find_acronyms(f"{text} ({inside}) {text}")
    assert all(short == fold(short) for short in found)
    assert all(long == fold(long) and long for long in found.values())

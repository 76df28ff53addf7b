"""The fast path gives what the paper's equations give, on any document, collection and settings."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.oracle_cases import check, random_case


@settings(max_examples=500, deadline=None)
@given(st.integers(0, 2**48))
def test_generator_equals_oracle(seed: int) -> None:
    check(random_case(Random(seed)))


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(st.integers(0, 2**48))
def test_generator_equals_oracle_on_ten_thousand_cases(seed: int) -> None:
    check(random_case(Random(seed)))

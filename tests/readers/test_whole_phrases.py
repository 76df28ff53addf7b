"""The bundled models find phrases that participles and numbers are part of."""

from __future__ import annotations

import pytest

from erukg import KeyphraseGenerator

TEXT = (
    "Embedded systems in cars. Type 2 diabetes is unrelated. A randomized controlled trial of metformin in type 2 "
    "diabetes. Distributed computing for embedded systems."
)
EXPECTED = {"embedded systems", "type 2 diabetes", "randomized controlled trial", "distributed computing"}


@pytest.mark.parametrize("model", ["tiny", "small"])
def test_participles_and_numbers(model: str) -> None:
    result = KeyphraseGenerator.from_pretrained(model).generate(TEXT, 6)
    assert {k.phrase.lower() for k in result.present} >= EXPECTED
    spans = {k.phrase.lower(): k.spans for k in result.present}
    assert [TEXT[a:b] for a, b in spans["type 2 diabetes"]] == ["Type 2 diabetes", "type 2 diabetes"]

"""Subject headings with the bundled models: meaning decides, not letters and not a word in common."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from erukg import KeyphraseGenerator

TEXTS = {
    row["id"]: row["text"]
    for row in map(json.loads, (Path(__file__).parent / "science.jsonl").read_text("utf-8").splitlines())
}
# What general vocabularies hold, so that there is something else to choose.
OTHERS = """Agriculture; Algebra; Archaeology; Ballet; Beekeeping; Boats; Bridges; Buddhism; Canals; Carpets; Castles;
Chess; Citizenship; Coal; Copyright; Dairy products; Deserts; Dictionaries; Earthquakes; Elections; Embroidery;
Epic poetry; Fashion; Ferries; Folk music; Forestry; Fortifications; Gardens; Glaciers; Grammar; Gymnastics; Hotels;
Housing; Insurance; Irrigation; Jazz; Kitchens; Lighthouses; Maps; Migration; Museums; Opera; Paper; Patents; Pottery;
Prisons; Railways; Rivers; Sculpture; Shipbuilding; Taxation; Tourism; Trade unions; Volcanoes; Weaving; Whales; Zoos"""


@pytest.fixture(scope="module", params=["tiny", "small"])
def generator(request: pytest.FixtureRequest) -> KeyphraseGenerator:
    return KeyphraseGenerator.from_pretrained(request.param)


@pytest.mark.parametrize(
    ("id", "right", "right_to_small", "absurd"),
    [
        ("med-stemi", "Myocardial infarction", "Heart attack", "stem; staves; betaine; Treaty of Stolbovo"),
        ("med-septic-shock", "Septic shock; Sepsis", "", "Shock absorbers; Culture shock; Shock troops; Vases"),
        (
            "cs-attention-translation",
            "Machine translation; Neural networks",
            "",
            "Tver; Headstones; Waves (sea); Tension",
        ),
    ],
)
def test_headings_that_share_letters_or_a_word_only_score_nothing(
    generator: KeyphraseGenerator, id: str, right: str, right_to_small: str, absurd: str
) -> None:
    # One layer knows fewer words for the same thing.
    wanted = f"{right}; {right_to_small}" if right_to_small and generator.backend.name == "small" else right
    vocabulary = [heading.strip() for heading in f"{right}; {right_to_small}; {absurd}; {OTHERS}".split(";")]
    vocabulary = [heading for heading in vocabulary if heading]
    ranked = [k.phrase for k in generator.rank(TEXTS[id], vocabulary) if k.score > 0]
    assert set(wanted.split("; ")) <= set(ranked[:5])
    assert not set(absurd.split("; ")) & set(ranked)
    assert len(ranked) <= 10, "most of a general vocabulary is not about a text"

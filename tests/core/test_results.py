from __future__ import annotations

import pytest

from erukg import Keyphrase, KeyphraseGenerator, Keyphrases
from erukg.core.neighbours import Source
from erukg.errors import InputError


def test_json_round_trip(tiny_generator: KeyphraseGenerator) -> None:
    result = tiny_generator.generate("Sparse retrieval of sea ice images.", explain=True, id="d1")
    sources = (Source("arxiv:1", 0.25, "Ice in <i>winter</i>"), Source("b", 0.125))
    result = Keyphrases(result.present, (Keyphrase("radar", 0.5, sources=sources),), "d1")
    assert len(result) == len(list(result)) > 1
    assert Keyphrases.from_json(result.to_json()) == result
    assert result.to_dict()["absent"][0]["sources"] == [
        {"id": "arxiv:1", "share": 0.25, "title": "Ice in <i>winter</i>"},
        {"id": "b", "share": 0.125},
    ]
    assert [source.name for source in sources] == ["Ice in <i>winter</i>", "b"]


@pytest.mark.parametrize("line", ["", "[]", "{", '{"present": [{}]}', '{"present": [{"phrase": "a", "score": "x"}]}'])
def test_bad_json_is_refused(line: str) -> None:
    with pytest.raises(InputError):
        Keyphrases.from_json(line)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
def test_numbers_that_no_result_has_are_refused(number: str) -> None:
    for line in (
        f'{{"present": [{{"phrase": "a", "score": {number}}}]}}',
        f'{{"present": [{{"phrase": "a", "score": 1, "confidence": {number}}}]}}',
        f'{{"absent": [{{"phrase": "a", "score": 1, "sources": [{{"id": "x", "share": {number}}}]}}]}}',
    ):
        with pytest.raises(InputError):
            Keyphrases.from_json(line)
    with pytest.raises(InputError, match="is no number that a result has"):
        Keyphrases.from_dict({"present": [{"phrase": "a", "score": float(number)}]})

"""Measures of suggested concepts, against figures worked out by hand and against scikit-learn."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from erukg.errors import InputError
from erukg.research.evaluation.subjects.measures import MEASURES, band_of, f1, ndcg, score
from erukg.research.evaluation.subjects.records import (
    CHECK_TAGS,
    TaggedRecord,
    load_mesh,
    load_tagged,
    read_predictions,
    read_uris,
)


def test_f1_counts_what_was_suggested_up_to_k() -> None:
    assert f1(["a", "x", "b"], {"a", "b", "c"}, 5) == pytest.approx(2 * 2 / (3 + 3))
    assert f1(["a", "x", "b"], {"a", "b", "c"}, 2) == pytest.approx(2 * 1 / (2 + 3))
    assert f1([], {"a"}, 5) == 0


def test_ndcg_by_hand() -> None:
    # Places 1 and 3 of a list whose best form has gold at places 1, 2 and 3.
    gain, ideal = 1 + 1 / math.log2(4), 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert ndcg(["a", "x", "b"], {"a", "b", "c"}, 10) == pytest.approx(gain / ideal)
    assert ndcg(["a", "b"], {"a", "b"}, 10) == 1
    # Ten places hold no more than ten of eleven concepts, and that is as good as can be.
    assert ndcg([str(i) for i in range(10)], {str(i) for i in range(11)}, 10) == 1


def test_ndcg_and_f1_are_scikit_learns() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    for _ in range(50):
        relevant = rng.random(40) < 0.2
        relevant[0] = True
        order = rng.permutation(40)
        suggested, gold = [str(i) for i in order], {str(i) for i in np.flatnonzero(relevant)}
        scores = np.empty(40)
        scores[order] = -np.arange(40.0)
        assert ndcg(suggested, gold, 10) == pytest.approx(metrics.ndcg_score([relevant], [scores], k=10))
        chosen = np.zeros(40, np.bool_)
        chosen[order[:5]] = True
        assert f1(suggested, gold, 5) == pytest.approx(metrics.f1_score(relevant, chosen))


def test_bands() -> None:
    assert [band_of(n) for n in (0, 1, 4, 5, 49, 50, 5000)] == ["0", "1–4", "1–4", "5–49", "5–49", "50+", "50+"]


def test_score_with_and_without_some_concepts() -> None:
    records = [
        TaggedRecord("1", "", frozenset({"rare", "humans"})),
        TaggedRecord("2", "", frozenset({"humans"})),
    ]
    suggested = {"1": ["humans", "rare", "rare"], "2": ["x"]}
    counts = {"humans": 900, "rare": 3}
    whole = score(records, suggested, counts)
    assert whole.documents == 2
    assert {m: whole[m] for m in MEASURES} == dict.fromkeys(MEASURES, 0.5)
    assert (whole.bands["1–4"].gold, whole.bands["1–4"].recall) == (1, 1)
    assert (whole.bands["50+"].gold, whole.bands["50+"].recall) == (2, 0.5)
    assert whole.bands["0"].recall is None
    left = score(records, suggested, counts, {"humans"})
    assert left.documents == 1
    assert {m: left[m] for m in MEASURES} == dict.fromkeys(MEASURES, 1.0)


def test_tagged_documents_are_read_with_their_uris(tmp_path: Path) -> None:
    path = tmp_path / "dev.jsonl"
    rows = [
        {"id": "a", "title": "T", "abstract": "A", "subjects": [{"uri": "u:1", "label": "One"}, {"label": "Two"}]},
        {"id": "b", "text": "B", "subjects": ["tag"]},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    loaded = load_tagged(path)
    assert [record.gold for record in loaded.records] == [{"u:1", "Two"}, {"tag"}]
    assert (loaded.name, loaded.records[0].text) == ("dev", "T\nA")
    with pytest.raises(InputError, match=r"dev\.jsonl, line 1: .*'tags' names no concept"):
        load_tagged(path, "tags")


def test_predictions_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text('{"id": "a", "uris": ["u:1", "u:2"]}\n')
    assert read_predictions(path, frozenset({"a"})) == {"a": ["u:1", "u:2"]}
    with pytest.raises(InputError, match=r"no line for 1 of 2 documents \(the first is 'b'\)"):
        read_predictions(path, frozenset({"a", "b"}))
    path.write_text('{"id": "a", "uris": "u:1"}\n')
    with pytest.raises(InputError, match="line 1: it must be"):
        read_predictions(path, frozenset({"a"}))


def test_concepts_to_leave_out(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("<mesh:D006801>\tHumans\n\nmesh:D000818\n")
    assert read_uris(path) == {"mesh:D006801", "mesh:D000818"}
    assert read_uris(path) < CHECK_TAGS["mesh"]


def test_mesh_goes_by_the_uris_of_the_documents(tmp_path: Path) -> None:
    path = tmp_path / "mesh.tsv"
    path.write_text("D006801\tHumans\tHuman|Man\nmesh:D000818\tAnimals\t\n")
    mesh = load_mesh(path)
    assert [mesh.label(mesh.find(uri)) for uri in ("mesh:D006801", "mesh:D000818")] == ["Humans", "Animals"]
    assert mesh.find_label("man") == mesh.find("mesh:D006801")

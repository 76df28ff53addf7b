"""A collection knows which texts are like its documents, and says so with every neighbourhood."""

from __future__ import annotations

import hashlib
import json
import math
import pickle
import random
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from collection.samples import VOCAB_SIZE, WORDS, WordAnalyser, encode_words, make_records, make_text
from erukg.cli import app
from erukg.collection import Collection, DocumentRecord, Writer, calibrate, slim, verify
from erukg.collection.build import add_encoded, build_encoded
from erukg.collection.calibration import FEWEST, measure
from erukg.collection.likeness import Signals, fit_likeness, signals
from erukg.collection.manifest import read_manifest, write_manifest
from erukg.errors import CollectionError

RECORDS = make_records(900, seed=3)


def build(folder: Path, records: list[DocumentRecord]) -> Path:
    documents = ((record, encode_words(record.text)) for record in records)
    build_encoded(folder, documents, fingerprint=WordAnalyser.fingerprint, vocab_size=VOCAB_SIZE)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("likeness") / "c", RECORDS)


def fits(collection: Collection, texts: list[str]) -> NDArray[np.float64]:
    found = [collection.neighbourhood(text, 50).fit for text in texts]
    return np.array([value for value in found if value is not None])


def elsewhere(rng: random.Random, n: int) -> str:
    """A text of the words that are rarest here."""
    return " ".join(rng.choices(WORDS[len(WORDS) // 3 :], k=n))


def test_texts_of_the_same_kind_fit_and_others_do_not(folder: Path) -> None:
    collection, rng = Collection.open(folder), random.Random(1)
    alike = fits(collection, [make_text(rng, rng.randint(25, 60)) for _ in range(200)])
    assert len(alike) == 200
    assert np.median(alike) == pytest.approx(1, abs=0.25)
    assert (alike >= 0).mean() > 0.95
    unlike = fits(collection, [elsewhere(rng, 40) for _ in range(50)])
    assert (unlike < 0).mean() > 0.9
    assert fits(collection, ["qqq www"]) == [-math.inf]


def test_fit_is_the_same_in_many_segments_and_survives_pickling(folder: Path, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    with Writer.create(parts, fingerprint=WordAnalyser.fingerprint, vocab_size=VOCAB_SIZE) as writer:
        writer.part_documents = 250
        for record in RECORDS:
            if writer.add(record, encode_words(record.text)):
                writer.commit()
        writer.commit()
        assert len(writer.manifest.segments) > 2
    manifest = read_manifest(parts)
    assert manifest.likeness is None
    assert manifest.version == 1
    assert Collection.open(parts).neighbourhood(RECORDS[0].text, 50).fit is None
    one = Collection.open(folder)
    likeness = measure(Collection.open(parts))
    assert likeness is not None
    assert one.manifest.likeness is not None
    assert likeness.least == pytest.approx(one.manifest.likeness.least, rel=0.35)
    write_manifest(parts, replace(manifest, likeness=one.manifest.likeness))
    many = Collection.open(parts)
    for record in RECORDS[:20]:
        near = one.neighbourhood(record.text, 50, exclude=record.id)
        assert many.neighbourhood(record.text, 50, exclude=record.id).fit == pytest.approx(near.fit, rel=1e-5)
        again = pickle.loads(pickle.dumps(near))
        assert again.fit == near.fit
        assert near.phrase_holders is not None
        assert np.array_equal(again.phrase_holders, near.phrase_holders)


def test_holders_are_the_neighbours_that_have_a_phrase(folder: Path) -> None:
    collection = Collection.open(folder)
    near = collection.neighbourhood(RECORDS[5].text, 30)
    assert near.phrase_holders is not None
    sources = collection.sources(near, near.phrase_ids)
    assert near.phrase_holders.tolist() == [len(one) for one in sources]
    assert near.phrase_holders.max() > 1


def test_too_few_neighbours_say_nothing_of_fit(folder: Path) -> None:
    assert Collection.open(folder).neighbourhood(RECORDS[0].text, 9).fit is None


def test_small_collections_do_not_know(tmp_path: Path) -> None:
    folder = build(tmp_path / "small", RECORDS[: FEWEST - 1])
    assert read_manifest(folder).likeness is None
    assert calibrate(folder) is None
    result = CliRunner().invoke(app, ["collection", "calibrate", str(folder)])
    assert result.exit_code == 1
    assert "too few documents" in result.stderr


def test_growing_fits_again_when_a_quarter_is_new(tmp_path: Path) -> None:
    folder = build(tmp_path / "c", RECORDS[:400])

    def add(records: list[DocumentRecord]) -> int:
        documents = ((record, encode_words(record.text)) for record in records)
        add_encoded(folder, documents, fingerprint=WordAnalyser.fingerprint)
        likeness = read_manifest(folder).likeness
        assert likeness is not None
        return likeness.documents

    assert add(RECORDS[400:420]) == 400
    assert add(RECORDS[420:600]) == 600
    with Writer.open(folder) as writer:
        writer.remove([record.id for record in RECORDS[:10]])
        writer.merge()
    assert read_manifest(folder).likeness is not None
    assert verify(folder) == []


def test_a_slimmed_collection_keeps_it_and_only_the_manifest_changes(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "slim"
    slim(folder, copy)
    manifest = read_manifest(copy)
    assert manifest.likeness == read_manifest(folder).likeness
    write_manifest(copy, replace(manifest, likeness=None))
    before = {path.name: path.read_bytes() for path in copy.glob("*.bin")}
    result = CliRunner().invoke(app, ["collection", "calibrate", str(copy)])
    assert result.exit_code == 0, result.output
    assert {path.name: path.read_bytes() for path in copy.glob("*.bin")} == before
    # Rare phrases are gone, of which queries may be made; the rest is the same.
    found, known = read_manifest(copy).likeness, manifest.likeness
    assert found is not None
    assert known is not None
    assert found.middle == pytest.approx(known.middle, abs=0.5)
    assert read_manifest(copy).number == manifest.number + 1
    assert Collection.open(copy).neighbourhood(RECORDS[0].text, 20).fit is not None


@pytest.mark.parametrize("change", [{"least": 5.0}, {"longest": "x"}, {"rarity": {"level": [1.0]}}, {"documents": 1.5}])
def test_a_damaged_likeness_is_refused(folder: Path, tmp_path: Path, change: dict[str, object]) -> None:
    copy = tmp_path / "c"
    shutil.copytree(folder, copy)
    data = json.loads((copy / "manifest.json").read_text())
    data["likeness"].update(change)
    del data["checksum"]
    text = json.dumps(data, sort_keys=True, indent=1) + "\n"
    data["checksum"] = hashlib.sha256(text.encode()).hexdigest()
    (copy / "manifest.json").write_text(json.dumps(data, sort_keys=True, indent=1) + "\n")
    with pytest.raises(CollectionError, match="cannot be used"):
        Collection.open(copy)


def test_signals_by_hand() -> None:
    counts, weights = np.array([2, 1, 1]), np.array([1.5, 3.0, 0.0])
    found = signals(counts, weights, 4, np.full(20, 1.2, np.float32))
    assert found is not None
    assert found.length == math.log(5)
    assert found.rarity == 2.25
    assert found.nearness == pytest.approx(math.log(1.2 / 6 + 0.001))
    assert signals(counts, np.zeros(3), 4, np.empty(0, np.float32)) is None
    # The two words of 3 are searched for, that of 2 is not: neighbours are taken to share 13 % as much of it.
    counts, weights = np.array([1, 2, 1]), np.array([2.0, 1.5, 3.0])
    part, whole = (signals(counts, weights, 4, np.full(10, 1.2, np.float32), words) for words in (2, 3))
    assert part is not None
    assert whole is not None
    assert part.nearness == pytest.approx(math.log(1.2 / 6 * (6 + 0.13 * 2) / 8 + 0.001))
    assert whole.nearness == pytest.approx(math.log(1.2 / 8 + 0.001))
    assert part.rarity == whole.rarity


def test_a_search_with_few_words_tells_nearly_the_same(folder: Path) -> None:
    collection, rng = Collection.open(folder), random.Random(4)
    texts = [make_text(rng, 60) for _ in range(60)] + [elsewhere(rng, 60) for _ in range(30)]
    every, some = (np.array([collection.neighbourhood(text, 50, words=n).fit for text in texts]) for n in (0, 25))
    assert np.abs(some - every)[:60].mean() < 0.15
    assert ((some < 0) == (every < 0)).mean() > 0.9


def test_what_is_usual_lies_at_one_and_the_least_alike_at_zero() -> None:
    rng = np.random.default_rng(0)
    texts = [Signals(length, rng.normal(3, 0.3), rng.normal(-1.5, 0.2)) for length in rng.uniform(3.5, 6, 500).tolist()]
    queries = [Signals(length, rng.normal(4, 1), rng.normal(-0.5, 0.3)) for length in rng.uniform(1, 2.5, 500).tolist()]
    likeness = fit_likeness(1000, texts, queries)
    for some, share in ((texts, 0.995), (queries, 0.95)):
        found = np.array([likeness.fit(one) for one in some])
        assert np.median(found) == pytest.approx(1)
        assert (found >= 0).mean() == pytest.approx(share, abs=0.006)
    # Beyond the lengths known, a text is judged as the longest known.
    beyond = [likeness.fit(Signals(length, 3.5, -1.6)) for length in (likeness.longest, 20.0)]
    assert beyond[0] == beyond[1]

"""Which of a document's phrases its title holds: marks, counts, and what neighbours' titles speak for."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import erukg
from collection.samples import PlainCollection, encode_words, make_collection, make_records, make_text
from erukg.collection import Collection, DocumentRecord, Writer, info, slim, verify
from erukg.collection.arrays import ArrayFile, ArrayFileWriter
from erukg.collection.manifest import read_manifest, write_manifest
from erukg.core.folding import fold
from erukg.core.hashing import hash_phrases
from erukg.core.neighbours import FEW, MORE


def titled(records: list[DocumentRecord]) -> list[DocumentRecord]:
    """The records with titles that hold one of their phrases, two, a word of one, or nothing at all."""
    out = []
    for i, record in enumerate(records):
        forms = [phrase.form for phrase in encode_words(record.text).phrases] or ["none"]
        first, last = forms[0], forms[-1]
        choices = (f"On {first}s: a study", f"{last.upper()} and {first}", first.split()[0], "Another one", "")
        out.append(replace(record, title=choices[i % 5]))
    return out


def in_title(record: DocumentRecord, phrase: str) -> bool:
    words, part = fold(record.title).split(), phrase.split()
    return any(words[i : i + len(part)] == part for i in range(len(words)))


def counts_of(records: Sequence[DocumentRecord]) -> dict[str, int]:
    """How many of the documents that have each phrase of the glossary have it in their title."""
    counts: defaultdict[str, int] = defaultdict(int)
    for record in records:
        for phrase in encode_words(record.text).phrases:
            counts[phrase.fold] += in_title(record, phrase.fold)
    return {phrase: counts[phrase] for phrase in PlainCollection(records).glossary}


def check_counts(folder: Path, records: Sequence[DocumentRecord]) -> None:
    expected = counts_of(records)
    assert 0 < sum(expected.values()) < sum(PlainCollection(records).glossary.values())
    glossary = Collection.open(folder).glossary
    assert len(glossary) == len(expected)
    found = glossary.titled(glossary.find(hash_phrases(list(expected))))
    assert found.tolist() == list(expected.values())
    assert verify(folder) == []


def test_marks_go_with_their_documents(tmp_path: Path) -> None:
    records = titled(make_records(260, seed=5))
    folder = make_collection(tmp_path / "c", records[:200], part=70)
    assert info(folder).segments == 3
    check_counts(folder, records[:200])
    # Titles that gain and lose phrases, by replacing; documents that go; and new ones.
    changed = [replace(old, title=new.title) for old, new in zip(records[:30], records[31:61], strict=True)]
    with Writer.open(folder) as writer:
        writer.remove([record.id for record in records[40:90]])
        for record in changed:
            writer.add(record, encode_words(record.text), replace=True)
        for record in records[200:]:
            writer.add(record, encode_words(record.text))
        writer.commit()
    alive = [*changed, *records[30:40], *records[90:]]
    check_counts(folder, alive)
    slim(folder, tmp_path / "slim")
    check_counts(tmp_path / "slim", alive)
    with Writer.open(folder) as writer:
        writer.merge()
    assert info(folder).segments == 1
    check_counts(folder, alive)


def support_of(records: Sequence[DocumentRecord], text: str, n: int) -> dict[str, dict[str, float]]:
    """What speaks for each phrase of the neighbours, from the definitions."""
    world = PlainCollection(records)
    near = world.scores(text)[:n]
    scores = [score for score, _ in near]
    held = [[p.fold for p in world.encoded[i].phrases if p.fold in world.glossary] for _, i in near]
    out: dict[str, dict[str, float]] = {}
    for phrase in {phrase for phrases in held for phrase in phrases}:
        places = [place for place, phrases in enumerate(held) if phrase in phrases]
        out[phrase] = {
            "few": sum(scores[k] / len(held[k]) for k in places if k < FEW) / sum(scores[:FEW]),
            "more": sum(scores[k] / len(held[k]) for k in places if k < MORE) / sum(scores[:MORE]),
            "few_holders": sum(k < FEW for k in places),
            "more_holders": sum(k < MORE for k in places),
            "best": places[0],
            "likeness": scores[places[0]] / scores[0],
            "near": sum(1 / len(held[k]) / (10 + k) for k in places),
            "titled": sum(scores[k] for k in places if in_title(records[near[k][1]], phrase)) / sum(scores),
        }
    return out


@pytest.mark.parametrize("part", [10**9, 90])
@pytest.mark.parametrize("n", [1, 30, 250])
def test_support_equals_its_definition(tmp_path: Path, part: int, n: int) -> None:
    records = titled(make_records(350, seed=11))
    collection = Collection.open(make_collection(tmp_path / "c", records, part=part))
    some = 0
    for seed in range(3):
        text = make_text(random.Random(seed), 40)
        near = collection.neighbourhood(text, n)
        assert near.support is not None
        expected = support_of(records, text, n)
        forms = [fold(phrase) for phrase in collection.glossary.phrases(near.phrase_ids)]
        assert set(forms) == set(expected)
        for k, phrase in enumerate(forms):
            got = {name: float(values[k]) for name, values in near.support._asdict().items()}
            assert got == pytest.approx(expected[phrase], rel=1e-4, abs=1e-7), phrase
            some += got["titled"] > 0
    assert some


def test_collections_without_titles_have_no_marks(tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "c", make_records(100, seed=2), part=40)
    manifest = read_manifest(folder)
    assert "glossary.titled" not in ArrayFile(folder, manifest.commit)._directory
    collection = Collection.open(folder)
    assert not collection.glossary.titled(np.arange(len(collection.glossary))).any()
    near = collection.neighbourhood(make_text(random.Random(1), 40), 50)
    assert near.support is not None
    assert not near.support.titled.any()
    assert near.support.few.any()


def test_the_bundled_collection_counts_titles() -> None:
    folder = Path(erukg.__file__).parent / "assets" / "collection"
    glossary = Collection.open(folder).glossary
    every = np.arange(len(glossary))
    assert (glossary.titled(every) <= glossary.counts(every)).all()
    assert glossary.titled(every).any() == ("glossary.titled" in _commit(folder)._directory)


def test_a_wrong_count_is_noticed(tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "c", titled(make_records(100, seed=4)))
    assert verify(folder) == []
    old = _commit(folder)
    manifest = read_manifest(folder)
    for number, change in enumerate((_one_more, None)):
        with ArrayFileWriter(folder / f"commit-0000009{number}.bin") as file:
            for name, (code, _, _) in old._directory.items():
                array = old.array(name, code)
                if name != "glossary.titled":
                    file.add(name, array)
                elif change is not None:
                    file.add(name, change(array))
            written = file.close()
        write_manifest(folder, replace(manifest, commit=written))
        assert len(verify(folder)) == 1
        assert "do not fit the documents" in verify(folder)[0]


def _one_more(array: NDArray[np.uint32]) -> NDArray[np.uint32]:
    array = array.copy()
    array[3] += 1
    return array


def _commit(folder: Path) -> ArrayFile:
    return ArrayFile(folder, read_manifest(folder).commit)

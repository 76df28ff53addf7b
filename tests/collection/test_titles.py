"""Titles of a collection's documents: from the input to the sources of a phrase, through every change."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import erukg
from collection.samples import VOCAB_SIZE, WordAnalyser, encode_words, make_collection, make_records, make_text
from erukg.collection import Collection, DocumentRecord, Writer, info, slim, verify
from erukg.collection.arrays import ArrayFile, ArrayFileWriter
from erukg.collection.build import add, build, build_encoded
from erukg.collection.manifest import read_manifest, write_manifest
from erukg.errors import CollectionError

QUERY = make_text(random.Random(3), 30)


def titled(records: list[DocumentRecord]) -> list[DocumentRecord]:
    """The records with titles, but for every fourth."""
    return [replace(r, title=f"On {r.id}" if i % 4 else "") for i, r in enumerate(records)]


def titles_of(folder: Path) -> dict[str, str]:
    collection = Collection.open(folder)
    every = np.concatenate(
        [rows + start for (_, rows), start in zip(collection.live_rows(), _starts(folder), strict=True)]
    )
    return dict(zip(collection.ids(every), collection.titles(every), strict=True))


def _starts(folder: Path) -> list[int]:
    sizes = [entry.documents for entry in read_manifest(folder).segments]
    return [sum(sizes[:i]) for i in range(len(sizes))]


def arrays_of(folder: Path) -> list[set[str]]:
    return [set(ArrayFile(folder, entry.file)._directory) for entry in read_manifest(folder).segments]


def test_titles_come_from_the_field_of_that_name(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"id": "a", "title": "Sea  ice\n<b>seen</b> by\tradar ", "text": "kalo miren"},
        {"id": "b", "text": "tuvas kalo"},
        {"id": "c", "title": None, "abstract": "orpel shi"},
        {"id": "d", "title": "x" * 299 + " and more", "text": "kalo tex"},
        {"id": "e", "title": "A title is a text"},
        {"id": "f", "title": "", "text": "dun gra"},
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "b.csv").write_text('id,title,text\ng,"Graphs, again",kalo\n')
    (tmp_path / "c.txt").write_text("A first line\nand a text")
    sources = [tmp_path / name for name in ("a.jsonl", "b.csv", "c.txt")]
    build(tmp_path / "c", sources, WordAnalyser())
    assert titles_of(tmp_path / "c") == {
        "a": "Sea ice <b>seen</b> by radar",
        "b": "",
        "c": "",
        "d": "x" * 299,
        "e": "A title is a text",
        "f": "",
        "g": "Graphs, again",
        str(tmp_path / "c.txt"): "",
    }
    assert verify(tmp_path / "c") == []
    build(tmp_path / "without", sources, WordAnalyser(), titles=False)
    assert set(titles_of(tmp_path / "without").values()) == {""}
    add(tmp_path / "without", sources, WordAnalyser(), replace=True)
    assert titles_of(tmp_path / "without") == titles_of(tmp_path / "c")


def test_titles_stay_with_their_documents(tmp_path: Path) -> None:
    records = titled(make_records(120, seed=5))
    records[5] = replace(records[5], title="half \ud83d pair")
    folder = make_collection(tmp_path / "c", records[:90], part=40)
    changed = [replace(records[i], title=title) for i, title in ((1, "Another"), (2, ""), (4, "A first one"))]
    with Writer.open(folder) as writer:
        writer.remove([r.id for r in records[10:20]])
        for record in records[90:]:
            writer.add(record, encode_words(record.text))
        for record in changed:
            writer.add(record, encode_words(record.text), replace=True)
        writer.commit()
    records[5] = replace(records[5], title="half ? pair")
    alive = {r.id: r.title for r in [*records[:10], *records[20:], *changed]}
    assert titles_of(folder) == alive
    slim(folder, tmp_path / "slim")
    assert titles_of(tmp_path / "slim") == alive
    with Writer.open(folder) as writer:
        writer.merge()
    assert info(folder).segments == 1
    assert titles_of(folder) == alive
    pairs = [(r, encode_words(r.text)) for r in records]
    build_encoded(tmp_path / "encoded", pairs, fingerprint="words-1", vocab_size=VOCAB_SIZE, part_documents=50)
    assert titles_of(tmp_path / "encoded") == {r.id: r.title for r in records}
    for made in (folder, tmp_path / "slim", tmp_path / "encoded"):
        assert verify(made) == []


def test_sources_have_titles(tmp_path: Path) -> None:
    records = titled(make_records(150, seed=7))
    collection = Collection.open(make_collection(tmp_path / "c", records, part=60))
    titles = {r.id: r.title for r in records}
    near = collection.neighbourhood(QUERY, 40)
    found = [source for some in collection.sources(near, near.phrase_ids) for source in some]
    assert {bool(source.title) for source in found} == {True, False}
    assert all(source.title == titles[source.id] for source in found)


def test_files_without_titles_stay_as_they_were(tmp_path: Path) -> None:
    records = make_records(60, seed=9)
    folder = make_collection(tmp_path / "c", records, part=25)
    assert not any("titles" in names for names in arrays_of(folder))
    with Writer.open(folder) as writer:
        writer.add(DocumentRecord("new", "kalo miren", title="New"), encode_words("kalo miren"))
        writer.commit()
    assert ["titles" in names for names in arrays_of(folder)] == [False, False, False, True]
    assert titles_of(folder) == {**{r.id: "" for r in records}, "new": "New"}
    with Writer.open(folder) as writer:
        writer.merge()
        assert titles_of(folder)["new"] == "New"
        writer.remove(["new"])
        writer.merge()
    assert [names & {"titles", "ids"} for names in arrays_of(folder)] == [{"ids"}]
    data = [next(f.glob("segment-*.bin")).read_bytes() for f in (folder, make_collection(tmp_path / "same", records))]
    assert data[0] == data[1]


def test_the_bundled_collection_opens() -> None:
    collection = Collection.open(Path(erukg.__file__).parent / "assets" / "collection")
    assert [type(title) for title in collection.titles(np.arange(5))] == [str] * 5


def test_damaged_titles_are_found(tmp_path: Path) -> None:
    """Titles whose offsets make no sense, in a file whose checksums are right."""
    folder = make_collection(tmp_path / "c", titled(make_records(30, seed=1)))
    manifest = read_manifest(folder)
    (entry,) = manifest.segments
    old = ArrayFile(folder, entry.file)
    with ArrayFileWriter(folder / "segment-00000099.bin") as file:
        for name, (code, _, _) in old._directory.items():
            array = old.array(name, code)
            if name == "titles.offsets":
                array = array.copy()
                array[5:] = array[-1] + 7
            file.add(name, array)
        written = file.close()
    write_manifest(folder, replace(manifest, segments=(replace(entry, file=written),)))
    assert any("a list goes beyond its array" in fault for fault in verify(folder))
    collection = Collection.open(folder)
    with pytest.raises(CollectionError, match="is damaged"):
        collection.titles(np.arange(30))
    with pytest.raises(CollectionError, match="is damaged"):
        slim(folder, tmp_path / "slim")

"""Tags of a collection's documents: kept as they came, through every change, and counted over those that are left."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import erukg
from collection.samples import (
    VOCAB_SIZE,
    WordAnalyser,
    encode_words,
    make_collection,
    make_records,
    make_tagged,
    make_tags,
    write_jsonl,
)
from erukg.cli import app
from erukg.collection import Collection, DocumentRecord, Tag, Writer, info, slim, verify
from erukg.collection.arrays import ArrayFile, ArrayFileWriter
from erukg.collection.build import BUILD, add, build, build_encoded, encode_rows, ingest
from erukg.collection.distributed import combine_parts, write_part
from erukg.collection.manifest import Manifest, read_manifest, write_manifest
from erukg.collection.tags import LONGEST, MOST_TAGS, checked_tags, field_tags
from erukg.errors import CollectionError, ErukgWarning, InputError
from erukg.io import BadDocument, read_documents

Tags = dict[str, tuple[Tag, ...]]


def tags_by_id(folder: Path) -> Tags:
    collection = Collection.open(folder)
    every = collection.documents()
    return dict(zip(collection.ids(every), collection.tags_of(every), strict=True))


def expected(model: Mapping[str, tuple[Tag, ...]]) -> tuple[dict[str, int], dict[str, str]]:
    """How many documents have each tag, and its label, from the definitions."""
    counts = Counter(tag.uri for tags in model.values() for tag in tags)
    labels: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for tag in (tag for tags in model.values() for tag in tags):
        labels[tag.uri][tag.label] += 1
    chosen = {}
    for uri, given in labels.items():
        said = {label: n for label, n in given.items() if label != uri} or given
        chosen[uri] = min(label for label, n in said.items() if n == max(said.values()))
    return dict(counts), chosen


def check_model(folder: Path, model: Tags) -> None:
    assert tags_by_id(folder) == model
    collection, (counts, labels) = Collection.open(folder), expected(model)
    assert collection.tag_counts() == counts
    assert collection.tag_labels() == labels
    assert collection.has_tags == bool(counts)
    found = info(folder)
    assert (found.tags, found.tagged_documents) == (len(counts), sum(map(bool, model.values())))
    assert verify(folder) == []


def arrays_of(folder: Path) -> list[set[str]]:
    return [set(ArrayFile(folder, entry.file)._directory) for entry in read_manifest(folder).segments]


@pytest.mark.parametrize("seed", range(4))
def test_tags_follow_every_change(tmp_path: Path, seed: int) -> None:
    """Random additions, replacements, removals and merges leave the tags that a dict would hold."""
    rng, model = random.Random(seed), Tags()
    folder = make_collection(tmp_path / "c", [])
    for step in range(12):
        with Writer.open(folder) as writer:
            again = rng.sample(list(model), min(len(model), rng.randrange(5)))
            for id in [*again, *(f"n{step}-{i}" for i in range(rng.randrange(8)))]:
                model[id] = tags = make_tags(rng)
                text = f"kalo miren {rng.random()}"
                writer.add(DocumentRecord(id, text, tags=tags), encode_words(text), replace=True)
            writer.commit()
            gone = rng.sample(list(model), rng.randrange(len(model) // 2 + 1))
            writer.remove(gone)
            model = {id: tags for id, tags in model.items() if id not in gone}
            if rng.random() < 0.3:
                writer.merge(rng.choice([8, 1000]))
            writer.tidy()
        if step % 4 == 3:
            check_model(folder, model)
    model["last"] = (Tag("one", "one"),)
    with Writer.open(folder) as writer:
        writer.add(DocumentRecord("last", "kalo", tags=model["last"]), encode_words("kalo"))
    assert "last" not in tags_by_id(folder)
    with Writer.open(folder) as writer:
        writer.add(DocumentRecord("last", "kalo", tags=model["last"]), encode_words("kalo"))
        writer.commit()
    slim(folder, tmp_path / "slim")
    check_model(tmp_path / "slim", model)
    with Writer.open(folder) as writer:
        writer.merge()
    check_model(folder, model)


def test_merged_is_as_built_at_once(tmp_path: Path) -> None:
    records = make_tagged(90, 4)
    parts, whole = make_collection(tmp_path / "parts", records, part=20), make_collection(tmp_path / "whole", records)
    with Writer.open(parts) as writer:
        writer.merge()
    data = [next(folder.glob("segment-*.bin")).read_bytes() for folder in (parts, whole)]
    assert data[0] == data[1]
    pairs = [(r, encode_words(r.text)) for r in records]
    build_encoded(tmp_path / "encoded", pairs, fingerprint="words-1", vocab_size=VOCAB_SIZE, part_documents=35)
    check_model(tmp_path / "encoded", {r.id: r.tags for r in records})


def test_collections_without_tags_stay_as_they_were(tmp_path: Path) -> None:
    records = make_records(60, seed=9)
    folder = make_collection(tmp_path / "c", records, part=25)
    before = (folder / "manifest.json").read_bytes()
    assert b'"tags"' not in before
    assert read_manifest(folder).version == 1
    assert not any("tags" in names for names in arrays_of(folder))
    assert Collection.open(folder).tags_of(np.arange(60)) == [()] * 60
    with Writer.open(folder) as writer:
        writer.add(DocumentRecord("new", "kalo miren", tags=(Tag("uri:1", "One"),)), encode_words("kalo miren"))
        writer.commit()
    assert ["tags" in names for names in arrays_of(folder)] == [False, False, False, True]
    # A program that knows nothing of tags would lose them when it merges, and so must not open it.
    assert read_manifest(folder).version == 4
    check_model(folder, {**{r.id: () for r in records}, "new": (Tag("uri:1", "One"),)})
    with Writer.open(folder) as writer:
        writer.remove(["new"])
        writer.merge()
    same = make_collection(tmp_path / "same", records)
    data = [next(f.glob("segment-*.bin")).read_bytes() for f in (folder, same)]
    assert data[0] == data[1]


def test_the_bundled_collection_has_none() -> None:
    collection = Collection.open(Path(erukg.__file__).parent / "assets" / "collection")
    assert not collection.has_tags
    assert collection.tags_of(np.arange(3)) == [(), (), ()]
    with pytest.raises(InputError, match="other numbers were asked for"):
        collection.tags_of(np.array([-1]))


def test_a_reader_keeps_the_tags_of_its_commit(tmp_path: Path) -> None:
    records = make_tagged(40, 2)
    folder = make_collection(tmp_path / "c", records, part=15)
    collection = Collection.open(folder)
    with Writer.open(folder) as writer:
        writer.remove([r.id for r in records[:30]])
        writer.merge()
    assert collection.tags_of(collection.documents()) == [r.tags for r in records]
    assert collection.tag_counts() == expected({r.id: r.tags for r in records})[0]
    # In any order, and more than once.
    assert collection.tags_of(np.array([33, 2, 33, 20])) == [records[i].tags for i in (33, 2, 33, 20)]
    assert collection.tags_of(np.array([], np.int64)) == []


@pytest.mark.parametrize(
    ("value", "tags"),
    [
        (None, []),
        ("", []),
        ([], []),
        ("sea ice; radar", [("sea ice; radar", "sea ice; radar")]),
        (["b", "a", None, " ", "b"], [("b", "b"), ("a", "a")]),
        (["http://a.org/1"], [("http://a.org/1", "http://a.org/1")]),
        ([{"uri": "m:1", "label": "Ice\n of  sea", "major": True}], [("m:1", "Ice of sea")]),
        ([{"uri": "m:1"}, {"label": "Ice"}, {"uri": None, "label": "x"}], [("m:1", "m:1"), ("Ice", "Ice"), ("x", "x")]),
        ([{"uri": "m:1", "label": "One"}, {"uri": "m:1", "label": "Two"}], [("m:1", "One")]),
        ({"uri": "m:1", "label": "half \ud83d"}, [("m:1", "half ?")]),
        (("a", "b"), [("a", "a"), ("b", "b")]),
    ],
)
def test_forms_of_tags(value: object, tags: list[tuple[str, str]]) -> None:
    assert list(checked_tags(field_tags({"id": "a", "subjects": value}, "subjects"))) == tags


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "Field 'subjects' must be a string, or a list of .* and it holds a number"),
        (["a", ["b"]], "and it holds a list"),
        ([True], "and it holds true or false"),
        ([{"uri": 7}], "the uri of a tag must be a string, not a number"),
        ([{"label": {}}], "the label of a tag must be a string, not an object"),
        ([{"name": "x"}], "a tag without 'uri' and 'label'"),
        ([str(i) for i in range(MOST_TAGS + 1)], f"It has {MOST_TAGS + 1} tags; a document may have {MOST_TAGS}"),
        (["x" * (LONGEST + 1)], f"Its tag '{'x' * 40}…' is longer than {LONGEST} characters"),
        ([{"uri": "m:1", "label": "x" * (LONGEST + 1)}], "Its tag 'm:1…' is longer"),
    ],
)
def test_wrong_tags_are_bad_rows(tmp_path: Path, value: object, message: str) -> None:
    rows = [{"id": "a", "text": "kalo", "subjects": ["t"]}, {"id": "b", "text": "miren", "subjects": value}]
    rows.append({"id": "c", "text": "tuvas", "subjects": ["t"]})
    source = tmp_path / "a.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    bad: list[BadDocument] = []
    report = build(tmp_path / "c", [source], WordAnalyser(), tags="subjects", on_bad=bad.append)
    assert (report.added, report.bad) == (2, 1)
    (only,) = bad
    assert only.place == f"{source}:2"
    with pytest.raises(InputError, match=message):
        raise InputError(only.message)
    assert tags_by_id(tmp_path / "c") == {"a": (Tag("t", "t"),), "c": (Tag("t", "t"),)}


def test_tables_and_texts(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (tmp_path / "a.csv").write_text("id,text,Subjects\nc,kalo,Sea ice\nd,miren,\n")
    (tmp_path / "b.txt").write_text("orpel shi")
    objects = [[{"uri": "m:1", "label": "One"}, {"uri": "m:2", "label": None}], None, []]
    table = {"id": ["p", "q", "r"], "text": ["tuvas a", "tuvas b", "tuvas c"], "other": [1, 2, 3]}
    parquet.write_table(pa.table({**table, "Subjects": objects}), tmp_path / "c.parquet")
    sources = [tmp_path / name for name in ("a.csv", "b.txt", "c.parquet")]
    build(tmp_path / "c", sources, WordAnalyser(), tags="Subjects")
    check_model(
        tmp_path / "c",
        {
            "c": (Tag("Sea ice", "Sea ice"),),
            "d": (),
            str(tmp_path / "b.txt"): (),
            "p": (Tag("m:1", "One"), Tag("m:2", "m:2")),
            "q": (),
            "r": (),
        },
    )
    for row in read_documents([tmp_path / "c.parquet"], fields=["Subjects"]):
        assert not isinstance(row, BadDocument)
        assert set(row.fields or ()) == {"id", "text", "Subjects"}


def test_additions_take_the_collections_field(tmp_path: Path) -> None:
    first, second, third = make_tagged(30, 1), make_tagged(20, 2, "e"), make_tagged(10, 3, "f")
    sources = [write_jsonl(tmp_path / f"{i}.jsonl", some) for i, some in enumerate((first, second, third))]
    sources[2].write_text(sources[2].read_text().replace('"subjects"', '"keywords"'))
    folder = tmp_path / "c"
    build(folder, [sources[0]], WordAnalyser(), tags="subjects")
    add(folder, [sources[1]], WordAnalyser())
    model = {r.id: r.tags for r in first + second}
    check_model(folder, model)
    add(folder, [sources[2]], WordAnalyser())
    check_model(folder, model | {r.id: () for r in third})
    add(folder, [sources[2]], WordAnalyser(), tags="keywords", replace=True)
    check_model(folder, model | {r.id: r.tags for r in third})
    assert read_manifest(folder).tags == info(folder).tags_field == "subjects"
    # A collection without tags gets the field with its first tagged documents.
    build(tmp_path / "plain", [sources[0]], WordAnalyser())
    assert read_manifest(tmp_path / "plain").tags is None
    add(tmp_path / "plain", [sources[1]], WordAnalyser(), tags="subjects")
    assert read_manifest(tmp_path / "plain").tags == "subjects"
    check_model(tmp_path / "plain", {r.id: () for r in first} | {r.id: r.tags for r in second})
    for run in (build, add):
        with pytest.raises(InputError, match="name of the field with the documents' tags is empty"):
            run(tmp_path / "plain", [sources[1]], WordAnalyser(), tags=" ")


def test_a_build_goes_on_with_the_same_field_alone(tmp_path: Path) -> None:
    records = make_tagged(50, 6)
    source, folder = write_jsonl(tmp_path / "a.jsonl", records), tmp_path / "c"

    class Stops(WordAnalyser):
        left = 25

        def encode_one(self, text: str) -> Any:
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt
            return super().encode_one(text)

    with pytest.raises(KeyboardInterrupt):
        build(folder, [source], Stops(), tags="subjects")
    with pytest.warns(ErukgWarning, match="unfinished"):
        assert Collection.open(folder).has_tags
    for other in (None, "keywords"):
        with pytest.raises(CollectionError, match="or with other options"):
            build(folder, [source], WordAnalyser(), tags=other)
    assert build(folder, [source], WordAnalyser(), tags="subjects").resumed == 24
    check_model(folder, {r.id: r.tags for r in records})
    assert build(folder, [source], WordAnalyser(), tags="subjects", reuse=True).added == 0
    with pytest.raises(CollectionError, match="made with other options"):
        build(folder, [source], WordAnalyser(), reuse=True)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "again", [source], Stops(), tags="subjects")
    build(tmp_path / "again", [source], WordAnalyser(), restart=True)
    assert read_manifest(tmp_path / "again").tags is None
    check_model(tmp_path / "again", {r.id: () for r in records})


def _fetch(made: Path, path: Path) -> None:
    path.write_bytes(made.read_bytes())


def test_parts_from_many_machines(tmp_path: Path) -> None:
    records = make_tagged(70, 8)
    source = write_jsonl(tmp_path / "a.jsonl", [*records, replace(records[5], tags=(Tag("late", "late"),))])
    rows, parts = read_documents([source]), []
    for i in range(3):
        made = tmp_path / f"part{i}"
        for entry in write_part(made, islice(rows, 30), WordAnalyser(), tags="subjects"):
            parts.append((entry, partial(_fetch, made / entry.file.name)))
    out, model = tmp_path / "out", WordAnalyser.fingerprint
    twice = combine_parts(out, parts, fingerprint=model, vocab_size=VOCAB_SIZE, key="k", tags="subjects")
    assert twice == [(2, records[5].id)]
    build(tmp_path / "local", [source], WordAnalyser(), tags="subjects")
    check_model(out, {r.id: r.tags for r in records})
    assert read_manifest(out).tags == "subjects"
    files = [sorted(path.read_bytes() for path in folder.glob("*.bin")) for folder in (out, tmp_path / "local")]
    assert files[0] == files[1]


def test_rows_with_wrong_tags_are_not_encoded(tmp_path: Path) -> None:
    """The analyser reads ahead; answers stay with their rows."""
    rows = [{"id": str(i), "text": f"kalo {i}", "subjects": 5 if i % 3 == 1 else [f"t{i}"]} for i in range(9)]
    source = tmp_path / "a.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    items = list(encode_rows(read_documents([source]), WordAnalyser(), tags="subjects"))
    assert [isinstance(item, BadDocument) for item in items] == [i % 3 == 1 for i in range(9)]
    for item in items:
        if not isinstance(item, BadDocument):
            record, document = item
            assert record.tags == (Tag(f"t{record.id}", f"t{record.id}"),)
            assert [p.form for p in document.phrases] == [record.text]
    with Writer.create(tmp_path / "c", fingerprint="words-1", vocab_size=VOCAB_SIZE) as writer:
        report = ingest(writer, items, BUILD)
    assert (report.added, report.bad) == (6, 3)


Change = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]


def rewritten(folder: Path, name: str, change: Change) -> Manifest:
    """A collection of one segment with an array of it changed, and checksums that are right."""
    manifest = read_manifest(folder)
    (entry,) = manifest.segments
    old = ArrayFile(folder, entry.file)
    with ArrayFileWriter(folder / "segment-00000099.bin") as file:
        for known, (code, _, _) in old._directory.items():
            array = old.array(known, code)
            file.add(known, change(array.copy()) if known == name else array)
        written = file.close()
    changed = replace(manifest, segments=(replace(entry, file=written),))
    write_manifest(folder, changed)
    return changed


def _beyond(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array[5:] = array[-1] + 7
    return array


def _twice(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array[1] = array[0]
    return array


@pytest.mark.parametrize(
    ("name", "change", "fault", "readable"),
    [
        ("tags.offsets", _beyond, "a list goes beyond its array", False),
        ("tags.uris.offsets", _beyond, "a list goes beyond its array", False),
        ("tags.uris.offsets", lambda a: a[:0], "has 0 entries instead of 1", False),
        ("tags.labels.offsets", lambda a: a[:-1], "entries instead of", False),
        ("tags", lambda a: a + 1, "a tag that does not exist", False),
        ("tags.uris", lambda a: a | 0x80, "a string cannot be read", False),
        ("tags.uris", lambda a: a[::-1], "its tags are out of order", True),
        ("tags", _twice, "a document has a tag twice", True),
        ("tags", lambda a: np.append(a, a[:1]), "its tags do not fill their array", True),
    ],
)
def test_damaged_tags_are_found(tmp_path: Path, name: str, change: Change, fault: str, readable: bool) -> None:
    names = [f"tag {i:02d}" for i in range(9)]
    records = [
        replace(record, tags=tuple(Tag(f"u:{t}", t) for t in (names[i % 9], names[(i + 3) % 9], names[(i + 5) % 9])))
        for i, record in enumerate(make_records(30, seed=1))
    ]
    folder = make_collection(tmp_path / "c", records)
    rewritten(folder, name, change)
    assert any(fault in found for found in verify(folder)), verify(folder)
    if not readable:
        with pytest.raises(CollectionError, match="is damaged"):
            Collection.open(folder).tags_of(np.arange(30))
        with pytest.raises(CollectionError, match="is damaged"):
            slim(folder, tmp_path / "slim")


def test_lists_that_overlap_cost_no_memory(tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "c", [replace(r, tags=(Tag("a", "a"),)) for r in make_records(30, seed=1)])
    rewritten(folder, "tags.offsets", lambda a: np.where(np.arange(len(a)) % 2, len(a) - 1, 0).astype(np.uint32))
    with pytest.raises(CollectionError, match="is damaged"):
        Collection.open(folder).tag_counts()


def test_a_tags_field_that_is_no_name_is_damage(tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "c", make_tagged(5, 1))
    write_manifest(folder, replace(read_manifest(folder), tags=7))  # type: ignore[arg-type]
    with pytest.raises(CollectionError, match=r"is damaged .*tags is 7"):
        Collection.open(folder)


def test_commands(tiny_model: Path, tmp_path: Path) -> None:
    rows = [
        {"id": "a", "text": "Radar images of sea ice.", "tags": [{"uri": "m:1", "label": "Sea ice"}, "radar"]},
        {"id": "b", "text": "Graph neural networks.", "tags": 5},
        {"id": "c", "text": "Deep neural networks."},
    ]
    source = tmp_path / "a.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(*arguments: object, code: int = 0) -> Any:
        result = CliRunner().invoke(app, ["collection", *map(str, arguments)])
        assert result.exit_code == code, result.output
        return result

    model, folder = ("--model", tiny_model, "--device", "cpu"), tmp_path / "c"
    made = run("build", folder, source, "--tags", "tags", *model, code=3)
    assert "1 of the documents are tagged, with 2 tags." in made.stdout
    assert f"{source}:2: Field 'tags' must be a string" in made.stderr
    source.write_text(json.dumps({"id": "d", "text": "Sea ice in winter.", "tags": ["winter"]}) + "\n")
    run("add", folder, source, *model)
    told = json.loads(run("info", folder, "--json").stdout)
    assert (told["tags"], told["tagged_documents"], told["tags_field"]) == (3, 2, "tags")
    assert "tagged documents  2" in run("info", folder).stdout
    hits = [json.loads(line) for line in run("search", folder, "sea ice").stdout.splitlines()]
    found = {hit["id"]: hit["tags"] for hit in hits}
    assert found == {"a": [{"uri": "m:1", "label": "Sea ice"}, "radar"], "d": ["winter"]}
    run("verify", folder)
    typo = run("build", tmp_path / "typo", source, "--tags", "tag", *model)
    assert "No document has a tag in the field 'tag'." in typo.stderr
    assert "The name of the field" in run("build", tmp_path / "none", source, "--tags", "", *model, code=1).stderr

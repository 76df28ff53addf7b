"""From files to a collection: forms of input, bad rows, interruptions, the real analyser and the command."""

from __future__ import annotations

import gzip
import json
import lzma
import random
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from collection.samples import (
    WordAnalyser,
    contents,
    encode_words,
    make_collection,
    make_records,
    make_text,
    write_jsonl,
)
from erukg import Keyphrase, KeyphraseGenerator, Settings
from erukg.backends import OnnxBackend
from erukg.backends.threads import ordered_map
from erukg.cli import app
from erukg.collection import Collection, EncodedDocument, Writer, info, slim, verify
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.build import add, add_encoded, build, build_encoded
from erukg.errors import CollectionError, ErukgWarning, InputError
from erukg.io import BadDocument

RECORDS = make_records(120, seed=11)
QUERIES = [make_text(random.Random(50 + i), 25) for i in range(5)]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    return contents(Collection.open(make_collection(tmp_path_factory.mktemp("built") / "c", RECORDS)), QUERIES)


def test_forms_of_input(tmp_path: Path, expected: list[object]) -> None:
    lines = "".join(json.dumps({"id": r.id, "text": r.text}) + "\n" for r in RECORDS[:30])
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as file:
        file.write(lines)
    lines = "".join(json.dumps({"id": r.id, "text": r.text}) + "\n" for r in RECORDS[30:60])
    with lzma.open(tmp_path / "b.jsonl.xz", "wt") as file:
        file.write(lines)
    rows = "".join(f"{r.id},{r.text}\n" for r in RECORDS[60:120])
    (tmp_path / "c.csv").write_text("id,text\n" + rows)
    sources = [tmp_path / name for name in ("a.jsonl.gz", "b.jsonl.xz", "c.csv")]
    report = build(tmp_path / "out", sources, WordAnalyser(), part_documents=50)
    assert (report.added, report.bad, report.rows, report.resumed) == (120, 0, 120, 0)
    assert contents(Collection.open(tmp_path / "out"), QUERIES) == expected
    assert info(tmp_path / "out").segments == 1
    assert verify(tmp_path / "out") == []


def test_folder_of_texts(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for record in RECORDS[:5]:
        (folder / f"{record.id}.txt").write_text(record.text)
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / "inner").mkdir()
    write_jsonl(folder / "inner" / "more.jsonl", RECORDS[10:13])
    report = build(tmp_path / "out", [folder], WordAnalyser())
    assert (report.added, report.bad) == (8, 0)
    collection = Collection.open(tmp_path / "out")
    assert collection.ids(np.arange(5))[0] == str(folder / "d0.txt")


def test_bad_rows_are_reported_and_skipped(tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text(
        '{"id": "a", "text": "kalo miren"}\n'
        "not json\n"
        '{"id": "a", "text": "twice"}\n'
        '{"id": "b", "text": "  "}\n'
        '{"id": "c"}\n'
        '{"id": "d", "text": "refuse me"}\n'
        '{"id": "e", "text": "tuvas"}\n'
    )

    class Picky(WordAnalyser):
        def encode_one(self, text: str) -> EncodedDocument:
            if text == "refuse me":
                raise InputError("I do not like it.")
            return super().encode_one(text)

    bad: list[BadDocument] = []
    report = build(tmp_path / "out", [source], Picky(), on_bad=bad.append)
    assert (report.added, report.bad, report.rows) == (2, 5, 7)
    assert [b.place.rsplit(":", 1)[1] for b in bad] == ["2", "3", "4", "5", "6"]
    assert "given twice" in bad[1].message
    assert "no text" in bad[2].message
    assert "I do not like it." in bad[4].message
    with pytest.raises(InputError, match="no document that can be used"):
        build(tmp_path / "none", [write_jsonl(tmp_path / "empty.jsonl", [])], WordAnalyser())


class Stops(WordAnalyser):
    """Works for some texts and then is interrupted, as by Ctrl-C."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.texts = 0

    def encode_one(self, text: str) -> EncodedDocument:
        if self.texts == self.most:
            raise KeyboardInterrupt
        self.texts += 1
        return super().encode_one(text)


def test_interrupted_build_goes_on(tmp_path: Path, expected: list[object]) -> None:
    source = write_jsonl(tmp_path / "a.jsonl", RECORDS)
    first = Stops(60)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "out", [source], first, part_documents=25)
    with pytest.warns(ErukgWarning, match="unfinished"):
        half = Collection.open(tmp_path / "out")
    assert not half.complete
    assert len(half) == 60
    with pytest.raises(CollectionError, match="unfinished build or addition of other or changed sources"):
        build(tmp_path / "out", [write_jsonl(tmp_path / "b.jsonl", RECORDS)], WordAnalyser())
    second = Stops(1000)
    report = build(tmp_path / "out", [source], second, part_documents=25)
    assert report.resumed == 60
    assert second.texts == 60
    assert contents(Collection.open(tmp_path / "out"), QUERIES) == expected
    assert Collection.open(tmp_path / "out").complete
    with pytest.raises(CollectionError, match="already holds a collection"):
        build(tmp_path / "out", [source], WordAnalyser())


def test_restart_throws_the_unfinished_away(tmp_path: Path, expected: list[object]) -> None:
    other = write_jsonl(tmp_path / "other.jsonl", make_records(50, seed=99, prefix="x"))
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "out", [other], Stops(20), part_documents=10)
    source = write_jsonl(tmp_path / "a.jsonl", RECORDS)
    report = build(tmp_path / "out", [source], WordAnalyser(), restart=True)
    assert report.resumed == 0
    assert contents(Collection.open(tmp_path / "out"), QUERIES) == expected


def test_add_resumes_and_equals_a_build(tmp_path: Path, expected: list[object]) -> None:
    folder = make_collection(tmp_path / "c", RECORDS[:70])
    source = write_jsonl(tmp_path / "a.jsonl", RECORDS[70:])
    with pytest.raises(KeyboardInterrupt):
        add(folder, [source], Stops(30), part_documents=20)
    assert len(Collection.open(folder)) == 100
    report = add(folder, [source], WordAnalyser(), part_documents=20)
    assert (report.resumed, report.added, report.bad) == (30, 20, 0)
    assert contents(Collection.open(folder), QUERIES) == expected
    again = add(folder, [source], WordAnalyser())
    assert (again.added, again.bad) == (0, 50)
    replaced = add(folder, [source], WordAnalyser(), replace=True)
    assert (replaced.added, replaced.bad) == (50, 0)
    assert contents(Collection.open(folder), QUERIES) == expected


def test_an_unfinished_addition_is_not_an_unfinished_build(tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "c", RECORDS[:70])
    source = write_jsonl(tmp_path / "a.jsonl", RECORDS[70:])
    with pytest.raises(KeyboardInterrupt):
        add(folder, [source], Stops(30), part_documents=20)
    with pytest.raises(CollectionError, match="already holds a collection"):
        build(folder, [source], WordAnalyser(), restart=True)
    assert len(Collection.open(folder)) == 100
    with pytest.raises(CollectionError, match="unfinished build or addition"):
        add(folder, [write_jsonl(tmp_path / "b.jsonl", RECORDS[80:])], WordAnalyser())
    report = add(folder, [tmp_path / "b.jsonl"], WordAnalyser(), restart=True)
    assert (report.added, report.bad) == (20, 20)
    assert len(Collection.open(folder)) == 120


def test_an_unfinished_build_cannot_be_slimmed(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "a.jsonl", RECORDS)
    with pytest.raises(KeyboardInterrupt):
        build(tmp_path / "c", [source], Stops(30), part_documents=20)
    with pytest.raises(CollectionError, match="is unfinished"):
        slim(tmp_path / "c", tmp_path / "s")


def test_documents_encoded_elsewhere(tmp_path: Path, expected: list[object]) -> None:
    pairs = [(r, encode_words(r.text)) for r in RECORDS]
    build_encoded(tmp_path / "c", iter(pairs[:80]), fingerprint="words-1", vocab_size=700, part_documents=30)
    report = add_encoded(tmp_path / "c", iter(pairs[60:]), fingerprint="words-1")
    assert (report.added, report.bad) == (40, 20)
    assert contents(Collection.open(tmp_path / "c"), QUERIES) == expected


TEXTS = [
    "Sparse graph algorithms for large data streams. The graph algorithm is fast.",
    "A sparse graph model of distributed memory. Graph algorithms use the cache.",
    "Distributed graph algorithms and the data stream engine in modern systems.",
    "Neural language models for keyphrase retrieval. The keyphrase is a term.",
]


def extract_by(encoder: OnnxBackend, settings: Settings, text: str, k: int) -> tuple[Keyphrase, ...]:
    return KeyphraseGenerator(encoder).extract(text, k, settings).present


def test_real_analyser_and_generator(tmp_path: Path, tiny_encoder: OnnxBackend) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text("".join(json.dumps({"id": f"t{i}", "text": t}) + "\n" for i, t in enumerate(TEXTS)))
    analyser = ModelAnalyser(tiny_encoder, mapper=partial(ordered_map, threads=2))
    one = next(analyser.encode([TEXTS[0]])).unwrap()
    assert 0 < len(one.phrases) <= 10
    assert np.all(one.term_weights > 0)
    extracted = KeyphraseGenerator(tiny_encoder).extract(TEXTS[0])
    assert [p.form for p in one.phrases] == [k.phrase for k in extracted.present]
    by_f = Settings.paper(phraseness=0, position=0)
    plain = next(ModelAnalyser(tiny_encoder, phrases=2, settings=by_f).encode([TEXTS[0]])).unwrap()
    assert [p.form for p in plain.phrases] == [k.phrase for k in extract_by(tiny_encoder, by_f, TEXTS[0], 2)]
    build(tmp_path / "c", [source], analyser)
    collection = Collection.open(tmp_path / "c", fingerprint=tiny_encoder.fingerprint)
    assert verify(tmp_path / "c") == []
    near = collection.neighbourhood(TEXTS[0], 10)
    assert collection.ids(near.documents)[0] in ("t1", "t2")
    assert "t0" not in collection.ids(near.documents)
    generator = KeyphraseGenerator(tiny_encoder, collection)
    result = generator.generate("Modern engines for data streams in graph memory.")
    assert result.present


def test_command(tmp_path: Path, tiny_model: Path) -> None:
    def run(*arguments: object, code: int = 0, input: str | None = None) -> str:
        result = CliRunner().invoke(app, ["collection", *map(str, arguments)], input=input)
        assert result.exit_code == code, result.output
        return result.output

    source = tmp_path / "a.jsonl"
    source.write_text("".join(json.dumps({"id": f"t{i}", "text": t}) + "\n" for i, t in enumerate(TEXTS)))
    folder = tmp_path / "c"
    assert "4 documents" in run("build", folder, source, "--model", tiny_model)
    assert "already holds a collection" in run("build", folder, source, "--model", tiny_model, code=1)
    assert json.loads(run("info", folder, "--json"))["documents"] == 4
    assert "documents         4" in run("info", folder)
    first = json.loads(run("search", folder, "neural language models").splitlines()[0])
    assert first["id"] == "t3"
    assert run("search", folder, "-", input="neural language models") == run("search", folder, "neural language models")
    more = tmp_path / "b.jsonl"
    more.write_text('{"id": "n", "text": "neural trees"}\nbroken\n')
    assert "1 of 2 rows skipped" in run("add", folder, more, "--model", tiny_model, code=3)
    assert "2 documents removed, 3 left" in run("remove", folder, "n", "t0", "none", code=3)
    assert "1 segments" in run("merge", folder)
    assert "in order" in run("verify", folder)
    run("slim", folder, tmp_path / "s")
    assert json.loads(run("info", tmp_path / "s", "--json"))["frozen"]
    victim = next(folder.glob("segment-*.bin"))
    data = bytearray(victim.read_bytes())
    data[len(data) // 2] ^= 1
    victim.write_bytes(data)
    assert "another checksum" in run("verify", folder, code=1)
    assert "does not exist" in run("info", tmp_path / "nothing", code=1)


def test_parquet_without_its_package_is_a_bad_row(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    bad: list[BadDocument] = []
    with pytest.raises(InputError, match="no document that can be used"):
        build(tmp_path / "out", [tmp_path / "a.parquet"], WordAnalyser(), on_bad=bad.append)
    assert len(bad) == 1
    assert bad[0].place == str(tmp_path / "a.parquet")


def test_writer_creates_only_where_there_is_nothing(tmp_path: Path) -> None:
    folder = make_collection(tmp_path / "c", RECORDS[:3])
    with pytest.raises(CollectionError, match="already holds a collection"):
        Writer.create(folder, fingerprint="f", vocab_size=10)
    with pytest.raises(InputError, match="below 65536"):
        Writer.create(tmp_path / "d", fingerprint="f", vocab_size=70_000)

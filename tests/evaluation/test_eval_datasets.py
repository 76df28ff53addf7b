"""Every form of test set that people have, and every way in which a file can be wrong."""

from __future__ import annotations

import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from erukg.errors import InputError
from erukg.research.evaluation import Record, load_set, load_sets

ROW = {"id": "a", "title": "Sea ice", "abstract": "Radar images.", "keyphrases": ["sea ice", " radar "]}


def write(path: Path, *rows: Any) -> Path:
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    data = text.encode()
    pack: dict[str, Any] = {".gz": gzip.compress, ".xz": lzma.compress}
    path.write_bytes(pack.get(path.suffix, bytes)(data))
    return path


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz", "jsonl.xz", "json"])
def test_native_rows_plain_and_packed(tmp_path: Path, ending: str) -> None:
    dataset = load_set(write(tmp_path / f"ice.{ending}", ROW, "", {**ROW, "id": 7}))
    assert dataset.name == "ice"
    assert dataset.records == (
        Record("a", "Sea ice", "Radar images.", ("sea ice", "radar")),
        Record("7", "Sea ice", "Radar images.", ("sea ice", "radar")),
    )
    assert dataset.records[0].text == "Sea ice\nRadar images."
    plain = load_set(write(tmp_path / "plain.jsonl", ROW, "", {**ROW, "id": 7}))
    assert dataset.sha256 == plain.sha256 != ""


def test_official_gold_as_lists_or_with_plus_signs(tmp_path: Path) -> None:
    lists = {**ROW, "keyphrases_stemmed_official": [["a b", "b a"], ["c"]]}
    strings = {**ROW, "id": "b", "keyphrases_stemmed_official": ["a b+b a", "c"]}
    alone = {k: v for k, v in {**strings, "id": "c"}.items() if k != "keyphrases"}
    records = load_set(write(tmp_path / "s.jsonl", lists, strings, alone)).records
    assert {r.official for r in records} == {(("a b", "b a"), ("c",))}
    assert records[2].keyphrases == ()


def test_midas_rows(tmp_path: Path) -> None:
    row = {
        "id": 12,
        "document": ["Sea", "ice", "from", "radar", "."],
        "doc_bio_tags": ["B", "I", "O", "O", "O"],
        "extractive_keyphrases": ["sea ice"],
        "abstractive_keyphrases": ["remote sensing"],
    }
    long = {
        "id": "l",
        "sections": ["introduction", "Title", "abstract"],
        "sec_text": [["Long", "ago"], ["Sea", "ice"], ["Radar", "."]],
        "extractive_keyphrases": ["sea ice"],
    }
    short, sections = load_set(write(tmp_path / "m.jsonl", row, long)).records
    assert short == Record("12", "", "Sea ice from radar .", ("sea ice", "remote sensing"))
    assert short.text == "Sea ice from radar ."
    assert sections == Record("l", "Sea ice", "Radar .", ("sea ice",))


@pytest.mark.parametrize("gold", [{"keywords": "sea ice; radar;"}, {"keyword": ["sea ice", "radar"]}])
def test_memray_rows_get_ids_from_their_lines(tmp_path: Path, gold: dict[str, Any]) -> None:
    row = {"title": "Sea ice", "abstract": "Radar images.", **gold}
    dataset = load_set(write(tmp_path / "kp20k_test.json", row, row))
    assert [r.id for r in dataset.records] == ["kp20k_test-1", "kp20k_test-2"]
    assert dataset.records[0].keyphrases == ("sea ice", "radar")


def test_folders_are_read_in_the_paper_order(tmp_path: Path) -> None:
    for name in ("kp20k_1000", "other", "inspec", "semeval2010", "krapivin", "nus"):
        write(tmp_path / f"{name}.jsonl", ROW)
    (tmp_path / "README.md").write_text("not a set")
    names = [s.name for s in load_sets([tmp_path])]
    assert names == ["semeval2010", "inspec", "nus", "krapivin", "kp20k_1000", "other"]
    assert [s.name for s in load_sets([tmp_path / "nus.jsonl", tmp_path / "inspec.jsonl"])] == [
        "inspec",
        "nus",
    ]


def test_first_documents(tmp_path: Path) -> None:
    dataset = load_set(write(tmp_path / "s.jsonl", ROW, {**ROW, "id": "b"}))
    assert dataset.first(None) is dataset.first(2) is dataset
    assert [r.id for r in dataset.first(1).records] == ["a"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('{"id": "b", "title"', r"s\.jsonl, line 2: It is not JSON: .* at column"),
        ("[1, 2]", r"line 2: It is JSON, but not an object"),
        ("[" * 100_000, r"line 2: It is JSON nested too deeply"),
        ({"id": "b", "title": "t", "abstract": "a"}, r"line 2: it has no gold phrases: one of the fields"),
        ({"id": "b", "abstract": "a", "keyphrases": []}, r"line 2: the field 'title' is missing"),
        ({**ROW, "id": "b", "abstract": None}, r"line 2: the field 'abstract' must be text, not NoneType"),
        ({**ROW, "id": None}, r"line 2: the field 'id' is missing"),
        ({**ROW, "id": [1]}, r"line 2: the field 'id' must be text or a whole number, not list"),
        (
            {**ROW, "id": "b", "keyphrases": "a;b"},
            r"line 2: the field 'keyphrases' must be a list of phrases",
        ),
        ({**ROW, "id": "b", "keyphrases": [1]}, r"line 2: the field 'keyphrases' must be a list of phrases"),
        (
            {**ROW, "id": "b", "title": " ", "abstract": ""},
            r"line 2: the document has neither title nor abstract",
        ),
        (
            {**ROW, "id": "b", "keyphrases_stemmed_official": [3]},
            r"line 2: the field 'keyphrases_stemmed_official'",
        ),
        (
            {"id": "b", "document": [1], "extractive_keyphrases": []},
            r"line 2: the field 'document' must be a list",
        ),
        ({"id": "b", "extractive_keyphrases": []}, r"line 2: the field 'document' is missing"),
        (
            {"id": "b", "sections": ["body"], "sec_text": [["x"]], "extractive_keyphrases": []},
            r"line 2: the field 'sections' names neither",
        ),
        ({"title": "t", "abstract": "a", "keywords": 3}, r"line 2: the field 'keywords' .* parted by ';'"),
        (ROW, r"line 2: the id 'a' was already used in line 1; give every document its own"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_set(write(tmp_path / "s.jsonl", ROW, row))


def test_bad_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"There is no file or folder .*missing"):
        load_sets([tmp_path / "missing"])
    with pytest.raises(InputError, match="holds no test set"):
        load_sets([tmp_path])
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(InputError, match="is empty"):
        load_set(tmp_path / "empty.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(json.dumps(ROW).encode() + b"\n\xe9\n")
    with pytest.raises(InputError, match="line 2: It is not UTF-8"):
        load_set(tmp_path / "latin.jsonl")
    for name in ("x.jsonl.gz", "x.jsonl.xz"):
        (tmp_path / name).write_bytes(b"plain text")
        with pytest.raises(InputError, match="cannot be read"):
            load_set(tmp_path / name)
    whole = gzip.compress(json.dumps(ROW).encode() * 100)
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cut\.jsonl\.gz cannot be read"):
        load_set(tmp_path / "cut.jsonl.gz")


def test_sets_of_the_same_name_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / "nus.jsonl", ROW)
    with pytest.raises(InputError, match="Two of the given files are called 'nus'"):
        load_sets([tmp_path / "a", tmp_path / "b"])
    assert len(load_sets([tmp_path / "a", tmp_path / "a" / "nus.jsonl"])) == 1


def test_a_bomb_is_stopped_at_its_first_line(tmp_path: Path) -> None:
    (tmp_path / "bomb.jsonl.xz").write_bytes(lzma.compress(b"[" * (40 << 20), preset=0))
    with pytest.raises(InputError, match="line 1: The line is longer than 20 MB"):
        load_set(tmp_path / "bomb.jsonl.xz")

"""The same result in every format: each is complete, and the factors of every phrase multiply to its score."""

from __future__ import annotations

import csv
import gzip
import itertools
import json
import math
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from erukg import Keyphrase, KeyphraseGenerator, Keyphrases
from erukg.cli import app
from erukg.cli._work import TableWriter
from erukg.core.factors import FACTORS
from erukg.core.neighbours import Source
from erukg.core.results import RankedPhrases
from erukg.io.columns import csv_rows, every_factor, result_schema
from erukg.io.writers import ParquetWriter
from tiny import ADJECTIVES, NOUNS

Run = Callable[..., Result]
Scored = tuple[str, float, list[float]]
NAMES = [factor.name for factor in FACTORS]


@pytest.fixture
def with_collection(near_model: Path, tiny_collection: Path) -> Run:
    def call(command: str, *arguments: object) -> Result:
        parts = [command, "--model", near_model, "--collection", tiny_collection, *arguments]
        result = CliRunner().invoke(app, list(map(str, parts)))
        assert result.exit_code == 0, result.output
        return result

    return call


@pytest.fixture
def documents(tiny_corpus: Path, tmp_path: Path) -> Path:
    """Some documents of the tiny corpus, without their ids so that they have neighbours, with a single word, with
    words that others lie in, phrases whose parts never stand alone, and one so short that it says nothing about most
    words.
    """
    path = tmp_path / "in.jsonl"
    rows = [json.loads(line) for line in tiny_corpus.read_text().splitlines()[:6]]
    more = " A satellite. " + ", ".join(f"{noun}x" for noun in NOUNS)
    pairs = zip(ADJECTIVES * 3, NOUNS, reversed(NOUNS), strict=False)
    parts = "".join(f" A {adjective} {first} {second}." for adjective, first, second in pairs)
    texts = [*(row["abstract"] + more for row in rows), "network", parts]
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


def nested(rows: list[Mapping[str, Any]]) -> Iterator[Scored]:
    for row in rows:
        for kind in ("present", "absent", "phrases"):
            for phrase in row.get(kind, ()):
                yield kind, phrase["score"], list(phrase["explanation"]["factors"].values())


def scored(path: Path) -> list[Scored]:
    """Every phrase in an output with its kind, its score and its factors."""
    if path.suffix == ".csv":
        cells = csv.DictReader(path.open(newline=""))
        return [(row["kind"], float(row["score"]), [float(row[name]) for name in NAMES]) for row in cells]
    if path.suffix == ".parquet":
        return list(nested(pq.read_table(path).to_pylist()))
    if path.suffix == ".html":
        data = re.search(r'id="erukg-report">(.*?)</script>', path.read_text(), re.DOTALL)
        assert data is not None
        return list(nested([document["result"] for document in json.loads(data[1])["documents"]]))
    return list(nested([json.loads(line) for line in path.read_text().splitlines()]))


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet", "html"])
def test_the_factors_of_every_kind_multiply_to_the_score(
    with_collection: Run, documents: Path, tmp_path: Path, suffix: str
) -> None:
    output = tmp_path / f"out.{suffix}"
    # Settings that give every factor something to do.
    turned: tuple[object, ...] = ("--diversity", 0.5, "--absent-commonness", 0.3, "--single-word", 0.5, "--top-k", 99)
    turned += ("--no-abstain", "--length-penalty", 0.5, "--part", 1)
    command = ("report",) if suffix == "html" else ("generate", "--explain")
    with_collection(*command, documents, "--output", output, *turned)
    found = scored(output)
    assert {kind for kind, _, _ in found} == {"present", "absent"}
    assert any(score > 0 for kind, score, _ in found if kind == "absent")
    if suffix == "csv":  # the format that has every factor in every row
        # Where what repeats others is pushed down, no phrase is good enough to stand for its part.
        with_collection(*command, documents, "--output", tmp_path / "plain.csv", *turned, "--diversity", 0)
        found += scored(tmp_path / "plain.csv")
        for factor, values in zip(FACTORS, zip(*(factors for _, _, factors in found), strict=True), strict=True):
            counts = set(values) != {1.0}
            assert counts == (factor.present or factor.absent), f"'{factor.name}': change the texts or the settings"
    for _, score, factors in found:
        # A report rounds to five digits.
        assert math.prod(factors) == pytest.approx(score, rel=1e-3 if suffix == "html" else 1e-5)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_the_factors_of_ranked_phrases_multiply_to_the_score(
    with_collection: Run, documents: Path, tmp_path: Path, suffix: str
) -> None:
    output = tmp_path / f"out.{suffix}"
    phrases = [part for name in ("neural network", "sea ice", "graph") for part in ("--phrase", name)]
    with_collection("rank", documents, "--explain", "--output", output, *phrases)
    found = scored(output)
    assert len(found) == 8 * 3
    for _, score, factors in found:
        assert math.prod(factors) == pytest.approx(score, rel=1e-5)


def test_tables_show_the_same_factors(with_collection: Run, documents: Path) -> None:
    text = with_collection("generate", documents, "--min-confidence", "0", "--explain", "--format", "table").stdout
    lines, compared = text.splitlines(), 0
    for number, line in enumerate(lines):
        if found := re.search(r"([\d.e-]+) = ([\d.e-]+(?: ×| [\d.e-]+)*)", line):
            # A long product goes on below, in the same column.
            below = (row[found.start() :].split("  ")[0] for row in lines[number + 1 :])
            rest = itertools.takewhile(lambda cell: "=" not in cell and re.search(r"[\d×]", cell), below)
            factors = [float(value) for value in re.findall(r"[\d.]+(?:e-\d+)?", " ".join([found[2], *rest]))]
            assert math.prod(factors) == pytest.approx(float(found[1]), rel=5e-3)
            compared += 1
    assert compared > 10
    assert "learned_titles" in " ".join(text.split())
    assert "commonness" in " ".join(text.split())


def test_parquet_holds_what_json_holds(with_collection: Run, documents: Path, tmp_path: Path) -> None:
    for arguments in ((), ("--explain",)):
        with_collection("generate", documents, "--output", tmp_path / "o.jsonl", *arguments)
        with_collection("generate", documents, "--output", tmp_path / "o.parquet.gz", *arguments)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "o.jsonl", "o.parquet.gz"]
        table = pq.read_table(BytesIO(gzip.decompress((tmp_path / "o.parquet.gz").read_bytes())))
        assert table.column_names == ["id", "present", "absent", "notices"]
        rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
        for row in rows:
            result = Keyphrases.from_dict(row)
            row.setdefault("notices", [])
            for phrase in row["present"]:
                phrase["spans"] = [{"start": start, "end": end} for start, end in phrase["spans"]]
            for phrase in row["absent"]:
                phrase.setdefault("related", False)
            for data, keyphrase in zip([*row["present"], *row["absent"]], result, strict=True):
                data |= {"confidence": keyphrase.confidence, "variants": list(keyphrase.variants)}
                if keyphrase.explanation is not None:
                    data["explanation"]["factors"] = every_factor(keyphrase.explanation)
        assert table.to_pylist() == rows


def test_every_format_has_the_titles_of_sources(
    with_collection: Run, documents: Path, tiny_corpus: Path, tmp_path: Path
) -> None:
    titles = {row["id"]: row["title"] for row in map(json.loads, tiny_corpus.read_text().splitlines())}
    shown = ("--no-abstain", "--min-confidence", "0", "--absent-composed", "0")
    for suffix in ("jsonl", "csv"):
        with_collection("generate", documents, *shown, "--output", tmp_path / f"o.{suffix}")
    found = [Keyphrases.from_json(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    absent = [phrase for result in found for phrase in result.absent]
    assert absent
    assert all(source.title == titles[source.id] for phrase in absent for source in phrase.sources)
    cells = [row for row in csv.DictReader((tmp_path / "o.csv").open(newline="")) if row["kind"] == "absent"]
    assert [row["titles"] for row in cells] == ["; ".join(s.title for s in phrase.sources) for phrase in absent]
    table = with_collection("generate", documents, *shown, "--explain", "--format", "table").stdout
    assert "doc:" not in table
    words = set(table.split())
    assert all(set(phrase.sources[0].title.split()) <= words for phrase in absent)


def test_titles_can_neither_steer_a_terminal_nor_calculate() -> None:
    sources = (Source("a", 0.5, "=1+1 \x1b[31m red \x9b"), Source("b", 0.25), *[Source("c", 0.1)] * 3)
    result = Keyphrases(absent=(Keyphrase("ice", 1.0, sources=sources),), id="d")
    stream = BytesIO()
    writer = TableWriter(stream, explain=True)
    writer.write(result)
    shown = stream.getvalue().decode()
    assert "\x1b" not in shown
    assert "\x9b" not in shown
    assert " ".join(shown.split()).endswith("=1+1 \\x1b[31m red \\x9b; b; 3 more")
    (row,) = csv_rows(result, explain=False)
    assert str(row[-1]).startswith("'=1+1 ")


def test_schemas_follow_the_model() -> None:
    plain, explained = result_schema(RankedPhrases), result_schema(Keyphrases, True)
    assert plain.field("phrases").type.value_type.names == [
        "phrase",
        "score",
        "confidence",
        "variants",
        "spans",
        "sources",
    ]
    assert plain.field("phrases").type.value_type.field("sources").type.value_type.names == ["id", "share", "title"]
    present = explained.field("present").type.value_type
    assert present.names == ["phrase", "score", "confidence", "variants", "spans", "explanation"]
    assert present.field("explanation").type.field("factors").type.names == NAMES


def test_parquet_needs_a_file_and_cannot_be_resumed(run: Run, documents: Path, tmp_path: Path) -> None:
    result = run("generate", documents, "--format", "parquet")
    assert result.exit_code == 2
    assert "--output" in result.output
    assert run("generate", documents, "--output", tmp_path / "o.parquet", "--resume").exit_code == 2
    path = tmp_path / "half.jsonl"
    path.write_text('{"id": "half \\ud83d pair", "text": "neural \\ud83d network"}\n')
    assert run("generate", path, "--output", tmp_path / "o.parquet").exit_code == 0
    assert pq.read_table(tmp_path / "o.parquet")["id"].to_pylist() == ["half \\ud83d pair"]


def test_parquet_in(run: Run, tmp_path: Path, tiny_generator: KeyphraseGenerator) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": ["a", "b"], "text": ["sparse graph", "sea ice"]}), path)
    result = run("generate", path)
    assert result.exit_code == 0, result.output
    expected = [tiny_generator.generate(text, id=id) for id, text in (("a", "sparse graph"), ("b", "sea ice"))]
    assert [Keyphrases.from_json(line) for line in result.stdout.splitlines()] == expected
    assert run("rank", "--input-format", "parquet", "--phrase", "x", input=path.read_bytes()).exit_code == 0
    assert run("generate", path, "--input-format", "xyzzy").exit_code == 2


def test_without_pyarrow_the_extra_is_named(tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("sparse graph")
    hide = "import sys; sys.modules['pyarrow'] = None; from erukg.cli import main; main()"
    command = [sys.executable, "-c", hide, "extract", "--model", str(tiny_model), str(tmp_path / "a.txt")]
    done = subprocess.run([*command, "-o", str(tmp_path / "o.parquet")], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "erukg[parquet]" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt"]


def test_many_rows_make_several_groups() -> None:
    stream = BytesIO()
    writer = ParquetWriter(stream, result_schema(Keyphrases))
    for number in range(2500):
        writer.write(Keyphrases(id=str(number)))
    writer.close()
    file = pq.ParquetFile(stream)
    assert (file.num_row_groups, file.metadata.num_rows) == (3, 2500)

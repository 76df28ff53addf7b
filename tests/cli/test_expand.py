"""`erukg expand`: BEIR files in, the same lines with keyphrases out."""

from __future__ import annotations

import gzip
import json
import lzma
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from erukg import KeyphraseGenerator, Settings
from erukg.cli import app
from erukg.core.expansion import distinct, expand_row
from erukg.errors import InputError

Run = Callable[..., Result]

ROWS: list[dict[str, Any]] = [
    {"_id": "d1", "title": "Sparse retrieval", "text": "A fast search engine.", "metadata": {"year": 2020}},
    {"_id": "d2", "title": "", "text": "Passive radar images of sea ice – naïve"},
    {"_id": 3, "text": ""},
    {"id": "d4", "abstract": "Random graphs"},
]
UNPACK: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.decompress, ".xz": lzma.decompress}


def lines(rows: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl.xz"
    path.write_bytes(lzma.compress(lines(ROWS).encode()))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in UNPACK.get(path.suffix, bytes)(path.read_bytes()).decode().splitlines()]


@pytest.mark.parametrize("ending", ["", ".gz", ".xz"])
def test_fields_are_kept_and_phrases_added(
    run: Run, corpus: Path, tmp_path: Path, ending: str, tiny_generator: KeyphraseGenerator
) -> None:
    output = tmp_path / f"out.jsonl{ending}"
    result = run("expand", corpus, "--output", output, "--top-k", 3)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "erukg: 3: The text has no words, so there are no phrases in it.\n"
    expanded = read(output)
    for row, out in zip(ROWS, expanded, strict=True):
        text = "\n".join(row[name] for name in ("title", "abstract", "text") if row.get(name))
        phrases = [k.phrase for k in tiny_generator.generate(text, 3).present if k.score > 0]
        assert out == {**row, "present": phrases, "absent": []}
    assert "radar images of sea ice" in expanded[1]["present"]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([corpus.name, output.name])


def test_a_named_collection_is_the_corpus_that_is_searched(
    tiny_model: Path, tiny_collection: Path, tmp_path: Path
) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text(lines([{"_id": "q", "text": "sea ice radar"}]))
    parts = ["--model", str(tiny_model), "--collection", str(tiny_collection)]
    result = CliRunner().invoke(app, ["expand", str(path), *parts, "--top-k", "50"])
    assert result.exit_code == 0, result.output
    generator = KeyphraseGenerator.from_pretrained(tiny_model, tiny_collection)
    plain, own = (generator.generate("sea ice radar", 50, s) for s in (Settings(), Settings().for_own_corpus()))
    assert json.loads(result.stdout)["absent"] == [k.phrase for k in own.absent] != [k.phrase for k in plain.absent]


def test_weak_phrases_are_kept(tiny_model: Path, tiny_collection: Path) -> None:
    settings = Settings(min_confidence=0.3)
    generator = KeyphraseGenerator.from_pretrained(tiny_model, tiny_collection)
    shown, every = (generator.generate("sea ice radar", 50, s) for s in (settings, settings.for_search()))
    assert len(shown.absent) < len(every.absent)


def test_append_adds_each_phrase_once_to_the_text(run: Run, corpus: Path) -> None:
    result = run("expand", "--append", corpus)
    for row, out in zip(ROWS, map(json.loads, result.stdout.splitlines()), strict=True):
        field = "abstract" if "abstract" in row else "text"
        assert out[field] == (f"{row[field]}\n{', '.join(out['present'])}" if out["present"] else row[field])
        assert out.get("title") == row.get("title")
    row = expand_row({"_id": 1, "title": "t"}, ["Sea-ice", "radar"], ["sea ice", "ocean"], append=True)
    assert row["title"] == "t\nSea-ice, radar, ocean"
    assert row["present"] == ["Sea-ice", "radar"]
    assert distinct(["b", "a", "B", "a"]) == ["b", "a"]
    with pytest.raises(InputError, match="field 'absent' already"):
        expand_row({"absent": []}, [], [])


def test_queries_on_standard_input(run: Run) -> None:
    result = run("expand", input='{"_id": "q1", "text": "sparse graph search"}\n')
    assert json.loads(result.stdout)["present"] == ["sparse graph search"]


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_resumed_it_does_only_the_rest(run: Run, corpus: Path, tmp_path: Path, ending: str) -> None:
    output = tmp_path / f"out.jsonl{ending}"
    assert run("expand", corpus, "--output", output).exit_code == 0
    whole = read(output)
    output.unlink()
    # What an interruption leaves: whole lines, which are not made again, and one cut short.
    marked = [{**row, "present": ["made before"]} for row in whole[:2]]
    part = tmp_path / f"{output.name}.part"
    part.write_text(lines(marked) + '{"_id": 3, "te', encoding="utf-8")
    assert run("expand", corpus, "--output", output, "--resume").exit_code == 0
    assert read(output) == [*marked, *whole[2:]]
    assert not part.exists()
    # A finished output is taken up again when there are more lines to expand.
    corpus.write_bytes(lzma.compress(lines([*ROWS, {"_id": "d5", "text": "neural network"}]).encode()))
    assert run("expand", corpus, "--output", output, "--resume").exit_code == 0
    assert [row.get("_id", row.get("id")) for row in read(output)] == ["d1", "d2", 3, "d4", "d5"]
    output.write_bytes(b"\x1f\x8b broken" if ending else b"not a result\n")
    assert run("expand", corpus, "--output", output, "--resume").exit_code == 1


def test_an_interrupted_process_can_be_resumed(
    shell: Callable[..., subprocess.Popen[bytes]], run: Run, tmp_path: Path
) -> None:
    output = tmp_path / "out.jsonl.gz"
    rows = [{"_id": str(i), "text": f"sparse graph search {i}"} for i in range(50)]
    process = shell("expand", "-", "--output", output)
    assert process.stdin is not None
    process.stdin.write(lines(rows[:30]).encode())
    process.stdin.flush()
    part = tmp_path / "out.jsonl.gz.part"
    while process.poll() is None and not (part.exists() and part.read_bytes().count(b"\n") >= 5):
        pass
    process.kill()
    process.communicate()
    corpus = tmp_path / "c.jsonl"
    corpus.write_text(lines(rows))
    assert run("expand", corpus, "--output", output, "--resume").exit_code == 0
    assert [row["_id"] for row in read(output)] == [row["_id"] for row in rows]


def test_bad_lines_are_reported_and_left_out(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    bad = [
        '{"text": "no id"}',
        '{"_id": "x", "tex',
        '{"_id": "x", "text": 4}',
        '{"_id": "x", "text": "a", "present": []}',
        '{"_id": "x", "text": "a", "weight": NaN}',
        '{"_id": "x"}',
    ]
    path.write_text("\n".join([*bad, '{"_id": "good", "text": "sea ice"}']) + "\n")
    result = run("expand", path)
    assert result.exit_code == 3
    assert json.loads(result.stdout)["_id"] == "good"
    reports = result.stderr.splitlines()
    expected = ["neither '_id' nor 'id'", "not JSON", "must be a string", "'present' already", "cannot have", "none of"]
    for number, (line, message) in enumerate(zip(reports, expected, strict=False), 1):
        assert line.startswith(f"erukg: {path}:{number}: ")
        assert message in line
    assert reports[-1] == "erukg: 6 of 7 documents skipped."


def test_wrong_command_lines(run: Run, corpus: Path, tmp_path: Path) -> None:
    assert run("expand", corpus, "--resume").exit_code == 2
    for arguments, message in (
        ((tmp_path,), "is a folder"),
        ((corpus, "--output", corpus), "is also an input"),
        ((tmp_path / "none.jsonl",), "no such file"),
    ):
        result = run("expand", *arguments)
        assert result.exit_code == 1
        assert message in result.stderr


def test_other_commands_pack_their_output_and_know_beir_ids(run: Run, corpus: Path, tmp_path: Path) -> None:
    assert run("generate", corpus, "--output", tmp_path / "o.jsonl.gz").exit_code == 0
    assert [row["id"] for row in read(tmp_path / "o.jsonl.gz")] == ["d1", "d2", "3", "d4"]
    assert run("generate", corpus, "--output", tmp_path / "o.csv.xz").exit_code == 0
    assert lzma.decompress((tmp_path / "o.csv.xz").read_bytes()).startswith(b"id,kind,rank,")

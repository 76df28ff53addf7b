"""Annif itself, in an environment of its own: it asks this service, and its own service answers in the same form.

pytest tests/annif -m engines
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from engines.fetching import interpreter, python_with
from serving.serving_tools import Process

pytestmark = pytest.mark.engines

KEY = "a-key-for-annif"
LABELS = ("Search engines", "Graph data", "Neural retrieval", "Steam engines", "Archives", "Sparse index")
DOCUMENTS = {
    "Neural retrieval for the sparse index\nWe propose a distributed search engine over graph data.": (0, 2, 5),
    "Archives of steam engines\nThe archive of a museum of steam engines is described.": (3, 4),
    "Storage of graph data\nGraph data in a distributed archive.": (1, 4),
}


def uri(number: int) -> str:
    return f"http://example.org/{number}"


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("vocabularies") / "words.tsv"
    file.write_text("".join(f"<{uri(i)}>\t{label}\n" for i, label in enumerate(LABELS)), "utf-8")
    return file


@pytest.fixture(scope="module")
def server(tiny_model: Path, vocabulary: Path) -> Iterator[Process]:
    parts = ("--model", tiny_model, "--no-collection", "--vocabulary", f"words={vocabulary}")
    with Process(*parts, env={"ERUKG_API_KEY": KEY}) as process:
        yield process


class Annif:
    """Annif's command in a folder of its own, with one project that asks us and one that is its own."""

    def __init__(self, folder: Path, server: Process, vocabulary: Path) -> None:
        self.command = python_with("annif", interpreter(3, 10), "annif==1.4.*").with_name("annif")
        self.folder = folder
        (folder / "projects.cfg").write_text(
            "[asks]\nname=asks\nlanguage=en\nbackend=http\nvocab=words\nlimit=10\n"
            f"endpoint=http://annif:{KEY}@127.0.0.1:{server.port}/v1/projects/words/suggest\n"
            "[own]\nname=own\nlanguage=en\nbackend=dummy\nvocab=words\n"
        )
        self.run("load-vocab", "--language", "en", "words", vocabulary)

    def run(self, *arguments: object, given: str = "") -> str:
        command = [str(self.command), *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, input=given, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr[-4000:]
        assert "warning" not in done.stderr.lower(), done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def annif(tmp_path_factory: pytest.TempPathFactory, server: Process, vocabulary: Path) -> Annif:
    return Annif(tmp_path_factory.mktemp("annif"), server, vocabulary)


@pytest.fixture(scope="module")
def ours(server: Process) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{server.url}/v1", auth=("annif", KEY)) as client:
        yield client


@pytest.fixture(scope="module")
def theirs(annif: Annif) -> Iterator[httpx.Client]:
    """A client of Annif's own service."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (annif.folder / "service.log").open("wb") as log:
        command = [str(annif.command), "run", "--port", str(port)]
        process = subprocess.Popen(command, cwd=annif.folder, stdout=log, stderr=log, env=dict(os.environ))
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/v1") as client:
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and process.poll() is None:
                try:
                    client.get("/projects")
                    break
                except httpx.TransportError:
                    time.sleep(0.2)
            yield client
    finally:
        process.terminate()
        process.wait(20)


def suggested(ours: httpx.Client, text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ours.post("/projects/words/suggest", data={"text": text}).json()["results"]
    return found


def test_annif_lists_it_as_trained(annif: Annif, ours: httpx.Client) -> None:
    (line,) = [line.split() for line in annif.run("list-projects").splitlines() if line.startswith("asks ")]
    modified = ours.get("/projects/words").json()["modification_time"]
    assert line[:5] == ["asks", "asks", "words", "en", "True"]
    assert line[5][:10] == modified[:10]


def test_annif_suggests_what_we_suggest(annif: Annif, ours: httpx.Client) -> None:
    for text in DOCUMENTS:
        expected = suggested(ours, text)
        assert expected
        rows = [line.split("\t") for line in annif.run("suggest", "asks", given=text).splitlines()]
        assert {row[0]: row[1] for row in rows} == {f"<{one['uri']}>": one["label"] for one in expected}
        scores = {f"<{one['uri']}>": one["score"] for one in expected}
        assert {row[0]: float(row[-1]) for row in rows} == pytest.approx(scores, abs=1e-3)


def test_annif_evaluates_us(annif: Annif, ours: httpx.Client) -> None:
    corpus = annif.folder / "corpus"
    corpus.mkdir()
    precisions = []
    for number, (text, subjects) in enumerate(DOCUMENTS.items()):
        (corpus / f"{number}.txt").write_text(text, "utf-8")
        (corpus / f"{number}.tsv").write_text("".join(f"<{uri(i)}>\t{LABELS[i]}\n" for i in subjects), "utf-8")
        best = [one["uri"] for one in suggested(ours, text)][:1]
        precisions.append(sum(each in map(uri, subjects) for each in best))
    annif.run("eval", "--metrics-file", annif.folder / "metrics.json", "asks", corpus)
    measured = json.loads((annif.folder / "metrics.json").read_text())
    assert measured["Documents_evaluated"] == len(DOCUMENTS)
    assert measured["Precision@1"] == pytest.approx(sum(precisions) / len(precisions))
    assert measured["NDCG@10"] > 0.5


def form(value: Any) -> Any:
    """The names and the types in an answer."""
    if isinstance(value, dict):
        return {name: form(each) for name, each in sorted(value.items())}
    if isinstance(value, list):
        return [form(value[0])] if value else []
    return type(value)


def test_both_answer_in_one_form(ours: httpx.Client, theirs: httpx.Client) -> None:
    text = next(iter(DOCUMENTS))
    batch = {"documents": [{"text": text, "document_id": "a"}, {"text": text}]}
    cases: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", "/", {}),
        ("GET", "/vocabs", {}),
        ("GET", "/projects", {}),
        ("GET", "/projects/{}", {}),
        ("GET", "/projects/none", {}),
        ("POST", "/projects/{}/suggest", {"data": {"text": text, "limit": "1", "threshold": "0.0", "language": "en"}}),
        ("POST", "/projects/{}/suggest", {"data": {"text": text, "limit": "0"}}),
        ("POST", "/projects/{}/suggest", {"data": {"text": ""}}),
        ("POST", "/projects/{}/suggest", {"data": {"limit": "1"}}),
        ("POST", "/projects/{}/suggest", {"data": {"text": text, "limit": "-1"}}),
        ("POST", "/projects/{}/suggest", {"data": {"text": text, "threshold": "2"}}),
        ("POST", "/projects/{}/suggest", {"data": {"text": text, "language": "xx"}}),
        ("POST", "/projects/{}/suggest", {"json": {"text": text}}),
        ("POST", "/projects/none/suggest", {"data": {"text": text}}),
        ("POST", "/projects/{}/suggest-batch?limit=1&threshold=0.1&language=en", {"json": batch}),
        ("POST", "/projects/{}/suggest-batch", {"json": {"documents": []}}),
        ("POST", "/projects/{}/suggest-batch?limit=-1", {"json": batch}),
        ("POST", "/projects/{}/suggest-batch", {"json": {"documents": [{"document_id": "a"}]}}),
        ("POST", "/projects/{}/suggest-batch", {"json": {}}),
    ]
    for method, path, sent in cases:
        one = ours.request(method, path.format("words"), **sent)
        other = theirs.request(method, path.format("own"), **sent)
        assert one.status_code == other.status_code, path
        assert one.headers["content-type"] == other.headers["content-type"], path
        answers = [form(each.json()) for each in (one, other)]
        for answer in answers:  # the dummy was never modified
            for project in [answer, *(answer.get("projects", ()) if isinstance(answer, dict) else ())]:
                if isinstance(project, dict):
                    project.pop("modification_time", None)
        assert answers[0] == answers[1], (path, sent)
        if one.status_code >= 400:
            assert one.json()["title"] == other.json()["title"]

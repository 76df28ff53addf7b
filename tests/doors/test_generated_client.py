"""A client that openapi-python-client makes from the OpenAPI document, asking a service that runs."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

from doors.own_environment import own_environment, run_there
from erukg import Collection, KeyphraseGenerator
from erukg.backends import OnnxBackend
from serving.serving_tools import Process

pytestmark = pytest.mark.doors

# Runs where the generator is installed: makes the client, imports it and prints what it was answered.
SCRIPT = """
import json, pathlib, subprocess, sys, time

url, described, text = sys.argv[1:]
made = subprocess.run(
    [sys.executable, "-m", "openapi_python_client", "generate", "--path", described, "--output-path", "erukg_client",
     "--meta", "none"],
    capture_output=True, text=True,
)
assert made.returncode == 0, made.stdout + made.stderr
assert "will not be generated" not in made.stdout, made.stdout

sys.path.insert(0, ".")
from erukg_client import Client
from erukg_client.api.files import read_file
from erukg_client.api.jobs import delete_job, get_job, get_job_results, submit_job
from erukg_client.api.keyphrases import keyphrases, rank
from erukg_client.api.search import expand
from erukg_client.api.service import info
from erukg_client.api.subjects import suggest
from erukg_client.models import (
    DocumentBody, DocumentError, Engine, ExpandRequest, ExpandRequestKind, KeyphrasesRequest, ProblemDetails,
    RankRequest, ReadFileFilesBody, SettingsBody, Style, SuggestRequest,
)
from erukg_client.types import File
import io

names = [path.stem for path in pathlib.Path("erukg_client/models").glob("*.py")]
client = Client(url)
one = keyphrases.sync(client=client, body=KeyphrasesRequest(text=text, top_k=3))
documents = [DocumentBody(text=text, id="a"), {"txt": "b"}]
styled = KeyphrasesRequest(documents=documents, settings=SettingsBody(style=Style.COMPLETE))
many = keyphrases.sync(client=client, body=styled)
wrong = keyphrases.sync(client=client, body=KeyphrasesRequest(text=text, top_k=-1))
query = ExpandRequest(text=text, kind=ExpandRequestKind.QUERY, format_=Engine.LUCENE)
job = submit_job.sync(client=client, body=File(io.BytesIO(json.dumps({"text": text}).encode())), top_k=2)
while (state := get_job.sync(job.id, client=client)).status == "waiting" or state.status == "running":
    time.sleep(0.05)
print(json.dumps({
    "names": names,
    "one": [k.phrase for k in one.results[0].present],
    "many": [k.phrase for k in many.results[0].present],
    "error": [isinstance(many.results[1], DocumentError), many.results[1].error],
    "problem": [isinstance(wrong, ProblemDetails), wrong.status, wrong.code, wrong.detail],
    "rank": [k.phrase for k in rank.sync(client=client, body=RankRequest(text, ["data", "graph"])).results],
    "query": expand.sync(client=client, body=query).results[0]["query"],
    "labels": [s.label for s in suggest.sync(client=client, body=SuggestRequest(text=text)).results[0].suggestions],
    "file": read_file.sync(client=client, body=ReadFileFilesBody(file=File(io.BytesIO(text.encode()), "a.txt"))).text,
    "alpha": info.sync(client=client).settings["alpha"].value,
    "job": json.loads(get_job_results.sync_detailed(job.id, client=client).content),
    "deleted": delete_job.sync(job.id, client=client).status.value,
}))
"""


def test_a_generated_client_works(
    tiny_model: Path, tiny_collection: Path, tiny_encoder: OnnxBackend, tmp_path: Path
) -> None:
    generator = KeyphraseGenerator(tiny_encoder, Collection.open(tiny_collection))
    text = "Search engines for graph data\nA neural index."
    (tmp_path / "engines.tsv").write_text("<http://example.org/1>\tSearch engines\n")
    python = own_environment("openapi-client", ["openapi-python-client>=0.29,<1"])
    parts = ("--model", tiny_model, "--collection", tiny_collection, "--jobs-folder", tmp_path / "jobs")
    with Process(*parts, "--vocabulary", f"engines={tmp_path / 'engines.tsv'}") as server:
        described = tmp_path / "openapi.json"
        described.write_text(httpx.get(f"{server.url}/openapi.json").text)
        found = json.loads(run_there(python, SCRIPT, tmp_path, server.url, described, text))
        assert server.end() == 0
    # No class is named after its place: PostV1KeyphrasesBodyType0.
    assert not [name for name in found["names"] if "type_" in name or name.startswith(("post_", "get_"))]
    assert found["one"] == [k.phrase for k in generator.generate(text, 3).present]
    complete = generator.settings.styled("complete")
    assert found["many"] == [k.phrase for k in generator.generate(text, settings=complete, id="a").present]
    assert found["error"] == [True, "The document has no field \"txt\"; did you mean 'text'?"]
    sentence = "'top_k' must be a whole number from 0 to 1000, not -1."
    assert found["problem"] == [True, 422, "invalid_request", sentence]
    assert set(found["rank"]) == {"data", "graph"}
    assert "graph" in found["query"]
    assert found["labels"] == ["Search engines"]
    assert found["file"] == text
    assert found["alpha"] == generator.settings.alpha
    expected = generator.generate(text, 2, id="line:1")
    assert found["job"] == json.loads(expected.to_json())
    assert found["deleted"] == "done"

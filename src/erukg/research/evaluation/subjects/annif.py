"""What Annif's own back ends suggest for the same documents: real Annif, run in an environment of its own.

Annif pins other versions of packages than this one, so it is only talked to by its command line. The vocabulary goes
to it as SKOS, documents as its JSON Lines, and what it suggests comes back as predictions that `erukg evaluate
subjects` reads.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from erukg.errors import InputError, did_you_mean
from erukg.io.objects import read_objects
from erukg.io.publish import publish_text
from erukg.research.evaluation.subjects.records import TaggedRecord, TaggedSet
from erukg.subjects.vocabulary import Vocabulary

__all__ = ["BACK_ENDS", "predict"]

#: By name what a project of Annif's is configured with: the values of Annif's own examples.
BACK_ENDS: Mapping[str, Mapping[str, str]] = {
    "tfidf": {"backend": "tfidf"},
    "mllm": {"backend": "mllm"},
    "omikuji": {"backend": "omikuji", "cluster_balanced": "False", "cluster_k": "100", "max_depth": "3"},
}
_DEPTH = 50
_SKOS = "http://www.w3.org/2004/02/skos/core#"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"


def predict(
    command: Path,
    back_end: str,
    vocabulary: Vocabulary,
    train: Iterable[TaggedRecord],
    documents: TaggedSet,
    folder: Path,
    output: Path,
) -> None:
    """Train a back end in `folder` and write what it suggests for the documents, one line `{"id", "uris"}` each."""
    if back_end not in BACK_ENDS:
        raise InputError(f"There is no back end '{back_end}'; {did_you_mean(back_end, BACK_ENDS)}")
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "name": back_end,
        "language": "en",
        "analyzer": "snowball(english)",
        "vocab": "subjects",
        "limit": "100",
    }
    project = "".join(f"{name}={value}\n" for name, value in {**settings, **BACK_ENDS[back_end]}.items())
    publish_text(folder / "projects.cfg", f"[{back_end}]\n{project}")
    publish_text(folder / "vocabulary.nt", "".join(_triples(vocabulary)))
    publish_text(folder / "train.jsonl", "".join(_line(record, subjects=True) for record in train))
    publish_text(folder / "documents.jsonl", "".join(_line(record, subjects=False) for record in documents.records))
    _annif(command, folder, "load-vocab", "--force", "subjects", "vocabulary.nt")
    _annif(command, folder, "train", "--jobs", "1", back_end, "train.jsonl")
    _annif(
        command,
        folder,
        "index",
        "--force",
        "--no-include-doc",
        "--limit",
        str(_DEPTH),
        "--output",
        "found.jsonl",
        back_end,
        "documents.jsonl",
    )
    publish_text(output, "".join(_predictions(folder / "found.jsonl", documents)))


def _annif(command: Path, folder: Path, *arguments: str) -> None:
    environment = {**os.environ, "ANNIF_DATADIR": "data"}
    try:
        done = subprocess.run(
            [command.absolute(), *arguments], cwd=folder, env=environment, capture_output=True, text=True
        )
    except OSError as error:
        raise InputError(f"{command} cannot be run ({error.strerror}); give the path of Annif's command.") from error
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "it says nothing").splitlines()[-1]
        raise InputError(f"Annif's '{arguments[0]}' ended with {done.returncode}: {last}")


def _triples(vocabulary: Vocabulary) -> Iterator[str]:
    for number in range(len(vocabulary)):
        concept = vocabulary[number]
        subject = f"<{concept.uri}>"
        yield f"{subject} <{_TYPE}> <{_SKOS}Concept> .\n"
        named = [("prefLabel", concept.label), *(("altLabel", label) for label in concept.alternatives)]
        for name, label in named:
            yield f"{subject} <{_SKOS}{name}> {json.dumps(label, ensure_ascii=True)}@en .\n"
        for uri in concept.broader:
            yield f"{subject} <{_SKOS}broader> <{uri}> .\n"


def _line(record: TaggedRecord, *, subjects: bool) -> str:
    gold = {"subjects": [{"uri": uri} for uri in sorted(record.gold)]} if subjects else {}
    return json.dumps({"document_id": record.id, "text": record.text, **gold}) + "\n"


def _predictions(path: Path, documents: TaggedSet) -> Iterator[str]:
    """Annif answers line by line, in the order of the documents."""
    found = [row for _, row in read_objects(path)]
    if len(found) != len(documents):
        raise InputError(f"Annif answered for {len(found)} of {len(documents)} documents; look at {path}.")
    for record, row in zip(documents.records, found, strict=True):
        if row.get("document_id", record.id) != record.id:
            raise InputError(f"Annif's answers in {path} are in another order than the documents.")
        results = row.get("results")
        if not isinstance(results, list):
            raise InputError(f"{path} holds a line without results; look at what Annif has written.")
        yield json.dumps({"id": record.id, "uris": [str(one["uri"]) for one in results]}) + "\n"

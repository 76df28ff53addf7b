"""The files that the commands of the docs name: small ones, of our own text."""

from __future__ import annotations

import csv
import gzip
import json
import lzma
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from docs.blocks import ROOT, blocks_of
from doors import document_samples
from serving.pdf_samples import good

__all__ = ["LIBRARY", "write_inputs"]

LIBRARY = ROOT / "docs" / "notebooks" / "library"
_THESAURUS = """@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
<http://example.org/p2p> a skos:Concept ; skos:prefLabel "Peer-to-peer networks"@en ; skos:altLabel "file sharing"@en .
<http://example.org/ice> a skos:Concept ; skos:prefLabel "Sea ice"@en .
"""


def _lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    packers: dict[str, Any] = {".gz": gzip.compress, ".xz": lzma.compress}
    path.write_bytes(packers.get(path.suffix, bytes)(data))


def _texts(folder: Path, paper: str) -> None:
    for name in ("paper.txt", "peer-to-peer.txt", "new.txt", "papers/one.txt", "abstracts/one.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(paper, "utf-8")
    for name in ("papers/two.md", "more/two.md"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text((ROOT / "examples" / "sea-ice.md").read_text("utf-8"), "utf-8")
    (folder / "paper.pdf").write_bytes(good("Finding rare files in unstructured peer-to-peer networks"))
    (folder / "report.docx").write_bytes(document_samples.docx())
    (folder / "page.html").write_bytes(document_samples.html())
    tags = "networks, search, peer-to-peer, sea ice, remote sensing, simulation, climate, to read".split(", ")
    (folder / "tags.txt").write_text("\n".join(tags), "utf-8")
    (folder / "thesaurus.ttl").write_text(_THESAURUS, "utf-8")


def _tables(folder: Path, rows: list[dict[str, Any]]) -> None:
    table = [{"id": row["id"], "title": row["title"], "text": row["text"]} for row in rows[:3]]
    pq.write_table(pa.Table.from_pylist(table), folder / "papers.parquet")
    pq.write_table(pa.Table.from_pylist([{"phrase": "sea ice"}, {"phrase": "radar"}]), folder / "headings.parquet")
    with (folder / "papers.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, table[0])
        writer.writeheader()
        writer.writerows(table)
    news = {"key": "k1", "meta": {"headline": "Sea ice"}, "body": "Radar images of sea ice from space."}
    (folder / "news.json").write_text(json.dumps([news]), "utf-8")


def write_inputs(folder: Path) -> None:
    """All of them, in a folder that is made."""
    folder.mkdir(parents=True)
    corpus = [json.loads(line) for line in (LIBRARY / "corpus.jsonl").read_text("utf-8").splitlines()]
    rows = [{"id": row["_id"], **row, "subjects": row["tags"]} for row in corpus]
    _texts(folder, (ROOT / "examples" / "peer-to-peer.txt").read_text("utf-8"))
    _tables(folder, rows)
    for name in ("corpus.jsonl", "corpus.jsonl.xz", "archive.jsonl", "archive.jsonl.xz", "abstracts.jsonl.gz"):
        _lines(folder / name, rows[:12])
    for name in ("new.jsonl", "more.jsonl", "abstracts.jsonl"):
        _lines(folder / name, rows[12:15])
    shutil.copy(LIBRARY / "queries.jsonl", folder / "queries.jsonl")
    shutil.copytree(LIBRARY, folder / "beir" / "library")
    shutil.copytree(LIBRARY, folder / "library")
    gold = [
        {"id": row["id"], "title": row["title"], "abstract": row["text"], "keyphrases": row["tags"]} for row in rows[:4]
    ]
    for name in ("sets", "test", "dev"):
        _lines(folder / name / "small.jsonl", gold)
    _lines(folder / "small.predictions.jsonl", [{"id": row["id"], "predictions": row["keyphrases"]} for row in gold])
    notes = next(one for one in blocks_of(ROOT / "docs" / "suggest.md") if one.code.startswith('{"id": "n1"'))
    (folder / "notes.jsonl").write_text(notes.code, "utf-8")
    for path in (ROOT / "examples").iterdir():
        if not (folder / path.name).exists():
            shutil.copy(path, folder / path.name)
    (folder / "examples").symlink_to(ROOT / "examples")
    (folder / "tests").symlink_to(ROOT / "tests")

"""A small retrieval set, and keyphrase systems simple enough to follow by hand."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from erukg.research.evaluation import Record

DOCUMENTS = {
    "d1": ("Sparse retrieval", "A fast search engine for large document collections."),
    "d2": ("Sea ice", "Passive satellite radar images of sea ice temperature."),
    "d3": ("", "Vertex set algorithms for random graphs."),
    "d4": ("Neural language models", "Deep learning with neural networks and large data."),
}
QUERIES = {"q1": "search engine", "q2": "frozen ocean", "q3": "graph algorithms", "q4": "nobody judged this"}
QRELS = [("q1", "d1", 2), ("q1", "d4", 0), ("q2", "d2", 1), ("q3", "d3", 1)]


def write_set(
    folder: Path,
    documents: Mapping[str, tuple[str, str]] = DOCUMENTS,
    queries: Mapping[str, str] = QUERIES,
    qrels: Iterable[tuple[str, str, object]] = QRELS,
    packing: str = "",
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    rows = [{"_id": id, "title": title, "text": text, "metadata": {}} for id, (title, text) in documents.items()]
    corpus = "".join(json.dumps(row) + "\n" for row in rows).encode()
    pack: Any = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[packing]
    (folder / f"corpus.jsonl{packing}").write_bytes(pack(corpus))
    asked = [{"_id": id, "text": text} for id, text in queries.items()]
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked))
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in qrels)]
    (folder / "qrels.tsv").write_text("\n".join(lines) + "\n")
    return folder


class Lookup:
    """Adds known phrases to texts that hold a known word; counts what it read, and can be interrupted."""

    name = "lookup"

    def __init__(self, phrases: Mapping[str, tuple[list[str], list[str]]], stop_after: int | None = None) -> None:
        self.phrases, self.stop_after = phrases, stop_after
        self.asked: list[str] = []

    def describe(self) -> dict[str, Any]:
        return {"phrases": dict(self.phrases)}

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        for record in records:
            if len(self.asked) == self.stop_after:
                raise KeyboardInterrupt
            self.asked.append(record.id)
            found = [kinds for word, kinds in self.phrases.items() if word in record.text.lower()]
            yield [p for present, _ in found for p in present], [p for _, absent in found for p in absent]

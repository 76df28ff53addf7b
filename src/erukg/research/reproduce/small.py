"""Smaller sets and collections: what a quick run searches, and the collections that differ in size alone."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from erukg.core.inputs import given_id
from erukg.generator import load_analyser
from erukg.io.objects import read_objects
from erukg.io.publish import published
from erukg.research.evaluation.datasets import content_hash
from erukg.research.evaluation.retrieval.beir import SetFiles, find_sets, load_retrieval_set

__all__ = ["QUICK", "build_sizes", "quick_sets"]

QUICK = 20
"""Documents, queries or texts of every set in a quick run."""
_RELEVANT = 3  # relevant documents kept of each query
_OTHERS = 60
_QUICK_CORPUS = 1_000  # documents from whose front small collections are drawn
_SIZES, _QUICK_SIZES = (10_000, 30_000), (100, 300)


def quick_sets(retrieval: Path, folder: Path) -> list[Path]:
    """The sets below `retrieval` cut down to a few queries and documents, in folders below `folder`."""
    return [_quick_set(files, folder) for files in find_sets([retrieval])]


def _quick_set(files: SetFiles, folder: Path) -> Path:
    parts = [content_hash(getattr(files, part)) for part in ("corpus", "queries", "qrels")]
    key = hashlib.sha256(json.dumps([*parts, QUICK, _RELEVANT, _OTHERS]).encode()).hexdigest()[:16]
    out = folder / key / files.name
    if (out / "qrels.tsv").is_file():  # the last one written
        return out
    data = load_retrieval_set(files).first(QUICK)
    known = {document.id for document in data.documents}
    judged = {
        query.id: [id for id, grade in data.qrels[query.id].items() if grade > 0 and id in known][:_RELEVANT]
        for query in data.queries
    }
    wanted = {id for ids in judged.values() for id in ids} | {d.id for d in data.documents[:_OTHERS]}
    documents = [{"_id": d.id, "title": d.title, "text": d.abstract} for d in data.documents if d.id in wanted]
    queries = [{"_id": query.id, "text": query.abstract} for query in data.queries]
    lines = ["query-id\tcorpus-id\tscore"]
    lines += [f"{query}\t{id}\t{data.qrels[query][id]}" for query, ids in judged.items() for id in ids]
    out.mkdir(parents=True, exist_ok=True)
    _write(out / "corpus.jsonl", map(json.dumps, documents))
    _write(out / "queries.jsonl", map(json.dumps, queries))
    _write(out / "qrels.tsv", lines)
    return out


def _write(path: Path, lines: Iterable[str]) -> None:
    with published(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)


def build_sizes(
    corpus: Sequence[Path],
    folder: Path,
    model: str | None,
    *,
    quick: bool,
    threads: int | None,
    progress: Callable[[str, str, int, int], None],
) -> dict[str, str]:
    """By name the folder of a collection of each size below `folder`, drawn from the corpus.

    Those that are there are kept, and an interrupted build goes on where it stopped; so the folder is that of one
    corpus.
    """
    sizes = _QUICK_SIZES if quick else _SIZES
    sources = [folder / f"{'quick-' if quick else ''}{size}.jsonl" for size in sizes]
    if not all(source.is_file() for source in sources):
        folder.mkdir(parents=True, exist_ok=True)
        for source, rows in zip(sources, _draw(corpus, sizes, _QUICK_CORPUS if quick else None), strict=True):
            _write(source, map(json.dumps, rows))
    from erukg.collection.build import build

    # No study of size varies α, so that term weights would count for nothing.
    analyser = load_analyser(model, None, threads, term_weights=False)
    out = {}
    for number, (size, source) in enumerate(zip(sizes, sources, strict=True), 1):
        name = f"random part {number}"
        built = folder / f"{source.stem}-{analyser.fingerprint[:16]}"
        tell = _counted(progress, name, size)
        build(built, [source], analyser, reuse=True, most_terms=0, on_progress=tell)
        out[name] = str(built)
    return out


def _counted(progress: Callable[[str, str, int, int], None], name: str, size: int) -> Callable[[int], None]:
    return lambda rows: progress("collection", name, rows, size)


def _draw(files: Sequence[Path], sizes: Sequence[int], first: int | None) -> Iterator[list[dict[str, Any]]]:
    """As many documents as each size says, drawn by a hash of their ids: the same on every machine."""
    rows = (row for file in files for _, row in read_objects(file))
    identified = ((given_id(row), row) for row in itertools.islice(rows, first))
    keyed = ((hashlib.sha256(id.encode()).digest(), number, row) for number, (id, row) in enumerate(identified) if id)
    drawn = [row for _, _, row in heapq.nsmallest(max(sizes), keyed)]
    for size in sizes:
        yield drawn[:size]

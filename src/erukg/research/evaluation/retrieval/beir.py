"""Retrieval test sets in BEIR's layout: a folder with corpus, queries and judgements.

corpus.jsonl   {"_id", "title"?, "text"}      also .jsonl.gz and .jsonl.xz
queries.jsonl  {"_id", "text"}                likewise
qrels.tsv      query-id, corpus-id, score     with a header; or qrels/test.tsv (another split by name)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from erukg.core.inputs import given_id
from erukg.errors import InputError
from erukg.io.objects import numbered_lines
from erukg.research.evaluation.datasets import Dataset, content_hash, read_by_id
from erukg.research.evaluation.formats import Record

__all__ = ["Qrels", "RetrievalSet", "SetFiles", "find_sets", "load_retrieval_set"]

Qrels = Mapping[str, Mapping[str, int]]
"""By query id and document id the grade of relevance; 0 and below is not relevant."""

_PACKED = ("", ".gz", ".xz")
_HEADER = ("query-id", "corpus-id", "score")
_NAMED = 5  # ids named in a note


@dataclass(frozen=True, slots=True)
class SetFiles:
    """Where the three parts of a set are."""

    name: str
    corpus: Path
    queries: Path
    qrels: Path


@dataclass(frozen=True, eq=False)
class RetrievalSet:
    """Documents, and the queries that can be scored: those with at least one relevant document.

    `notes` say what was left out of the set and what does not fit together in it; `sha256` is that of the
    uncompressed files.
    """

    name: str
    documents: tuple[Record, ...]
    queries: tuple[Record, ...]
    qrels: Qrels
    sha256: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def first(self, limit: int | None) -> RetrievalSet:
        """The set with its first `limit` queries (all of them when None) over all documents."""
        if limit is None or limit >= len(self.queries):
            return self
        kept = self.queries[:limit]
        qrels = {query.id: self.qrels[query.id] for query in kept}
        return RetrievalSet(self.name, self.documents, kept, qrels, self.sha256, self.notes)

    def part(self, name: str) -> Dataset:
        """The `documents` or the `queries` as a set of texts for a system to read."""
        if name == "documents":
            return Dataset(f"{self.name}-documents", self.documents, self.sha256["corpus"])
        return Dataset(f"{self.name}-queries", self.queries, self.sha256["queries"])


def find_sets(paths: Iterable[str | Path], split: str = "test") -> list[SetFiles]:
    """The sets in these folders: each is one, or holds folders that are; sorted by name in each."""
    found: dict[Path, SetFiles] = {}
    for path in map(Path, paths):
        if not path.is_dir():
            raise InputError(f"There is no folder {path}; give folders with corpus.jsonl, queries.jsonl and qrels.tsv.")
        inside = [folder for folder in (path, *sorted(path.iterdir())) if _one(folder, "corpus.jsonl") is not None]
        if path in inside:
            inside = [path]
        if not inside:
            raise InputError(
                f"Neither the folder {path} nor a folder in it has a corpus.jsonl (or .jsonl.gz, .jsonl.xz); "
                "give folders in BEIR's layout."
            )
        found.update((child, _files(child, split)) for child in inside)
    names = [files.name for files in found.values()]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"Two of the folders are called '{name}'; rename one, so that results tell them apart.")
    return list(found.values())


def _one(folder: Path, name: str) -> Path | None:
    return next((path for ending in _PACKED if (path := folder / (name + ending)).is_file()), None)


def _files(folder: Path, split: str) -> SetFiles:
    corpus, queries = _one(folder, "corpus.jsonl"), _one(folder, "queries.jsonl")
    qrels = _one(folder, "qrels.tsv") or _one(folder, f"qrels/{split}.tsv")
    if corpus is None or queries is None or qrels is None:
        missing = "queries.jsonl" if queries is None else f"qrels.tsv and no qrels/{split}.tsv"
        raise InputError(f"The folder {folder} has no {missing}; it is not in BEIR's layout.")
    return SetFiles(folder.resolve().name, corpus, queries, qrels)


def load_retrieval_set(files: SetFiles) -> RetrievalSet:
    """Read and check a set. A line that cannot be used stops the reading with its number."""
    documents = tuple(read_by_id(files.corpus, lambda row, _: _record(row, query=False)).values())
    queries = tuple(read_by_id(files.queries, lambda row, _: _record(row, query=True)).values())
    judged = _judgements(files.qrels)
    kept = tuple(query for query in queries if any(grade > 0 for grade in judged.get(query.id, {}).values()))
    if not kept:
        raise InputError(
            f"No query of {files.queries} has a relevant document in {files.qrels}; check that their ids agree."
        )
    return RetrievalSet(
        files.name,
        documents,
        kept,
        {query.id: judged[query.id] for query in kept},
        {part: content_hash(getattr(files, part)) for part in ("corpus", "queries", "qrels")},
        tuple(_notes(documents, queries, judged)),
    )


def _record(row: Mapping[str, Any], query: bool) -> tuple[str, Record]:
    id = given_id(row)
    if id is None:
        raise InputError("the field '_id' is missing")
    title = "" if query else row.get("title") or ""
    text = row.get("text")
    if text is None:
        raise InputError("the field 'text' is missing")
    for name, value in (("title", title), ("text", text)):
        if not isinstance(value, str):
            raise InputError(f"the field '{name}' must be text, not {type(value).__name__}")
    if query and not text.strip():
        raise InputError("the query has no text; fill it in or remove the line")
    return id, Record(id, title, text, ())


def _judgements(path: Path) -> dict[str, dict[str, int]]:
    judged: dict[str, dict[str, int]] = {}
    columns: list[int] | None = None
    for number, line in numbered_lines(path):
        where = f"{path}, line {number}"
        cells = [cell.strip() for cell in line.rstrip("\r\n").split("\t")]
        if columns is None:
            columns = _columns(cells, where)
            continue
        if not any(cells):
            continue
        if len(cells) <= max(columns):
            raise InputError(f"{where} has {len(cells)} columns; it needs {', '.join(_HEADER)}, separated by tabs.")
        query, document, grade = (cells[column] for column in columns)
        try:
            value = int(grade)
        except ValueError:
            raise InputError(f"{where}: the score must be a whole number, not '{grade}'.") from None
        if not query or not document:
            raise InputError(f"{where}: the id of the {'document' if query else 'query'} is missing.")
        grades = judged.setdefault(query, {})
        if document in grades:
            raise InputError(f"{where}: the document '{document}' was judged for query '{query}' before; keep one.")
        grades[document] = value
    return judged


def _columns(cells: list[str], where: str) -> list[int]:
    names = [cell.lower() for cell in cells]
    missing = [name for name in _HEADER if name not in names]
    if missing:
        raise InputError(f"{where} must be a header, {', '.join(_HEADER)} separated by tabs; it lacks '{missing[0]}'.")
    return [names.index(name) for name in _HEADER]


def _notes(documents: Iterable[Record], queries: Sequence[Record], judged: Qrels) -> Iterator[str]:
    known = {query.id: None for query in queries}
    unjudged = [id for id in known if id not in judged]
    if unjudged:
        yield f"{_count(unjudged, 'query', 'queries')} without judgements left out: {_some(unjudged)}."
    hopeless = [id for id in known if id in judged and not any(g > 0 for g in judged[id].values())]
    if hopeless:
        yield f"{_count(hopeless, 'query', 'queries')} without a relevant document left out: {_some(hopeless)}."
    strange = [id for id in judged if id not in known]
    if strange:
        what = _count(strange, "query", "queries")
        told = "if the two files number queries differently, all figures of this set are wrong."
        yield f"judgements of {what} that the set does not have left out: {_some(strange)}; {told}"
    ids = {document.id for document in documents}
    lost = list(dict.fromkeys(id for q in known for id, g in judged.get(q, {}).items() if g > 0 and id not in ids))
    if lost:
        what = _count(lost, "relevant document", "relevant documents")
        yield f"{what} not in the corpus, and counted as not found: {_some(lost)}."


def _count(ids: list[str], one: str, many: str) -> str:
    return f"{len(ids):,} {one if len(ids) == 1 else many}"


def _some(ids: list[str]) -> str:
    return ", ".join(ids[:_NAMED]) + (" …" if len(ids) > _NAMED else "")

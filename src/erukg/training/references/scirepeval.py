"""SciRepEval Search: queries of users of a scholarly search engine, with scored candidates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from random import Random

from erukg.errors import InputError
from erukg.training.references.base import Library, Paper, Reader, Reference, paper_of
from erukg.training.references.rows import Problems, Row, list_of, object_of, parse_rows, text_of, tidy

__all__ = ["SciRepEval"]


class SciRepEval(Reader):
    """Rows {"query", "candidates": [{"doc_id", "title", "abstract", "score"}]}.

    Candidates scored above 0 are positives, those scored 0 negatives: one triplet for each positive.
    """

    def references(self, library: Library, problems: Problems, random: Random) -> Iterator[Reference]:
        rows = parse_rows(self.files, problems, lambda row: (_query(row), *_candidates(row)))
        for query, positives, negatives in rows:
            if not positives:
                problems.skipped["query without a positive document"] += 1
            random.shuffle(negatives)
            for i, positive in enumerate(positives):
                negative = negatives[i % len(negatives)] if negatives else None
                yield Reference("query", query, positive, negative)


def _query(row: Row) -> str:
    query = row.get("query")
    if isinstance(query, Mapping):
        query = text_of(query, "query", "text", "title")
    if not isinstance(query, str) or not (query := tidy(query)):
        raise InputError("'query' must be text")
    return query


def _candidates(row: Row) -> tuple[list[Paper], list[Paper]]:
    positives: list[Paper] = []
    negatives: list[Paper] = []
    for candidate in list_of(row, "candidates"):
        score = _score(object_of(candidate, "a candidate"))
        # Some exports keep the text of the candidate in an object of its own.
        nested = next((candidate[n] for n in ("doc", "paper", "document") if n in candidate), candidate)
        fields = {**candidate, **object_of(nested, "the document of a candidate")}
        if not (fields.get("title") or fields.get("abstract") or fields.get("text")):
            continue
        (positives if score > 0 else negatives).append(paper_of(fields, "a candidate"))
    return positives, negatives


def _score(candidate: Row) -> float:
    for name in ("score", "relevance", "label"):
        if name in candidate:
            try:
                return float(candidate[name])
            except (TypeError, ValueError) as error:
                raise InputError(f"'{name}' of a candidate must be a number") from error
    raise InputError("a candidate has no 'score'")

"""What docT5query learns from: documents, and queries, citing sentences and titles that lead to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from erukg.core.lexicon import FUNCTION_WORDS
from erukg.errors import InputError, TrainingError
from erukg.research.baselines.neural.vocabulary import words
from erukg.training.baselines.packing import Example
from erukg.training.references.base import Paper, canonical_id, paper_of
from erukg.training.references.corpus import without_names
from erukg.training.references.rows import Problems, Row, parse_rows, text_of

__all__ = ["examples"]

_MOST_REFERENCES = 8  # of a document, so that those cited by all do not crowd out the others
_FEWEST_SHARED = 3


def examples(files: Sequence[Path], seed: int = 0) -> Iterator[Example]:
    """Documents with up to 8 of the queries and citing sentences that lead to them, drawn under the `seed`.

    Rows are documents {"id", "title", "abstract"}, queries {"query", "doc_id" or "doc_text", "label"?} and citing
    sentences {"context", "cited_id"}. Of the sentences only those count that say what the document is about: three
    words and half of all but function words are words of the document. The title of every document is a query to its
    abstract as well.
    """
    references: dict[str, list[tuple[str, bool]]] = defaultdict(list)
    alone: dict[str, list[str]] = defaultdict(list)
    for row in parse_rows(files, Problems(), _row):
        if isinstance(row, Paper):
            continue
        query, id, text, cites = row
        if id:
            references[id].append((query, cites))
        elif text:
            alone[text].append(query)
    random = Random(seed)
    found = 0
    for paper in parse_rows(files, Problems(tolerance=1), _row):
        if not isinstance(paper, Paper) or not paper.abstract:
            continue
        text = f"{paper.title}\n{paper.abstract}"
        known = set(words(text))
        queries = [query for query, cites in references.pop(paper.id, ()) if not cites or _tells_of(query, known)]
        if queries:
            found += 1
            yield Example(text, _drawn(queries, random))
        if paper.title:
            yield Example(paper.abstract, (paper.title,))
    for text, queries in alone.items():
        found += 1
        yield Example(text, _drawn(queries, random))
    if not found:
        raise TrainingError("No document has a query or a citing sentence; give them together with their corpus.")


def _drawn(queries: list[str], random: Random) -> tuple[str, ...]:
    distinct = list(dict.fromkeys(queries))
    return tuple(random.sample(distinct, min(len(distinct), _MOST_REFERENCES)))


def _tells_of(sentence: str, known: set[str]) -> bool:
    """Whether enough of a citing sentence's words are known to the document."""
    said = {word for word in words(sentence) if word.isalpha()} - FUNCTION_WORDS
    shared = len(said & known)
    return shared >= _FEWEST_SHARED and 2 * shared >= len(said)


def _row(row: Row) -> Paper | tuple[str, str, str, bool]:
    """A document; or a reference, the id or the text of its document, neither if it does not lead there, and whether
    it is a citing sentence."""
    if "context" in row:
        return without_names(text_of(row, "context")), canonical_id(text_of(row, "cited_id")), "", True
    if "query" in row:
        label = row.get("label", 1)
        if not isinstance(label, int | float):
            raise InputError("'label' must be a number")
        query, id, text = (text_of(row, name) for name in ("query", "doc_id", "doc_text"))
        return (query, canonical_id(id), text if not id else "", False) if label > 0 else (query, "", "", False)
    return paper_of(row)

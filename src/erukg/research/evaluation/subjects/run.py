"""Running the rows over tagged documents and scoring what they suggest, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from erukg.research.evaluation.bootstrap import Difference, paired_bootstrap
from erukg.research.evaluation.store import LineStore
from erukg.research.evaluation.subjects.measures import MEASURES, SubjectScores, score
from erukg.research.evaluation.subjects.records import TaggedSet
from erukg.research.evaluation.subjects.rows import PredictedRow, Row

__all__ = ["SCOPES", "Comparison", "RowResult", "compare", "evaluate"]

#: Whether concepts that were asked to be left out, such as check tags, count.
SCOPES = ("all", "without")
Progress = Callable[[str, int, int], None]
"""Called with the row, documents done and documents in all."""


@dataclass(frozen=True, slots=True)
class RowResult:
    """One row: what it is made of, and by scope its scores."""

    name: str
    description: Mapping[str, Any]
    scores: Mapping[str, SubjectScores]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The first row minus the second in one measure."""

    first: str
    second: str
    scope: str
    measure: str
    result: Difference


def evaluate(
    rows: Sequence[Row],
    documents: TaggedSet,
    counts: Mapping[str, int],
    without: Collection[str],
    store: Path,
    progress: Progress | None = None,
    *,
    fresh: bool = False,
) -> list[RowResult]:
    """Every row over all documents; suggestions that the store has are not made again unless `fresh`.

    `counts` has how many documents of the archive carry each concept; `without` are concepts that the scope "without"
    leaves out.
    """
    out = []
    for row in rows:
        described = row.describe()
        suggested = _suggested(row, described, documents, store, progress or (lambda *_: None), fresh)
        scopes = {"all": frozenset[str](), **({"without": frozenset(without)} if without else {})}
        scores = {scope: score(documents.records, suggested, counts, left) for scope, left in scopes.items()}
        out.append(RowResult(row.name, described, scores))
    return out


def _suggested(
    row: Row, described: Mapping[str, Any], documents: TaggedSet, folder: Path, progress: Progress, fresh: bool
) -> dict[str, list[str]]:
    header = {
        "format": "erukg-subjects",
        "version": 1,
        "row": row.name,
        "description": described,
        "set": {"name": documents.name, "sha256": documents.sha256},
    }
    store = None if isinstance(row, PredictedRow) else LineStore(folder, documents.name, row.name, header)
    done: dict[str, list[str]] = {}
    if store is not None and not fresh:
        done = {found["id"]: found["uris"] for found in store.rows() if isinstance(found.get("uris"), list)}
    missing = [record for record in documents.records if record.id not in done]
    total = len(documents)
    progress(row.name, total - len(missing), total)
    with store if store is not None and missing else nullcontext():
        for record, uris in zip(missing, row.suggest(missing) if missing else (), strict=True):
            done[record.id] = uris
            if store is not None:
                store.append({"id": record.id, "uris": uris})
            progress(row.name, len(done), total)
    return done


def compare(
    results: Sequence[RowResult], pairs: Sequence[tuple[str, str]], samples: int, seed: int
) -> list[Comparison]:
    """The differences between pairs of rows in every measure and scope."""
    by_name = {result.name: result for result in results}
    out = []
    for first, second in pairs:
        one, other = by_name[first].scores, by_name[second].scores
        for scope in (scope for scope in SCOPES if scope in one):
            for measure in MEASURES:
                values = [one[scope].by_document[measure]], [other[scope].by_document[measure]]
                out.append(Comparison(first, second, scope, measure, paired_bootstrap(*values, samples, seed)))
    return out

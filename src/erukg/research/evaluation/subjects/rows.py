"""What can be compared: this package's ways to suggest concepts, plain baselines, and predictions of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from erukg.core.document import Document
from erukg.errors import InputError, did_you_mean
from erukg.research.evaluation.datasets import content_hash
from erukg.research.evaluation.provenance import describe_model, source_hash
from erukg.research.evaluation.subjects.records import TaggedRecord, read_predictions
from erukg.subjects.suggester import Suggester, Uses

if TYPE_CHECKING:
    from erukg.collection import Collection
    from erukg.core.phrase_list import PhraseList
    from erukg.generator import KeyphraseGenerator
    from erukg.subjects.learned import SubjectRanking
    from erukg.subjects.vocabulary import Vocabulary

__all__ = ["DEPTH", "ROWS", "Parts", "PredictedRow", "Row", "make_rows"]

DEPTH = 50
"""How many concepts a row is asked for, so that ten are left when some are not counted."""
_RANKED = 500  # labels: a concept has several, and only its best counts
# What decides the suggestions of a row: of the plain ones without the ways of `suggest`.
_PLAIN = ("core", "backends", "collection", "languages.py", "subjects/vocabulary.py", "subjects/concepts.py")
_SOURCES = (*_PLAIN, "subjects")


class Row(Protocol):
    """Anything that suggests concepts for documents."""

    @property
    def name(self) -> str:
        """How reports call it."""

    def describe(self) -> Mapping[str, Any]:
        """Everything that its suggestions depend on, as plain JSON data."""

    def suggest(self, records: Sequence[TaggedRecord]) -> Iterator[list[str]]:
        """For each record URIs, the best first."""


@dataclass(frozen=True)
class Parts:
    """What the rows are made of; those of this package share a model."""

    load: Callable[[], KeyphraseGenerator]
    vocabulary: Vocabulary
    tagged: Collection
    ranking: SubjectRanking | None = None
    threads: int | None = None

    @cached_property
    def generator(self) -> KeyphraseGenerator:
        return self.load()

    @cached_property
    def labels(self) -> PhraseList:
        """All labels, preferred ones and synonyms, ready to be ranked."""
        numbers = range(self.vocabulary.label_count)
        return self.generator.phrase_list([self.vocabulary.label_text(j) for j in numbers])

    def describe(self, *sources: str) -> dict[str, Any]:
        """The vocabulary and a hash of the source files that a row is made of."""
        return {
            "vocabulary": {"concepts": len(self.vocabulary), "fingerprint": self.vocabulary.fingerprint},
            "code": source_hash(*sources),
        }


class LabelMatch:
    """Concepts of which a label stands in the text, by how often; of equals the one that comes first in the text."""

    name = "label match"

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def describe(self) -> Mapping[str, Any]:
        return self._parts.describe(*_PLAIN)

    def suggest(self, records: Sequence[TaggedRecord]) -> Iterator[list[str]]:
        vocabulary = self._parts.vocabulary
        folds, owners = np.asarray(vocabulary.label_folds), vocabulary.label_owners
        for record in records:
            runs = Document.parse(record.text).run_hashes.ravel()
            runs = runs[runs != 0]
            first, last = np.searchsorted(folds, runs), np.searchsorted(folds, runs, "right")
            counts: dict[int, int] = {}
            for start, stop in zip(first.tolist(), last.tolist(), strict=True):
                for owner in {int(owners[j]) for j in range(start, stop)}:
                    counts[owner] = counts.get(owner, 0) + 1
            best = sorted(counts, key=lambda concept: -counts[concept])
            yield [vocabulary.uri(concept) for concept in best[:DEPTH]]


class Rank:
    """`rank` over all labels and synonyms; a concept has the place of its best label."""

    name = "rank"

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def describe(self) -> Mapping[str, Any]:
        return {**self._parts.describe(*_PLAIN), "model": describe_model(self._parts.generator)}

    def suggest(self, records: Sequence[TaggedRecord]) -> Iterator[list[str]]:
        parts = self._parts
        texts = ((record.id, record.text) for record in records)
        for answer in parts.generator.rank_stream(texts, parts.labels, top_k=_RANKED, threads=parts.threads):
            found = (parts.vocabulary.find_label(phrase.phrase) for phrase in answer.unwrap() if phrase.score > 0)
            concepts = dict.fromkeys(concept for concept in found if concept >= 0)
            yield [parts.vocabulary.uri(concept) for concept in concepts][:DEPTH]


class Suggested:
    """`suggest` from labels, from tagged neighbours, or from both."""

    def __init__(self, name: str, parts: Parts, uses: Uses, *, learned: bool = False) -> None:
        self.name = name
        self._parts, self._uses, self._learned = parts, uses, learned

    @cached_property
    def _suggester(self) -> Suggester:
        parts = self._parts
        tagged = None if self._uses == "labels" else parts.tagged
        ranking = parts.ranking if self._learned else None
        return Suggester(parts.generator, parts.vocabulary, tagged, ranking, uses=self._uses)

    def describe(self) -> Mapping[str, Any]:
        parts = self._parts
        out = {**parts.describe(*_SOURCES), "model": describe_model(parts.generator)}
        if self._uses != "labels":
            out["archive"] = {"documents": len(parts.tagged), "tags": len(parts.tagged.tag_counts())}
        ranking = self._suggester.ranking
        if ranking is not None:
            out["ranking"] = {"fingerprint": ranking.fingerprint, "facts": ranking.facts}
        return out

    def suggest(self, records: Sequence[TaggedRecord]) -> Iterator[list[str]]:
        texts = ((record.id, record.text) for record in records)
        for answer in self._suggester.stream(texts, DEPTH, threads=self._parts.threads):
            yield [suggestion.uri for suggestion in answer.unwrap()]


class Fused:
    """Label match and the votes of neighbours by their reciprocal ranks: nothing is learned and nothing tuned.

    The 60 is that of Cormack, Clarke and Büttcher (2009).
    """

    name = "fused"

    def __init__(self, parts: Parts) -> None:
        self._rows = (LabelMatch(parts), Suggested("neighbours", parts, "neighbours"))

    def describe(self) -> Mapping[str, Any]:
        return {row.name: dict(row.describe()) for row in self._rows}

    def suggest(self, records: Sequence[TaggedRecord]) -> Iterator[list[str]]:
        for lists in zip(*(row.suggest(records) for row in self._rows), strict=True):
            scores: dict[str, float] = {}
            for uris in lists:
                for place, uri in enumerate(uris, 1):
                    scores[uri] = scores.get(uri, 0.0) + 1 / (60 + place)
            yield sorted(scores, key=lambda uri: -scores[uri])[:DEPTH]


class PredictedRow:
    """What another program suggested, from a file."""

    def __init__(self, name: str, path: Path) -> None:
        if not path.is_file():
            raise InputError(f"There is no file {path}; give predictions as NAME=FILE.jsonl.")
        self.name, self._path = name, path

    def describe(self) -> Mapping[str, Any]:
        return {"predictions": {"sha256": content_hash(self._path)}}

    def suggest(self, records: Sequence[TaggedRecord]) -> Iterator[list[str]]:
        found = read_predictions(self._path, frozenset(record.id for record in records))
        return (found[record.id][:DEPTH] for record in records)


#: By name what makes a row of this package.
ROWS: Mapping[str, Callable[[Parts], Row]] = {
    "label match": LabelMatch,
    "rank": Rank,
    "labels": lambda parts: Suggested("labels", parts, "labels"),
    "neighbours": lambda parts: Suggested("neighbours", parts, "neighbours"),
    "fused": Fused,
    "both": lambda parts: Suggested("both", parts, "both"),
    "learned": lambda parts: Suggested("learned", parts, "both", learned=True),
}


def make_rows(names: Iterable[str], parts: Parts, predictions: Iterable[str] = ()) -> list[Row]:
    """The rows of these names, then those of `NAME=FILE.jsonl`; "learned" needs a ranking."""
    rows: list[Row] = []
    for name in dict.fromkeys(names):
        if name not in ROWS:
            raise InputError(f"There is no row '{name}'; {did_you_mean(name, ROWS)}")
        if name == "learned" and parts.ranking is None:
            raise InputError("The row 'learned' needs a ranking; make one with 'erukg train suggest', give --ranking.")
        rows.append(ROWS[name](parts))
    for given in predictions:
        name, equals, path = given.partition("=")
        if not equals or not name.strip() or not path:
            raise InputError(f"'{given}' is not NAME=FILE.jsonl; give predictions with the name of their row.")
        rows.append(PredictedRow(name.strip(), Path(path)))
    if len({row.name for row in rows}) < len(rows):
        raise InputError("Two rows have one name; give predictions other names.")
    return rows

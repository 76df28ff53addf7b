"""What `suggest` returns: plain, immutable data, the one model that every format of it is made from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from erukg.core.neighbours import Source
from erukg.core.results import Notice, remarks

__all__ = ["Match", "NewTerm", "Suggestion", "Suggestions"]


@dataclass(frozen=True, slots=True)
class Match:
    """Where one of a concept's labels stands in the text, as the caller gave it: text[start:end]."""

    label: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A concept of the vocabulary, or a tag of the archive, that describes the text.

    uri         the concept's URI; a tag without one is its own
    label       the preferred label
    confidence  how likely an indexer is to choose it, 0 to 1, comparable across documents
    matches     where its labels stand in the text, alternative ones included
    votes       the tagged neighbours that carry it, the nearest first
    why         what spoke for it, in words a person understands, with a number each
    """

    uri: str
    label: str
    score: float
    confidence: float
    notation: str = ""
    matches: tuple[Match, ...] = ()
    votes: tuple[Source, ...] = ()
    why: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"uri": self.uri, "label": self.label}
        if self.notation:
            out["notation"] = self.notation
        out |= {"score": self.score, "confidence": self.confidence}
        out["matches"] = [{"label": m.label, "start": m.start, "end": m.end} for m in self.matches]
        out["votes"] = [source.to_dict() for source in self.votes]
        if self.why:
            out["why"] = dict(self.why)
        return out


@dataclass(frozen=True, slots=True)
class NewTerm:
    """A phrase that describes the text and that the vocabulary lacks; `present` says whether it stands in the text."""

    phrase: str
    confidence: float | None
    present: bool
    spans: tuple[tuple[int, int], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"phrase": self.phrase, "present": self.present}
        if self.confidence is not None:
            out["confidence"] = self.confidence
        if self.spans:
            out["spans"] = [list(span) for span in self.spans]
        return out


@dataclass(frozen=True, slots=True)
class Suggestions:
    """The concepts suggested for one document, best first, and apart from them terms that the vocabulary lacks.

    `notices` and `error` as in `erukg.Keyphrases`.
    """

    suggestions: tuple[Suggestion, ...] = ()
    new_terms: tuple[NewTerm, ...] = ()
    id: str | None = None
    error: str | None = None
    notices: tuple[Notice, ...] = ()

    def __iter__(self) -> Iterator[Suggestion]:
        return iter(self.suggestions)

    def __len__(self) -> int:
        return len(self.suggestions)

    @overload
    def __getitem__(self, index: int) -> Suggestion: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Suggestion]: ...
    def __getitem__(self, index: int | slice) -> Suggestion | Sequence[Suggestion]:
        return self.suggestions[index]

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "id": self.id,
            "suggestions": [suggestion.to_dict() for suggestion in self.suggestions],
            "new_terms": [term.to_dict() for term in self.new_terms],
        }
        return out | remarks(self.notices, self.error)

    def to_json(self) -> str:
        """One line of JSON: `{"id", "suggestions": [...], "new_terms": [...]}`, and `notices` and `error` if any."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

"""What a generator returns: plain, immutable data that goes to JSON and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from erukg.core.neighbours import Source
from erukg.errors import InputError

__all__ = ["Explanation", "Keyphrase", "Keyphrases", "TermWeight"]


@dataclass(frozen=True, slots=True)
class TermWeight:
    """One word piece of a phrase: w^x from the document, Σ s̃ w^x' from its neighbours, and ŵ, their mix by α."""

    term: str
    document: float
    neighbours: float
    weight: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a phrase has its score: the score is the product of `factors`, and these are what they were made from."""

    terms: tuple[TermWeight, ...]
    informativeness: float
    phraseness: float
    phraseness_document: float
    phraseness_neighbours: float
    position: float
    words_before: int | None
    factors: dict[str, float]


@dataclass(frozen=True, slots=True)
class Keyphrase:
    """A phrase and its score. Present phrases have `spans` into the caller's text, absent ones `sources`."""

    phrase: str
    score: float
    spans: tuple[tuple[int, int], ...] = ()
    sources: tuple[Source, ...] = ()
    explanation: Explanation | None = None

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"phrase": self.phrase, "score": self.score}
        if self.spans:
            out["spans"] = [list(span) for span in self.spans]
        if self.sources:
            out["sources"] = [s.to_dict() for s in self.sources]
        if self.explanation is not None:
            e = self.explanation
            out["explanation"] = {
                "terms": [
                    {"term": t.term, "document": t.document, "neighbours": t.neighbours, "weight": t.weight}
                    for t in e.terms
                ],
                "informativeness": e.informativeness,
                "phraseness": e.phraseness,
                "phraseness_document": e.phraseness_document,
                "phraseness_neighbours": e.phraseness_neighbours,
                "position": e.position,
                "words_before": e.words_before,
                "factors": dict(e.factors),
            }
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Keyphrase:
        explanation = None
        if (e := data.get("explanation")) is not None:
            explanation = Explanation(
                **{**e, "terms": tuple(TermWeight(**t) for t in e["terms"]), "factors": dict(e["factors"])}
            )
        return cls(
            phrase=data["phrase"],
            score=float(data["score"]),
            spans=tuple((int(a), int(b)) for a, b in data.get("spans", ())),
            sources=tuple(Source(s["id"], float(s["share"])) for s in data.get("sources", ())),
            explanation=explanation,
        )


@dataclass(frozen=True, slots=True)
class Keyphrases:
    """The keyphrases of one document, best first: those `present` in its text and those `absent` from it."""

    present: tuple[Keyphrase, ...] = ()
    absent: tuple[Keyphrase, ...] = ()
    id: str | None = None

    def __iter__(self) -> Iterator[Keyphrase]:
        """Present phrases, then absent ones."""
        yield from self.present
        yield from self.absent

    def __len__(self) -> int:
        return len(self.present) + len(self.absent)

    def to_dict(self) -> dict[str, Any]:
        # The key of a phrase's kind is always there, so that readers of the JSON need not ask.
        return {
            "id": self.id,
            "present": [{**k.to_dict(), "spans": [list(span) for span in k.spans]} for k in self.present],
            "absent": [{**k.to_dict(), "sources": [s.to_dict() for s in k.sources]} for k in self.absent],
        }

    def to_json(self) -> str:
        """One line of JSON: `{"id", "present": [...], "absent": [...]}`."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Keyphrases:
        try:
            return cls(
                present=tuple(Keyphrase.from_dict(k) for k in data.get("present", ())),
                absent=tuple(Keyphrase.from_dict(k) for k in data.get("absent", ())),
                id=data.get("id"),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"This is not a keyphrase result as written by erukg: {error!r}.") from error

    @classmethod
    def from_json(cls, line: str) -> Keyphrases:
        try:
            data = json.loads(line)
        except ValueError as error:
            raise InputError(f"This is not JSON: {error}.") from error
        if not isinstance(data, dict):
            raise InputError("A keyphrase result is a JSON object with 'id', 'present' and 'absent'.")
        return cls.from_dict(data)

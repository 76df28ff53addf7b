"""What a generator returns: plain, immutable data, the one model that every format of it is made from."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

from erukg.core.arguments import checked
from erukg.core.confidence import Band, band_of
from erukg.core.neighbours import Source
from erukg.core.presenting import COLUMNS, phrase_rows, to_html
from erukg.errors import InputError, require

__all__ = ["Explanation", "Keyphrase", "Keyphrases", "Notice", "RankedPhrases", "TermWeight", "remarks"]


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a reader of the result should know of the text: a code for programs, a sentence for people."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class TermWeight:
    """One word piece of a phrase: w^x from the document, Σ s̃ w^x' from its neighbours, and ŵ, their mix by α."""

    term: str
    document: float
    neighbours: float
    weight: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a phrase has its score.

    factors                their product is the score (`erukg.core.factors` says what each means)
    terms                  the phrase's word pieces and their weights
    informativeness        f̂(c, x)
    phraseness             P_pn(c), and its two parts: P(c | C_x) and Σ s̃ P(c | C̃_x')
    position               ω_x(c)
    words_before           how many words stand before the first occurrence; None for absent phrases
    """

    factors: dict[str, float]
    terms: tuple[TermWeight, ...]
    informativeness: float
    phraseness: float
    phraseness_document: float
    phraseness_neighbours: float
    position: float
    words_before: int | None

    @classmethod
    @checked
    def from_dict(cls, data: Mapping[str, Any]) -> Explanation:
        return cls(**{**data, "terms": tuple(TermWeight(**term) for term in data["terms"])})


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{number} is no number that a result has")
    return number


@dataclass(frozen=True, slots=True, repr=False)
class Keyphrase:
    """A phrase and its score. Present phrases have `spans` into the caller's text, absent ones `sources`.

    confidence  how likely people are to choose the phrase, 0 to 1, comparable across documents; None where settings
                give scores of another scale
    variants    other forms of it that were merged into it: "PCI" for "percutaneous coronary intervention"
    related     whether an absent phrase contains, or lies in, one of the best present ones
    """

    phrase: str
    score: float
    confidence: float | None = None
    variants: tuple[str, ...] = ()
    spans: tuple[tuple[int, int], ...] = ()
    sources: tuple[Source, ...] = ()
    explanation: Explanation | None = None
    related: bool = False

    def __str__(self) -> str:
        return self.phrase

    def __repr__(self) -> str:
        sure = "" if self.confidence is None else f", confidence={self.confidence:.3g}"
        return f"Keyphrase({self.phrase!r}, score={self.score:.3g}{sure})"

    @property
    def band(self) -> Band | None:
        """The confidence in a word; absent phrases have a scale of their own, as few of them are ever sure."""
        if self.confidence is None:
            return None
        return band_of(self.confidence, present=bool(self.spans), related=self.related)

    def to_dict(self, *keep: str) -> dict[str, Any]:
        """Plain data; of spans, sources and explanation those that are there, and those named in `keep`."""
        out: dict[str, Any] = {"phrase": self.phrase, "score": self.score}
        if self.confidence is not None:
            out["confidence"] = self.confidence
        if self.variants:
            out["variants"] = list(self.variants)
        if self.related:
            out["related"] = True
        if self.spans or "spans" in keep:
            out["spans"] = [list(span) for span in self.spans]
        if self.sources or "sources" in keep:
            out["sources"] = [source.to_dict() for source in self.sources]
        if self.explanation is not None:
            explanation = dataclasses.asdict(self.explanation)
            out["explanation"] = {**explanation, "terms": list(explanation["terms"])}
        return out

    @classmethod
    @checked
    def from_dict(cls, data: Mapping[str, Any]) -> Keyphrase:
        explanation = data.get("explanation")
        return cls(
            phrase=data["phrase"],
            score=_finite(data["score"]),
            confidence=None if data.get("confidence") is None else _finite(data["confidence"]),
            variants=tuple(str(form) for form in data.get("variants", ())),
            spans=tuple((int(a), int(b)) for a, b in data.get("spans", ())),
            sources=tuple(Source.from_dict(source) for source in data.get("sources", ())),
            explanation=None if explanation is None else Explanation.from_dict(explanation),
            related=bool(data.get("related", False)),
        )


@dataclass(frozen=True, slots=True, repr=False)
class Keyphrases:
    """The keyphrases of one document, best first: those `present` in its text and those `absent` from it.

    `notices` say what to keep in mind of them; `error` says in one sentence why a document of a stream has none. `text`
    is what the spans index; it is shown in notebooks, and left out of comparisons and of what is written.
    """

    present: tuple[Keyphrase, ...] = ()
    absent: tuple[Keyphrase, ...] = ()
    id: str | None = None
    error: str | None = None
    notices: tuple[Notice, ...] = ()
    text: str | None = dataclasses.field(default=None, compare=False)

    @property
    def phrases(self) -> list[str]:
        """The phrases alone: present ones, then absent ones."""
        return [keyphrase.phrase for keyphrase in self]

    def __repr__(self) -> str:
        shown: dict[str, object] = {} if self.id is None else {"id": self.id}
        if self.error is None:
            shown |= {"present": [k.phrase for k in self.present], "absent": [k.phrase for k in self.absent]}
        else:
            shown["error"] = self.error
        if self.notices:
            shown["notices"] = [notice.code for notice in self.notices]
        return f"Keyphrases({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def _repr_html_(self) -> str:
        return to_html(self)

    def to_pandas(self) -> Any:
        """A pandas data frame with one row per phrase: `id`, `kind`, `rank`, `phrase`, `score`, `confidence`, …"""
        return _frame(phrase_rows(self.id, {"present": self.present, "absent": self.absent}))

    def __iter__(self) -> Iterator[Keyphrase]:
        """Present phrases, then absent ones."""
        yield from self.present
        yield from self.absent

    def __len__(self) -> int:
        return len(self.present) + len(self.absent)

    def to_dict(self) -> dict[str, Any]:
        # The key of a phrase's kind is always there, so that readers of the JSON need not check.
        out: dict[str, Any] = {
            "id": self.id,
            "present": [keyphrase.to_dict("spans") for keyphrase in self.present],
            "absent": [keyphrase.to_dict("sources") for keyphrase in self.absent],
        }
        return out | remarks(self.notices, self.error)

    def to_json(self) -> str:
        """One line of JSON: `{"id", "present": [...], "absent": [...]}`, and `notices` and `error` if any."""
        return _dump(self.to_dict())

    @classmethod
    @checked
    def from_dict(cls, data: Mapping[str, Any]) -> Keyphrases:
        try:
            return cls(
                present=tuple(Keyphrase.from_dict(k) for k in data.get("present", ())),
                absent=tuple(Keyphrase.from_dict(k) for k in data.get("absent", ())),
                id=data.get("id"),
                error=data.get("error"),
                notices=tuple(Notice(str(n["code"]), str(n["message"])) for n in data.get("notices", ())),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"This is not a keyphrase result as written by erukg: {error!r}.") from error

    @classmethod
    @checked
    def from_json(cls, line: str) -> Keyphrases:
        try:
            data = json.loads(line, parse_float=_finite, parse_constant=_finite)
        except ValueError as error:
            raise InputError(f"This is not JSON: {error}.") from error
        if not isinstance(data, dict):
            raise InputError("A keyphrase result is a JSON object with 'id', 'present' and 'absent'.")
        return cls.from_dict(data)


@dataclass(frozen=True, slots=True)
class RankedPhrases:
    """The caller's own phrases scored against one document, best first; `error` and `notices` as in `Keyphrases`."""

    phrases: tuple[Keyphrase, ...] = ()
    id: str | None = None
    error: str | None = None
    notices: tuple[Notice, ...] = ()

    def __iter__(self) -> Iterator[Keyphrase]:
        return iter(self.phrases)

    def __len__(self) -> int:
        return len(self.phrases)

    @overload
    def __getitem__(self, index: int) -> Keyphrase: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Keyphrase, ...]: ...
    def __getitem__(self, index: int | slice) -> Keyphrase | tuple[Keyphrase, ...]:
        return self.phrases[index]

    def to_pandas(self) -> Any:
        """A pandas data frame with one row per phrase, as of `Keyphrases`."""
        return _frame(phrase_rows(self.id, {"phrases": self.phrases}))

    def to_dict(self) -> dict[str, Any]:
        out: dict[str, Any] = {"id": self.id, "phrases": [keyphrase.to_dict() for keyphrase in self.phrases]}
        return out | remarks(self.notices, self.error)

    def to_json(self) -> str:
        """One line of JSON: `{"id", "phrases": [...]}`, and `notices` and `error` if any."""
        return _dump(self.to_dict())


def remarks(notices: Sequence[Notice], error: str | None) -> dict[str, Any]:
    """What a result says of its text, for the end of its JSON: `notices` and `error`, if any."""
    out: dict[str, Any] = {}
    if notices:
        out["notices"] = [dataclasses.asdict(notice) for notice in notices]
    if error is not None:
        out["error"] = error
    return out


def _frame(rows: list[dict[str, Any]]) -> Any:
    return require("pandas", "pandas", "to_pandas").DataFrame(rows, columns=list(COLUMNS))


def _dump(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, allow_nan=False)

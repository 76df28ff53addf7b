"""The answers of the API as pydantic models, around the results that the library itself returns.

A result is a dataclass of `erukg.core.results` or `erukg.subjects.results`; nothing of them is repeated here.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from erukg.core.neighbours import Source
from erukg.core.results import Keyphrase, Keyphrases
from erukg.serving.problems import CODES, Problem
from erukg.subjects.results import Match, Suggestion, Suggestions

__all__ = [
    "BaselineInfo",
    "BaselineList",
    "CollectionInfo",
    "DocumentError",
    "ExpandResults",
    "FactorInfo",
    "FileText",
    "Info",
    "Job",
    "JobList",
    "KeyphraseResults",
    "ProblemDetails",
    "RankResults",
    "SettingInfo",
    "Status",
    "StreamLine",
    "SuggestResults",
    "VocabularyInfo",
]

_COLLECTION = {"documents": 444769}
_FOUND = Keyphrases(
    (Keyphrase("sea ice", 0.41, 0.72, spans=((0, 7),)),),
    (Keyphrase("remote sensing", 0.18, 0.3, sources=(Source("8c1f", 0.06, "Ice from space"),)),),
    "a",
)
_SUGGESTED = Suggestions(
    (Suggestion("http://example.org/1", "Sea ice", 0.84, 0.84, matches=(Match("Sea ice", 0, 7),)),), id="a"
)


def _like(*examples: dict[str, Any]) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": list(examples)})


class ProblemDetails(BaseModel):
    """An error, as in RFC 9457."""

    model_config = _like(
        {
            "type": "about:blank",
            "title": "Unprocessable Entity",
            "status": 422,
            "detail": "The body has no field \"setings\"; did you mean 'settings'?",
            "code": Problem(422, "").code,
            "request_id": "8d0f2a6b1c3e4f50",
        }
    )

    type: str
    title: str = Field(description="The status in words.")
    status: int
    detail: str = Field(description="One sentence: what was wrong and what to do.")
    code: str = Field(description="; ".join(f"`{code}`: {meaning}" for code, meaning in CODES.items()) + ".")
    request_id: str = Field(description="As in the header X-Request-Id, and in the log.")


class DocumentError(BaseModel):
    """What stands in the place of a document that cannot be used."""

    id: str | None = None
    error: str = Field(description="One sentence: what was wrong and what to do.")
    code: str = Field(description="As in a problem.")


class Status(BaseModel):
    status: str


class CollectionInfo(BaseModel):
    documents: int


class _Results(BaseModel):
    model: str
    collection: CollectionInfo | None
    took_ms: float


class KeyphraseResults(_Results):
    model_config = _like({"results": [_FOUND.to_dict()], "model": "tiny", "collection": _COLLECTION, "took_ms": 9.1})

    results: list[Keyphrases | DocumentError] = Field(description="One per document, in order.")


class ExpandResults(_Results):
    results: list[dict[str, Any]] = Field(
        description="The documents with 'present' and 'absent' added, or {id, error, code}. Queries with 'expansion', "
        "a list of {phrase, kind, weight}, and 'query' as the format takes it, null for one without words."
    )


class RankResults(BaseModel):
    results: list[Keyphrase]
    took_ms: float


class SuggestResults(_Results):
    model_config = _like(
        {
            "results": [_SUGGESTED.to_dict()],
            "model": "tiny",
            "collection": _COLLECTION,
            "vocabulary": "ice",
            "took_ms": 9.1,
        }
    )

    results: list[Suggestions | DocumentError] = Field(description="One per document, in order.")
    vocabulary: str


class StreamLine(BaseModel):
    """A line of a stream: a result, or an error, and the document it belongs to. Lines come as they are ready."""

    index: int = Field(ge=0, description="The place of the document in the request, from 0.")


class VocabularyInfo(BaseModel):
    name: str
    languages: list[str] = Field(description="That of the labels first.")
    concepts: int
    tagged: int = Field(description="How many documents carry tags that vote.")
    learned: bool = Field(description="Whether its ranking was learned from tagged documents.")


class BaselineInfo(BaseModel):
    name: str
    label: str = Field(description="For people.")


class BaselineList(BaseModel):
    results: list[BaselineInfo]


class FileText(BaseModel):
    text: str
    pages: int = Field(default=0, description="Of a PDF.")


class SettingInfo(BaseModel):
    value: bool | int | float
    low: float | None
    high: float | None
    help: str
    kind: Literal["switch", "whole", "number"]


class FactorInfo(BaseModel):
    label: str
    help: str


class Info(BaseModel):
    version: str
    model: str
    collection: CollectionInfo | None
    settings: dict[str, SettingInfo]
    styles: dict[str, dict[str, Any]] = Field(description="All settings of each style.")
    factors: dict[str, FactorInfo] = Field(description="The factors of a score.")
    bands: dict[str, dict[str, float]] = Field(description="The lowest confidence of each band, by kind of phrase.")
    vocabularies: list[VocabularyInfo]
    limits: dict[str, int | float]


class Job(BaseModel):
    """The keyphrases of a corpus, in the making or made."""

    id: str
    status: Literal["waiting", "running", "done", "failed"]
    documents: int = Field(description="How many there are.")
    finished: int = Field(description="How many of them have their line in the results, errors included.")
    errors: int = Field(description="How many of those could not be used.")
    created: str = Field(description="When it was submitted, in UTC (ISO 8601).")
    ended: str | None = Field(None, description="When it was done or failed; a while later it is deleted.")
    error: str | None = Field(None, description="Why it failed, in one sentence.")


class JobList(BaseModel):
    results: list[Job] = Field(description="All jobs, the oldest first.")

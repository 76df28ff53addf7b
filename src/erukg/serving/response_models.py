"""The bodies of answers. Results are the dataclasses of `erukg.core.results`; nothing of them is repeated here."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from erukg.core.results import Keyphrase, Keyphrases

__all__ = [
    "BaselineList",
    "BaselineResults",
    "CollectionInfo",
    "Error",
    "ExpandResults",
    "FileText",
    "Info",
    "KeyphraseResults",
    "RankResults",
    "SettingInfo",
    "Status",
]


class Error(BaseModel):
    error: str = Field(description="One sentence: what was wrong and what to do.")


class Status(BaseModel):
    status: str


class CollectionInfo(BaseModel):
    documents: int


class _Results(BaseModel):
    model: str
    collection: CollectionInfo | None
    took_ms: float


class KeyphraseResults(_Results):
    results: list[Keyphrases] = Field(description="One per document, in order; one that failed has only id and error.")


class ExpandResults(_Results):
    results: list[dict[str, Any]] = Field(description="The documents with 'present' and 'absent' added, or an 'error'.")


class RankResults(BaseModel):
    results: list[Keyphrase]
    took_ms: float


class _ScoredPhrase(BaseModel):
    phrase: str
    score: float


class BaselineResults(BaseModel):
    results: list[_ScoredPhrase]
    took_ms: float


class _BaselineName(BaseModel):
    name: str
    label: str


class BaselineList(BaseModel):
    results: list[_BaselineName]


class FileText(BaseModel):
    text: str
    pages: int | None = None


class SettingInfo(BaseModel):
    value: float | bool
    low: float | None
    high: float | None
    help: str
    kind: str


class Info(BaseModel):
    version: str
    model: str
    collection: CollectionInfo | None
    settings: dict[str, SettingInfo]
    limits: dict[str, float]

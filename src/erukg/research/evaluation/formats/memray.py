"""`{"title", "abstract", "keywords": "a;b;c"}`, or `keyword`, or a list: KP20k and OpenNMT-kpg releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from erukg.research.evaluation.formats import _fields
from erukg.research.evaluation.records import Record

__all__ = ["TELLING", "read"]

TELLING = ("keywords", "keyword")


def read(row: Mapping[str, Any], fallback_id: str) -> Record:
    return Record(
        id=_fields.identifier(row, fallback_id),
        title=_fields.text(row, "title"),
        abstract=_fields.text(row, "abstract"),
        keyphrases=_fields.phrases(row, "keywords" if "keywords" in row else "keyword", separator=";"),
    )

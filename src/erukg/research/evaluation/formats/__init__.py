"""The forms in which keyphrase sets are passed around; a row's fields tell which one it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from erukg.errors import InputError
from erukg.research.evaluation.formats import memray, midas, native
from erukg.research.evaluation.records import Record

__all__ = ["record_from_row"]

# The most telling fields first: a row of the midas form may carry further fields of the others.
_FORMATS = (midas, native, memray)


def record_from_row(row: Mapping[str, Any], fallback_id: str) -> Record:
    """The record in one JSON object; `fallback_id` names it where its form has no ids."""
    for form in _FORMATS:
        if any(field in row for field in form.TELLING):
            record: Record = form.read(row, fallback_id)
            return record
    wanted = ", ".join(f"'{form.TELLING[0]}'" for form in _FORMATS)
    raise InputError(f"it has no gold phrases: one of the fields {wanted} is needed")

"""From paths to documents: what a user can point the command at, read in a stream and within limits.

`read_documents(["papers/", "more.jsonl", "-"])` yields an `InputDocument` for every document it can read and
a `BadDocument`, which says where and why in one sentence, for every one it cannot; a bad one stops nothing.
"""

from __future__ import annotations

from erukg.io.forms import FORMS, Form, find_form, named_form
from erukg.io.items import BadDocument, InputDocument, Limits
from erukg.io.phrase_lists import read_phrases
from erukg.io.sources import check_extras, count_rows, find_sources, read_documents, source_key

__all__ = [
    "FORMS",
    "BadDocument",
    "Form",
    "InputDocument",
    "Limits",
    "check_extras",
    "count_rows",
    "find_form",
    "find_sources",
    "named_form",
    "read_documents",
    "read_phrases",
    "source_key",
]

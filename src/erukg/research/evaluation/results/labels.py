"""What the systems of stored runs are called on a page: without the paths of the machine they ran on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["is_ours", "key", "label", "reason"]

_NAMES = {
    "erukg-generate": "erukg generate",
    "erukg-extract": "erukg extract",
    "textrank": "TextRank",
    "multipartiterank": "MultipartiteRank",
    "positionrank": "PositionRank",
    "tfidf": "TF-IDF",
    "yake": "YAKE",
    "keybert": "KeyBERT",
    "embedrank": "EmbedRank",
    "promptrank": "PromptRank",
    "bm25": "BM25",
    "rm3": "RM3",
    "doct5query": "docT5query",
}
_EXPANDING = ("query", "document", "both")


def label(system: Mapping[str, Any]) -> str:
    """The name to show of a system, or of a retrieval method."""
    name = str(system["name"])
    kind, _, expander = name.partition(" ")
    if kind in _EXPANDING and (expander := expander or _expander(system)):
        return f"{kind}, {label({'name': expander})}"
    base, _, rest = name.partition(":")
    shown = [_argument(part) for part in rest.split(",") if part]
    if base == "tfidf" and shown and "corpus" in (described := system.get("description") or {}):
        shown[0] = f"{described['corpus']['documents']:,} documents"
    first = _NAMES.get(base, base)
    if not shown:
        return first
    return f"{first}, {', '.join(shown)}" if base.startswith("erukg") else f"{first} ({', '.join(shown)})"


def _expander(method: Mapping[str, Any]) -> str:
    described = method.get("description") or {}
    found = described.get("query_expansion") or described.get("document_expansion") or {}
    return str(found.get("system", ""))


def _argument(part: str) -> str:
    name, equals, value = part.partition("=")
    if not equals:
        return "paper's settings" if part == "paper" else _last(part)
    if name == "tagger":
        return "tags by spaCy" if value.startswith("spacy") else f"tags by {value}"
    if name == "model":
        return _last(value)
    return f"{name}={_last(value)}"


def _last(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]


def key(name: str) -> str:
    """The same for one system wherever its files lie."""
    base, _, rest = name.partition(":")
    parts = (part.partition("=") for part in rest.split(",") if part)
    return ":".join(
        [base, *(f"{head}{equals}{_last(value)}" if equals else _last(head) for head, equals, value in parts)]
    )


def is_ours(system: Mapping[str, Any]) -> bool:
    """Whether it is a system of this package, or a search that uses one."""
    return "erukg" in str(system["name"]) or "erukg" in _expander(system)


def reason(system: Mapping[str, Any]) -> str:
    """Why a system has no figures, in short: what to give it is for the one who runs it."""
    return f"not run: {str(system['not_run']).partition(' (give')[0]}"

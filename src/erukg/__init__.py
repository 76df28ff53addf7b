"""Keyphrases, present in a text and absent from it, in milliseconds, by models trained without labelled data.

>>> import erukg
>>> erukg.generate("...").phrases
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from erukg._version import __version__

if TYPE_CHECKING:
    from erukg.collection import Collection as Collection
    from erukg.core.folding import fold as fold
    from erukg.core.query_expansion import ExpandedQuery as ExpandedQuery
    from erukg.core.query_expansion import QueryOptions as QueryOptions
    from erukg.core.results import Keyphrase as Keyphrase
    from erukg.core.results import Keyphrases as Keyphrases
    from erukg.core.results import Notice as Notice
    from erukg.core.results import RankedPhrases as RankedPhrases
    from erukg.core.settings import Settings as Settings
    from erukg.core.streams import Answer as Answer
    from erukg.errors import ErukgError as ErukgError
    from erukg.generator import KeyphraseGenerator as KeyphraseGenerator
    from erukg.generator import extract as extract
    from erukg.generator import generate as generate

# Resolved on first use, so that `import erukg` stays instant and pulls in no numerical library.
_HOMES = {
    "Answer": "erukg.core.streams",
    "Collection": "erukg.collection",
    "RankedPhrases": "erukg.core.results",
    "ErukgError": "erukg.errors",
    "ExpandedQuery": "erukg.core.query_expansion",
    "QueryOptions": "erukg.core.query_expansion",
    "KeyphraseGenerator": "erukg.generator",
    "Keyphrase": "erukg.core.results",
    "Keyphrases": "erukg.core.results",
    "Notice": "erukg.core.results",
    "Settings": "erukg.core.settings",
    "extract": "erukg.generator",
    "generate": "erukg.generator",
    "fold": "erukg.core.folding",
}

__all__ = [
    "Answer",
    "Collection",
    "ErukgError",
    "ExpandedQuery",
    "Keyphrase",
    "KeyphraseGenerator",
    "Keyphrases",
    "Notice",
    "QueryOptions",
    "RankedPhrases",
    "Settings",
    "__version__",
    "extract",
    "fold",
    "generate",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'erukg' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)

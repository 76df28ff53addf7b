"""What the adapters for tables share: a column of texts in, what was found for each row out."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from erukg.core.arguments import checked
from erukg.core.inputs import TEXT_FIELDS, check_items, is_missing
from erukg.core.presenting import KINDS
from erukg.core.results import Keyphrase, Keyphrases
from erukg.errors import InputError, did_you_mean
from erukg.generator import KeyphraseGenerator, default_generator

__all__ = ["Kind", "check_options", "chosen", "phrases_of", "results_of", "scored_of"]

Kind: TypeAlias = Literal["both", "present", "absent"]
_OPTIONS = (
    "generator",
    *[name for name in inspect.signature(KeyphraseGenerator.stream).parameters if name not in ("self", "items")],
)


@checked
def check_options(*, kind: Kind = "both", **wanted: Any) -> None:
    """Refuse an option that there is not, before any text is there to be worked on."""
    for name in wanted:
        if name not in _OPTIONS:
            raise InputError(f"There is no option '{name}'; {did_you_mean(name, ('kind', *_OPTIONS))}")


@checked
def results_of(
    texts: Iterable[object], top_k: int = 10, generator: KeyphraseGenerator | None = None, **wanted: Any
) -> list[Keyphrases | None]:
    """The keyphrases of every row; a missing text has none, and what is no text is refused with the number of its row.

    `wanted` is what `KeyphraseGenerator.stream` takes besides.
    """
    check_options(**wanted)
    rows = list(check_items(texts))
    filled = [row for row, text in enumerate(rows) if not _has_no_text(text)]
    out: list[Keyphrases | None] = [None] * len(rows)
    answers = (generator or default_generator()).stream((rows[row] for row in filled), top_k, **wanted)
    for row, answer in zip(filled, answers, strict=True):
        if answer.error is not None:
            raise InputError(f"Row {row}: {answer.error}")
        out[row] = answer.result
    return out


def _has_no_text(row: object) -> bool:
    """Whether a row has the columns of a document, and nothing in them."""
    if isinstance(row, Mapping) and any(name in row for name in TEXT_FIELDS):
        return all(is_missing(row.get(name)) for name in TEXT_FIELDS)
    return is_missing(row)


def chosen(result: Keyphrases, kind: Kind) -> list[Keyphrase]:
    """The phrases of a kind."""
    return [*(result.present if kind != "absent" else ()), *(result.absent if kind != "present" else ())]


@checked
def phrases_of(texts: Iterable[object], kind: Kind = "both", **wanted: Any) -> list[list[str] | None]:
    """The phrases of every row, best first, those present before those absent; None where the text is missing."""
    return [
        None if result is None else [each.phrase for each in chosen(result, kind)]
        for result in results_of(texts, **wanted)
    ]


@checked
def scored_of(texts: Iterable[object], kind: Kind = "both", **wanted: Any) -> list[list[dict[str, Any]] | None]:
    """The same with what is known of each phrase: `kind`, `phrase`, `score` and `confidence`."""
    return [
        None
        if result is None
        else [
            {
                "kind": KINDS[not each.spans],
                "phrase": each.phrase,
                "score": each.score,
                "confidence": each.confidence,
            }
            for each in chosen(result, kind)
        ]
        for result in results_of(texts, **wanted)
    ]

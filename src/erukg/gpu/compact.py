"""Results as plain tuples, which travel between processes several times faster than objects do."""

from __future__ import annotations

from typing import Any, TypeAlias

from erukg.core.neighbours import Source
from erukg.core.results import Keyphrase, Keyphrases, Notice

__all__ = ["Compact", "compact", "restore"]

Compact: TypeAlias = tuple[Any, ...]


def compact(result: Keyphrases) -> Compact:
    """The result as tuples of strings and numbers; a neighbour that several phrases name is told once."""
    sources: dict[str, int] = {}
    shares: list[float] = []
    titles: list[str] = []
    absent = []
    for k in result.absent:
        numbers = []
        for source in k.sources:
            number = sources.setdefault(source.id, len(sources))
            if number == len(shares):
                shares.append(source.share)
                titles.append(source.title)
            numbers.append(number)
        absent.append((k.phrase, k.score, k.confidence, k.variants, tuple(numbers), k.explanation, k.related))
    present = tuple((k.phrase, k.score, k.confidence, k.variants, k.spans, (), k.explanation) for k in result.present)
    notices = tuple((notice.code, notice.message) for notice in result.notices)
    return result.id, notices, present, tuple(absent), (tuple(sources), tuple(shares), tuple(titles))


def restore(data: Compact) -> Keyphrases:
    """The result that `compact` was given."""
    id, notices, present, absent, known = data
    sources = [Source(*one) for one in zip(*known, strict=True)]
    return Keyphrases(
        tuple([Keyphrase(*most) for most in present]),
        tuple(
            [
                Keyphrase(p, s, c, v, (), tuple([sources[n] for n in numbers]), why, related)
                for p, s, c, v, numbers, why, related in absent
            ]
        ),
        id,
        notices=tuple(Notice(*notice) for notice in notices),
    )

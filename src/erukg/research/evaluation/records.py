"""One document of a test set with its gold phrases."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Record"]


@dataclass(frozen=True, slots=True)
class Record:
    """A document and the phrases people gave it.

    `official` is the gold of SemEval-2010 as its organisers published it: already stemmed, each phrase with
    its accepted alternatives. Where a record has it, it is what predictions are matched with.
    """

    id: str
    title: str
    abstract: str
    keyphrases: tuple[str, ...]
    official: tuple[tuple[str, ...], ...] | None = None

    @property
    def text(self) -> str:
        """What a system reads: title, line break, abstract; one of them alone where the other is empty."""
        return f"{self.title}\n{self.abstract}" if self.title and self.abstract else self.title or self.abstract

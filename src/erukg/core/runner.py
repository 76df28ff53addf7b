"""How a generator works through a stream; other runners bring threads, or processes around a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from erukg.core.choices import Choice
from erukg.core.results import Keyphrases
from erukg.core.settings import Settings
from erukg.core.streams import Answer

if TYPE_CHECKING:
    from erukg.core.generator import Generator

__all__ = ["Request", "Runner", "SerialRunner"]

ItemT = TypeVar("ItemT")
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Request:
    """What is wanted of each document."""

    top_k: int
    settings: Settings
    explain: bool = False
    choice: Choice | None = None


class Runner(Protocol):
    """How a generator works through a stream: in order, in constant memory, taking only a few items ahead.

    `workers` is how many threads or processes work side by side; None leaves it to the runner.
    """

    def map(self, function: Callable[[T], R], items: Iterable[T], workers: int | None) -> Iterator[R]:
        """`map(function, items)`."""
        ...

    def generate(
        self, generator: Generator, items: Iterable[ItemT], request: Request, workers: int | None
    ) -> Iterator[Answer[ItemT, Keyphrases]]:
        """`generator.answer(item, request)` for each item."""
        ...


class SerialRunner:
    """One item at a time."""

    def map(self, function: Callable[[T], R], items: Iterable[T], workers: int | None) -> Iterator[R]:
        return map(function, items)

    def generate(
        self, generator: Generator, items: Iterable[ItemT], request: Request, workers: int | None
    ) -> Iterator[Answer[ItemT, Keyphrases]]:
        return self.map(partial(generator.answer, request=request), items, workers)

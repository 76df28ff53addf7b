"""Streams: items in, an answer for each out, in order, whatever is wrong with one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from erukg.core.inputs import as_item
from erukg.errors import InputError

__all__ = ["Answer", "attempt", "or_error"]

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class Answer(Generic[ItemT, ResultT]):
    """What became of one item of a stream: its `result`, or the `error` it was refused with."""

    item: ItemT
    result: ResultT | None = None
    error: InputError | None = None

    def unwrap(self) -> ResultT:
        """The result; raises the error where there is one."""
        if self.error is not None:
            raise self.error
        assert self.result is not None
        return self.result


def attempt(function: Callable[[ItemT], ResultT], item: ItemT) -> Answer[ItemT, ResultT]:
    """`function(item)` as an answer. Only what is wrong with the item itself is one; other errors are raised."""
    try:
        return Answer(item, function(item))
    except InputError as error:
        return Answer(item, error=error)


def or_error(answer: Answer[object, ResultT], empty: Callable[..., ResultT]) -> ResultT:
    """The result, or an empty one that carries the error."""
    if answer.result is not None:
        return answer.result
    try:
        id = as_item(answer.item).id
    except InputError:
        id = None
    return empty(id=id, error=str(answer.error))

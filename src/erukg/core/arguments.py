"""Arguments of public functions, compared with their annotations: a wrong type is one sentence that names the argument.

What an annotation cannot say (a range, the form of a text) is for the function to check.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import os
import types
from collections.abc import Callable
from functools import cache, wraps
from numbers import Integral, Real
from pathlib import Path
from typing import IO, Annotated, Any, Literal, NamedTuple, ParamSpec, TypeVar, Union, cast, get_args, get_origin

import numpy as np

from erukg.errors import InputError

__all__ = ["check_fields", "checked", "kind_of"]

P = ParamSpec("P")
R = TypeVar("R")

_KINDS: dict[type, str] = {
    list: "a list",
    dict: "an object",
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a string",
    type(None): "None",
}
# What numpy calls the numbers that an array of an annotated type may hold.
_NUMBERS = {np.integer: "iu", np.floating: "iuf"}
_CONTAINERS: dict[type, str] = {
    collections.abc.Iterable: "an iterable",
    collections.abc.Sequence: "a list",
    collections.abc.Collection: "a list or set",
    collections.abc.Mapping: "a mapping",
}


def kind_of(value: object) -> str:
    """What a value is, in words."""
    if isinstance(value, str) and not _can_be_name(value):
        return "a string that no file can have as its name"
    return _KINDS.get(type(value), type(value).__name__)


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, but an argument of another type than its annotation allows is an `InputError`."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        placed, tests = _parameters(function)
        for (name, test), value in zip(placed, args, strict=False):
            if test is not None and not test.accepts(value):
                raise _refused(name, test, value)
        for name, value in kwargs.items():
            test = tests.get(name)
            if test is not None and not test.accepts(value):
                raise _refused(name, test, value)
        return function(*args, **kwargs)

    return call


def _refused(name: str, test: _Test, value: object) -> InputError:
    given = repr(value[:40]) if test.named and isinstance(value, str) else kind_of(value)
    return InputError(f"{name} must be {test.words}, not {given}.")


def check_fields(value: object) -> None:
    """Refuse an instance of a dataclass with a field of another type than its annotation allows."""
    for name, test in _fields(cast("Any", type(value))).items():
        if not test.accepts(found := getattr(value, name)):
            raise InputError(f"{name} of a {type(value).__name__} must be {test.words}, not {kind_of(found)}.")


class _Test(NamedTuple):
    accepts: Callable[[Any], bool]
    words: str
    named: bool = False
    """Whether a value is one of some names, so that another name is worth repeating."""


@cache
def _parameters(function: Callable[..., object]) -> tuple[tuple[tuple[str, _Test | None], ...], dict[str, _Test]]:
    """The names and tests that arguments by position have, and the tests of all parameters that can be tested."""
    parameters = inspect.signature(function).parameters.values()
    placed = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    plain = (*placed, inspect.Parameter.KEYWORD_ONLY)
    space = inspect.unwrap(function).__globals__
    annotated = {p.name: p.annotation for p in parameters if p.kind in plain and p.annotation is not p.empty}
    tests = _tests(annotated, space)
    return tuple((p.name, tests.get(p.name)) for p in parameters if p.kind in placed), tests


@cache
def _fields(kind: type) -> dict[str, _Test]:
    space = vars(inspect.getmodule(kind))
    return _tests({field.name: field.type for field in dataclasses.fields(kind)}, space)


def _tests(annotations: dict[str, Any], space: dict[str, Any]) -> dict[str, _Test]:
    # One by one and not by `typing.get_type_hints`, which wants what only the annotation of the result needs.
    found = {name: eval(a, space) if isinstance(a, str) else a for name, a in annotations.items()}
    return {name: test for name, a in found.items() if (test := _test(a)) is not None}


def _test(annotation: Any) -> _Test | None:
    """How to tell a value that is annotated so; None where any will do or only the function can tell."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return None  # of documents: `erukg.core.inputs.as_item` says more
    if hasattr(origin, "__value__"):  # an alias by statement, as `NDArray` is from numpy 2.5 on
        return _test(origin.__value__[get_args(annotation)])
    if origin in (Union, types.UnionType):
        kinds = get_args(annotation)
        named = Path in kinds  # then a string is the name of a file
        return _any_of([_NAME if named and each is str else _test(each) for each in kinds])
    if origin is Literal:
        known = get_args(annotation)
        words = " or ".join(repr(each) for each in known)
        named = any(isinstance(each, str) for each in known)
        return _Test(lambda value: any(type(value) is type(each) and value == each for each in known), words, named)
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    if origin is np.ndarray:
        return _array(annotation)
    if origin is collections.abc.Callable:
        return _Test(callable, "a function")
    if origin is IO:
        return _Test(lambda value: hasattr(value, "read") and not isinstance(value, type), "an open file")
    if inspect.isclass(origin):
        return _container(origin, get_args(annotation))
    if not inspect.isclass(annotation) or annotation in (object, Any):
        return None
    if getattr(annotation, "_is_protocol", False):
        return _Test(_follows(annotation), _a(annotation))
    return _Test(lambda value: isinstance(value, annotation), _a(annotation))


_PLAIN = {
    type(None): _Test(lambda value: value is None, "None"),
    bool: _Test(lambda value: isinstance(value, bool), "true or false"),
    int: _Test(lambda value: isinstance(value, Integral) and not isinstance(value, bool), "a whole number"),
    float: _Test(lambda value: isinstance(value, Real) and not isinstance(value, bool), "a number"),
    str: _Test(lambda value: isinstance(value, str), "a string"),
    Path: _Test(lambda value: isinstance(value, os.PathLike), "a path"),
}
_NAME = _Test(lambda value: isinstance(value, str) and _can_be_name(value), "a string")


def _follows(protocol: type) -> Callable[[Any], bool]:
    """Whether a value has all that the protocol asks for; no property is worked out for this."""
    members = [name for name in dir(protocol) if not name.startswith("_")] or ["__call__"]

    def accepts(value: Any) -> bool:
        return not isinstance(value, type) and all(hasattr(type(value), n) or hasattr(value, n) for n in members)

    return accepts


def _any_of(tests: list[_Test | None]) -> _Test | None:
    told = [test for test in tests if test is not None]
    if len(told) < len(tests):
        return None
    return _Test(lambda value: any(test.accepts(value) for test in told), " or ".join(test.words for test in told))


def _array(annotation: Any) -> _Test:
    """Of numpy; lists of numbers will do."""
    number = next((get_args(each)[0] for each in get_args(annotation) if get_origin(each) is np.dtype), None)
    kinds = next((letters for kind, letters in _NUMBERS.items() if _is_a(number, kind)), None)

    def accepts(value: Any) -> bool:
        try:
            array = np.asarray(value)
        except (TypeError, ValueError, OverflowError):
            return False
        return array.ndim == 1 and (not array.size or kinds is None or array.dtype.kind in kinds)

    return _Test(accepts, "an array of numbers")


def _container(origin: type, inside: tuple[Any, ...]) -> _Test | None:
    """Of entries that are tested where they can be without using them up; a string is no list of strings here."""
    entry = None if issubclass(origin, collections.abc.Mapping) or not inside else _test(inside[0])

    if entry is None and origin is collections.abc.Iterable:
        return None  # of documents: `erukg.core.inputs.check_items` says more

    def accepts(value: Any) -> bool:
        if not isinstance(value, origin) or entry is None:
            return isinstance(value, origin)
        # They can be iterated over, but were not meant to be: for letters, keys, names of columns, lines.
        single = isinstance(value, str | bytes | collections.abc.Mapping)
        if single or hasattr(value, "columns") or hasattr(value, "read"):
            return False
        return not isinstance(value, collections.abc.Collection) or all(map(entry.accepts, value))

    return _Test(accepts, _CONTAINERS.get(origin, _a(origin)) + (f", each {entry.words}" if entry is not None else ""))


def _can_be_name(text: str) -> bool:
    try:
        return b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        return False


def _is_a(number: Any, kind: type) -> bool:
    return inspect.isclass(number) and issubclass(number, kind)


def _a(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIOU' else 'a'} {kind.__name__}"

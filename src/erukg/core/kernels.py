"""Compiled kernels that cost nothing until they are called.

Importing numba takes longer than everything else in the package together, so a kernel is a plain function
until its first call; the machine code is then kept in numba's on-disk cache for the next process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import update_wrapper
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

from erukg.core.kernel_cache import compiled

P = ParamSpec("P")
R = TypeVar("R")

_lock = threading.RLock()


class Kernel(Generic[P, R]):
    """A function compiled by numba (no GIL, cached on disk) when first called.

    A kernel may call other kernels by their global names. Keep those in the same module: numba's cache looks at one
    file only, and would not notice that another one has changed.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.python = function
        self._compiled: Callable[P, R] | None = None
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        compiled = self._compiled or self.compile()
        return compiled(*args, **kwargs)

    def compile(self) -> Callable[P, R]:
        """The compiled function."""
        with _lock:
            if self._compiled is None:
                self._compiled = compiled(_linked(self.python))
            return self._compiled


def _linked(function: Any) -> Any:
    """The function with the kernels it calls in their compiled form: numba knows nothing of `Kernel`."""
    names = function.__code__.co_names
    called = {name: each.compile() for name in names if isinstance(each := function.__globals__.get(name), Kernel)}
    if not called:
        return function
    scope = {**function.__globals__, **called}
    linked = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    linked.__qualname__ = function.__qualname__
    return linked


def kernel() -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Decorator form of `Kernel`."""
    return Kernel

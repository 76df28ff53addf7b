"""Compiled kernels that cost nothing until they are called.

Importing numba takes longer than everything else in the package together, so a kernel is a plain function
until its first call; the machine code is then kept in numba's on-disk cache for the next process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import update_wrapper
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_lock = threading.Lock()


class Kernel(Generic[P, R]):
    """A function compiled by numba (no GIL, cached on disk) when first called.

    A kernel must be self-contained: it may not call another kernel.
    """

    def __init__(self, function: Callable[P, R]) -> None:
        self.python = function
        self._compiled: Callable[P, R] | None = None
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        compiled = self._compiled or self._compile()
        return compiled(*args, **kwargs)

    def _compile(self) -> Callable[P, R]:
        with _lock:
            if self._compiled is None:
                import numba

                self._compiled = numba.njit(nogil=True, cache=True)(self.python)
            return self._compiled


def kernel() -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Decorator form of `Kernel`."""
    return Kernel

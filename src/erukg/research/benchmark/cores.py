"""Holding this process to some of its cores for a while, so that systems can be compared on the same ones."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from erukg.backends.threads import cores

__all__ = ["can_pin", "pinned"]

_TASKS = Path("/proc/self/task")


def can_pin() -> bool:
    """Whether this system lets threads be bound to cores; elsewhere only thread pools are limited."""
    return hasattr(os, "sched_setaffinity") and _TASKS.is_dir()


@contextmanager
def pinned(count: int) -> Iterator[None]:
    """All threads of this process, and those they start, on the first `count` of its cores.

    On fewer cores than there are, the pools of BLAS (where threadpoolctl is installed) and of torch (where it is
    loaded) get as many threads: two threads of one pool on one core would wait for each other. On all cores they are
    left as they are, which is how a user meets them.
    """
    if count >= cores():
        yield
        return
    with ExitStack() as stack:
        stack.enter_context(_blas(count))
        stack.enter_context(_torch(count))
        if can_pin():
            before = os.sched_getaffinity(0)
            stack.callback(_bind, before)
            _bind(set(sorted(before)[:count]))
        yield


def _bind(chosen: set[int]) -> None:
    for task in _TASKS.iterdir():
        try:
            os.sched_setaffinity(int(task.name), chosen)
        except ProcessLookupError:  # the thread has ended meanwhile
            continue


@contextmanager
def _blas(count: int) -> Iterator[None]:
    try:
        control: Any = importlib.import_module("threadpoolctl")
    except ImportError:
        yield
        return
    with control.threadpool_limits(count):
        yield


@contextmanager
def _torch(count: int) -> Iterator[None]:
    torch: Any = sys.modules.get("torch")
    if torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)

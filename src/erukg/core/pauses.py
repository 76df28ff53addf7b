"""Points at which a long computation lets others go first, or ends because nobody waits for its result.

What computes calls `pause_point` between its parts; whoever runs it on a thread says with `pausing` what happens there.
Elsewhere a pause point does nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["pause_point", "pausing"]


class _Hook(threading.local):
    pause: Callable[[], None] | None = None


_hook = _Hook()


def pause_point() -> None:
    """Let whoever runs this thread do something else in between; what it raises ends the computation."""
    if _hook.pause is not None:
        _hook.pause()


@contextmanager
def pausing(pause: Callable[[], None]) -> Iterator[None]:
    """Call `pause` at the pause points of this thread."""
    before, _hook.pause = _hook.pause, pause
    try:
        yield
    finally:
        _hook.pause = before

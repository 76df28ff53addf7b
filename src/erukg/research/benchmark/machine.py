"""The machine of a benchmark: what it is, and holding this process to some of its cores."""

from __future__ import annotations

import importlib
import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from erukg._version import __version__
from erukg.backends.threads import cores
from erukg.research.evaluation.provenance import installed_versions

__all__ = ["can_pin", "pinned", "report_head"]

_TASKS = Path("/proc/self/task")
_NOTE = (
    "Ratios between systems of this run can be compared with other runs; documents per second, milliseconds and "
    "megabytes belong to this machine and what else it was doing."
)
_PACKAGES = (
    "numpy", "numba", "onnxruntime", "tokenizers", "torch", "transformers", "spacy", "nltk", "bm25s",
    "tantivy", "yake", "keybert", "sentence-transformers",
)  # fmt: skip


def report_head(form: str, version: int = 1) -> dict[str, Any]:
    """The fields that every report of a benchmark begins with: among them all that may have taken part."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    except (AttributeError, ValueError, OSError):  # not every system says
        memory = None
    return {
        "format": form,
        "version": version,
        "note": _NOTE,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": {
            "erukg": __version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
            "processor": _processor(),
            "cores": cores(),
            "cores_pinned": can_pin(),
            "memory_gb": memory,
            "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
            "versions": installed_versions(_PACKAGES),
        },
    }


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    named = re.search(r"^model name[^:\n]*:(.*)$", text, re.MULTILINE)
    return named[1].strip() if named else platform.processor() or platform.machine()


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
        with suppress(ImportError):
            control: Any = importlib.import_module("threadpoolctl")
            stack.enter_context(control.threadpool_limits(count))
        torch: Any = sys.modules.get("torch")
        if torch is not None:
            stack.callback(torch.set_num_threads, torch.get_num_threads())
            torch.set_num_threads(count)
        if can_pin():
            before = os.sched_getaffinity(0)
            stack.callback(_bind, before)
            _bind(set(sorted(before)[:count]))
        yield


def _bind(chosen: set[int]) -> None:
    for task in _TASKS.iterdir():
        with suppress(ProcessLookupError):  # the thread has ended meanwhile
            os.sched_setaffinity(int(task.name), chosen)

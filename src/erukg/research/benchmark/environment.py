"""On what a benchmark ran, so that nobody compares its absolute figures with another machine's."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from erukg._version import __version__
from erukg.backends.threads import cores
from erukg.research.benchmark.cores import can_pin

__all__ = ["NOTE", "environment"]

NOTE = (
    "Ratios between systems of this run can be compared with other runs; documents a second, milliseconds and "
    "megabytes belong to this machine and what else it was doing."
)
_PACKAGES = (
    "numpy", "numba", "onnxruntime", "tokenizers", "torch", "transformers", "spacy", "nltk", "bm25s",
    "tantivy", "yake", "keybert", "sentence-transformers",
)  # fmt: skip


def environment() -> dict[str, Any]:
    """Processor, cores, memory, system, and the versions of everything that may have taken part."""
    return {
        "erukg": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": cores(),
        "cores_pinned": can_pin(),
        "memory_gb": _memory_gb(),
        "load": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "versions": {name: found for name in _PACKAGES if (found := _version(name)) is not None},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    if path.is_file():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory_gb() -> float | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    except (AttributeError, ValueError, OSError):  # not every system says
        return None

"""On what a benchmark ran, so that nobody compares its absolute figures with another machine's."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from erukg._version import __version__
from erukg.backends.threads import cores
from erukg.research.benchmark.cores import can_pin
from erukg.research.evaluation.provenance import installed_versions

__all__ = ["report_head"]

_NOTE = (
    "Ratios between systems of this run can be compared with other runs; documents per second, milliseconds and "
    "megabytes belong to this machine and what else it was doing."
)
_PACKAGES = (
    "numpy", "numba", "onnxruntime", "tokenizers", "torch", "transformers", "spacy", "nltk", "bm25s",
    "tantivy", "yake", "keybert", "sentence-transformers",
)  # fmt: skip


def report_head(form: str, version: int = 1) -> dict[str, Any]:
    """The fields that every report of a benchmark begins with."""
    return {
        "format": form,
        "version": version,
        "note": _NOTE,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "environment": _environment(),
    }


def _environment() -> dict[str, Any]:
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
        "versions": installed_versions(_PACKAGES),
    }


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

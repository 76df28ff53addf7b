"""What only a process of its own can show: how long the first result takes, and how much memory a stream needs."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from erukg.errors import ErukgError
from erukg.research.benchmark.plan import Step, no_step
from erukg.research.benchmark.texts import document

__all__ = ["cold_start", "peak_memory"]

_LONGEST = 600.0


def cold_start(command: str, options: Sequence[str], runs: int, step: Step = no_step) -> dict[str, Any]:
    """Seconds from starting `erukg COMMAND one.txt` to its first result: the first ever run, then `runs` later ones.

    The first ever run finds no compiled loops (numba's cache is an empty folder), the later ones find its own. The
    files of the package have been read before, so the disk plays no part.
    """
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "one.txt"
        text.write_text(document(200), encoding="utf-8")
        cache = Path(folder) / "numba"
        line = [sys.executable, "-m", "erukg.cli", command, str(text), "--format", "json", *options]
        seconds = []
        for i in range(runs + 1):
            seconds.append(_first_result(line, {**os.environ, "NUMBA_CACHE_DIR": str(cache)}))
            step(i + 1, runs + 1)
    return {
        "command": f"erukg {command} one.txt",
        "first_ever_s": seconds[0],
        "warm_s": statistics.median(seconds[1:]) if runs else None,
        "warm_runs_s": seconds[1:],
    }


def _first_result(line: Sequence[str], environment: dict[str, str]) -> float:
    with tempfile.TemporaryFile() as problems:
        start = time.perf_counter()
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=problems, env=environment) as process:
            assert process.stdout is not None
            first = process.stdout.readline()
            seconds = time.perf_counter() - start
            process.stdout.read()
        if process.returncode or not first:
            problems.seek(0)
            raise _failed(line, process.returncode, problems.read())
    return seconds


def peak_memory(
    model: str | None, collection: str | None, documents: int, words: int, paths: Sequence[str] = ()
) -> dict[str, Any]:
    """Most megabytes resident while a process of its own streams documents, and how that grew on the way.

    The documents are those of the files `paths`, again and again, or built-in ones of so many words. `collection` is
    a folder, or None for extraction.
    """
    task = {"model": model, "collection": collection, "documents": documents, "words": words, "paths": list(paths)}
    line = [sys.executable, "-m", "erukg.research.benchmark.memory_worker", json.dumps(task)]
    done = subprocess.run(line, capture_output=True, check=False, timeout=max(_LONGEST, documents))
    if done.returncode:
        raise _failed(line, done.returncode, done.stderr)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _failed(line: Sequence[str], code: int, problems: bytes) -> ErukgError:
    said = problems.decode("utf-8", "replace").strip().splitlines()
    return ErukgError(
        f"'{' '.join(line[1:4])}' ended with exit code {code} and no result"
        + (f"; it said: {said[-1]}" if said else ".")
    )

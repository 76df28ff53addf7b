"""A small cluster on this machine, and tasks that go wrong on purpose; workers import this module too."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from erukg.integrations.ray.keyphrase_job import KeyphraseJob, Stream
from erukg.io import InputDocument

#: Ray takes no less.
STORE_BYTES = 80 * 1024 * 1024
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
}


def add_node(cluster: Any) -> Any:
    return cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES, include_dashboard=False)


def worker_pids(cluster: Any) -> list[int]:
    """This cluster's processes that run erukg's tasks and actors."""
    raylets = {process.process.pid for node in cluster.list_all_nodes() for process in node.all_processes["raylet"]}
    out = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cmdline").read_bytes().startswith(
                (b"ray::run_partition", b"ray::MapWorker")
            ):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                out += [int(entry.name)] if parent in raylets else []
        except (OSError, IndexError):
            continue
    return out


def kill_worker(cluster: Any) -> None:
    os.kill(wait_for(lambda: worker_pids(cluster), "a worker")[0], signal.SIGKILL)


def wait_for(look: Callable[[], Any], what: str, seconds: float = 60) -> Any:
    end = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < end, f"waited for {what} in vain"
        time.sleep(0.02)
    return found


def marks(out: Path) -> list[str]:
    folder = out / "_erukg" / "done"
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def parts(out: Path) -> str:
    """What all files of an output hold, in order."""
    return "".join(path.read_text(encoding="utf-8") for path in sorted(out.glob("part-*.jsonl")))


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def said(result: Any) -> list[str]:
    """The lines that are the command's own, not Ray's."""
    return [line.removeprefix("erukg: ") for line in result.stderr.splitlines() if line.startswith("erukg: ")]


@dataclass(frozen=True, slots=True, kw_only=True)
class TroubledJob(KeyphraseJob):
    """Texts can ask for trouble: one that says so ends its worker, another raises what nobody expects."""

    def load_stream(self) -> Stream:
        stream = KeyphraseJob.load_stream(self)
        return lambda items: stream(map(_trouble, items))


def _trouble(document: InputDocument) -> InputDocument:
    if "end the worker" in document.text:
        os._exit(9)
    if "raise an error" in document.text:
        raise RuntimeError("as asked")
    if "take your time" in document.text:
        time.sleep(0.02)
    return document

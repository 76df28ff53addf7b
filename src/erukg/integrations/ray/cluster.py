"""The Ray cluster: connecting to it, and what a worker takes of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from erukg.errors import InputError, require

__all__ = ["Resources", "connect"]


@dataclass(frozen=True, slots=True)
class Resources:
    """How many workers may run at a time (None: as many as the cluster has room for), and the cores and GPUs of each."""

    workers: int | None = None
    cpus: int = 1
    gpus: float = 0.0

    def capacity(self, ray: Any) -> int:
        """How many workers the cluster has room for now, at least 1."""
        have = ray.cluster_resources()
        room = have.get("CPU", 0) // self.cpus
        if self.gpus:
            room = min(room, have.get("GPU", 0) / self.gpus + 1e-9)
        return max(1, int(room))

    def check(self, ray: Any) -> None:
        """Refuse a cluster with no node large enough, unless a number of workers was given: nodes may still join."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if self.workers is None and not any(
            have.get("CPU", 0) >= self.cpus and have.get("GPU", 0) >= self.gpus for have in nodes
        ):
            what = f"{self.cpus} cores" + (f" and {self.gpus:g} GPUs" if self.gpus else "")
            raise InputError(f"No node of the cluster has the {what} that a worker needs; ask for less, or add nodes.")


def connect() -> Any:
    """The module `ray`, connected to the cluster of RAY_ADDRESS or `ray start`, else to a new one on this machine."""
    ray = require("ray", "ray", "Working on a cluster")
    if not ray.is_initialized():
        # Nobody who runs a command here was asked whether usage may be reported.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init()
    return ray

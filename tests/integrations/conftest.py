"""A Ray cluster of two nodes on this machine, started once. Without Ray `test_ray_installed.py` says so, alone."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tiny import write_corpus

HERE = Path(__file__).parent
collect_ignore = [
    name
    for name in ("test_ray_jobs.py", "test_ray_partitions.py", "test_ray_scale.py")
    if importlib.util.find_spec("ray") is None
]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Any]:
    """Two raylets with a core each; this process is their driver."""
    import ray
    from ray.cluster_utils import Cluster

    from integrations.ray_tools import QUIET, add_node

    before = dict(os.environ)
    folders = [str(HERE), str(HERE.parent), *filter(None, [before.get("PYTHONPATH")])]
    # Workers on the nodes import the tests' own modules.
    os.environ.update(QUIET, PYTHONPATH=os.pathsep.join(folders))
    made = Cluster()
    try:
        add_node(made)
        add_node(made)
        ray.init(address=made.address, log_to_driver=False, logging_level="error", configure_logging=True)
        yield made
    finally:
        ray.shutdown()
        made.shutdown()
        os.environ.clear()
        os.environ.update(before)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of three files, 400 documents."""
    folder = tmp_path_factory.mktemp("archive")
    for number, size in enumerate((150, 50, 200)):
        lines = write_corpus(folder / "one", size, seed=number).read_text()
        (folder / f"{number}.jsonl").write_text(lines.replace('"doc:', f'"{number}:'))
    (folder / "one").unlink()
    return folder

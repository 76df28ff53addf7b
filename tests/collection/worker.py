"""A writer to be killed: `python worker.py OPERATION FOLDER SOURCE IDS` does one thing to a collection."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from samples import WordAnalyser, make_collection, make_records  # type: ignore[import-not-found]  # run by its path

from erukg.collection import Writer
from erukg.collection.build import add, build


def warm_up() -> None:
    """Load all compiled code, so that what follows is the operation itself, to be killed in its midst."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = make_collection(Path(temporary) / "c", make_records(9), part=3)
        with Writer.open(folder) as writer:
            writer.remove(["d1", "d5"])
            writer.merge()


def work(operation: str, folder: str, source: str, ids: str) -> None:
    if operation == "build":
        build(folder, [source], WordAnalyser(), part_documents=40, tags="subjects")
    elif operation == "add":
        add(folder, [source], WordAnalyser(), part_documents=40, tags="subjects")
    else:
        with Writer.open(folder) as writer:
            if operation == "remove":
                writer.remove(Path(ids).read_text().split())
            else:
                writer.merge()


if __name__ == "__main__":
    warm_up()
    print("ready", flush=True)
    work(*sys.argv[1:])
    print("done", flush=True)

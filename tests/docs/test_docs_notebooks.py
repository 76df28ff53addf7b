"""The notebooks of the docs run from top to bottom, and print what is stored in them."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from docs.comparing import difference
from docs.notebooks import NOTEBOOKS, executed, texts

#: Trains a model; what it prints depends on docstrings of this very program.
ADAPTING = "5-adapting"


def check(path: Path, folder: Path, *, compared: bool) -> None:
    stored = nbformat.read(path, as_version=4)
    found = executed(path, folder / path.stem)
    for before, after in zip(stored.cells, found.cells, strict=True):
        if before.cell_type == "code":
            assert before.outputs or "print" not in before.source, f"{path.name} is stored without outputs"
            if compared:
                wrong = difference(texts(before), texts(after))
                assert wrong is None, f"{path.name}: {wrong}\n{before.source}\n{texts(after)}"


@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if path.stem != ADAPTING], ids=lambda path: path.stem)
def test_notebook(path: Path, tmp_path: Path) -> None:
    check(path, tmp_path, compared=True)


@pytest.mark.slow
def test_adapting(tmp_path: Path) -> None:
    (path,) = [path for path in NOTEBOOKS if path.stem == ADAPTING]
    check(path, tmp_path, compared=False)


def test_there_are_five() -> None:
    assert [path.stem[0] for path in NOTEBOOKS] == list("12345")
    for path in NOTEBOOKS:
        assert path.stat().st_size < 200_000, path

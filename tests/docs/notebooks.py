"""The notebooks of docs/notebooks, executed: `python tests/docs/notebooks.py [NAME …]` stores their outputs anew."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

__all__ = ["NOTEBOOKS", "executed", "texts"]

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path, folder: Path) -> Any:
    """The notebook after all its cells have run, in a new folder beside a copy of the library."""
    shutil.copytree(FOLDER / "library", folder / "library")
    notebook = nbformat.read(path, as_version=4)
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    inline = "module://matplotlib_inline.backend_inline"
    client.execute(env={**os.environ, "PATH": programs, "COLUMNS": "100", "MPLBACKEND": inline})
    return notebook


def texts(cell: Any) -> str:
    """What a cell printed and what its last line gave, without pictures."""
    out = ""
    for output in cell.get("outputs", ()):
        if output["output_type"] == "stream" and output["name"] == "stdout":
            out += _COLOURS.sub("", output["text"])
        elif output["output_type"] == "execute_result":
            out += output["data"]["text/plain"]
    return out


def _stored(notebook: Any) -> Any:
    """Without what changes from one run to the next: times of execution, what was said on standard error."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            kept = [one for one in cell.outputs if one.output_type != "stream"]
            printed = "".join(one.text for one in cell.outputs if one.get("name") == "stdout")
            if printed := _COLOURS.sub("", printed):
                kept.insert(0, nbformat.v4.new_output("stream", name="stdout", text=printed))
            cell.outputs = kept
    notebook.metadata.language_info = {"name": "python"}
    return notebook


if __name__ == "__main__":
    for one in [path for path in NOTEBOOKS if not sys.argv[1:] or path.stem in sys.argv[1:]]:
        with tempfile.TemporaryDirectory() as temporary:
            nbformat.write(_stored(executed(one, Path(temporary))), one)
        print(one)

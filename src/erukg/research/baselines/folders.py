"""Weights of other systems: folders and files that the user gives by path."""

from __future__ import annotations

import hashlib
from pathlib import Path

from erukg.errors import ModelError

__all__ = ["digest", "model_folder"]


def model_folder(path: str, purpose: str) -> Path:
    """The folder at `path`, made sure to hold a model in the usual form before anything is loaded."""
    folder = Path(path)
    if not folder.is_dir():
        raise ModelError(f"There is no folder '{path}'; {purpose} needs a downloaded model folder.")
    if not any((folder / name).is_file() for name in ("config.json", "modules.json")):
        raise ModelError(
            f"The folder '{path}' has neither config.json nor modules.json; {purpose} needs a model folder "
            "as the transformers library saves it."
        )
    return folder


def digest(path: Path) -> str:
    """The SHA-256 of a file, or of the names and contents of all files of a folder."""
    out = hashlib.sha256()
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    for file in files:
        with file.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        name = "" if file == path else file.relative_to(path).as_posix()
        out.update(f"{name}\0{content}\n".encode())
    return out.hexdigest()

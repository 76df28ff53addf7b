"""A model or collection from an object store, as a folder on this node that all its workers map."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from erukg.errors import InputError, require
from erukg.integrations.ray.storage import absolute, is_uri, resolve

__all__ = ["on_any_node", "on_this_node"]

_CHUNK = 1 << 22


def on_any_node(path: str | None) -> str | None:
    """A model or collection as workers can find it: a URI or a bundled name as it is, a folder by its whole path."""
    return absolute(path) if path is not None and not is_uri(path) and Path(path).is_dir() else path


def on_this_node(path: str | None) -> str | Path | None:
    """The same, or for a URI a copy of its folder, which is fetched once a node.

    The copy lies in the folder for temporary files (`TMPDIR`); its name tells the URI, the sizes and the times of the
    files, so that a folder that was changed is fetched anew.
    """
    if path is None or not is_uri(path):
        return path
    fs = require("pyarrow.fs", "ray", "Reading object stores")
    system, inside = resolve(path)
    found = system.get_file_info(fs.FileSelector(inside, allow_not_found=True))
    files = sorted((info for info in found if info.type == fs.FileType.File), key=lambda info: info.base_name)
    if not files:
        raise InputError(f"There is no folder {path} with files in it.")
    known = repr([path, *((info.base_name, info.size, info.mtime_ns) for info in files)])
    # Its own name for every user: nobody can lay a folder there for another.
    base = Path(tempfile.gettempdir()) / f"erukg-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    if base.stat().st_uid != os.getuid():
        raise InputError(f"{base} belongs to another user; set TMPDIR to a folder of your own.")
    copy = base / hashlib.sha256(known.encode()).hexdigest()[:32]
    if not copy.is_dir():
        _fetch(system, files, base, copy)
    return copy


def _fetch(system: Any, files: list[Any], base: Path, copy: Path) -> None:
    """Copy the files under a temporary name; of several workers that do so at once the first to end wins."""
    partial = Path(tempfile.mkdtemp(dir=base))
    try:
        for info in files:
            source = system.open_input_stream(info.path, compression=None)
            with source, (partial / info.base_name).open("wb") as target:
                while data := source.read(_CHUNK):
                    target.write(data)
        try:
            partial.rename(copy)
        except OSError:
            if not copy.is_dir():
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)

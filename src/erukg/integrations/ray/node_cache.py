"""A model or collection from an object store, as a folder on this node that all its workers map."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from erukg.errors import InputError, require
from erukg.io.places import absolute, is_uri, resolve

__all__ = ["local_copy", "on_any_node"]


def on_any_node(path: str | Path | None) -> str | None:
    """A model or collection as workers can find it: a folder by its whole path, a URI or a bundled name as it is."""
    return path if path is None else absolute(str(path)) if Path(path).is_dir() else str(path)


def local_copy(path: str | None) -> str | Path | None:
    """The same, or for a URI a copy of its folder, which is fetched once per node.

    The copy lies in the folder for temporary files (`TMPDIR`); its name is made of the URI, the sizes and the times of
    the files, so that a folder that was changed is fetched anew.
    """
    if path is None or not is_uri(path):
        return path
    fs = require("pyarrow.fs", "ray", "Reading object stores")
    system, inside = resolve(path)
    found = system.get_file_info(fs.FileSelector(inside, allow_not_found=True))
    files = sorted((info.base_name, info.size, info.mtime_ns) for info in found if info.type == fs.FileType.File)
    if not files:
        raise InputError(f"There is no folder {path} with files in it.")
    # One per user: nobody can lay a folder there for another.
    base = Path(tempfile.gettempdir()) / f"erukg-{os.getuid()}"
    base.mkdir(mode=0o700, exist_ok=True)
    if base.stat().st_uid != os.getuid():
        raise InputError(f"{base} belongs to another user; set TMPDIR to a folder of your own.")
    copy = base / hashlib.sha256(repr([path, *files]).encode()).hexdigest()[:32]
    if not copy.is_dir():
        partial = Path(tempfile.mkdtemp(dir=base))
        try:
            fs.copy_files(inside, str(partial), source_filesystem=system, destination_filesystem=fs.LocalFileSystem())
            partial.rename(copy)
        except OSError:  # another worker was quicker
            if not copy.is_dir():
                raise
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return copy

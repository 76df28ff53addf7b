"""Where compiled kernels are kept between processes, and what happens when there is no such place.

numba keeps them beside the source, or in the user's cache folder (NUMBA_CACHE_DIR names another one), and fails where
it may write to none of these: a user without a home, a file system that is read only. There they are kept in a
temporary folder, or else not at all.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from erukg.errors import ErukgWarning

__all__ = ["compiled"]

# What was found out: None before it was needed, False when compiled code is not kept.
_kept: bool | None = None


def compiled(function: Any) -> Any:
    """The function compiled by numba (no GIL), and kept where that is possible."""
    global _kept
    import numba

    if _kept is not False:
        try:
            return _forgiving(numba.njit(nogil=True, cache=True)(function))
        except RuntimeError:  # no place to keep it
            if _kept is None:
                _kept = _use_temporary_folder(numba.config)
                return compiled(function)
            _kept = False
            _say("no temporary folder can be written to")
    return numba.njit(nogil=True)(function)


def _use_temporary_folder(config: Any) -> bool:
    """Have numba keep compiled code in a folder of this user's for temporary files; False when there is none."""
    ready = Path(config.CACHE_DIR) if config.CACHE_DIR else None
    try:
        folder = Path(tempfile.gettempdir()) / f"erukg-{os.getuid() if hasattr(os, 'getuid') else 'kernels'}"
        folder.mkdir(mode=0o700, exist_ok=True)
        if not _is_ours(folder):
            raise OSError(f"{folder} belongs to someone else")
        copied = _copy(ready, folder) if ready is not None else False
    except OSError as error:
        _say(f"nor in a temporary folder ({error.strerror or error})")
        return False
    config.CACHE_DIR = str(folder)
    if not copied:
        _say(None, folder)
    return True


def _is_ours(folder: Path) -> bool:
    """Code from a folder that others can write to would be theirs, and is run."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        return False
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o077)


def _copy(ready: Path, folder: Path) -> bool:
    """Copy what was compiled before into a folder that can be written to, where numba looks for it; whether it was."""
    if not any(ready.glob("*/*.nbi")):
        return False
    for source in ready.iterdir():
        target = folder / source.name
        if source.is_dir() and not target.exists():
            # First under another name: another process may look for it meanwhile, and must not find half of it.
            partly = Path(tempfile.mkdtemp(dir=folder))
            shutil.copytree(source, partly / source.name)
            try:
                (partly / source.name).rename(target)
            except OSError:  # another process was first
                shutil.rmtree(partly, ignore_errors=True)
            else:
                partly.rmdir()
    return True


def _say(reason: str | None, folder: Path | None = None) -> None:
    kept = f"is kept in {folder} for now" if folder else f"is not kept ({reason}), so every start takes seconds longer"
    message = (
        "Compiled code can be written neither beside the package nor to the user's cache folder; it "
        f"{kept}. Set NUMBA_CACHE_DIR to a folder that can be written to."
    )
    warnings.warn(message, ErukgWarning, stacklevel=2)


def _forgiving(dispatcher: Any) -> Any:
    """Without the errors of a cache that is damaged, or cannot be written to any more: what it lacks is compiled."""
    cache = dispatcher._cache

    def guarded(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            try:
                return method(*args)
            except Exception:  # a damaged pickle may raise anything
                return None

        return call

    cache.load_overload = guarded(cache.load_overload)
    cache.save_overload = guarded(cache.save_overload)
    return dispatcher

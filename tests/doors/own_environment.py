"""An environment of its own for packages that are heavy or clash with others, and this package in it.

`own_environment("haystack", ["erukg[haystack]"])` is the path of a Python that has these packages, what erukg itself
depends on, and erukg as it stands in this repository, with its entry points. Environments are kept in $ERUKG_DOORS, or
erukg-doors in this user's cache, by their requirements and version of Python. Where a package cannot be had, the test
that asked for it is skipped, in a sentence.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["ROOT", "extra", "own_environment", "run_there"]

ROOT = Path(__file__).parents[2]
_SECONDS = 540
_OWN = re.compile(r"erukg\[([^]]+)\]$")


def own_environment(name: str, requirements: Sequence[str]) -> Path:
    """The Python of an environment with these packages; `erukg[NAME]` stands for the extra of pyproject.toml."""
    wanted = sorted({*_project()["dependencies"], *_resolved(requirements)})
    folder = _cache() / f"{name}-{_key(sys.version, *wanted)}"
    # Packages are shared by all copies of this repository; erukg itself is that of this one.
    packages = folder / "packages"
    here = folder / _key(str(ROOT), json.dumps(_project()))
    with _only_one(folder):
        if not (packages / "done").exists():
            # An environment does not survive being moved, so it is made in place and marked when it is complete.
            _call("A virtual environment", sys.executable, "-m", "venv", "--clear", packages)
            _call(", ".join(requirements), packages / "bin" / "python", "-m", "pip", "install", "-q", *wanted)
            (packages / "done").touch()
        if not (here / "done").exists():
            _call("A virtual environment", sys.executable, "-m", "venv", "--clear", "--without-pip", here)
            (theirs,) = packages.glob("lib/python*/site-packages")
            (ours,) = here.glob("lib/python*/site-packages")
            (ours / "packages.pth").write_text(f"import site; site.addsitedir({str(theirs)!r})\n", "utf-8")
            pip = (packages / "bin" / "python", "-m", "pip", "--python", here / "bin" / "python")
            _call("The build system of erukg", *pip, "install", "-q", "--no-deps", "-e", ROOT)
            (here / "done").touch()
    return here / "bin" / "python"


def run_there(python: Path, code: str, folder: Path, *arguments: object, seconds: float = 300) -> str:
    """What a script prints when it runs in such an environment, in a process of its own in this folder."""
    script = folder / "script.py"
    script.write_text(code, "utf-8")
    # Nothing of the environment of the tests may stand in for what is missing there.
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    command = [str(python), str(script), *map(str, arguments)]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=seconds)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def extra(name: str) -> list[str]:
    """The requirements of an extra, without those of erukg itself."""
    return list(_resolved([f"erukg[{name}]"]))


def _resolved(requirements: Iterable[str]) -> Iterator[str]:
    for requirement in requirements:
        if found := _OWN.match(requirement):
            for each in found[1].split(","):
                yield from _resolved(_project()["optional-dependencies"][each.strip()])
        else:
            yield requirement


def _project() -> dict[str, Any]:
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"])


def _key(*parts: str) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]


def _cache() -> Path:
    named = os.environ.get("ERUKG_DOORS")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "erukg-doors"


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """Two runs that want the same environment make it once."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _call(what: str, *command: object) -> None:
    try:
        subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, timeout=_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        output = (getattr(error, "stderr", None) or str(error)).strip().splitlines() or [str(error)]
        pytest.skip(f"{what} cannot be installed here: {output[-1]}")

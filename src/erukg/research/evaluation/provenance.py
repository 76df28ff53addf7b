"""What a result was made from: hashes of source files, models and collections, and versions of packages."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Sized
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from erukg._version import __version__

if TYPE_CHECKING:
    from erukg.generator import KeyphraseGenerator

__all__ = ["describe_collection", "describe_model", "installed_versions", "source_hash", "versions"]


def source_hash(*parts: str) -> str:
    """A hash of source files of this package: single modules, and every module below the folders among `parts`.

    Stored results carry it, so that those of changed code are never used again.
    """
    root = Path(str(files("erukg")))
    digest = hashlib.sha256()
    for part in parts:
        folder = root / part
        for file in sorted(folder.rglob("*.py")) if folder.is_dir() else [folder]:
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def describe_model(generator: KeyphraseGenerator) -> dict[str, Any]:
    """What tells one model from another, its precision included."""
    backend = generator.backend
    out: dict[str, Any] = {"weights": backend.fingerprint}
    folder = getattr(backend, "folder", None)
    if folder is not None:
        listed = json.dumps(folder.config["files"], sort_keys=True).encode()
        out |= {"name": folder.name, "precision": folder.precision, "files": hashlib.sha256(listed).hexdigest()}
    return out


def describe_collection(generator: KeyphraseGenerator) -> dict[str, Any] | None:
    """How many documents it has, and the hash of its manifest, which itself holds the checksums of its parts.

    `paper` is there, and true, where it was made as the paper's.
    """
    background = generator.background
    if background is None:
        return None
    out: dict[str, Any] = {"made_with": background.fingerprint}
    if isinstance(background, Sized):
        out["documents"] = len(background)
    if getattr(getattr(background, "manifest", None), "paper", False):
        out["paper"] = True
    folder = getattr(background, "folder", None)
    if folder is not None:
        digest = hashlib.sha256()
        for file in sorted(Path(folder).glob("*.json")):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
        out["manifest"] = digest.hexdigest()
    return out


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """The versions of erukg, Python and these packages; None for one that is not installed."""
    own = {"erukg": __version__, "python": platform.python_version()}
    return {**own, **dict.fromkeys(packages), **installed_versions(packages)}


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """The versions of those of the packages that are installed."""
    out = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            out[package] = version(package)
    return out

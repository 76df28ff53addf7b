"""The collection that comes with the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from erukg.collection.manifest import read_manifest
from erukg.core.arguments import checked

__all__ = ["bundled_collection"]


@checked
def bundled_collection(fingerprint: str) -> Path | None:
    """The bundled collection's folder, None when there is none or it was made with another model.

    Someone who loads a model of their own has no use for term weights of the bundled one.
    """
    folder = Path(str(files("erukg"))) / "assets" / "collection"
    if not folder.is_dir() or read_manifest(folder).fingerprint != fingerprint:
        return None
    return folder

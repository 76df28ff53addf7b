"""Opening a collection's files: those of the current commit, whatever a writer does meanwhile."""

from __future__ import annotations

from pathlib import Path

from erukg.collection.analysis import ANALYSIS
from erukg.collection.arrays import damaged
from erukg.collection.commit import Commit, open_commit
from erukg.collection.manifest import Manifest, read_manifest
from erukg.collection.segment import Segment
from erukg.errors import CollectionError

__all__ = ["TRIES", "check_made_with", "open_parts"]

#: How often a commit is opened anew because another took its place.
TRIES = 20


def open_parts(folder: Path) -> tuple[Manifest, tuple[Segment, ...], Commit]:
    """The current commit with all its files mapped.

    A writer may replace the commit between reading the manifest and opening its files; then the new one is
    read.
    """
    manifest = read_manifest(folder)
    for _ in range(TRIES):
        try:
            segments = tuple(Segment.open(folder, entry) for entry in manifest.segments)
            return manifest, segments, open_commit(folder, manifest, segments)
        except FileNotFoundError as error:
            newer = read_manifest(folder)
            if newer.number == manifest.number:
                raise damaged(Path(error.filename), "the file is missing") from error
            manifest = newer
        except OSError as error:
            raise CollectionError(f"{error.filename or folder} cannot be opened: {error.strerror or error}.") from error
    raise CollectionError(f"{folder} is rewritten faster than it can be opened; try again when the writer is done.")


def check_made_with(folder: Path, manifest: Manifest, fingerprint: str | None) -> None:
    """Refuse a collection that was made with another text analysis, or with another model than this one."""
    if manifest.analysis != ANALYSIS:
        raise CollectionError(
            f"{folder} was made with text analysis {manifest.analysis!r}, "
            f"this program has {ANALYSIS!r}; build it again."
        )
    if fingerprint is not None and fingerprint != manifest.fingerprint:
        raise CollectionError(
            f"{folder} was made with model {manifest.fingerprint[:12]}, not with {fingerprint[:12]}; "
            "use the model it was made with or build the collection again."
        )

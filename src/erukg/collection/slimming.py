"""A small, read-only copy of a collection, fit to be shipped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from erukg.collection.arrays import damaged
from erukg.collection.calibration import calibrate_locked
from erukg.collection.commit import NONE_DEAD, derive, write_commit
from erukg.collection.held_files import HeldFiles
from erukg.collection.lock import LOCK, write_errors, writer_lock
from erukg.collection.manifest import write_manifest
from erukg.collection.merging import merge_segments
from erukg.collection.own_files import check_free, clear_away
from erukg.collection.reader import Collection
from erukg.collection.segment import Segment
from erukg.core.arguments import checked
from erukg.errors import CollectionError, InputError

__all__ = ["MOST_WORDS", "slim"]

#: Words that a document of a copy keeps, at most, where not all are kept.
MOST_WORDS = 250


@checked
def slim(source: str | Path, out: str | Path, *, rare: int = 1, words: int | None = None) -> None:
    """Write to the folder `out` what searching `source` needs, and not what growing needs.

    Phrases outside the glossary, most of all that a collection knows, are left out. The copy gives the same
    results, but nothing can be added to it or removed from it: the counts of the phrases left out are gone.

    With `rare` above 1 the words that fewer documents have are left out too, and searching does not find documents
    by them: smaller, and nearly the same neighbours. With `words` each document keeps no more than so many, those by
    which it is found best: smaller by far, and other neighbours that are about as good.
    """
    if rare < 1:
        raise InputError(f"Words that at least 1 document has are kept, not {rare}.")
    if words is not None and not 1 <= words <= MOST_WORDS:
        raise InputError(f"A document keeps from 1 to {MOST_WORDS} words, not {words}.")
    source, out = Path(source), Path(out)
    with HeldFiles(source) as files:
        # The copy has checksums of its own, which would vouch for damaged data.
        for path, what in files.faults():
            raise damaged(path, f"it {what}")
        manifest, (segments, commit) = files.manifest, files.parts()
    if not manifest.documents:
        raise InputError(f"{source} holds no documents, so there is nothing to copy.")
    if not manifest.derived:
        raise CollectionError(f"The build of {source} is unfinished; run it again to finish it, then copy.")
    segment_file, commit_file = out / "segment-00000001.bin", out / "commit-00000002.bin"
    with write_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        check_free(out)
        with writer_lock(out):
            check_free(out)
            clear_away(out)
            entry = merge_segments(segment_file, segments, commit.states, glossary=commit, rare=rare, words=words)
            merged = [Segment.open(out, entry)]
            # Dead documents are gone, so the glossary derived from the copy is the same, form for form.
            file = write_commit(commit_file, derive(merged, [NONE_DEAD], manifest.glossary_documents))
            write_manifest(
                out,
                replace(
                    manifest,
                    number=1,
                    segments=(entry,),
                    commit=file,
                    journal=None,
                    next_file=2,
                    frozen=True,
                    source=None,
                    # With fewer words other documents are found.
                    paper=manifest.paper and rare == 1 and words is None,
                ),
            )
            if manifest.likeness is not None and (rare > 1 or words is not None):
                # Its own documents have lost words; what is usual is seen in those that still have all.
                calibrate_locked(out, Collection.open(source))
        (out / LOCK).unlink(missing_ok=True)

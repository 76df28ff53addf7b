"""A collection made in parts, perhaps on many machines, and put together as if one build had made it.

A part is some segments with consecutive documents of the input. Putting parts together in the order of the input,
dropping documents whose id came before, merging and deriving the glossary is what a build on one machine does too, so
that the collection is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from erukg.collection.build import BUILD, OnBad, encode_rows, finish_build, ingest, open_build
from erukg.collection.encoded import BY_SIZE, Analyser
from erukg.collection.manifest import Journal, SegmentEntry
from erukg.collection.writer import Writer
from erukg.io import BadDocument, InputDocument

__all__ = ["check_target", "combine_parts", "write_part"]


def write_part(
    folder: Path,
    rows: Iterable[InputDocument | BadDocument],
    analyser: Analyser,
    *,
    most_terms: int = 128,
    titles: bool = True,
    tags: str | None = None,
    on_bad: OnBad | None = None,
) -> tuple[SegmentEntry, ...]:
    """Encode the rows into segments in `folder`, which must be empty; unusable rows are given to `on_bad`."""
    with Writer.create(folder, fingerprint=analyser.fingerprint, vocab_size=analyser.vocab_size) as writer:
        items = encode_rows(rows, analyser, titles=titles, tags=tags)
        ingest(writer, items, BUILD, most_terms=most_terms, on_bad=on_bad)
        writer.commit(None, glossary=False)
        return writer.manifest.segments


def check_target(
    out: Path, fingerprint: str, vocab_size: int, key: str, restart: bool, *, glossary_documents: int
) -> None:
    """Say before the work begins that a collection cannot be made in `out`."""
    if out.exists():
        open_build(out, fingerprint, vocab_size, key, restart, glossary_documents=glossary_documents).close()


def combine_parts(
    out: Path,
    parts: Sequence[tuple[SegmentEntry, Callable[[Path], None]]],
    *,
    fingerprint: str,
    vocab_size: int,
    key: str,
    restart: bool = False,
    glossary_documents: int = BY_SIZE,
    paper: bool = False,
    tags: str | None = None,
) -> list[tuple[int, str]]:
    """Make a collection in `out` of all parts' segments, each fetched to a path by its function.

    Returns the documents left out because their id came before: the number of the segment, and the id. Interrupted, it
    starts anew: putting together takes a small part of the time that encoding does.
    """
    with open_build(out, fingerprint, vocab_size, key, restart, glossary_documents=glossary_documents) as writer:
        if len(writer):
            writer.reset(fingerprint=fingerprint, vocab_size=vocab_size, glossary_documents=glossary_documents)
        writer.note_tags(tags)
        rows = sum(entry.documents for entry, _ in parts)
        duplicates = writer.adopt(parts, Journal(BUILD, key, rows, 0)) if parts else []
        finish_build(writer, paper=paper)
    return duplicates

"""Building a collection and adding to one: a stream of documents, committed part by part.

Every part is a commit that also notes how many rows of the input are dealt with. Interrupted or killed, the
same command run again goes on from there; the collection can be read all the while.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, tee
from pathlib import Path
from typing import TypeAlias, TypedDict, Unpack

from erukg.collection.analyser import as_the_paper
from erukg.collection.encoded import BY_SIZE, Analyser, DocumentRecord, EncodedDocument
from erukg.collection.manifest import MANIFEST, Journal, read_manifest
from erukg.collection.tags import Tag, check_field, field_tags
from erukg.collection.writer import PART_DOCUMENTS, Writer
from erukg.core.arguments import checked
from erukg.errors import CollectionError, InputError
from erukg.io import BadDocument, InputDocument, Limits, read_documents, source_key

__all__ = [
    "BUILD",
    "IngestOptions",
    "IngestReport",
    "OnBad",
    "add",
    "add_encoded",
    "build",
    "build_encoded",
    "encode_rows",
    "finish_build",
    "ingest",
    "open_build",
]

# However slow the encoder, no more than this much work is lost when the program is killed.
_PART_SECONDS = 120.0

BUILD, ADD = "build", "add"

OnBad: TypeAlias = Callable[[BadDocument], None]
Row: TypeAlias = InputDocument | BadDocument
Encoded: TypeAlias = tuple[DocumentRecord, EncodedDocument]


class IngestOptions(TypedDict, total=False):
    """How documents are taken in.

    most_terms      term weights kept of a document, at most (default 128); 0 keeps none
    part_documents  documents of a commit (default `PART_DOCUMENTS`)
    on_bad          gets the rows that cannot be used, which are skipped
    on_progress     gets the number of rows dealt with so far
    """

    most_terms: int
    part_documents: int
    on_bad: OnBad | None
    on_progress: Callable[[int], None] | None


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What came of it.

    added    documents taken in by this run
    bad      rows of the input that could not be used, those of an interrupted earlier run included
    rows     rows of the input in all
    resumed  rows that an interrupted earlier run had dealt with
    """

    added: int
    bad: int
    rows: int
    resumed: int


@checked
def build(
    out: str | Path,
    sources: Sequence[str | Path],
    analyser: Analyser,
    *,
    restart: bool = False,
    limits: Limits | None = None,
    glossary_documents: int = BY_SIZE,
    titles: bool = True,
    tags: str | None = None,
    form: str | None = None,
    reuse: bool = False,
    **options: Unpack[IngestOptions],
) -> IngestReport:
    """Make a collection in the folder `out` from the documents in `sources`.

    Run again after an interruption with the same sources and settings it goes on from its last part;
    `restart` throws an unfinished build away. With `reuse` a collection that was finished is taken as it is when it was
    built from the same sources with the same settings. A phrase is in the glossary when at least `glossary_documents`
    have it, by default as many as suit the number of documents; without `titles` those of the documents are not kept.
    `tags` is the field with the documents' tags (see `erukg.collection.tags`), which are kept where it is given.
    `form` says what the files are, whatever their endings.
    """
    check_field(tags)
    key = _key(BUILD, sources, analyser, options, titles, limits, glossary_documents, form, tags)
    if reuse and _is_built(Path(out), key):
        return IngestReport(0, 0, 0, 0)
    with open_build(
        Path(out), analyser.fingerprint, analyser.vocab_size, key, restart, glossary_documents=glossary_documents
    ) as writer:
        writer.note_tags(tags)
        rows = read_documents(sources, form=form, limits=limits, fields=_fields(tags))
        report = _resume(writer, rows, analyser, BUILD, key, titles=titles, tags=tags, **options)
        writer.commit(Journal(BUILD, key, report.rows, report.bad), glossary=False)
        finish_build(writer, key, paper=as_the_paper(analyser.choices, _most_terms(options), glossary_documents))
        return report


def build_encoded(
    out: str | Path,
    documents: Iterable[Encoded],
    *,
    fingerprint: str,
    vocab_size: int,
    glossary_documents: int = BY_SIZE,
    **options: Unpack[IngestOptions],
) -> IngestReport:
    """Make a collection from documents encoded elsewhere, for instance on a GPU; it starts anew each time."""
    with Writer.create(
        out, fingerprint=fingerprint, vocab_size=vocab_size, glossary_documents=glossary_documents
    ) as writer:
        report = ingest(writer, documents, BUILD, **options)
        writer.commit(None)
        finish_build(writer)
        return report


@checked
def add(
    folder: str | Path,
    sources: Sequence[str | Path],
    analyser: Analyser,
    *,
    replace: bool = False,
    restart: bool = False,
    limits: Limits | None = None,
    titles: bool = True,
    tags: str | None = None,
    **options: Unpack[IngestOptions],
) -> IngestReport:
    """Add documents to a collection; ids it has already are bad rows, or take the old ones' place with `replace`.

    It resumes like `build`; `restart` reads the sources from their beginning and keeps what is in already. Their tags
    come from the field `tags`, by default from that of the collection's other documents.
    """
    check_field(tags)
    with Writer.open(folder, fingerprint=analyser.fingerprint) as writer:
        made = writer.manifest
        field = tags or made.tags or None
        key = _key("replace" if replace else ADD, sources, analyser, options, titles, limits, tags=field)
        if made.paper and not as_the_paper(analyser.choices, _most_terms(options), made.glossary_documents):
            raise CollectionError(
                f"{folder} was built with --paper, and documents chosen in another way do not mix with its own; "
                "add them with --paper too."
            )
        if restart and writer.manifest.journal is not None:
            writer.commit(None)
        _check_source(writer, key)
        if not made.tags and field is not None:
            writer.note_tags(field)
        rows = read_documents(sources, limits=limits, fields=_fields(field))
        report = _resume(writer, rows, analyser, ADD, key, replace=replace, titles=titles, tags=field, **options)
        writer.commit(None)
        writer.tidy()
        writer.calibrate()
        return report


def add_encoded(
    folder: str | Path,
    documents: Iterable[Encoded],
    *,
    fingerprint: str,
    replace: bool = False,
    **options: Unpack[IngestOptions],
) -> IngestReport:
    """Add documents encoded elsewhere, in a way that is not known here."""
    with Writer.open(folder, fingerprint=fingerprint) as writer:
        writer.commit(writer.manifest.journal, paper=False)
        report = ingest(writer, documents, ADD, replace=replace, **options)
        writer.commit(writer.manifest.journal)
        writer.tidy()
        writer.calibrate()
        return report


def _key(
    kind: str,
    sources: Sequence[str | Path],
    analyser: Analyser,
    options: IngestOptions,
    titles: bool,
    limits: Limits | None,
    glossary_documents: int = BY_SIZE,
    form: str | None = None,
    tags: str | None = None,
) -> str:
    if not sources:
        raise InputError("No source of documents was given.")
    names = limits.names.given() if limits is not None else {}
    kept = [_most_terms(options), titles, glossary_documents, form, *_fields(tags), *([names] if names else [])]
    return source_key(sources, [kind, analyser.fingerprint, analyser.choices, kept])


def _fields(tags: str | None) -> tuple[str, ...]:
    """Fields to be read beside id and text."""
    return () if tags is None else (tags,)


def _most_terms(options: IngestOptions) -> int:
    return options.get("most_terms", 128)


def _is_built(out: Path, key: str) -> bool:
    """Whether `out` holds the finished collection of the sources with this key; one of others is refused."""
    if not (out / MANIFEST).exists():
        return False
    manifest = read_manifest(out)
    if not manifest.documents:
        return False
    if key != (manifest.source if manifest.journal is None else manifest.journal.source):
        raise CollectionError(
            f"{out} holds a collection of other or changed sources, or one made with other options; remove that "
            "folder, or name another."
        )
    return manifest.journal is None


def open_build(
    out: Path,
    fingerprint: str,
    vocab_size: int,
    key: str,
    restart: bool,
    *,
    glossary_documents: int = BY_SIZE,
) -> Writer:
    """The writer of a build: of a new collection, or of one that an interrupted build of the same sources left."""
    if not (out / MANIFEST).exists():
        return Writer.create(out, fingerprint=fingerprint, vocab_size=vocab_size, glossary_documents=glossary_documents)
    writer = Writer.open(out)
    try:
        journal = writer.manifest.journal
        if len(writer) and (journal is None or journal.kind != BUILD):
            raise CollectionError(f"{out} already holds a collection; choose another folder, or add to it.")
        if restart or not len(writer):
            writer.reset(fingerprint=fingerprint, vocab_size=vocab_size, glossary_documents=glossary_documents)
        _check_source(writer, key)
    except BaseException:
        writer.close()
        raise
    return writer


def _check_source(writer: Writer, key: str) -> None:
    journal = writer.manifest.journal
    if journal is not None and journal.source != key:
        raise CollectionError(
            f"{writer.folder} holds an unfinished build or addition of other or changed sources, or with other "
            "options; run that command again to finish it, or pass --restart."
        )


def _resume(
    writer: Writer,
    rows: Iterator[Row],
    analyser: Analyser,
    kind: str,
    key: str,
    *,
    replace: bool = False,
    titles: bool = True,
    tags: str | None = None,
    **options: Unpack[IngestOptions],
) -> IngestReport:
    """Encode and take in the rows that an earlier run has not dealt with."""
    journal = writer.manifest.journal
    skip = journal.rows if journal is not None else 0
    items = encode_rows(islice(rows, skip, None), analyser, titles=titles, tags=tags)
    return ingest(writer, items, kind, key, skip, replace=replace, **options)


def finish_build(writer: Writer, source: str | None = None, *, paper: bool = False) -> None:
    """Make the collection that a build has gathered: merged, with its glossary, and free for others to change.

    `source` is the key of the sources, for those who ask later what it was built from; `paper` as in the manifest.
    """
    if not len(writer):
        raise InputError("The sources hold no document that can be used, so the collection is empty.")
    writer.merge()
    writer.commit(None, source=source, paper=paper)
    writer.calibrate()


def encode_rows(
    rows: Iterable[Row], analyser: Analyser, *, titles: bool = True, tags: str | None = None
) -> Iterator[Encoded | BadDocument]:
    """The rows with their encodings, `titles` and what they have in the field `tags`, in order.

    The analyser may read a few rows ahead.
    """
    ahead, tagged = tee(_with_tags(rows, tags))
    answers = analyser.encode(row.text for row, _ in ahead if isinstance(row, InputDocument))
    for row, found in tagged:
        if isinstance(row, BadDocument):
            yield row
            continue
        answer = next(answers)
        if answer.error is not None:
            yield BadDocument(row.place, str(answer.error))
        else:
            yield DocumentRecord(row.id, row.text, row.place, row.title if titles else "", found), answer.unwrap()


def _with_tags(rows: Iterable[Row], field: str | None) -> Iterator[tuple[Row, tuple[Tag, ...]]]:
    """The rows with what they have in the field; what cannot be tags makes a row unusable."""
    for row in rows:
        try:
            yield row, field_tags(row.fields, field) if field is not None and isinstance(row, InputDocument) else ()
        except InputError as error:
            yield BadDocument(row.place, str(error)), ()


def ingest(
    writer: Writer,
    items: Iterable[Encoded | BadDocument],
    kind: str,
    key: str | None = None,
    skip: int = 0,
    *,
    replace: bool = False,
    most_terms: int = 128,
    part_documents: int = PART_DOCUMENTS,
    on_bad: OnBad | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> IngestReport:
    """Take the documents in, committing whenever a part is full.

    With the `key` of the sources every commit notes how many rows are dealt with, of which `skip` were before.
    """
    journal = writer.manifest.journal
    rows, bad, added = skip, journal.bad if journal is not None and key is not None else 0, 0
    writer.part_documents, writer.most_terms = part_documents, most_terms
    committed, gathered = time.monotonic(), 0

    def commit() -> None:
        progress = Journal(kind, key, rows, bad) if key is not None else journal
        writer.commit(progress, glossary=kind != BUILD)

    try:
        for item in items:
            full, problem = False, item if isinstance(item, BadDocument) else None
            if not isinstance(item, BadDocument):
                record, document = item
                try:
                    full = writer.add(record, document, replace=replace)
                    added += 1
                except InputError as error:
                    problem = BadDocument(record.place or record.id, str(error))
            if problem is not None:
                bad += 1
                if on_bad is not None:
                    on_bad(problem)
            rows, gathered = rows + 1, writer.gathered
            if full or time.monotonic() - committed > _PART_SECONDS:
                gathered = 0
                commit()
                committed = time.monotonic()
            if on_progress is not None:
                on_progress(rows)
    except KeyboardInterrupt:
        # What is gathered is worth keeping, up to the last row that was counted.
        if key is not None and gathered:
            writer.keep(gathered)
            commit()
        raise
    return IngestReport(added, bad, rows, skip)

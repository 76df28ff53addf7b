"""Building a collection and adding to one: a stream of documents, committed part by part.

Every part is a commit that also notes how many rows of the input are dealt with. Interrupted or killed, the
same command run again goes on from there; the collection can be read all the while.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from erukg.collection.encoded import Analyser, DocumentRecord, EncodedDocument, StreamAnalyser
from erukg.collection.manifest import MANIFEST, Journal
from erukg.collection.records import read_rows, source_key
from erukg.collection.writer import PART_DOCUMENTS, Writer
from erukg.errors import CollectionError, InputError
from erukg.io import BadDocument, InputDocument, Limits

__all__ = [
    "BUILD",
    "Options",
    "Report",
    "add",
    "add_encoded",
    "build",
    "build_encoded",
    "encode_rows",
    "feed",
    "finish",
    "fresh_writer",
]

# However slow the encoder, no more than this much work is lost when the program is killed.
_PART_SECONDS = 120.0

BUILD, ADD = "build", "add"

OnBad = Callable[[BadDocument], None]
OnProgress = Callable[[int], None]
Encoded = tuple[DocumentRecord, EncodedDocument]


@dataclass(frozen=True, slots=True)
class Report:
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


@dataclass(frozen=True, slots=True)
class Options:
    """How documents are taken in; `kind` is that of the journal."""

    most_terms: int
    part_documents: int
    replace: bool
    kind: str
    on_bad: OnBad | None
    on_progress: OnProgress | None


def build(
    out: str | Path,
    sources: Sequence[str | Path],
    analyser: Analyser,
    *,
    most_terms: int = 128,
    batch: int = 32,
    part_documents: int = PART_DOCUMENTS,
    restart: bool = False,
    limits: Limits | None = None,
    on_bad: OnBad | None = None,
    on_progress: OnProgress | None = None,
) -> Report:
    """Make a collection in the folder `out` from the documents in `sources`.

    Run again after an interruption with the same sources and settings it goes on from its last part;
    `restart` throws an unfinished build away. Rows that cannot be used are given to `on_bad` and skipped;
    `on_progress` gets the number of rows dealt with so far. At most `most_terms` term weights of a document
    are kept.
    """
    key = _key("build", sources, analyser, most_terms)
    with fresh_writer(Path(out), analyser.fingerprint, analyser.vocab_size, key, restart) as writer:
        options = Options(most_terms, part_documents, False, BUILD, on_bad, on_progress)
        report = _resume(writer, read_rows(sources, limits), analyser, batch, options, key)
        writer.commit(Journal(BUILD, key, report.rows, report.bad), glossary=False)
        finish(writer)
        return report


def build_encoded(
    out: str | Path,
    documents: Iterable[Encoded],
    *,
    fingerprint: str,
    vocab_size: int,
    most_terms: int = 128,
    part_documents: int = PART_DOCUMENTS,
    glossary_documents: int = 3,
    on_bad: OnBad | None = None,
    on_progress: OnProgress | None = None,
) -> Report:
    """Make a collection from documents encoded elsewhere, for instance on a GPU; it starts anew each time."""
    folder = Path(out)
    writer = Writer.create(
        folder, fingerprint=fingerprint, vocab_size=vocab_size, glossary_documents=glossary_documents
    )
    with writer:
        report = feed(writer, documents, Options(most_terms, part_documents, False, BUILD, on_bad, on_progress), None)
        writer.commit(None)
        finish(writer)
        return report


def add(
    folder: str | Path,
    sources: Sequence[str | Path],
    analyser: Analyser,
    *,
    replace: bool = False,
    most_terms: int = 128,
    batch: int = 32,
    part_documents: int = PART_DOCUMENTS,
    restart: bool = False,
    limits: Limits | None = None,
    on_bad: OnBad | None = None,
    on_progress: OnProgress | None = None,
) -> Report:
    """Add documents to a collection; ids it has already are bad rows, or take the old ones' place with
    `replace`.

    It resumes like `build`; `restart` reads the sources from their beginning and keeps what is in already.
    """
    key = _key("replace" if replace else "add", sources, analyser, most_terms)
    with Writer.open(folder, fingerprint=analyser.fingerprint) as writer:
        if restart and writer.manifest.journal is not None:
            writer.commit(None)
        _same_source(writer, key)
        options = Options(most_terms, part_documents, replace, ADD, on_bad, on_progress)
        report = _resume(writer, read_rows(sources, limits), analyser, batch, options, key)
        writer.commit(None)
        writer.tidy()
        return report


def add_encoded(
    folder: str | Path,
    documents: Iterable[Encoded],
    *,
    fingerprint: str,
    replace: bool = False,
    most_terms: int = 128,
    part_documents: int = PART_DOCUMENTS,
    on_bad: OnBad | None = None,
    on_progress: OnProgress | None = None,
) -> Report:
    """Add documents encoded elsewhere."""
    with Writer.open(folder, fingerprint=fingerprint) as writer:
        report = feed(writer, documents, Options(most_terms, part_documents, replace, ADD, on_bad, on_progress), None)
        writer.commit(writer.manifest.journal)
        writer.tidy()
        return report


def _key(kind: str, sources: Sequence[str | Path], analyser: Analyser, most_terms: int) -> str:
    if not sources:
        raise InputError("No source of documents was given.")
    return source_key(sources, [kind, analyser.fingerprint, most_terms])


def fresh_writer(out: Path, fingerprint: str, vocab_size: int, key: str, restart: bool) -> Writer:
    """The writer of a build: of a new collection, or of one that an interrupted build of the same sources left."""
    if not (out / MANIFEST).exists():
        return Writer.create(out, fingerprint=fingerprint, vocab_size=vocab_size)
    writer = Writer.open(out)
    try:
        journal = writer.manifest.journal
        if len(writer) and (journal is None or journal.kind != BUILD):
            raise CollectionError(f"{out} already holds a collection; choose another folder, or add to it.")
        if restart or not len(writer):
            writer.reset(fingerprint=fingerprint, vocab_size=vocab_size)
        _same_source(writer, key)
    except BaseException:
        writer.__exit__(None, None, None)
        raise
    return writer


def _same_source(writer: Writer, key: str) -> None:
    journal = writer.manifest.journal
    if journal is not None and journal.source != key:
        raise CollectionError(
            f"{writer.folder} holds an unfinished build or addition of other or changed sources; "
            "run that command again to finish it, or pass --restart."
        )


def _resume(
    writer: Writer,
    rows: Iterator[InputDocument | BadDocument],
    analyser: Analyser,
    batch: int,
    options: Options,
    key: str,
) -> Report:
    """Encode and take in the rows that an earlier run has not dealt with."""
    journal = writer.manifest.journal
    skip = journal.rows if journal is not None else 0
    return feed(writer, encode_rows(islice(rows, skip, None), analyser, batch), options, key, skip)


def finish(writer: Writer) -> None:
    """Make the collection that a build has gathered: merged, with its glossary, and free for others to change."""
    if not len(writer):
        raise InputError("The sources hold no document that can be used, so the collection is empty.")
    writer.merge()
    writer.commit(None)


def encode_rows(
    rows: Iterable[InputDocument | BadDocument], analyser: Analyser, batch: int
) -> Iterator[Encoded | BadDocument]:
    """The rows with their encodings, in order; the analyser gets `batch` texts at a time, or a stream of them."""
    rows = iter(rows)
    if isinstance(analyser, StreamAnalyser):
        yield from _encode_stream(rows, analyser)
        return
    while chunk := list(islice(rows, batch)):
        good = [row for row in chunk if isinstance(row, InputDocument)]
        results = iter(_attempt(good, analyser))
        for row in chunk:
            if isinstance(row, BadDocument):
                yield row
                continue
            result = next(results)
            yield result if isinstance(result, BadDocument) else (_record(row), result)


def _encode_stream(
    rows: Iterator[InputDocument | BadDocument], analyser: StreamAnalyser
) -> Iterator[Encoded | BadDocument]:
    waiting: deque[InputDocument | BadDocument] = deque()
    back: deque[InputDocument | BadDocument] = deque()

    def texts() -> Iterator[str]:
        while (row := back.popleft() if back else next(rows, None)) is not None:
            waiting.append(row)
            if isinstance(row, InputDocument):
                yield row.text

    def next_good() -> Iterator[InputDocument | BadDocument]:
        """The rows before the next one that was handed over, and that one."""
        while waiting:
            row = waiting.popleft()
            yield row
            if isinstance(row, InputDocument):
                return

    while True:
        try:
            for result in analyser.stream(texts()):
                for row in next_good():
                    yield row if isinstance(row, BadDocument) else (_record(row), result)
            yield from (row for row in next_good() if isinstance(row, BadDocument))
            return
        except InputError as error:
            refused = list(next_good())
            if not refused or not isinstance(refused[-1], InputDocument):
                raise
            yield from (row for row in refused[:-1] if isinstance(row, BadDocument))
            yield BadDocument(refused[-1].place, str(error))
            # Those behind it were handed over too, but their results are lost.
            back.extendleft(reversed(waiting))
            waiting.clear()


def _record(row: InputDocument) -> DocumentRecord:
    return DocumentRecord(row.id, row.text, row.place)


def _attempt(rows: Sequence[InputDocument], analyser: Analyser) -> Sequence[EncodedDocument | BadDocument]:
    if not rows:
        return []
    try:
        return list(analyser([row.text for row in rows]))
    except InputError as error:
        if len(rows) == 1:
            return [BadDocument(rows[0].place, str(error))]
        # One of them is the culprit: each gets its own try.
        return [result for row in rows for result in _attempt([row], analyser)]


def feed(
    writer: Writer, items: Iterable[Encoded | BadDocument], options: Options, key: str | None, skip: int = 0
) -> Report:
    """Take the documents in, committing whenever a part is full."""
    journal = writer.manifest.journal
    rows, bad, added = skip, journal.bad if journal is not None and key is not None else 0, 0
    writer.part_documents, writer.most_terms = options.part_documents, options.most_terms
    glossary = options.kind != BUILD
    committed, gathered = time.monotonic(), 0
    try:
        for item in items:
            full, problem = False, item if isinstance(item, BadDocument) else None
            if not isinstance(item, BadDocument):
                record, document = item
                try:
                    full = writer.add(record, document, replace=options.replace)
                    added += 1
                except InputError as error:
                    problem = BadDocument(record.place or record.id, str(error))
            if problem is not None:
                bad += 1
                if options.on_bad is not None:
                    options.on_bad(problem)
            rows, gathered = rows + 1, writer.gathered
            if full or time.monotonic() - committed > _PART_SECONDS:
                gathered = 0
                writer.commit(Journal(options.kind, key, rows, bad) if key is not None else journal, glossary=glossary)
                committed = time.monotonic()
            if options.on_progress is not None:
                options.on_progress(rows)
    except KeyboardInterrupt:
        # What is gathered is worth keeping, up to the last row that was counted.
        if key is not None and gathered:
            writer.keep(gathered)
            writer.commit(Journal(options.kind, key, rows, bad), glossary=glossary)
        raise
    return Report(added, bad, rows, skip)

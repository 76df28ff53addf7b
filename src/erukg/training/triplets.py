"""References to triplets: the folder of word pieces that training reads (Section 2.1.2 of the paper).

The folder holds `meta.json`, `tokenizer.json` and little-endian arrays: `documents.ids`, `.offsets`,
`.titles`; `references.ids`, `.offsets`; `triplets` (reference, positive, negative document or -1) and
`types`. A triplet of type "title" means its documents without their first `documents.titles[i]` pieces.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import numpy as np

from erukg.errors import TrainingError
from erukg.io.progress import progress
from erukg.training.folders import ArrayWriter, prepared_folder, write_json
from erukg.training.pieces import PieceWriter, TokenizerPool, load_tokenizer, save_tokenizer
from erukg.training.references.base import Library, Paper, Reader, Reference
from erukg.training.references.rows import Problems

__all__ = ["FORMAT", "LONGEST_DOCUMENT", "LONGEST_REFERENCE", "VERSION", "Summary", "prepare_triplets"]

FORMAT = "erukg-triplets"
VERSION = 1
LONGEST_DOCUMENT = 320
LONGEST_REFERENCE = 64
_BLOCK = 65536
_FIRST_TYPES = ("query", "citation", "title")
# Made by other steps, kept when the triplets are prepared anew.
_PARTS = ("dev", "test", "tagged")
T = TypeVar("T")


@dataclass(frozen=True)
class Summary:
    """What was prepared: counts, a sample of each type, and what was left out and why."""

    folder: Path
    counts: dict[str, int]
    with_negative: dict[str, int]
    samples: dict[str, tuple[str, str, str]]
    documents: int
    references: int
    document_pieces: int
    problems: Problems
    seconds: float

    def __str__(self) -> str:
        per_document = self.document_pieces / max(1, self.documents)
        lines = [
            f"{self.folder}: {self.documents:,} documents of {per_document:.0f} pieces, "
            f"{self.references:,} references, {sum(self.counts.values()):,} triplets, {self.seconds:.0f} s"
        ]
        for type_, count in self.counts.items():
            lines.append(f"  {type_}: {count:,} ({self.with_negative[type_]:,} with a negative)")
            if type_ in self.samples:
                for name, text in zip(("reference", "positive", "negative"), self.samples[type_], strict=True):
                    lines.append(f"    {name}: {text or '-'}")
        lines += [f"  left out: {count:,} × {reason}" for reason, count in self.problems.skipped.items()]
        if self.problems.bad:
            lines.append(f"  bad rows: {self.problems.bad:,}")
            lines += [f"    {example}" for example in self.problems.examples]
        return "\n".join(lines)


def prepare_triplets(
    sources: Sequence[Reader],
    out: str | Path,
    tokenizer: str | Path,
    seed: int = 0,
    *,
    title_share: float = 1.0,
    tolerance: float = 0.01,
    jobs: int | None = None,
    quiet: bool = False,
) -> Summary:
    """Write the triplets of all `sources` to the folder `out`, the same for the same sources and seed.

    `title_share` is the share of the titles that become references. A source in which more than `tolerance`
    of the rows are bad is refused. `out` appears only when everything is done, and replaces an earlier one.
    `jobs` processes tokenise (default: one per core).
    """
    if not 0 <= title_share <= 1:
        raise TrainingError(f"title_share is {title_share}; give a share from 0 to 1.")
    begun = time.monotonic()
    out = Path(out)
    pieces = load_tokenizer(tokenizer)
    problems = Problems(tolerance)
    with prepared_folder(out, FORMAT, keep=_PARTS) as folder:
        sha256 = save_tokenizer(pieces, folder)
        with (
            TokenizerPool(pieces, jobs) as pool,
            PieceWriter(pool, folder, "documents", LONGEST_DOCUMENT, titles=True) as documents,
            PieceWriter(pool, folder, "references", LONGEST_REFERENCE) as references,
            ArrayWriter(folder / "triplets.npy", "int32", columns=3) as rows,
            ArrayWriter(folder / "types.npy", "uint8") as types,
        ):
            triplets = _Triplets(Library(documents), documents, references, rows, types, problems)
            _collect(sources, triplets, seed, title_share, quiet)
            triplets.flush()
        counts = {name: triplets.counts[name] for name in triplets.types}
        if not any(counts.values()):
            raise TrainingError("The sources gave no triplet; check that they are of the forms they are given as.")
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "types": triplets.types,
            "counts": counts,
            "seed": seed,
            "vocab_size": pieces.get_vocab_size(),
            "tokenizer_sha256": sha256,
            "documents": len(documents),
            "references": len(references),
            "title_share": title_share,
            "rows": problems.rows,
            "skipped": dict(problems.skipped),
            "bad_rows": problems.bad,
        }
        write_json(folder / "meta.json", meta)
        samples = _samples(folder, triplets.types, pieces, seed)
    return Summary(
        folder=out,
        counts={name: count for name, count in counts.items() if count},
        with_negative=dict(triplets.with_negative),
        samples=samples,
        documents=len(documents),
        references=len(references),
        document_pieces=int(documents.lengths.sum(dtype=np.int64)),
        problems=problems,
        seconds=time.monotonic() - begun,
    )


def _collect(sources: Sequence[Reader], triplets: _Triplets, seed: int, title_share: float, quiet: bool) -> None:
    """The passes over all sources: their documents, who cites whom, and the references."""
    library, problems = triplets.library, triplets.problems

    def counted(unit: str, items: Iterable[T]) -> Iterator[T]:
        with progress(unit, show=not quiet, lines=True) as bar:
            for item in items:
                yield item
                bar.advance()

    for paper in counted("documents", (paper for source in sources for paper in source.documents(problems))):
        library.add(paper)
    citations = (citation for source in sources for citation in source.citations(library, problems))
    for citation in counted("citations", citations):
        library.cite(citation)
    references = (
        reference
        for number, source in enumerate(sources)
        for reference in source.references(library, problems, Random(f"{seed}:{number}"))
    )
    titles = Random(f"{seed}:titles")
    for reference in counted("references", references):
        if reference.type != "title" or titles.random() < title_share:
            triplets.add(reference)


@dataclass
class _Triplets:
    """Numbers the documents and texts of references and writes the triplets that have words on both sides."""

    library: Library
    documents: PieceWriter
    references: PieceWriter
    triplets: ArrayWriter
    type_of: ArrayWriter
    problems: Problems
    types: list[str] = field(default_factory=lambda: list(_FIRST_TYPES))
    counts: Counter[str] = field(default_factory=Counter)
    with_negative: Counter[str] = field(default_factory=Counter)
    _rows: list[tuple[int, int, int, int]] = field(default_factory=list)
    _last: tuple[str, int] = ("", -1)

    def add(self, reference: Reference) -> None:
        if reference.type not in self.types:
            if len(self.types) == 256:
                raise TrainingError("There are more than 256 types of references; give fewer types.")
            self.types.append(reference.type)
        positive, negative = map(self._number, (reference.positive, reference.negative))
        if negative == positive:
            negative = -1
        # The positives of one query and the papers of one citing sentence come one after the other.
        if reference.text != self._last[0]:
            self._last = (reference.text, self.references.add(reference.text))
        self._rows.append((self._last[1], positive, negative, self.types.index(reference.type)))
        if len(self._rows) >= _BLOCK:
            self.flush()

    def flush(self) -> None:
        self.documents.flush()
        self.references.flush()
        if not self._rows:
            return
        rows = np.array(self._rows, np.int32)
        self._rows.clear()
        title = rows[:, 3] == _FIRST_TYPES.index("title")
        sizes = self.documents.lengths.astype(np.int32)
        bodies = sizes - self.documents.heads
        # How many pieces the two documents keep in their triplet; what -1 (no document) finds changes nothing.
        positive, negative = (np.where(title, bodies[rows[:, i]], sizes[rows[:, i]]) for i in (1, 2))
        rows[negative == 0, 2] = -1
        good = (self.references.lengths[rows[:, 0]] > 0) & (positive > 0)
        if lost := int((~good).sum()):
            self.problems.skipped["reference or document without word pieces"] += lost
        rows = rows[good]
        self.triplets.append(rows[:, :3])
        self.type_of.append(rows[:, 3])
        for number, name in enumerate(self.types):
            of_type = rows[:, 3] == number
            if of_type.any():
                self.counts[name] += int(of_type.sum())
                self.with_negative[name] += int((of_type & (rows[:, 2] >= 0)).sum())

    def _number(self, document: Paper | int | None) -> int:
        if document is None:
            return -1
        return document if isinstance(document, int) else self.library.add(document)


def _samples(folder: Path, types: list[str], tokenizer: Any, seed: int) -> dict[str, tuple[str, str, str]]:
    """One triplet of each type, read back from the arrays as training will read it."""
    load = {file.stem: np.load(file, mmap_mode="r", allow_pickle=False) for file in folder.glob("*.npy")}

    def text(kind: str, number: int, skip: int = 0) -> str:
        start, end = load[f"{kind}.offsets"][number : number + 2]
        shown = str(tokenizer.decode(load[f"{kind}.ids"][start + skip : end].tolist()))
        return shown if len(shown) <= 160 else shown[:159] + "…"

    samples: dict[str, tuple[str, str, str]] = {}
    for number, name in enumerate(types):
        rows = np.flatnonzero(load["types"] == number)
        if not rows.size:
            continue
        row = load["triplets"][Random(f"{seed}:sample:{name}").choice(rows.tolist())].tolist()
        skips = [int(load["documents.titles"][d]) if name == "title" else 0 for d in row[1:]]
        negative = text("documents", row[2], skips[1]) if row[2] >= 0 else ""
        samples[name] = (text("references", row[0]), text("documents", row[1], skips[0]), negative)
    return samples

"""Tagged text for the encoder's tag head: a corpus tagged by a teacher, or text that is tagged already.

The folder holds little-endian arrays: `ids` (word pieces), `offsets`, `labels` (the class of `erukg.core.word_classes`
on the first piece of each word, -1 on its other pieces) and `split` (1 for held-out documents).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from erukg.backends.vocabulary import Vocabulary
from erukg.core.document import Document
from erukg.core.tagging import Tagger
from erukg.core.word_classes import penn_class
from erukg.errors import InputError, TrainingError
from erukg.io.objects import numbered_lines, parse_object
from erukg.io.progress import progress
from erukg.training.config import TAG_CLASSES
from erukg.training.folders import ArrayWriter, prepared_folder, write_json
from erukg.training.pieces import load_tokenizer
from erukg.training.references.base import Paper, paper_of
from erukg.training.references.rows import Problems, read_lines

__all__ = ["FORMAT", "LONGEST", "TaggedSummary", "TaggedText", "prepare_tagged", "read_tagged", "tag_files"]

FORMAT = "erukg-tagged"
LONGEST = 510
# Universal tags, for text that was tagged with them.
_UNIVERSAL = {"NOUN": "NN", "PROPN": "NNP", "ADJ": "JJ", "NUM": "CD"}

TaggedText = tuple[Sequence[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class TaggedSummary:
    """What was written; `classes` counts words by class."""

    folder: Path
    documents: int
    held_out: int
    words: int
    classes: dict[str, int]
    seconds: float

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {count / max(1, self.words):.1%}" for name, count in self.classes.items())
        return (
            f"{self.folder}: {self.documents:,} documents ({self.held_out:,} held out), {self.words:,} words "
            f"({shares}), {self.seconds:.0f} s"
        )


def prepare_tagged(
    texts: Iterable[TaggedText],
    tokenizer: str | Path,
    out: str | Path,
    held_out: int = 1_000,
    seed: int = 0,
    *,
    tagger: str = "given",
    quiet: bool = False,
) -> TaggedSummary:
    """Write texts, given as words and tags (`tag_files`, `read_tagged`), to the folder `out`.

    `held_out` of them, drawn at random, are for measuring only; `tagger` says where the tags come from.
    """
    begun = time.monotonic()
    out = Path(out)
    vocabulary = Vocabulary(load_tokenizer(tokenizer), Path(tokenizer))
    with prepared_folder(out, FORMAT) as folder:
        documents, classes = _write(folder, texts, vocabulary, quiet)
        if documents <= held_out:
            raise TrainingError(
                f"There are {documents} tagged texts and {held_out} are to be held out; give more texts."
            )
        split = np.zeros(documents, np.uint8)
        split[Random(f"{seed}:held out").sample(range(documents), held_out)] = 1
        np.save(folder / "split.npy", split, allow_pickle=False)
        words = sum(classes.values())
        meta = {"format": FORMAT, "version": 1, "classes": list(TAG_CLASSES), "documents": documents}
        meta |= {"held_out": held_out, "words": words, "tagger": tagger, "seed": seed}
        write_json(folder / "meta.json", meta)
    return TaggedSummary(out, documents, held_out, words, classes, time.monotonic() - begun)


def _write(
    folder: Path, texts: Iterable[TaggedText], vocabulary: Vocabulary, quiet: bool
) -> tuple[int, dict[str, int]]:
    """Write ids, offsets and labels; returns the number of texts and that of words by class."""
    classes = np.zeros(len(TAG_CLASSES), np.int64)
    with (
        ArrayWriter(folder / "ids.npy", "uint16") as ids,
        ArrayWriter(folder / "offsets.npy", "int64") as offsets,
        ArrayWriter(folder / "labels.npy", "int8") as labels,
        progress("tagged texts", show=not quiet, lines=True) as bar,
    ):
        offsets.append([0])
        for words, tags in texts:
            pieces, marks = _labelled(words, tags, vocabulary)
            if pieces.size:
                ids.append(pieces)
                labels.append(marks)
                offsets.append([ids.values])
                classes += np.bincount(marks[marks >= 0], minlength=len(TAG_CLASSES))
                bar.advance()
    return bar.done, dict(zip(TAG_CLASSES, classes.tolist(), strict=True))


def tag_files(files: Sequence[Path], tagger: Tagger, count: int, seed: int) -> Iterator[TaggedText]:
    """Words and tags of `count` documents drawn from corpus files, as many of each file as of any other.

    The files are JSON Lines with title and abstract, which are tagged apart.
    """
    if not files:
        raise TrainingError("No corpus file is given; give at least one to take text from.")
    shares = [count // len(files) + (number < count % len(files)) for number in range(len(files))]
    # The largest files last, so that what a small one lacks can come from them.
    missing = 0
    for path, share in sorted(zip(files, shares, strict=True), key=lambda item: (item[0].stat().st_size, item[0])):
        drawn = 0
        for paper in _drawn(path, share + missing, seed):
            parts = [Document.parse(part).words for part in (paper.title, paper.abstract)]
            tags = [tag for words in parts for tag in tagger.tag(words)]
            yield [word for words in parts for word in words], tags
            drawn += 1
        missing = share + missing - drawn


def _drawn(path: Path, count: int, seed: int) -> list[Paper]:
    """A uniform sample of the documents of a file (a reservoir of its lines), in the order of the file."""
    random = Random(f"{seed}:{path.name}")
    problems = Problems(tolerance=1)
    kept: list[tuple[int, str]] = []
    for seen, line in enumerate(read_lines(path, problems)):
        if seen < count:
            kept.append((line.number, line.text))
        elif (place := random.randrange(seen + 1)) < count:
            kept[place] = (line.number, line.text)
    found: list[Paper] = []
    for number, text in sorted(kept):
        try:
            found.append(paper_of(parse_object(text)))
        except InputError as error:
            problems.add(path, number, str(error))
    if kept and not found:
        raise TrainingError(f"{path} holds no document ({problems.examples[0]}); give a corpus in JSON Lines.")
    return found


def read_tagged(path: str | Path) -> Iterator[TaggedText]:
    """Text that is tagged already: on each line a word, a tab and its Penn or universal tag; blank lines between texts.

    Lines that begin with "#" and a space are comments, as in CoNLL files.
    """
    words: list[str] = []
    tags: list[str] = []
    for number, line in numbered_lines(Path(path)):
        if not line.strip():
            if words:
                yield words, tags
            words, tags = [], []
        elif not line.startswith("# "):
            fields = line.rstrip("\r\n").split("\t")
            if len(fields) != 2 or not all(fields):
                raise TrainingError(f"Line {number} of {path} is not a word, a tab and a tag; correct it.")
            words.append(fields[0])
            tags.append(_UNIVERSAL.get(fields[1], fields[1]))
    if words:
        yield words, tags


def _labelled(
    words: Sequence[str], tags: Sequence[str], vocabulary: Vocabulary
) -> tuple[NDArray[np.uint16], NDArray[np.int8]]:
    """The pieces of whole words, at most `LONGEST`, and their labels."""
    if len(words) != len(tags):
        raise TrainingError(f"A text has {len(words)} words and {len(tags)} tags; give each word one tag.")
    pieces = vocabulary.pieces(words)
    whole = int(np.searchsorted(pieces.starts, LONGEST, side="right")) - 1
    starts, end = pieces.starts[:whole], int(pieces.starts[whole])
    marks = np.full(end, -1, np.int8)
    present = pieces.starts[1 : whole + 1] > starts
    marks[starts[present]] = np.array([penn_class(tag) for tag in tags[:whole]], np.int8)[present]
    return pieces.ids[:end].astype(np.uint16), marks

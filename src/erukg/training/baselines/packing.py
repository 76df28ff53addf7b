"""Examples as arrays: what a training reads, made once and small enough to be carried to another machine."""

from __future__ import annotations

import hashlib
import io
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from erukg.errors import ModelError, TrainingError
from erukg.io.publish import publish_file
from erukg.io.streams import COMPRESSED, DAMAGED, open_bytes
from erukg.research.baselines.neural.vocabulary import MOST_EXTRA, UNKNOWN, Vocabulary, words

__all__ = ["Example", "Packed", "pack"]

_ARRAYS = ("source", "source_at", "targets", "target_at", "document_at")


@dataclass(frozen=True, slots=True)
class Example:
    """A text and what is to be written of it."""

    text: str
    targets: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Packed:
    """Examples as numbers of words.

    source     the words of all documents; those of document d begin at `source_at[d]`
    targets    the words of all targets; those of target t begin at `target_at[t]`
    document_at  the targets of document d are those from `document_at[d]` on
    """

    vocabulary: Vocabulary
    source: NDArray[np.uint16]
    source_at: NDArray[np.int64]
    targets: NDArray[np.uint16]
    target_at: NDArray[np.int64]
    document_at: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.document_at) - 1

    @cached_property
    def sha256(self) -> str:
        """A checksum of the vocabulary and all arrays."""
        out = hashlib.sha256("\n".join(self.vocabulary.words).encode())
        for name in _ARRAYS:
            out.update(np.ascontiguousarray(getattr(self, name)).tobytes())
        return out.hexdigest()

    def describe(self) -> dict[str, Any]:
        return {"documents": len(self), "targets": len(self.target_at) - 1, "sha256": self.sha256}

    def save(self, path: Path) -> None:
        """Write a .npz file, compressed where the name ends in .xz or .gz."""
        lengths = {name: np.diff(getattr(self, name)) for name in _ARRAYS if name.endswith("_at")}
        data = {name: getattr(self, name) for name in ("source", "targets")}
        text = np.frombuffer("\n".join(self.vocabulary.words).encode(), np.uint8)
        part = path.with_name(f".part.{path.name}")
        opened = COMPRESSED.get(path.suffix)
        with opened(part, "wb") if opened else part.open("wb") as stream:
            buffer = io.BytesIO()
            np.savez(buffer, words=text, **data, **{n: v.astype(np.uint16) for n, v in lengths.items()})
            stream.write(buffer.getvalue())
        publish_file(part, path)

    @classmethod
    def load(cls, path: Path) -> Packed:
        """What `save` wrote, checked."""
        try:
            with open_bytes(path) as stream, np.load(io.BytesIO(stream.read()), allow_pickle=False) as file:
                found = {name: file[name] for name in ("words", *_ARRAYS)}
            vocabulary = Vocabulary(found.pop("words").tobytes().decode().split("\n"))
        except (OSError, ValueError, KeyError, BadZipFile, ModelError, *DAMAGED) as error:
            raise TrainingError(f"{path} cannot be read as packed examples ({error}); pack them again.") from error
        for name in ("source_at", "target_at", "document_at"):
            found[name] = np.concatenate([[0], np.cumsum(found[name].astype(np.int64))])
        packed = cls(vocabulary, **found)
        if (
            len(packed.source_at) != len(packed) + 1
            or packed.source_at[-1] != len(packed.source)
            or packed.target_at[-1] != len(packed.targets)
            or packed.document_at[-1] != len(packed.target_at) - 1
            or any(found[name].dtype != np.uint16 for name in ("source", "targets"))
            or not all(np.diff(found[name]).all() for name in ("source_at", "target_at", "document_at"))
        ):
            raise TrainingError(f"{path} holds arrays that contradict each other; pack the examples again.")
        return packed


class _Numbers:
    """Numbers for all words in the order in which they come."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, found: list[str]) -> array[int]:
        numbers = self._numbers
        return array("I", [numbers.setdefault(word, len(numbers)) for word in found])

    @property
    def words(self) -> list[str]:
        return list(self._numbers)


def pack(
    examples: Iterable[Example],
    size: int = 50_000,
    most_words: int = 256,
    longest: int = 6,
    most_targets: int = 12,
) -> Packed:
    """The examples with a vocabulary of the `size` most frequent words of their texts and targets.

    Texts are cut after `most_words` words. Targets of more than `longest` words, those with a word that is neither in
    the vocabulary nor in the text, and a document's targets beyond the first `most_targets` are left out, and so are
    documents without any.
    """
    numbers = _Numbers()
    sources: list[array[int]] = []
    wanted: list[list[array[int]]] = []
    for example in examples:
        source = numbers.of(words(example.text)[:most_words])
        split = dict.fromkeys(tuple(words(target)) for target in example.targets)
        targets = [numbers.of(list(target)) for target in split if 0 < len(target) <= longest]
        if source and targets:
            sources.append(source)
            wanted.append(targets)
    if not sources:
        raise TrainingError("There is nothing to learn from: no document has both words and a target.")
    known = numbers.words
    vocabulary, mapping = _vocabulary(known, sources, wanted, size)
    return _arrays(vocabulary, mapping, sources, wanted, most_targets)


def _vocabulary(
    known: list[str], sources: list[array[int]], wanted: list[list[array[int]]], size: int
) -> tuple[Vocabulary, NDArray[np.int64]]:
    """The vocabulary, and for each number given so far that of the word in it, -1 without one."""
    counts = np.zeros(len(known), np.int64)
    for source in sources:
        np.add.at(counts, np.frombuffer(source, np.uint32), 1)
    for targets in wanted:
        for target in targets:
            np.add.at(counts, np.frombuffer(target, np.uint32), 1)
    vocabulary = Vocabulary.from_counts(dict(zip(known, counts.tolist(), strict=True)), size)
    mapping = np.array([vocabulary.number(word) for word in known], np.int64)
    mapping[mapping == UNKNOWN] = -1
    return vocabulary, mapping


def _arrays(
    vocabulary: Vocabulary,
    mapping: NDArray[np.int64],
    sources: list[array[int]],
    wanted: list[list[array[int]]],
    most_targets: int,
) -> Packed:
    flat, targets = array("H"), array("H")
    source_at, target_at, document_at = array("q", [0]), array("q", [0]), array("q", [0])
    for source, phrases in zip(sources, wanted, strict=True):
        ids = mapping[np.frombuffer(source, np.uint32)]
        extra: dict[int, int] = {}
        for place in np.flatnonzero(ids < 0).tolist():
            behind = extra.setdefault(source[place], len(extra))
            ids[place] = len(vocabulary) + behind if behind < MOST_EXTRA else UNKNOWN
        kept = 0
        for phrase in phrases:
            numbers = [int(mapping[n]) if mapping[n] >= 0 else len(vocabulary) + extra.get(n, -1) for n in phrase]
            if kept == most_targets or any(mapping[n] < 0 and n not in extra for n in phrase):
                continue
            targets.extend(numbers)
            target_at.append(len(targets))
            kept += 1
        if kept:
            flat.extend(ids.tolist())
            source_at.append(len(flat))
            document_at.append(len(target_at) - 1)
    if len(document_at) == 1:
        raise TrainingError("There is nothing to learn from: no target can be written with the words known.")
    flats = [np.frombuffer(part, np.uint16) for part in (flat, targets)]
    places = [np.frombuffer(part, np.int64) for part in (source_at, target_at, document_at)]
    return Packed(vocabulary, flats[0], places[0], flats[1], places[1], places[2])

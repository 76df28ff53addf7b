"""Batches from a prepared folder: batch k of seed s is a function of (s, k) and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.backends.vocabulary import Vocabulary
from erukg.errors import TrainingError
from erukg.training.config import TrainConfig
from erukg.training.folders import read_json
from erukg.training.pieces import load_tokenizer

__all__ = ["Batches", "Group", "MlmBatch", "TagBatch", "TrainingData", "TripletBatch"]

# What a random generator is for, as part of its seed.
_MLM, _SPLADE, _ORDER = 1, 2, 7
# Numbers of shuffled sequences; those below are of the types of references.
_MLM_ORDER, _TAG_ORDER = 1000, 1001
_SPECIAL = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")


@dataclass(slots=True)
class Group:
    """Texts of similar length, padded together: ids and mask [n, length]."""

    ids: NDArray[np.int32]
    mask: NDArray[np.bool_]


@dataclass(slots=True)
class TripletBatch:
    """References [B]; B positives and B negatives in groups, whose sequence `order` restores.

    `kept` are those of the documents that keep their title.
    """

    references: Group
    documents: list[Group]
    order: NDArray[np.int64]
    reference_numbers: NDArray[np.int64]
    document_numbers: NDArray[np.int64]
    kept: NDArray[np.bool_]
    tags: TagBatch | None = None


@dataclass(slots=True)
class MlmBatch:
    """Masked texts in groups; for each group the flat positions to predict and what was there."""

    groups: list[Group]
    positions: list[NDArray[np.int64]]
    labels: list[NDArray[np.int64]]


@dataclass(slots=True)
class TagBatch:
    """Tagged texts; for each word the flat positions of its first and last piece, and its class."""

    group: Group
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    labels: NDArray[np.int8]


class TrainingData:
    """A prepared training folder, memory-mapped and checked for consistency."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        path = self.folder / "meta.json"
        if not path.is_file():
            raise TrainingError(f"There is no meta.json in {folder}; make the folder with 'erukg train prepare'.")
        self.meta: dict[str, Any] = read_json(path)
        if self.meta.get("format") != "erukg-triplets" or self.meta.get("version") != 1:
            raise TrainingError(
                f"{path} is not of format erukg-triplets 1; make the folder with 'erukg train prepare'."
            )
        self.types = [str(name) for name in self.meta["types"]]
        self.vocab_size = int(self.meta["vocab_size"])
        self.ids, self.offsets = self._texts("documents.")
        self.titles = self._load("documents.titles.npy")
        self.reference_ids, self.reference_offsets = self._texts("references.")
        self.triplets = self._load("triplets.npy")
        self.kinds = self._load("types.npy")
        documents, references = len(self.offsets) - 1, len(self.reference_offsets) - 1
        if self.triplets.ndim != 2 or self.triplets.shape[1] != 3 or len(self.triplets) != len(self.kinds):
            raise TrainingError(f"triplets.npy and types.npy in {folder} do not fit; prepare the folder again.")
        if len(self.triplets) == 0 or len(self.titles) != documents:
            raise TrainingError(f"{folder} holds no triplets or too few title lengths; prepare the folder again.")
        low, high = self.triplets.min(0), self.triplets.max(0)
        if low[0] < 0 or low[1] < 0 or low[2] < -1 or high[0] >= references or max(high[1], high[2]) >= documents:
            raise TrainingError(f"triplets.npy in {folder} points outside its texts; prepare the folder again.")
        self.tokenizer = self.folder / "tokenizer.json"

    def _load(self, name: str) -> NDArray[Any]:
        path = self.folder / name
        try:
            array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise TrainingError(f"{path} cannot be read ({error}); prepare the folder again.") from error
        return array

    def _texts(self, prefix: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
        flat = self._load(f"{prefix}ids.npy")
        edges = np.asarray(self._load(f"{prefix}offsets.npy"), dtype=np.int64)
        if len(edges) < 1 or edges[0] != 0 or edges[-1] != len(flat) or np.any(np.diff(edges) < 0):
            raise TrainingError(f"{self.folder / prefix}offsets.npy does not fit its ids; prepare the folder again.")
        return flat, edges

    def tagged(self) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[Any], NDArray[Any]] | None:
        """ids, offsets, labels and split of tagged texts, or None where the folder has none."""
        if not (self.folder / "tagged" / "ids.npy").is_file():
            return None
        ids, offsets = self._texts("tagged/")
        return ids, offsets, self._load("tagged/labels.npy"), self._load("tagged/split.npy")

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The tokenizer that the folder was prepared with."""
        return Vocabulary(load_tokenizer(self.tokenizer), self.tokenizer)


class Batches:
    """Batches of a prepared folder, one method per stage; what it returns depends on its step alone. Thread-safe."""

    def __init__(self, data: TrainingData, config: TrainConfig, max_positions: int = 512) -> None:
        self.data, self.config = data, config
        self.document_length = min(config.document_length, max_positions)
        tokenizer = load_tokenizer(data.tokenizer)
        special = [tokenizer.token_to_id(token) for token in _SPECIAL]
        if None in special:
            raise TrainingError(f"{data.tokenizer} lacks one of {' '.join(_SPECIAL)}; use a BERT tokenizer.")
        self.pad, self.cls, self.sep, self.mask_token = special
        self._word_starts = np.ones(0, np.bool_)
        if config.crop:
            tokens = data.vocabulary.tokens(range(data.vocab_size))
            self._word_starts = np.array([not token.startswith("##") for token in tokens], np.bool_)
        unknown = [name for name in config.leave_out if name not in data.types]
        if unknown:
            raise TrainingError(f"Cannot leave out '{unknown[0]}': the data has only {', '.join(data.types)}.")
        self.rows: list[NDArray[np.int64]] = []
        self.weights: list[float] = []
        self.keep: list[float] = []
        kinds = np.asarray(data.kinds)
        for number, name in enumerate(data.types):
            rows = np.flatnonzero(kinds == number)
            weight = 0.0 if name in config.leave_out else config.mixture.get(name, 0.1)
            if len(rows) and weight > 0:
                self.rows.append(rows)
                self.weights.append(weight)
                self.keep.append(config.keep_title.get(name, 0.0 if name == "title" else 1.0))
        if not self.rows:
            raise TrainingError("No reference type is left to train on; change 'mixture' or 'leave_out'.")
        self._edges = np.concatenate(([0.0], np.cumsum(self.weights) / sum(self.weights)))
        self._edges[-1] = 1.0
        # Two passes at a time of each sequence: a batch may need the end of one and the beginning of the next.
        self._order = lru_cache(2 * len(self.rows) + 4)(self._shuffled)
        self._tagged = data.tagged()
        split = np.zeros(0) if self._tagged is None else np.asarray(self._tagged[3])
        self._tag_rows, self._held_out = np.flatnonzero(split == 0), np.flatnonzero(split == 1)
        self.has_tags = len(self._tag_rows) > 0

    def _stream(self, stream: int, rows: int, start: int, count: int) -> NDArray[np.int64]:
        """Items start … start+count of an endless sequence of shuffled passes over `rows` items."""
        out = np.empty(count, np.int64)
        filled = 0
        while filled < count:
            epoch, inside = divmod(start + filled, rows)
            order = self._order(stream, epoch, rows)
            take = min(count - filled, rows - inside)
            out[filled : filled + take] = order[inside : inside + take]
            filled += take
        return out

    def _shuffled(self, stream: int, epoch: int, rows: int) -> NDArray[np.int64]:
        return np.random.default_rng([self.config.seed, _ORDER, stream, epoch]).permutation(rows)

    def _pad(
        self, flat: NDArray[Any], starts: NDArray[np.int64], lengths: NDArray[np.int64], limit: int
    ) -> tuple[Group, NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """[CLS] pieces [SEP], padded to a multiple of `length_step`; also row, column, source of pieces."""
        step = self.config.length_step
        longest = int(lengths.max(initial=0)) + 2
        width = min(-(-longest // step) * step, max(limit, longest))
        count = len(starts)
        ids = np.full((count, width), self.pad, np.int32)
        total = int(lengths.sum())
        row = np.repeat(np.arange(count), lengths)
        column = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        source = column + np.repeat(starts, lengths)
        ids[row, column + 1] = flat[source]
        ids[:, 0] = self.cls
        ids[np.arange(count), lengths + 1] = self.sep
        mask = np.arange(width)[None, :] < (lengths + 2)[:, None]
        return Group(ids, mask), row, column + 1, source

    def splade(self, step: int, batch: int) -> TripletBatch:
        """Batch `step` of the SPLADE stage, with tagged texts where they count."""
        data = self.data
        rng = np.random.default_rng([self.config.seed, _SPLADE, step])
        chosen, keep = [], []
        # Fixed counts a step would never draw a type whose share is below 1/batch: round the running totals.
        before, after = (np.diff(np.rint(self._edges * (k * batch)).astype(np.int64)) for k in (step, step + 1))
        for number, (rows, chance) in enumerate(zip(self.rows, self.keep, strict=True)):
            count = max(0, int(after[number] - before[number]))
            chosen.append(rows[self._stream(number, len(rows), int(before[number]), count)])
            keep.append(rng.random(count) < chance)
        triplets = np.asarray(data.triplets[np.concatenate(chosen)], dtype=np.int64)
        kept = np.concatenate(keep)
        missing = triplets[:, 2] < 0
        triplets[missing, 2] = rng.integers(0, len(data.offsets) - 1, int(missing.sum()))
        references = triplets[:, 0]
        lengths = data.reference_offsets[references + 1] - data.reference_offsets[references]
        begins = data.reference_offsets[references].copy()
        if self.config.crop:
            for i in np.flatnonzero(rng.random(len(references)) < self.config.crop).tolist():
                begins[i], lengths[i] = self._cropped(int(begins[i]), int(lengths[i]), rng)
        limit = self.config.reference_length
        group, *_ = self._pad(data.reference_ids, begins, np.minimum(lengths, limit - 2), limit)
        documents = np.concatenate((triplets[:, 1], triplets[:, 2]))
        kept = np.concatenate((kept, kept))
        starts, lengths = self.spans(documents, kept)
        parts, order = self._by_length(lengths)
        groups = [self.documents(starts[p], lengths[p]) for p in parts]
        with_tags = self.has_tags and self.config.tag_weight and self.config.tag_batch
        tags = self.tags(step, self.config.tag_batch) if with_tags else None
        return TripletBatch(group, groups, order, references, documents, kept, tags)

    def spans(
        self, documents: NDArray[np.int64], kept: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the pieces of documents begin and how many are read, of those that are `kept` with their title."""
        starts, ends = self.data.offsets[documents], self.data.offsets[documents + 1]
        titles = np.asarray(self.data.titles[documents], dtype=np.int64)
        # A document that is only a title keeps it: an empty text teaches nothing.
        starts = np.where(kept | (starts + titles >= ends), starts, starts + titles)
        return starts, np.minimum(ends - starts, self.document_length - 2)

    def documents(self, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Group:
        """Documents of these `spans`, padded together."""
        return self._pad(self.data.ids, starts, lengths, self.document_length)[0]

    def _cropped(self, begin: int, length: int, rng: np.random.Generator) -> tuple[int, int]:
        """A run of two to six words of a reference: as short as what people type into a search box."""
        heads = np.flatnonzero(self._word_starts[self.data.reference_ids[begin : begin + length]])
        if len(heads) <= 2:
            return begin, length
        words = int(rng.integers(2, min(6, len(heads) - 1) + 1))
        first = int(rng.integers(0, len(heads) - words + 1))
        stop = int(heads[first + words]) if first + words < len(heads) else length
        return begin + int(heads[first]), stop - int(heads[first])

    def _by_length(self, lengths: NDArray[np.int64]) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
        """Rows in groups of similar length, and the order that puts the rows of all groups right again."""
        order = np.argsort(lengths, kind="stable")
        parts = [part for part in np.array_split(order, self.config.groups) if len(part)]
        return parts, np.argsort(order, kind="stable")

    def mlm(self, step: int, batch: int) -> MlmBatch:
        """Batch `step` of the warm-up: whole documents, a share of their pieces masked."""
        data = self.data
        rng = np.random.default_rng([self.config.seed, _MLM, step])
        documents = self._stream(_MLM_ORDER, len(data.offsets) - 1, step * batch, batch)
        starts, ends = data.offsets[documents], data.offsets[documents + 1]
        room = self.document_length - 2
        spare = np.maximum(ends - starts - room, 0)
        starts = starts + rng.integers(0, spare + 1)
        lengths = np.minimum(ends - starts, room)
        result = MlmBatch([], [], [])
        for part in self._by_length(lengths)[0]:
            group, row, column, source = self._pad(data.ids, starts[part], lengths[part], self.document_length)
            hit = rng.random(len(row)) < self.config.mlm_mask
            row, column = row[hit], column[hit]
            labels = np.asarray(data.ids[source[hit]], dtype=np.int64)
            action = rng.random(len(row))
            group.ids[row[action < 0.8], column[action < 0.8]] = self.mask_token
            noise = (action >= 0.8) & (action < 0.9)
            group.ids[row[noise], column[noise]] = rng.integers(0, data.vocab_size, int(noise.sum()))
            result.groups.append(group)
            result.positions.append(row * group.ids.shape[1] + column)
            result.labels.append(labels)
        return result

    def tags(self, step: int, batch: int) -> TagBatch:
        """Batch `step` of tagged texts of the training split."""
        if not self.has_tags:
            raise TrainingError(f"{self.data.folder} has no tagged texts; prepare them or leave the tag head out.")
        return self._tag_batch(self._tag_rows[self._stream(_TAG_ORDER, len(self._tag_rows), step * batch, batch)])

    def held_out_tags(self, batch: int, limit: int) -> Iterator[TagBatch]:
        """Tagged texts that training does not see."""
        rows = self._held_out[:limit] if self.has_tags else self._held_out[:0]
        for start in range(0, len(rows), batch):
            yield self._tag_batch(rows[start : start + batch])

    def _tag_batch(self, rows: NDArray[np.int64]) -> TagBatch:
        assert self._tagged is not None
        ids, offsets, labels, _ = self._tagged
        lengths = np.minimum(offsets[rows + 1] - offsets[rows], self.document_length - 2)
        group, row, column, source = self._pad(ids, offsets[rows], lengths, self.document_length)
        classes = np.asarray(labels[source])
        words = np.flatnonzero(classes >= 0)
        # A word ends before the next one begins, or with its text.
        stops = np.minimum(np.append(words[1:], len(classes)), np.cumsum(lengths)[row[words]])
        flat = row * group.ids.shape[1] + column
        return TagBatch(group, flat[words], flat[stops - 1], classes[words])

"""One pass of the encoder, with its head evaluated only on the terms somebody asks for."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from erukg.backends.folder import ModelFolder
from erukg.backends.session import PEAKS, open_session
from erukg.backends.vocabulary import Pieces, Vocabulary
from erukg.core.neighbours import Terms
from erukg.errors import ModelError

__all__ = ["Encoder", "Encoding", "TermEncoder", "read_parts", "windows"]

# Neighbouring windows share this part of a window, so that every word is seen with context on both sides.
_OVERLAP = 0.25
# OTHER, NOUN, ADJECTIVE, NUMBER.
_CLASSES = 4


@dataclass(frozen=True, slots=True)
class Encoding:
    """What one pass gives: w^x of the asked-for terms, each word's tag class, and the document's vector."""

    weights: NDArray[np.float32]
    tags: NDArray[np.int8]
    vector: NDArray[np.float32]


class TermEncoder(Protocol):
    """What a generator needs of a model; `Encoder` is the real one."""

    fingerprint: str
    term_space: str

    def pieces(self, words: Sequence[str]) -> Pieces: ...
    def phrase_terms(self, phrases: Sequence[str]) -> Terms: ...
    def tokens(self, ids: Iterable[int]) -> list[str]: ...
    def encode(self, pieces: Pieces, terms: NDArray[np.int32]) -> Encoding: ...


class Encoder:
    """The term-importance model (Eq. 1) with its tag head, run by ONNX Runtime. Thread-safe."""

    def __init__(self, folder: ModelFolder, vocabulary: Vocabulary, head: dict[str, Any], threads: int) -> None:
        self.folder = folder
        self.vocabulary = vocabulary
        self.fingerprint = folder.fingerprint
        self.term_space = folder.term_space
        self.vocab_size = folder.vocab_size
        self.hidden_size = folder.hidden_size
        self.window = folder.window
        self._embeddings, self._scales, self._bias = _check_head(folder, vocabulary, head)
        self._tag_head = _check_tag_head(folder, head)
        self._is_special = np.zeros(folder.vocab_size, np.bool_)
        self._is_special[vocabulary.special] = True
        self._threads = threads
        self._session: Any = None
        self._peaks: Any = None
        self._lock = threading.Lock()

    @classmethod
    def load(cls, path: str | Path, precision: str | None = None, threads: int = 1) -> Encoder:
        """Open the model in the folder `path`; `threads` is how many cores one pass may use."""
        return cls(*read_parts(path, precision), threads)

    def pieces(self, words: Sequence[str]) -> Pieces:
        """The word pieces of each word of a text."""
        return self.vocabulary.pieces(words)

    def phrase_terms(self, phrases: Sequence[str]) -> Terms:
        """The word pieces c_i of each phrase c."""
        return self.vocabulary.phrase_terms(phrases)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The written form of word pieces."""
        return self.vocabulary.tokens(ids)

    def encode(self, pieces: Pieces, terms: NDArray[np.int32]) -> Encoding:
        """Run the model over `pieces`; texts longer than the window run in overlapping windows.

        Weights are max-pooled over windows; a word's tag is taken from the window in which its first piece is
        farthest from an edge.
        """
        every = len(terms) == self.vocab_size and np.array_equal(terms, self._every_term)
        rows = self._table if every else self._rows(terms)
        peaks = np.full(len(terms), -np.inf, np.float32)
        n_words = len(pieces.starts) - 1
        tags = np.zeros(n_words, np.int8)
        depth = np.full(n_words, -1, np.int64)
        vector = np.zeros(self.hidden_size, np.float32)
        first, last = pieces.starts[:-1], pieces.starts[1:] - 1
        nonempty = last >= first
        spans = windows(len(pieces.ids), self.window)
        for start, stop in spans:
            states, parts, pooled = self._run(pieces.ids[start:stop])
            if len(terms):
                (found,) = self._peaks.run(["peaks"], {"states": states, "rows": rows})
                np.maximum(peaks, found, out=peaks)
            vector += pooled * (stop - start)
            chosen = np.flatnonzero(nonempty)
            if len(spans) > 1:
                inside = chosen[(first[chosen] >= start) & (first[chosen] < stop)]
                margin = np.minimum(first[inside] - start, stop - 1 - first[inside])
                better = margin > depth[inside]
                chosen = inside[better]
                depth[chosen] = margin[better]
            # Position 0 is [CLS]; a word cut by the window ends with the window.
            begins, ends = first[chosen] - start + 1, np.minimum(last[chosen], stop - 1) - start + 1
            tags[chosen] = self._classes(parts, begins, ends)
        norm = float(np.linalg.norm(vector))
        return Encoding(self._weights(peaks, terms), tags, vector / norm if norm > 0 else vector)

    def _classes(
        self, parts: NDArray[np.float32], first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The class of each word, from what its first and its last piece give to it."""
        bias, out, out_bias = self._tag_head
        width = len(bias)
        hidden = np.maximum(parts[first, :width] + parts[last, width:] + bias, 0)
        classes: NDArray[np.int64] = (hidden @ out.T + out_bias).argmax(axis=1)
        return classes

    def _weights(self, peaks: NDArray[np.float32], terms: NDArray[np.int32]) -> NDArray[np.float32]:
        # max log(1 + relu(z)) = log(1 + relu(max z)): pool first, as log and relu never change the order.
        logits = peaks * self._scales[terms] if self._scales is not None else peaks
        weights: NDArray[np.float32] = np.log1p(np.maximum(logits + self._bias[terms], 0)).astype(np.float32)
        weights[self._is_special[terms]] = 0
        return weights

    def _run(self, ids: NDArray[np.int32]) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        full = np.concatenate(([self.vocabulary.cls], ids, [self.vocabulary.sep])).astype(np.int32)
        rows = self._rows(full)
        if self._scales is not None:
            rows *= self._scales[full, None]
        session = self._session or self._open()
        states, tags, vector = session.run(
            ["states", "tags", "vector"],
            {"embeddings": rows[None], "mask": np.ones((1, len(full)), np.int64)},
        )
        return states[0], tags[0], vector[0]

    @cached_property
    def _every_term(self) -> NDArray[np.int32]:
        return np.arange(self.vocab_size, dtype=np.int32)

    @cached_property
    def _table(self) -> NDArray[np.float32]:
        """All rows at once; kept, because who asks for every term does so for document after document."""
        return self._rows(self._every_term)

    def _rows(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        return self._embeddings.take(ids, axis=0).astype(np.float32, copy=False)

    def _open(self) -> Any:
        with self._lock:
            if self._session is None:
                session = open_session(self.folder.graph, self._threads)
                names = {i.name for i in session.get_inputs()}, {o.name for o in session.get_outputs()}
                if names != ({"embeddings", "mask"}, {"states", "tags", "vector"}):
                    raise ModelError(
                        f"{self.folder.graph} has other inputs and outputs than an erukg encoder; export it again."
                    )
                width = next(o.shape[-1] for o in session.get_outputs() if o.name == "tags")
                if width != 2 * len(self._tag_head[0]):
                    raise ModelError(
                        f"{self.folder.graph} has tags of width {width} where {self.folder.head.name} asks for "
                        f"{2 * len(self._tag_head[0])}; copy or export the model again."
                    )
                # One thread: two pools that wait by spinning would take each other's cores.
                self._peaks = open_session(PEAKS, 1)
                self._session = session
            return self._session


def read_parts(path: str | Path, precision: str | None) -> tuple[ModelFolder, Vocabulary, dict[str, Any]]:
    """The checked folder of a model, its tokenizer, and the arrays of its head as they are in the file."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    folder = ModelFolder.open(Path(path), precision)
    vocabulary = Vocabulary.load(folder.tokenizer)
    try:
        return folder, vocabulary, load_file(folder.head)
    except (SafetensorError, OSError, KeyError, ValueError) as error:
        raise ModelError(f"{folder.head} cannot be read: {error}; the model is damaged, copy it again.") from error


def windows(length: int, window: int) -> list[tuple[int, int]]:
    """The ranges of pieces in which a text of `length` pieces runs, so that each has room for [CLS] and [SEP]."""
    capacity = window - 2
    if length <= capacity:
        return [(0, length)] if length else []
    step = max(1, int(capacity * (1 - _OVERLAP)))
    starts = list(range(0, length - capacity, step))
    return [(s, s + capacity) for s in starts] + [(length - capacity, length)]


def _check_head(
    folder: ModelFolder, vocabulary: Vocabulary, head: dict[str, Any]
) -> tuple[NDArray[Any], NDArray[np.float32] | None, NDArray[np.float32]]:
    shape = (folder.vocab_size, folder.hidden_size)
    embeddings, bias, scales = head.get("embeddings"), head.get("bias"), head.get("scales")
    if embeddings is None or bias is None:
        raise ModelError(f"{folder.head} lacks the embeddings or the bias; copy or export the model again.")
    problem = None
    if embeddings.shape != shape or bias.shape != shape[:1] or bias.dtype != np.float32:
        problem = f"has other shapes than config.json says ({shape})"
    elif embeddings.dtype == np.int8 and (scales is None or scales.shape != shape[:1] or scales.dtype != np.float32):
        problem = "has 8-bit embeddings without their scales"
    elif embeddings.dtype not in (np.int8, np.float16, np.float32):
        problem = f"has embeddings of type {embeddings.dtype}"
    elif vocabulary.size > folder.vocab_size:
        problem = f"has {folder.vocab_size} rows for a tokenizer of {vocabulary.size} pieces"
    if problem:
        raise ModelError(f"{folder.head} {problem}; the model is damaged, copy or export it again.")
    return embeddings, scales if embeddings.dtype == np.int8 else None, np.asarray(bias)


def _check_tag_head(
    folder: ModelFolder, head: dict[str, Any]
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    bias, out, out_bias = (head.get(name) for name in ("tag_bias", "tag_out", "tag_out_bias"))
    if bias is None or out is None or out_bias is None:
        raise ModelError(f"{folder.head} lacks the tag head (tag_bias, tag_out, tag_out_bias); export the model again.")
    width = bias.size
    shapes = (bias.shape, out.shape, out_bias.shape)
    if not width or shapes != ((width,), (_CLASSES, width), (_CLASSES,)):
        raise ModelError(
            f"{folder.head} has a tag head of shapes {shapes}; the model is damaged, copy or export it again."
        )
    if any(array.dtype != np.float32 for array in (bias, out, out_bias)):
        raise ModelError(f"{folder.head} has a tag head that is not float32; copy or export the model again.")
    return bias, out, out_bias

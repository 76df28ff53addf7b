"""The model on ONNX Runtime: one pass over a text, with its head evaluated only on the terms that are asked for."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.backends.batch import best_rows, windows
from erukg.backends.folder import ModelFolder
from erukg.backends.model import ModelBackend
from erukg.backends.session import PEAKS, open_session
from erukg.backends.threads import MOST_THREADS
from erukg.core.arguments import checked
from erukg.core.backend import Encoding, Pieces
from erukg.core.inputs import checked_count
from erukg.core.pauses import pause_point
from erukg.errors import ModelError

__all__ = ["OnnxBackend"]

# Texts of so few pieces may share the head, so many at a time: their logits stay within some 30 MB.
_SHORT, _TOGETHER = 14, 16


class OnnxBackend(ModelBackend):
    """The term-importance model (Eq. 1) with its tag head, run by ONNX Runtime. Thread-safe."""

    @checked
    def __init__(self, folder: ModelFolder, threads: int = 1) -> None:
        super().__init__(folder)
        self._threads = checked_count(threads, "threads", MOST_THREADS)
        self._session: Any = None
        self._peaks: Any = None
        self._lock = threading.Lock()

    @classmethod
    @checked
    def load(cls, path: str | Path, precision: str | None = None, threads: int = 1) -> OnnxBackend:
        """Open the model in the folder `path`; `threads` is how many cores one pass may use."""
        return cls(ModelFolder.open(Path(path), precision), threads)

    @property
    def threads(self) -> int:
        """How many cores one pass may use."""
        return self._threads

    def _how(self) -> dict[str, Any]:
        return {"threads": self._threads}

    def encode_batch(self, texts: Sequence[tuple[Pieces, NDArray[np.int32]]]) -> list[Encoding]:
        """`encode` of several texts, one after the other: 8-bit scales depend on what shares a pass.

        Only the head is shared, by short texts of one length that ask for the whole vocabulary: reading its table takes
        longer than the products with a few states.
        """
        out = {}
        alike: dict[int, list[int]] = {}
        for i, (pieces, terms) in enumerate(texts):
            if 0 < len(pieces.ids) <= _SHORT and self._asks_for_all(terms):
                alike.setdefault(len(pieces.ids), []).append(i)
            else:
                out[i] = self.encode(pieces, terms)
        for same in alike.values():
            for k in range(0, len(same), _TOGETHER):
                some = same[k : k + _TOGETHER]
                out.update(zip(some, self._encode_alike([texts[i][0] for i in some]), strict=True))
        return [out[i] for i in range(len(texts))]

    def _encode_alike(self, texts: Sequence[Pieces]) -> list[Encoding]:
        """`encode` of texts with the same number of pieces, one window each, that ask for every term."""
        runs = [self._run(pieces.ids) for pieces in texts]
        peaks = self._peaks_of([states for states, _, _ in runs], self._table)
        out = []
        for pieces, (_, parts, vector), peak in zip(texts, runs, peaks, strict=True):
            tags = pieces.tags
            if tags is None:
                tags = np.zeros(len(pieces.starts) - 1, np.int8)
                filled = np.flatnonzero(pieces.starts[1:] > pieces.starts[:-1])
                # Position 0 is [CLS].
                tags[filled] = self._classes(parts, pieces.starts[filled] + 1, pieces.starts[filled + 1])
            out.append(Encoding(self._weights(peak, self.every_term), tags, _normed(vector)))
        return out

    def encode(self, pieces: Pieces, terms: NDArray[np.int32]) -> Encoding:
        """Run the model over `pieces`; texts longer than the window run in overlapping windows.

        Weights are max-pooled over windows; a word's tag is taken from the window in which its first piece is
        farthest from an edge.
        """
        rows = self._table if self._asks_for_all(terms) else self.head.rows(terms)
        peaks = np.full(len(terms), -np.inf, np.float32)
        tags = np.zeros(len(pieces.starts) - 1, np.int8) if pieces.tags is None else pieces.tags
        vector = np.zeros(self.hidden_size, np.float32)
        spans = windows(len(pieces.ids), self.window)
        tagged = _tagged_in(pieces, spans) if pieces.tags is None else [None] * len(spans)
        for (start, stop), words in zip(spans, tagged, strict=True):
            if start:
                pause_point()
            states, parts, pooled = self._run(pieces.ids[start:stop])
            if len(terms):
                np.maximum(peaks, self._peaks_of([states], rows)[0], out=peaks)
            vector += pooled * (stop - start)
            if words is not None:
                # Position 0 is [CLS]; a word cut by the window ends with the window.
                begins, ends = pieces.starts[words], np.minimum(pieces.starts[words + 1], stop)
                tags[words] = self._classes(parts, begins - start + 1, ends - start)
        return Encoding(self._weights(peaks, terms), tags, _normed(vector))

    def _asks_for_all(self, terms: NDArray[np.int32]) -> bool:
        return len(terms) == self.vocab_size and np.array_equal(terms, self.every_term)

    def _peaks_of(self, states: Sequence[NDArray[np.float32]], rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """The largest product of each row with a state, for each of some texts of one length."""
        shape = np.array([len(rows), len(states), len(states[0])], np.int64)
        inputs = {"states": states[0] if len(states) == 1 else np.concatenate(states), "rows": rows, "shape": shape}
        peaks: NDArray[np.float32] = self._peaks.run(["peaks"], inputs)[0].T
        return peaks

    def _classes(
        self, parts: NDArray[np.float32], first: NDArray[np.int64], last: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """The class of each word, from what its first and its last piece give to it."""
        bias, out, out_bias = self.head.tag_head
        width = len(bias)
        hidden = np.maximum(parts[first, :width] + parts[last, width:] + bias, 0)
        classes: NDArray[np.int64] = (hidden @ out.T + out_bias).argmax(axis=1)
        return classes

    def _weights(self, peaks: NDArray[np.float32], terms: NDArray[np.int32]) -> NDArray[np.float32]:
        # max log(1 + relu(z)) = log(1 + relu(max z)): pool first, as log and relu never change the order.
        scales = self.head.scales
        logits = peaks * scales[terms] if scales is not None else peaks
        weights: NDArray[np.float32] = np.log1p(np.maximum(logits + self.head.bias[terms], 0)).astype(np.float32)
        weights[self.is_special[terms]] = 0
        return weights

    def _run(self, ids: NDArray[np.int32]) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
        full = np.empty(len(ids) + 2, np.int32)
        full[0], full[1:-1], full[-1] = self.vocabulary.cls, ids, self.vocabulary.sep
        session = self._session or self._open()
        states, tags, vector = session.run(
            ["states", "tags", "vector"],
            {"embeddings": self.head.scaled_rows(full)[None], "mask": np.ones((1, len(full)), np.int64)},
        )
        return states[0], tags[0], vector[0]

    @cached_property
    def _table(self) -> NDArray[np.float32]:
        """All rows at once; kept, because a caller that asks for every term does so for each document."""
        return self.head.rows(self.every_term)

    def _open(self) -> Any:
        with self._lock:
            if self._session is not None:
                return self._session
            session = open_session(self.folder.graph, self._threads)
            names = {i.name for i in session.get_inputs()}, {o.name for o in session.get_outputs()}
            if names != ({"embeddings", "mask"}, {"states", "tags", "vector"}):
                raise ModelError(
                    f"{self.folder.graph} has other inputs and outputs than an erukg encoder; export it again."
                )
            self.check_tag_width(next(o.shape[-1] for o in session.get_outputs() if o.name == "tags"))
            # One thread: two pools that wait by spinning would take each other's cores.
            self._peaks = open_session(PEAKS, 1)
            self._session = session
        states, _, _ = self._run(self.probe)
        peaks = self._peaks_of([states], self.head.rows(self.probe))[0]
        self.warn_if_collapsed(self._weights(peaks, self.probe))
        return session


def _tagged_in(pieces: Pieces, spans: Sequence[tuple[int, int]]) -> list[NDArray[np.int64]]:
    """The words that are tagged in each of the windows."""
    filled = np.flatnonzero(pieces.starts[1:] > pieces.starts[:-1])
    rows = best_rows(pieces.starts[filled], *np.array(spans, np.int32).reshape(-1, 2).T)
    # Windows follow one another in the text, and so do the words that are tagged in each.
    return np.split(filled, np.searchsorted(rows, np.arange(1, len(spans)))) if spans else []


def _normed(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    norm = float(np.linalg.norm(vector))
    return vector / norm if norm > 0 else vector

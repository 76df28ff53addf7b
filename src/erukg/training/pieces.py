"""Texts to word pieces, many at a time, and from there to flat arrays on disk."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.backends.threads import cores
from erukg.core.document import Document
from erukg.errors import TrainingError
from erukg.training.folders import ArrayWriter

__all__ = ["PieceWriter", "TokenizerPool", "load_tokenizer", "save_tokenizer"]

_CHUNK = 2048
_CHARACTERS_PER_PIECE = 16

Block = tuple[NDArray[np.uint16], NDArray[np.uint16], NDArray[np.uint16]]


def load_tokenizer(path: str | Path) -> Any:
    """A tokenizer that neither truncates nor pads, whose word pieces fit 16 bits."""
    from tokenizers import Tokenizer

    path = Path(path)
    if path.is_dir():
        path = path / "tokenizer.json"
    if not path.is_file():
        raise TrainingError(f"There is no tokenizer at {path}; give a tokenizer.json or the folder that holds it.")
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # the tokenizers library raises bare Exception
        raise TrainingError(f"{path} cannot be read as a tokenizer ({error}); give a tokenizer.json.") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    if tokenizer.get_vocab_size() > 2**16:
        raise TrainingError(f"{path} has more than {2**16} word pieces; give a tokenizer with fewer.")
    return tokenizer


def save_tokenizer(tokenizer: Any, folder: Path) -> str:
    """Write tokenizer.json into a folder; returns its SHA-256."""
    data = tokenizer.to_str().encode("utf-8")
    (folder / "tokenizer.json").write_bytes(data)
    return hashlib.sha256(data).hexdigest()


class TokenizerPool:
    """Word pieces of texts of two parts (title and abstract; one may be empty), as the encoder reads them.

    Words are those of `Document`, so that training and use see the same pieces. Work runs on `jobs` processes
    (default: one per core) where processes can be forked, else on the threads of the tokenizers library.
    """

    def __init__(self, tokenizer: Any, jobs: int | None = None) -> None:
        # Reading cannot keep more than a few dozen processes busy.
        self.jobs = jobs or min(cores(), 32)
        self._tokenizer = tokenizer
        self._pool: Executor
        if self.jobs > 1 and "fork" in multiprocessing.get_all_start_methods():
            self._pool = ProcessPoolExecutor(
                self.jobs, multiprocessing.get_context("fork"), _start_worker, (tokenizer.to_str(),)
            )
            # Fork now, before the caller starts threads whose locks a child would inherit.
            self._pool.submit(int).result()
        else:
            self.jobs = 1
            self._pool = ThreadPoolExecutor(1)

    def submit(self, texts: Sequence[tuple[str, str]], longest: int) -> Future[Block]:
        """Flat pieces, at most `longest` per text; the length of each text; the length of its first part."""
        tokenizer = None if isinstance(self._pool, ProcessPoolExecutor) else self._tokenizer
        return self._pool.submit(_encode, tokenizer, texts, longest)

    def __enter__(self) -> TokenizerPool:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown(cancel_futures=True)


_worker_tokenizer: Any = None


def _start_worker(tokenizer: str) -> None:
    from tokenizers import Tokenizer

    global _worker_tokenizer
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # the processes are the parallelism
    _worker_tokenizer = Tokenizer.from_str(tokenizer)


def _encode(tokenizer: Any, texts: Sequence[tuple[str, str]], longest: int) -> Block:
    tokenizer = tokenizer or _worker_tokenizer
    # Text that spells "[SEP]" is text, not the end of a sequence.
    tokenizer.encode_special_tokens = True
    cut = longest * _CHARACTERS_PER_PIECE
    words = [" ".join(Document.parse(part[:cut]).words) if part else "" for text in texts for part in text]
    words = [part if part.isascii() else part.encode("utf-8", "ignore").decode() for part in words]
    batch = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)
    pieces = [encoding.ids for encoding in batch(words, add_special_tokens=False)]
    rows = [(first + second)[:longest] for first, second in zip(pieces[::2], pieces[1::2], strict=True)]
    lengths = np.array([len(row) for row in rows], np.uint16)
    heads = np.minimum([len(first) for first in pieces[::2]], lengths).astype(np.uint16)
    return np.array([i for row in rows for i in row], np.uint16), lengths, heads


class PieceWriter:
    """Appends texts to `<name>.ids.npy` and `<name>.offsets.npy` in the order they are added.

    After `flush`, `lengths` and `heads` hold the number of pieces of each text and of its first part; with
    `titles`, the latter are also written to `<name>.titles.npy`.
    """

    def __init__(self, pool: TokenizerPool, folder: Path, name: str, longest: int, *, titles: bool = False) -> None:
        self.lengths = self.heads = np.zeros(0, np.uint16)
        self._lengths, self._heads = [self.lengths], [self.heads]
        self._pool = pool
        self._longest = longest
        self._ids = ArrayWriter(folder / f"{name}.ids.npy", "uint16")
        self._offsets = ArrayWriter(folder / f"{name}.offsets.npy", "int64")
        self._offsets.append([0])
        self._titles = ArrayWriter(folder / f"{name}.titles.npy", "uint16") if titles else None
        self._waiting: list[tuple[str, str]] = []
        self._pending: deque[Future[Block]] = deque()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, first: str, second: str = "") -> int:
        """Queue a text; returns its number."""
        self._waiting.append((first, second))
        self._count += 1
        if len(self._waiting) >= _CHUNK:
            self._submit()
        return self._count - 1

    def flush(self) -> None:
        """Wait until everything queued is written."""
        self._submit()
        while self._pending:
            self._write()
        self.lengths, self.heads = (np.concatenate(blocks) for blocks in (self._lengths, self._heads))
        self._lengths, self._heads = [self.lengths], [self.heads]

    def __enter__(self) -> PieceWriter:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            for writer in filter(None, (self._ids, self._offsets, self._titles)):
                writer.close()

    def _submit(self) -> None:
        if self._waiting:
            self._pending.append(self._pool.submit(self._waiting, self._longest))
            self._waiting = []
        # What waits is held in memory, so the caller must not run far ahead.
        while self._pending and (self._pending[0].done() or len(self._pending) > 2 * self._pool.jobs):
            self._write()

    def _write(self) -> None:
        try:
            ids, lengths, heads = self._pending.popleft().result()
        except BrokenProcessPool as error:
            raise TrainingError(
                "A process that tokenises was ended from outside, likely for memory; give fewer jobs."
            ) from error
        self._offsets.append(self._ids.values + np.cumsum(lengths, dtype=np.int64))
        self._ids.append(ids)
        if self._titles is not None:
            self._titles.append(heads)
        self._lengths.append(lengths)
        self._heads.append(heads)

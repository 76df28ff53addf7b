"""Texts as vectors: by a sentence-transformers model, or by the mean of word vectors."""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from erukg.errors import InputError, require
from erukg.io.objects import numbered_lines
from erukg.research.baselines.base import digest, model_folder

__all__ = ["Embedder", "SentenceModel", "WordVectors", "embedder"]

_WORD = re.compile(r"\w+(?:[-'.]\w+)*")


class Embedder(Protocol):
    """Gives every text a vector."""

    @property
    def ordered(self) -> bool:
        """Whether it reads sentences, and not only the words in them."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """One row per text."""

    def describe(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class SentenceModel:
    """A sentence-transformers folder."""

    path: str
    ordered: ClassVar[bool] = True

    @cached_property
    def model(self) -> Any:
        folder = model_folder(self.path, "an embedding baseline")
        transformers = require("sentence_transformers", "eval", "An embedding baseline")
        return transformers.SentenceTransformer(str(folder), local_files_only=True)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = self.model.encode(list(texts), batch_size=64, show_progress_bar=False, convert_to_numpy=True)
        return np.asarray(vectors, np.float32)

    def describe(self) -> Mapping[str, Any]:
        return {"name": Path(self.path).name, "sha256": digest(model_folder(self.path, "an embedding baseline"))}


@dataclass(frozen=True)
class WordVectors:
    """A text file of word vectors, one `word number number …` per line, as Sent2Vec, fastText and GloVe write them.

    A text is the mean of the vectors of its words, which is what Sent2Vec makes of unigrams. The first line
    may be the two numbers of words and dimensions.
    """

    path: str
    ordered: ClassVar[bool] = False

    @cached_property
    def table(self) -> tuple[dict[str, int], NDArray[np.float32]]:
        rows: dict[str, int] = {}
        values = array("f")
        size = 0
        for number, line in numbered_lines(Path(self.path)):
            word, *numbers = line.split() or [""]
            if not word or (number == 1 and len(numbers) == 1):
                continue
            size = size or len(numbers)
            if len(numbers) != size:
                raise InputError(
                    f"{self.path}, line {number} has {len(numbers)} numbers where others have {size}; "
                    "give a text file with one word and its vector per line."
                )
            if word not in rows:
                values.frombytes(_finite(numbers, f"{self.path}, line {number}").tobytes())
                rows[word] = len(rows)
        if not rows or not size:
            raise InputError(f"{self.path} holds no word vectors; give one word and its vector per line.")
        return rows, np.frombuffer(values, np.float32).reshape(-1, size)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows, vectors = self.table
        out = np.zeros((len(texts), vectors.shape[1]), np.float32)
        for i, text in enumerate(texts):
            known = [row for word in _WORD.findall(text.lower()) if (row := rows.get(word)) is not None]
            if known:
                out[i] = vectors[known].mean(axis=0)
        return out

    def describe(self) -> Mapping[str, Any]:
        return {"name": Path(self.path).name, "sha256": digest(Path(self.path))}


def _finite(numbers: Sequence[str], where: str) -> NDArray[np.float32]:
    try:
        out = np.array(numbers, np.float64)
    except ValueError as error:
        raise InputError(f"{where} is not a word vector ({error}).") from error
    if not (np.abs(out) < 1e18).all():
        raise InputError(f"{where} holds a number that is not finite or far too large; repair or remove the line.")
    return out.astype(np.float32)


def embedder(path: str) -> Embedder:
    """What stands at `path`: a folder is a sentence-transformers model, a file holds word vectors."""
    return WordVectors(path) if Path(path).is_file() else SentenceModel(path)

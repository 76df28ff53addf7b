"""docT5query (Nogueira and Lin, 2019): documents made longer by queries that a model would ask of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from erukg.errors import InputError, ModelError, require
from erukg.research.baselines.base import digest
from erukg.research.baselines.neural.model import CopyModel, is_copy_model
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.metrics import DEPTH

__all__ = ["CopyQueries", "T5Queries", "query_model"]

_PURPOSE = "docT5query with a T5 folder"
_WINDOW = 512  # word pieces of a document that the model reads
_LONGEST = 64  # word pieces of a query
_CHOICES = 10  # top-k sampling, as its authors did
_BATCH = 16  # documents that a trained baseline reads at a time


def query_model(folder: Path) -> CopyQueries | T5Queries:
    """What is in the folder: a network that `erukg train baseline doct5query` wrote, or else a T5 model."""
    return CopyQueries(folder) if is_copy_model(folder) else T5Queries(folder)


class T5Queries:
    """Queries sampled from a T5 folder (config.json, model.safetensors and its tokenizer).

    Every document has its own seed, so that a run that goes on later samples the same.
    """

    name = "doct5query"

    def __init__(self, folder: Path, queries: int = 40, seed: int = 0) -> None:
        if not (folder / "config.json").is_file():
            raise ModelError(f"There is no T5 model in {folder}: it has no config.json.")
        _check(queries)
        self.folder, self.queries, self.seed = folder, queries, seed

    def describe(self) -> Mapping[str, Any]:
        return {
            "model": self.folder.name,
            "sha256": digest(self.folder),
            "queries": self.queries,
            "sampled_from": _CHOICES,
            "seed": self.seed,
        }

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        torch = require("torch", "train", _PURPOSE)
        transformers = require("transformers", "train", _PURPOSE)
        from safetensors import SafetensorError

        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(self.folder, local_files_only=True)
            model = transformers.T5ForConditionalGeneration.from_pretrained(
                self.folder, local_files_only=True, use_safetensors=True
            ).eval()
        except (OSError, ValueError, RuntimeError, SafetensorError) as error:
            raise ModelError(f"The T5 model in {self.folder} cannot be loaded ({error}).") from error
        for record in records:
            inputs = tokenizer(record.text, truncation=True, max_length=_WINDOW, return_tensors="pt")
            with torch.random.fork_rng(devices=[]), torch.inference_mode():
                torch.manual_seed(_seed(self.seed, record))
                out = model.generate(
                    input_ids=inputs["input_ids"],
                    attention_mask=inputs["attention_mask"],
                    do_sample=True,
                    top_k=_CHOICES,
                    num_return_sequences=self.queries,
                    max_new_tokens=_LONGEST,
                )
            yield [query.strip() for query in tokenizer.batch_decode(out, skip_special_tokens=True)], []


class CopyQueries:
    """Queries sampled from a network that `erukg train baseline doct5query` wrote; seeds are as with `T5Queries`."""

    name = "doct5query"

    def __init__(self, folder: Path, queries: int = 20, seed: int = 0) -> None:
        _check(queries)
        self.model, self.queries, self.seed = CopyModel.load(folder), queries, seed

    def describe(self) -> Mapping[str, Any]:
        return {
            "model": self.model.describe(),
            "queries": self.queries,
            "sampled_from": _CHOICES,
            "seed": self.seed,
        }

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        waiting = iter(records)
        while batch := list(islice(waiting, _BATCH)):
            seeds = [_seed(self.seed, record) for record in batch]
            for queries in self.model.sample([record.text for record in batch], seeds, self.queries):
                yield queries, []


def _check(queries: int) -> None:
    if not 1 <= queries <= DEPTH:
        raise InputError(f"docT5query can sample 1 to {DEPTH} queries a document, not {queries}.")


def _seed(seed: int, record: Record) -> int:
    """A seed of the document's own, so that a run that goes on later samples the same."""
    return int.from_bytes(hashlib.sha256(f"{seed} {record.id}".encode()).digest()[:7], "little")

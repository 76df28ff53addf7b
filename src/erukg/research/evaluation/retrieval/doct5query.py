"""docT5query (Nogueira and Lin, 2019): documents made longer by queries that a T5 model would ask of them.

The queries come from a file made elsewhere, or are sampled here from a folder with the weights.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from erukg.core.inputs import given_id
from erukg.errors import InputError, ModelError, require
from erukg.research.evaluation._lines import json_object, numbered_lines
from erukg.research.evaluation.metrics import DEPTH
from erukg.research.evaluation.records import Record
from erukg.research.evaluation.retrieval.expanded import set_file

__all__ = ["PredictedQueries", "T5Queries"]

_PURPOSE = "docT5query with a T5 folder"
_WINDOW = 512  # word pieces of a document that the model reads
_LONGEST = 64  # word pieces of a query
_CHOICES = 10  # top-k sampling, as its authors did


class PredictedQueries:
    """Queries from JSON Lines `{"id", "predicted_queries": [...]}`, or a folder with one such file a set."""

    name = "doct5query"

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise InputError(f"There is no file or folder {path} of predicted queries.")
        self.path = path
        self._sha256 = ""
        self._queries: dict[str, list[str]] = {}

    def for_set(self, name: str) -> PredictedQueries:
        """The queries for the documents of one set, read and checked."""
        path = set_file(self.path, name)
        if path is None:
            missing = self.path / f"{name}.jsonl"
            raise InputError(f"There are no predicted queries for the set '{name}': {missing} does not exist.")
        out = PredictedQueries(path)
        out._read()
        return out

    def _read(self) -> None:
        digest = hashlib.sha256()
        for number, line in numbered_lines(self.path):
            digest.update(line)
            if not line.strip():
                continue
            where = f"{self.path}, line {number}"
            row = json_object(line, where)
            id, queries = given_id(row), row.get("predicted_queries")
            if id is None:
                raise InputError(f"{where}: the field 'id' is missing.")
            if not isinstance(queries, list) or not all(isinstance(query, str) for query in queries):
                raise InputError(f"{where}: the field 'predicted_queries' must be a list of queries.")
            if id in self._queries:
                raise InputError(f"{where}: the id '{id}' was already used; keep one line for each document.")
            self._queries[id] = queries
        self._sha256 = digest.hexdigest()

    def describe(self) -> Mapping[str, Any]:
        return {"predicted_queries": self.path.name, "sha256": self._sha256 or None}

    def predict(self, records: Iterable[Record]) -> Iterator[tuple[list[str], list[str]]]:
        for record in records:
            if record.id not in self._queries:
                raise InputError(f"{self.path} has no queries for the document '{record.id}'; it is of another set.")
            yield self._queries[record.id], []


class T5Queries:
    """Queries sampled from a T5 folder (config.json, model.safetensors and its tokenizer).

    Every document has its own seed, so that a run that goes on later samples the same.
    """

    name = "doct5query"

    def __init__(self, folder: Path, queries: int = 40, seed: int = 0) -> None:
        if not (folder / "config.json").is_file():
            raise ModelError(f"There is no T5 model in {folder}: it has no config.json.")
        if not 1 <= queries <= DEPTH:
            raise InputError(f"docT5query can sample 1 to {DEPTH} queries a document, not {queries}.")
        self.folder, self.queries, self.seed = folder, queries, seed

    def describe(self) -> Mapping[str, Any]:
        digest = hashlib.sha256()
        for file in sorted(self.folder.iterdir()):
            if file.is_file() and not file.name.startswith("."):
                with file.open("rb") as stream:
                    digest.update(file.name.encode() + b"\0" + hashlib.file_digest(stream, "sha256").digest())
        return {
            "model": self.folder.name,
            "sha256": digest.hexdigest(),
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
            number = hashlib.sha256(f"{self.seed} {record.id}".encode()).digest()[:7]
            with torch.random.fork_rng(devices=[]), torch.inference_mode():
                torch.manual_seed(int.from_bytes(number, "little"))
                out = model.generate(
                    input_ids=inputs["input_ids"],
                    attention_mask=inputs["attention_mask"],
                    do_sample=True,
                    top_k=_CHOICES,
                    num_return_sequences=self.queries,
                    max_new_tokens=_LONGEST,
                )
            yield [query.strip() for query in tokenizer.batch_decode(out, skip_special_tokens=True)], []

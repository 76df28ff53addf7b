"""Whatever is passed to a public function: a result, or one sentence about what was wrong."""

from __future__ import annotations

import inspect
import math
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from typing_extensions import TypeAliasType

from erukg import Collection, KeyphraseGenerator, Keyphrases, QueryOptions, Settings, fold
from erukg.backends import ModelFolder, OnnxBackend, find_device, find_model
from erukg.collection import (
    DocumentRecord,
    EncodedDocument,
    Phrase,
    Writer,
    bundled_collection,
    calibrate,
    info,
    slim,
    verify,
)
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.build import add, build
from erukg.core.arguments import checked
from erukg.core.document import Document
from erukg.core.sparse import TermCounts
from erukg.errors import ErukgError, InputError
from erukg.generator import load_analyser
from erukg.io import Limits, count_rows, find_form, find_sources, named_form, read_documents, read_phrases, source_key
from erukg.io.items import FieldNames

TEXT = "We propose a neural network for keyphrase retrieval in a large document collection."
ENCODED = EncodedDocument(np.array([3, 5]), np.array([0.5, 1.0]), (Phrase("neural network", "neural network", (5, 6)),))
RECORD = DocumentRecord("new", TEXT)


class Strange:
    """Nothing that anybody wants."""


VALUES: list[object] = [
    None,
    True,
    0,
    -1,
    3,
    10**30,
    1.5,
    math.nan,
    math.inf,
    "",
    "text",
    "\ud800\0",
    b"bytes",
    [],
    [1],
    ["a", None],
    (),
    ("a", 1),
    {},
    {"a": 1},
    {1},
    Strange(),
    Strange,
    len,
    Path("nowhere"),
    np.arange(2),
    np.array([["a"]]),
]


@dataclass(frozen=True)
class Entry:
    """A public function and arguments that it takes."""

    call: Callable[..., object]
    arguments: Mapping[str, object]

    @property
    def name(self) -> str:
        return getattr(self.call, "__qualname__", str(self.call))


def public_entries(tiny_model: Path, tiny_collection: Path, tiny_corpus: Path, folder: Path) -> list[Entry]:
    """Every public function; those that write do so in `folder`."""
    backend = OnnxBackend.load(tiny_model)
    collection = Collection.open(tiny_collection)
    generator = KeyphraseGenerator(backend, collection)
    analyser = ModelAnalyser(backend)
    text, many = {"text": TEXT, "id": "a"}, {"items": [TEXT], "threads": 1}
    common = {"top_k": 2, "settings": Settings(), "explain": False}
    ranked = {**common, "phrases": ["neural network"]}
    common |= {"diversity": None, "min_confidence": None, "exclude": None, "must_have": None}
    made = {"fingerprint": "f", "vocab_size": 100, "k1": 0.9, "b": 0.4, "glossary_documents": 1, "weight_limit": 4.0}
    counter = iter(range(10**6))

    def fresh() -> Path:
        return folder / str(next(counter))

    def create(**given: Any) -> object:
        with Writer.create(**{"folder": fresh(), **given}) as writer:
            return len(writer)

    def change(method: str) -> Callable[..., object]:
        def run(**given: Any) -> object:
            with Writer.open(shutil.copytree(tiny_collection, fresh())) as writer:
                return getattr(writer, method)(**given)

        run.__qualname__ = f"Writer.{method}"
        return run

    def filled(kind: type[Any], **given: Any) -> object:
        """A document with one strange thing in it, added and committed."""
        record, document = RECORD, ENCODED
        if kind is DocumentRecord:
            record = DocumentRecord(**given)
        elif kind is EncodedDocument:
            document = EncodedDocument(**given)
        else:
            document = replace(ENCODED, phrases=(Phrase(**given),))
        with Writer.open(shutil.copytree(tiny_collection, fresh())) as writer:
            writer.add(record, document)
            writer.commit()
        return None

    def plain(value: Any) -> dict[str, object]:
        return {field.name: getattr(value, field.name) for field in fields(value)}

    def built(**given: Any) -> object:
        return build(**{"out": fresh(), **given})

    def added(**given: Any) -> object:
        return add(**{"folder": shutil.copytree(tiny_collection, fresh()), **given})

    def slimmed(**given: Any) -> object:
        slim(**{"source": tiny_collection, "out": fresh(), **given})
        return None

    paths = {"paths": [str(tiny_corpus)]}
    return [
        Entry(KeyphraseGenerator, {"backend": backend, "background": collection, "tagger": None, "settings": None,
                                   "runner": None, "language_of": None}),
        Entry(KeyphraseGenerator.from_pretrained, {"model": tiny_model, "collection": False, "tagger": None,
                                                   "settings": None, "threads": 1, "device": None, "language": None}),
        Entry(load_analyser, {"model": tiny_model, "device": None, "threads": 1, "phrases": 3, "settings": None,
                              "term_weights": True, "keep_open": False}),
        Entry(generator.generate, {**common, **text}),
        Entry(generator.extract, {**common, **text}),
        Entry(generator.stream, {**common, **many}),
        Entry(generator.generate_batch, {**common, **many}),
        Entry(generator.extract_batch, {**common, **many}),
        Entry(generator.phrase_list, {"phrases": ["neural network"]}),
        Entry(generator.rank, {**ranked, **text}),
        Entry(generator.rank_stream, {**ranked, **many}),
        Entry(generator.rank_batch, {**ranked, **many}),
        Entry(generator.expand_query, {"query": TEXT, "options": None, "settings": None, "id": None}),
        Entry(generator.expand_queries, {**many, "options": None, "settings": None}),
        Entry(generator.encode, {**text, "terms": 4, "idf": None}),
        Entry(generator.encode_stream, {**many, "terms": 4, "idf": None}),
        Entry(Settings, Settings().to_dict()),
        Entry(Settings.styled, {"style": "short"}),
        Entry(Settings.from_mapping, {"values": {"alpha": 0.5}}),
        Entry(Settings().replace, {"alpha": 0.5, "merge": True, "neighbours": 3}),
        Entry(QueryOptions, {f.name: f.default for f in fields(QueryOptions)}),
        Entry(Document.parse, {"text": TEXT}),
        Entry(fold, {"text": TEXT}),
        Entry(Keyphrases.from_dict, {"data": {}}),
        Entry(Keyphrases.from_json, {"line": "{}"}),
        Entry(TermCounts, {"term_space": "x", "vocab_size": 10}),
        Entry(TermCounts("x", 10).add, {"indices": [1]}),
        Entry(TermCounts.from_dict, {"data": TermCounts("x", 10).to_dict(), "vocab_size": 10}),
        Entry(Collection.open, {"folder": tiny_collection, "fingerprint": None, "threads": 1}),
        Entry(collection.search, {"text": TEXT, "n": 3, "exclude": None}),
        Entry(collection.neighbourhood, {"text": TEXT, "n": 3, "exclude": None}),
        Entry(collection.ids, {"documents": np.arange(3)}),
        Entry(collection.titles, {"documents": np.arange(3)}),
        Entry(collection.phrases_of, {"document": 1}),
        Entry(create, made),
        Entry(Writer.open, {"folder": "nowhere", "fingerprint": None}),
        Entry(change("add"), {"record": RECORD, "document": ENCODED, "replace": False}),
        Entry(partial(filled, DocumentRecord), plain(RECORD)),
        Entry(partial(filled, EncodedDocument), plain(ENCODED)),
        Entry(partial(filled, Phrase), plain(ENCODED.phrases[0])),
        Entry(change("commit"), {"journal": None, "glossary": True, "source": None, "paper": None}),
        Entry(change("remove"), {"ids": ["doc:1"]}),
        Entry(change("merge"), {"most_documents": 50}),
        Entry(change("keep"), {"n": 0}),
        Entry(change("reset"), {"fingerprint": "f", "vocab_size": 100, "glossary_documents": 1}),
        Entry(verify, {"folder": "nowhere", "on_file": None}),
        Entry(info, {"folder": tiny_collection}),
        Entry(calibrate, {"folder": "nowhere"}),
        Entry(bundled_collection, {"fingerprint": "f"}),
        Entry(slimmed, {"rare": 1, "words": None}),
        Entry(built, {"sources": ["nowhere.jsonl"], "analyser": analyser, "restart": False, "limits": None,
                      "glossary_documents": 0, "titles": True, "form": None, "reuse": False}),
        Entry(added, {"sources": ["nowhere.jsonl"], "analyser": analyser, "replace": False, "restart": False,
                      "limits": None, "titles": True}),
        Entry(ModelFolder.open, {"path": tiny_model, "precision": None}),
        Entry(OnnxBackend.load, {"path": tiny_model, "precision": None, "threads": 1}),
        Entry(find_model, {"model": tiny_model}),
        Entry(find_device, {"device": None}),
        Entry(read_documents, {**paths, "form": None, "limits": None, "stdin": None, "skip": None, "output": None}),
        Entry(Limits, {f.name: getattr(Limits(), f.name) for f in fields(Limits)}),
        Entry(FieldNames, {"text": "body", "title": None, "id": None}),
        Entry(find_sources, {**paths, "form": None, "skip": None, "output": None}),
        Entry(partial(source_key, settings=None), paths),
        Entry(count_rows, paths),
        Entry(read_phrases, {"path": tiny_corpus}),
        Entry(find_form, {"path": "a.txt"}),
        Entry(named_form, {"name": "text"}),
    ]  # fmt: skip


def result(value: object) -> object:
    """The first of a stream's answers: streams do nothing until they are asked."""
    return next(value, None) if isinstance(value, Iterator) else value


def fault(entry: Entry, name: str, value: object) -> str | None:
    """What is wrong with how a function answers this value; None for a result, or for a sentence about the value."""
    try:
        result(entry.call(**{**entry.arguments, name: value}))
    except ErukgError as error:
        return None if str(error).endswith((".", "?")) else f"no sentence: {error}"
    except Exception as error:
        return repr(error)[:100]
    return None


def test_no_error_from_inside(
    tiny_model: Path, tiny_collection: Path, tiny_corpus: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    wrong: dict[str, str] = {}
    for entry in public_entries(tiny_model, tiny_collection, tiny_corpus, tmp_path):
        for name in entry.arguments:
            for value in VALUES:
                if (found := fault(entry, name, value)) is not None:
                    wrong[f"{entry.name}({name}={value!r})"] = found
    assert not wrong, f"{len(wrong)}: " + "\n".join(f"{call}: {error}" for call, error in wrong.items())


def test_the_argument_is_named(tiny_generator: KeyphraseGenerator) -> None:
    with pytest.raises(InputError, match=r"^settings must be a Settings or None, not an object\.$"):
        tiny_generator.generate(TEXT, settings={"alpha": 1})  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^phrases must be a list, each a string or a PhraseList, not a string\.$"):
        tiny_generator.rank(TEXT, "neural network")
    with pytest.raises(InputError, match=r"^explain must be true or false, not a number\.$"):
        tiny_generator.extract(TEXT, explain=1)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^folder must be a string or a path, not None\.$"):
        Collection.open(None)  # type: ignore[arg-type]


def test_aliases_by_statement_are_looked_through() -> None:
    """Such is numpy's NDArray in later versions."""
    number = TypeVar("number", bound=np.generic)
    alias = TypeAliasType("alias", np.ndarray[Any, np.dtype[number]], type_params=(number,))

    @checked
    def ask(documents: Any) -> None: ...

    ask.__wrapped__.__annotations__["documents"] = alias[np.int64]  # type: ignore[attr-defined]
    ask(np.arange(3))
    with pytest.raises(InputError, match=r"^documents must be an array of numbers, not a string\.$"):
        ask("text")


def test_signatures_are_as_written() -> None:
    assert list(inspect.signature(KeyphraseGenerator.generate).parameters)[1:4] == ["text", "top_k", "settings"]
    assert "best `top_k` present" in str(KeyphraseGenerator.generate.__doc__)

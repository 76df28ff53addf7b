"""What all kinds of blows work on: made once, before the workers are forked, and only ever read."""

from __future__ import annotations

from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from collection.samples import make_collection, make_records, make_tagged, write_jsonl
from erukg import Collection, KeyphraseGenerator
from erukg.backends import OnnxBackend
from erukg.collection import Writer
from erukg.collection.analyser import ModelAnalyser
from erukg.collection.build import build
from erukg.subjects.vocabulary import Vocabulary
from subjects import vocabulary_files
from tiny import write_corpus, write_model
from tiny_ranker import write_ranked

__all__ = ["Samples", "has", "warmed"]

OLD = make_tagged(24, seed=21)
NEW = make_tagged(16, seed=22, prefix="n")
GONE = [record.id for record in OLD[::3]]
#: Documents of a part: several commits in every build and addition.
PART = 8


def has(module: str) -> bool:
    """Whether a package is installed, which some blows need."""
    return find_spec(module) is not None


def warmed(generator: KeyphraseGenerator) -> KeyphraseGenerator:
    """The generator, with all compiled code loaded: children need not do so again."""
    text = "Sparse graph data for a neural network (NN) of sea ice.\n\nWe propose the NN and show that it is fast."
    generator.generate(text, explain=True)
    generator.generate_batch([text, "Sea ice."], threads=1)
    generator.rank(text, ["neural network", "sea ice radar"], explain=True)
    generator.expand_query(text)
    generator.encode(text)
    return generator


class Samples:
    """A tiny model, collections and sources in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self.old = write_jsonl(folder / "old.jsonl", OLD)
        self.new = write_jsonl(folder / "new.jsonl", NEW)
        # Some ids that are there already, with other texts, and some that are not.
        renewed = [type(new)(old.id, new.text, tags=new.tags) for old, new in zip(OLD[::2], NEW, strict=False)]
        self.renewed = write_jsonl(folder / "renewed.jsonl", [*renewed, *NEW[12:]])
        self.base = make_collection(folder / "base", OLD, part=PART)
        self.worn = make_collection(folder / "worn", make_records(90, seed=31), part=40)
        with Writer.open(self.worn) as writer:
            writer.remove([f"d{i}" for i in range(0, 90, 9)])

    @cached_property
    def model(self) -> Path:
        return write_model(self.folder / "model")

    @cached_property
    def ranked(self) -> Path:
        return write_ranked(self.model, self.folder / "ranked")

    @cached_property
    def backend(self) -> OnnxBackend:
        return OnnxBackend.load(self.model)

    @cached_property
    def corpus(self) -> Path:
        return write_corpus(self.folder / "corpus.jsonl", documents=14)

    @cached_property
    def collection(self) -> Path:
        source = write_corpus(self.folder / "whole.jsonl", documents=60)
        build(self.folder / "tiny", [source], ModelAnalyser(self.backend))
        return self.folder / "tiny"

    @cached_property
    def generator(self) -> KeyphraseGenerator:
        return warmed(KeyphraseGenerator(self.backend, Collection.open(self.collection)))

    @cached_property
    def vocabulary_source(self) -> Path:
        return vocabulary_files.write(self.folder, "trees.csv", vocabulary_files.TABLE)

    @cached_property
    def vocabulary(self) -> Path:
        Vocabulary.read(self.vocabulary_source, translations=["de"]).save(self.folder / "vocabulary")
        return self.folder / "vocabulary"

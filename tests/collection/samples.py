"""Made-up documents, an analyser simple enough to check by hand, and the collection in plain Python dicts."""

from __future__ import annotations

import json
import math
import random
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from erukg.collection import Collection, DocumentRecord, EncodedDocument, Phrase, Tag, Writer
from erukg.collection.analysis import stems
from erukg.collection.encoded import BY_SIZE
from erukg.core.folding import fold
from erukg.core.streams import Answer, attempt

VOCAB_SIZE = 700
SYLLABLES = ["ka", "lo", "mi", "ren", "tu", "vas", "or", "pel", "shi", "dun", "gra", "tex"]
WORDS = [a + b + c for a in SYLLABLES for b in SYLLABLES for c in ("", "n", "rk")]


def piece(word: str) -> int:
    return zlib.crc32(word.encode()) % VOCAB_SIZE


class WordAnalyser:
    """`encode_words` as an analyser."""

    fingerprint = "words-1"
    vocab_size = VOCAB_SIZE
    choices: ClassVar[dict[str, Any]] = {}

    def encode(self, texts: Iterable[str]) -> Iterator[Answer[str, EncodedDocument]]:
        return (attempt(self.encode_one, text) for text in texts)

    def encode_one(self, text: str) -> EncodedDocument:
        return encode_words(text)


def encode_words(text: str) -> EncodedDocument:
    """Weights grow with a word's count; phrases are pairs of neighbouring words. Deterministic and model-free."""
    words = text.lower().split()
    weights: dict[int, float] = {}
    for word, count in Counter(words).items():
        weights[piece(word)] = max(weights.get(piece(word), 0.0), math.log1p(count))
    pairs = Counter(zip(words[::2], words[1::2], strict=False))
    phrases: dict[str, Phrase] = {}
    for (a, b), _ in sorted(pairs.items(), key=lambda item: (-item[1], item[0])):
        form = f"{a} {b}"
        phrases.setdefault(fold(form), Phrase(fold(form), form, (piece(a), piece(b))))
    return EncodedDocument(
        np.array(list(weights), np.int64), np.array(list(weights.values())), list(phrases.values())[:10]
    )


def make_text(rng: random.Random, n_words: int | None = None) -> str:
    """Words with very unequal frequencies, so that some are in nearly every document and some in one."""
    n = n_words if n_words is not None else rng.randint(3, 60)
    return " ".join(WORDS[min(int(rng.paretovariate(0.6)) - 1, len(WORDS) - 1)] for _ in range(n))


def make_records(n: int, seed: int = 0, prefix: str = "d") -> list[DocumentRecord]:
    rng = random.Random(seed)
    return [DocumentRecord(f"{prefix}{i}", make_text(rng)) for i in range(n)]


def make_tags(rng: random.Random) -> tuple[Tag, ...]:
    """None or a few tags: words, or URIs whose labels differ from document to document and may be missing."""
    words = dict.fromkeys(rng.choice(SYLLABLES) for _ in range(rng.choice([0, 1, 3, 6])))
    labels = [rng.choice([f"{word} a", f"{word} a", f"{word} b", f"uri:{word}"]) for word in words]
    pairs = zip(words, labels, strict=True)
    return tuple(Tag(word, word) if word < "m" else Tag(f"uri:{word}", label) for word, label in pairs)


def make_tagged(n: int, seed: int = 0, prefix: str = "d") -> list[DocumentRecord]:
    rng = random.Random(seed)
    return [replace(record, tags=make_tags(rng)) for record in make_records(n, seed, prefix)]


def write_jsonl(path: Path, records: Sequence[DocumentRecord]) -> Path:
    """The records as rows; their tags, where they have any, as objects in the field `subjects`."""
    rows: list[dict[str, object]] = [{"id": r.id, "text": r.text} for r in records]
    for row, record in zip(rows, records, strict=True):
        if record.tags:
            row["subjects"] = [tag._asdict() for tag in record.tags]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def make_collection(folder: Path, records: Iterable[DocumentRecord], part: int = 10**9, least: int = BY_SIZE) -> Path:
    """A collection of these documents, committed every `part` documents and not merged; `least` must have a phrase."""
    model = WordAnalyser.fingerprint
    with Writer.create(folder, fingerprint=model, vocab_size=VOCAB_SIZE, glossary_documents=least) as writer:
        writer.part_documents = part
        for record in records:
            if writer.add(record, encode_words(record.text)):
                writer.commit()
        writer.commit()
    return folder


def contents(collection: Collection, queries: Sequence[str], n: int = 20) -> list[object]:
    """All that a collection answers to these queries, in a form that can be compared with ==."""
    out: list[object] = [len(collection), len(collection.glossary)]
    every = np.arange(len(collection.glossary))
    glossary = collection.glossary
    out.append(list(zip(glossary.phrases(every), glossary.counts(every).tolist(), strict=True)))
    out.append([terms.tolist() for terms in np.split(glossary.terms(every).ids, glossary.terms(every).indptr[1:-1])])
    out += [collection.tag_counts(), collection.tag_labels()]
    for text in queries:
        near = collection.neighbourhood(text, n)
        out.append(collection.ids(near.documents))
        out.append(collection.tags_of(near.documents))
        out.append(near.shares.tolist())
        out.append(near.phrase_ids.tolist())
        out.append(np.round(near.phrase_shares.astype(float), 6).tolist())
        out.append(near.term_ids.tolist())
        out.append(np.round(near.term_weights.astype(float), 5).tolist())
        out.append(collection.sources(near, near.phrase_ids[:5]))
    return out


class PlainCollection:
    """The same thing from the definitions, with dicts and loops."""

    def __init__(self, records: Sequence[DocumentRecord], least: int = 1) -> None:
        self.records = list(records)
        self.terms = [stems(r.text) for r in records]
        self.encoded = [encode_words(r.text) for r in records]
        self.df = Counter(t for terms in self.terms for t in set(terms))
        self.average = sum(map(len, self.terms)) / len(records)
        counts = Counter(p.fold for e in self.encoded for p in e.phrases)
        self.glossary = {f: c for f, c in counts.items() if c >= least}

    def scores(self, text: str, exclude: str | None = None) -> list[tuple[float, int]]:
        """Score and number of every document with a score above 0, best first."""
        out = []
        query = Counter(stems(text))
        for i, terms in enumerate(self.terms):
            if terms == stems(text) or self.records[i].id == exclude:
                continue
            tf = Counter(terms)
            norm = 0.9 * (1 - 0.4 + 0.4 * len(terms) / self.average)
            score = sum(
                n * math.log(1 + (len(self.records) - self.df[t] + 0.5) / (self.df[t] + 0.5)) * tf[t] / (tf[t] + norm)
                for t, n in query.items()
                if tf[t]
            )
            if score > 0:
                out.append((score, i))
        return sorted(out, key=lambda pair: (-pair[0], pair[1]))

    def sums(self, near: Sequence[tuple[float, int]]) -> tuple[dict[str, float], dict[int, float]]:
        """Σ s̃ P(c | C̃_x') by fold and Σ s̃ w^x' by term."""
        total = sum(score for score, _ in near)
        phrases: defaultdict[str, float] = defaultdict(float)
        terms: defaultdict[int, float] = defaultdict(float)
        for score, i in near:
            kept = [p.fold for p in self.encoded[i].phrases if p.fold in self.glossary]
            for f in kept:
                phrases[f] += score / total / len(kept)
            for t, w in zip(self.encoded[i].term_ids.tolist(), self.encoded[i].term_weights.tolist(), strict=True):
                terms[t] += score / total * w
        return dict(phrases), dict(terms)

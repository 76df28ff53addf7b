"""The paper's pipeline as its steps read, to be timed beside this package with the same weights and collection.

Torch in float32 with the whole vocabulary as output, a tagger of its own, BM25, and Python dicts and loops from there
on (Eqs. 1 to 10). Nothing in it is slowed down; texts are cut at 512 word pieces, as there. A collection is held as a
plain program would hold it: documents to look up one by one, and another engine's index.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import terms_of
from erukg.collection.opening import open_parts
from erukg.collection.postings import decode
from erukg.collection.reader import Collection, Hits
from erukg.core.settings import Settings
from erukg.core.word_classes import penn_class
from erukg.errors import InputError, ModelError, require
from erukg.research.benchmark.engines import Bm25s, Engine, MakeEngine, TermLists
from erukg.research.benchmark.lucene import Lucene, LuceneProgram
from erukg.research.benchmark.plan import Step, no_step
from erukg.taggers import Tagger, load_tagger

__all__ = ["PaperPipeline", "PlainCollection"]

_WORD = re.compile(r"\w+(?:[-']\w+)*|[^\w\s]")
_GRAMMAR = re.compile(r"[NJ]+[NC]|N")
_LETTERS = "ONJCNOOJOO"
_PIECES = 512


class PlainCollection:
    """The documents of a collection with their phrases and term weights, and an index over the same terms.

    The index is Lucene's where jars of it are given; otherwise bm25s stands in, which is several times as fast with a
    whole document as query. It finds at most `keep` documents.
    """

    def __init__(
        self, folder: Path, step: Step = no_step, lucene: LuceneProgram | None = None, keep: int = 100
    ) -> None:
        collection = Collection.open(folder)
        self._terms: list[tuple[NDArray[np.int32], NDArray[np.float32]]] = []
        self._phrases: list[list[str]] = []
        count = sum(entry.documents for entry in collection.manifest.segments)
        glossary = collection.glossary
        for number in range(count):
            known = collection.gather(Hits(np.array([number], np.int64), np.ones(1, np.float32)))
            self._terms.append((known.term_ids, known.term_weights))
            self._phrases.append(glossary.phrases(known.phrase_ids))
            if (number + 1) % 1000 == 0:
                step(number + 1, count)
        self._numbers, lists = _term_lists(folder, count)
        make: MakeEngine = Bm25s if lucene is None else partial(Lucene, lucene)
        self._scratch = tempfile.TemporaryDirectory(prefix="erukg-")
        self._engine: Engine = make(lists, min(keep, count), Path(self._scratch.name))

    def __len__(self) -> int:
        return len(self._terms)

    def close(self) -> None:
        """Give back the index, and the process that may hold it."""
        self._engine.close()
        self._scratch.cleanup()

    def search(self, text: str, n: int) -> list[tuple[int, float]]:
        """The `n` most similar documents with their BM25 scores above 0."""
        query = [number for term in terms_of(text).tolist() if (number := self._numbers.get(term)) is not None]
        if not query:
            return []
        _, [(documents, scores)] = self._engine.search([np.array(query, np.int32)])
        pairs = zip(documents[:n].tolist(), scores[:n].tolist(), strict=True)
        return [(document, score) for document, score in pairs if score > 0]

    def weights(self, document: int) -> dict[int, float]:
        """w^x' of a document."""
        ids, weights = self._terms[document]
        return dict(zip(ids.tolist(), weights.tolist(), strict=True))

    def phrases(self, document: int) -> list[str]:
        """C̃_x' of a document."""
        return self._phrases[document]


def _term_lists(folder: Path, count: int) -> tuple[dict[int, int], TermLists]:
    """The number of each term, and the documents as lists of them."""
    _, segments, commit = open_parts(folder)
    vocabulary = np.unique(np.concatenate([np.empty(0, np.uint64), *(s.vocabulary for s in segments)]))
    rows: list[NDArray[np.int64]] = []
    columns: list[NDArray[np.int32]] = []
    base = 0
    for segment, state in zip(segments, commit.states, strict=True):
        numbers = np.arange(base, base + len(segment), dtype=np.int32)
        if len(state.dead):
            numbers[state.dead != 0] = -1
        # Room for removed documents too: their postings are passed over and leave gaps at the ends of lists.
        ends = np.concatenate(([0], np.cumsum(segment.frequencies, dtype=np.int64)))
        documents, frequencies = np.empty(ends[-1], np.int32), np.zeros(ends[-1], np.int32)
        every = np.arange(len(segment.vocabulary), dtype=np.int64)
        place = ends[:-1].copy()
        decode(segment.postings, 0, len(every), every, numbers, place, documents, frequencies)
        own = np.repeat(np.searchsorted(vocabulary, segment.vocabulary), np.diff(ends))
        rows.append(np.repeat(own, frequencies))
        columns.append(np.repeat(documents, frequencies))
        base += len(segment)
    terms, owners = np.concatenate(rows), np.concatenate(columns)
    order = np.argsort(owners, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=count))))
    lists = TermLists(terms[order].astype(np.int32), starts, len(vocabulary))
    return {term: i for i, term in enumerate(vocabulary.tolist())}, lists


class PaperPipeline:
    """Algorithm 1, one document at a time. `weights` is a folder in the layout of a SparseEncoder."""

    def __init__(
        self,
        weights: str | Path,
        tagger: str | Tagger,
        collection: PlainCollection | None = None,
        settings: Settings | None = None,
    ) -> None:
        folder = Path(weights)
        if not (folder / "config.json").is_file():
            raise ModelError(f"There is no model folder '{folder}'; the paper's pipeline needs one for transformers.")
        self._torch: Any = require("torch", "train", "The paper's pipeline")
        transformers = require("transformers", "train", "The paper's pipeline")
        tokenizers = require("tokenizers", "train", "The paper's pipeline")
        transformers.utils.logging.disable_progress_bar()
        self._model: Any = transformers.BertForMaskedLM.from_pretrained(
            str(folder), dtype=self._torch.float32, local_files_only=True
        ).eval()
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(_PIECES)
        chosen = load_tagger(tagger) if isinstance(tagger, str) else tagger
        if chosen is None:
            raise InputError("The paper's pipeline has no tag head; choose the tagger spacy, spacy:NAME or nltk.")
        self._tagger = chosen
        self._collection = collection
        self._settings = settings or Settings.paper()

    def term_weights(self, text: str) -> dict[int, float]:
        """w^x (Eq. 1): every term of the vocabulary with a weight above 0."""
        torch = self._torch
        with torch.inference_mode():
            ids = torch.tensor([self._tokenizer.encode(text).ids])
            logits = self._model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
            weights = torch.log1p(torch.relu(logits)).amax(dim=1)[0]
            terms = torch.nonzero(weights)[:, 0]
            return dict(zip(terms.tolist(), weights[terms].tolist(), strict=True))

    def noun_phrases(self, text: str) -> dict[str, int]:
        """C_x: the noun phrases in lower case, and the words before the first occurrence of each."""
        words = _WORD.findall(text)
        tags = self._tagger.tag(words)
        classes = "".join(
            _LETTERS[penn_class(tag)] if w[0].isalnum() else "O" for w, tag in zip(words, tags, strict=True)
        )
        found: dict[str, int] = {}
        for match in _GRAMMAR.finditer(classes):
            start = max(match.start(), match.end() - self._settings.max_words)
            found.setdefault(" ".join(words[start : match.end()]).lower(), start)
        return found

    def generate(self, text: str, top_k: int = 10, neighbours: int | None = None) -> tuple[list[str], list[str]]:
        """The best present and the best absent phrases; with 0 neighbours, or no collection, present ones only."""
        s = self._settings
        own = self.noun_phrases(text)
        weights = self.term_weights(text)
        around: dict[int, float] = defaultdict(float)
        shared: dict[str, float] = defaultdict(float)
        n = s.neighbours if neighbours is None else neighbours
        if self._collection is not None and n:
            hits = self._collection.search(text, n)
            total = sum(score for _, score in hits)
            for document, score in hits:
                share = score / total
                for term, weight in self._collection.weights(document).items():
                    around[term] += share * weight
                phrases = self._collection.phrases(document)
                for phrase in phrases:
                    shared[phrase] += share / len(phrases)
        alpha, beta = (s.alpha, s.beta) if shared or around else (1.0, 1.0)
        # P_pn (Eqs. 7, 8) of every candidate, by which those of the neighbours are cut down (Eq. 10).
        phraseness = {c: beta / len(own) for c in own}
        for phrase, share in shared.items():
            phraseness[phrase] = phraseness.get(phrase, 0.0) + (1 - beta) * share
        best = sorted(shared, key=lambda c: -phraseness[c])[: s.neighbour_candidates]
        lower = " ".join(_WORD.findall(text.lower()))
        present: dict[str, float] = {}
        absent: dict[str, float] = {}
        for phrase in {**own, **dict.fromkeys(best)}:
            terms = self._tokenizer.encode(phrase, add_special_tokens=False).ids
            if not terms:
                continue
            weight = sum(alpha * weights.get(t, 0.0) + (1 - alpha) * around.get(t, 0.0) for t in terms)
            informativeness = weight / (len(terms) - s.length_penalty)
            value = phraseness[phrase] ** s.phraseness * informativeness
            place = lower.find(phrase)
            before = own.get(phrase, lower.count(" ", 0, place) if place >= 0 else None)
            if before is None:
                absent[phrase] = value
            else:
                present[phrase] = value * (1 + 1 / math.log2(before + 2))
        return _best(present, top_k), _best(absent, top_k)


def _best(scores: dict[str, float], top_k: int) -> list[str]:
    return sorted((c for c, score in scores.items() if score > 0), key=lambda c: -scores[c])[:top_k]

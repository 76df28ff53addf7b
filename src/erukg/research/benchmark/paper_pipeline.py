"""The paper's pipeline as its steps read, to be timed beside this package with the same weights and collection.

Torch in float32 with the whole vocabulary as output, a tagger of its own, BM25, and Python dicts and loops from there
on (Eqs. 1 to 10). Nothing in it is slowed down; texts are cut at 512 word pieces, as there.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from erukg.core.candidates import penn_class
from erukg.core.settings import Settings
from erukg.errors import InputError, ModelError, require
from erukg.research.benchmark.paper_collection import PlainCollection
from erukg.taggers import Tagger, load_tagger

__all__ = ["PaperPipeline"]

_WORD = re.compile(r"\w+(?:[-']\w+)*|[^\w\s]")
_GRAMMAR = re.compile(r"[NJ]+[NC]|N")
_LETTERS = "ONJC"
_PIECES = 512


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
        best = sorted(shared, key=lambda c: -shared[c])[: s.neighbour_candidates]
        lower = " ".join(_WORD.findall(text.lower()))
        present: dict[str, float] = {}
        absent: dict[str, float] = {}
        for phrase in {**own, **dict.fromkeys(best)}:
            terms = self._tokenizer.encode(phrase, add_special_tokens=False).ids
            if not terms:
                continue
            weight = sum(alpha * weights.get(t, 0.0) + (1 - alpha) * around.get(t, 0.0) for t in terms)
            informativeness = weight / (len(terms) - s.length_penalty)
            in_text = 1 / len(own) if phrase in own else 0.0
            phraseness = beta * in_text + (1 - beta) * shared.get(phrase, 0.0)
            value = phraseness**s.phraseness * informativeness
            place = lower.find(phrase)
            before = own.get(phrase, lower.count(" ", 0, place) if place >= 0 else None)
            if before is None:
                absent[phrase] = value
            else:
                present[phrase] = value * (1 + 1 / math.log2(before + 2))
        return _best(present, top_k), _best(absent, top_k)


def _best(scores: dict[str, float], top_k: int) -> list[str]:
    return sorted((c for c, score in scores.items() if score > 0), key=lambda c: -scores[c])[:top_k]

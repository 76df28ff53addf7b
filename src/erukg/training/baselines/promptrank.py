"""An encoder–decoder for PromptRank, fitted to say what a text is about: its title, which it is not shown.

PromptRank asks how likely a phrase is after "This paper mainly talks about". T5 learned to answer from the web; a
smaller model learns it here from titles alone, without anybody's keyphrases. After the prompt comes the title from the
beginning of one of its phrases on, lower-cased as the candidates are, so that every phrase of a title becomes likely
there, not only the first. In the other examples a sentence of the abstract is written without a prompt, mostly one
left out of what is read: that teaches the decoder to look at the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray

from erukg.core.lexicon import FUNCTION_WORDS
from erukg.errors import TrainingError, require
from erukg.research.baselines.promptrank import PROMPTS, Prompts
from erukg.training.baselines.fit import FitOptions
from erukg.training.baselines.loop import descend
from erukg.training.folders import write_json
from erukg.training.references.base import paper_of
from erukg.training.references.rows import Problems, parse_rows

__all__ = ["PROMPT", "TitleBatches", "TitleExamples", "loss_of", "pack_titles", "phrase_starts", "train"]

PROMPT = Prompts("{text}", "This paper mainly talks about")
_RATE = 4e-4
_MOST_READ = 320  # tokens of a text
_MOST_WRITTEN = 48
_FEWEST_SENTENCE = 8
_LEFT_OUT = 0.7  # of the sentences to write
_SENTENCES = (0.8, 0.3)  # share of examples that write a sentence, at the beginning and at the end
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")

Tokens = NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class TitleExamples:
    """Documents as tokens, one after another.

    tokens     sentences of abstracts; `sentence_at` says where each begins, `document_at` which is a document's first
    titles     titles, lower-cased; `title_at` says where each begins
    begins     places in `titles` at which a phrase begins; `begin_at` says which is a title's first
    """

    tokens: Tokens
    sentence_at: NDArray[np.int64]
    document_at: NDArray[np.int64]
    titles: Tokens
    title_at: NDArray[np.int64]
    begins: NDArray[np.int64]
    begin_at: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.title_at) - 1

    def sentences(self, document: int) -> list[Tokens]:
        at = self.sentence_at[self.document_at[document] : self.document_at[document + 1] + 1].tolist()
        return [self.tokens[a:b] for a, b in pairwise(at)]


def phrase_starts(title: str) -> list[int]:
    """Where in a title the runs of words between function words and marks begin.

    >>> phrase_starts("sparse retrieval of long documents: a study")
    [0, 20, 38]
    """
    out, last, open_run = [], 0, False
    for match in _WORD.finditer(title):
        content = match[0].lower() not in FUNCTION_WORDS
        joined = open_run and not title[last : match.start()].strip()
        if content and not joined:
            out.append(match.start())
        open_run, last = content, match.end()
    return out


def pack_titles(papers: Iterable[tuple[str, str]], tokenizer: Any) -> TitleExamples:
    """(title, abstract) pairs as tokens of a `tokenizers.Tokenizer`; none of those without a phrase or sentence."""
    tokens: list[int] = []
    titles: list[int] = []
    begins: list[int] = []
    sentence_at, document_at, title_at, begin_at = [0], [0], [0], [0]
    for title, abstract in papers:
        lowered = title.lower()
        starts = phrase_starts(lowered)
        written = tokenizer.encode(lowered, add_special_tokens=False)
        places = _token_places(starts, written.offsets)
        parts = [part for part in _SENTENCE_END.split(abstract) if part]
        if not places or not parts or len(lowered) != len(title):
            continue
        for part in tokenizer.encode_batch(parts, add_special_tokens=False):
            tokens += part.ids
            sentence_at.append(len(tokens))
        document_at.append(len(sentence_at) - 1)
        begins += places
        begin_at.append(len(begins))
        titles += written.ids
        title_at.append(len(titles))
    if not titles:
        raise TrainingError("The files hold no document with a title and an abstract; give others.")
    kind = np.uint16 if tokenizer.get_vocab_size() <= 1 << 16 else np.uint32
    offsets = (np.array(part, np.int64) for part in (sentence_at, document_at, title_at, begins, begin_at))
    a, b, c, d, e = offsets
    return TitleExamples(np.array(tokens, kind), a, b, np.array(titles, kind), c, d, e)


def _token_places(starts: Sequence[int], offsets: Sequence[tuple[int, int]]) -> list[int]:
    """The tokens that hold the characters at `starts`, or a space before them."""
    ends = np.array([end for _, end in offsets])
    found = np.searchsorted(ends, np.array(starts, np.int64), side="right") if len(ends) else np.zeros(0, np.int64)
    return sorted({int(place) for place in found if place < len(ends)})


class TitleBatches:
    """Batches for a model whose special tokens and prompt are given: what it reads and what it writes."""

    def __init__(self, examples: TitleExamples, prompt: Sequence[int], start: int, end: int, pad: int) -> None:
        self.examples, self.prompt = examples, list(prompt)
        self.start, self.end, self.pad = start, end, pad

    def batch(self, documents: Sequence[int], random: np.random.Generator, progress: float) -> dict[str, Any]:
        """Tensors for one step; the share of sentences to write goes down while the training goes on."""
        share = _SENTENCES[0] + (_SENTENCES[1] - _SENTENCES[0]) * progress
        pairs = [
            self._sentence(document, random) if random.random() < share else self._title(document, random)
            for document in documents
        ]
        read = [[*ids[: _MOST_READ - 1], self.end] for ids, _, _ in pairs]
        written = [[self.start, *given, *said[:_MOST_WRITTEN], self.end] for _, given, said in pairs]
        ids, mask = self._padded(read)
        whole, known = self._padded(written)
        labels = torch.where(known[:, 1:], whole[:, 1:], -100)
        for row, (_, given, said) in enumerate(pairs):
            labels[row, : len(given)] = -100
            if len(said) > _MOST_WRITTEN:  # it goes on, so it does not end there
                labels[row, len(given) + _MOST_WRITTEN] = -100
        return {"input_ids": ids, "attention_mask": mask.long(), "decoder_input_ids": whole[:, :-1], "labels": labels}

    def _title(self, document: int, random: np.random.Generator) -> tuple[list[int], list[int], list[int]]:
        examples = self.examples
        first, end = examples.begin_at[document : document + 2].tolist()
        begin = int(examples.begins[random.integers(first, end)])
        at, to = examples.title_at[document : document + 2].tolist()
        text = np.concatenate(examples.sentences(document)).tolist()
        return text, self.prompt, examples.titles[at + begin : to].tolist()

    def _sentence(self, document: int, random: np.random.Generator) -> tuple[list[int], list[int], list[int]]:
        sentences = [part.tolist() for part in self.examples.sentences(document)]
        long = [i for i, part in enumerate(sentences) if len(part) >= _FEWEST_SENTENCE]
        if len(sentences) < 2 or not long:
            return self._title(document, random)
        chosen = long[int(random.integers(len(long)))]
        out = random.random() < _LEFT_OUT
        return [t for i, part in enumerate(sentences) if not (out and i == chosen) for t in part], [], sentences[chosen]

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        longest = max(map(len, rows))
        ids = torch.full((len(rows), longest), self.pad)
        mask = torch.zeros((len(rows), longest), dtype=torch.bool)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
            mask[i, : len(row)] = True
        return ids, mask


def loss_of(model: Any, batch: dict[str, Any]) -> torch.Tensor:
    """The mean loss of the tokens to write, under an encoder–decoder that is called as those of transformers are."""
    labels = batch["labels"]
    logits = model(**{name: part for name, part in batch.items() if name != "labels"}).logits
    return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=-100)


def train(files: Sequence[Path], base: Path, folder: Path, options: FitOptions) -> int:
    """Fit the encoder–decoder in `base` to the titles of {"title", "abstract"} rows and write it to `folder`."""
    transformers = require("transformers", "train", "Training PromptRank's model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(base), local_files_only=True)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(str(base), local_files_only=True, dtype=torch.float32)
    backend = getattr(tokenizer, "backend_tokenizer", None)
    start, end, pad = (
        getattr(model.config, name) for name in ("decoder_start_token_id", "eos_token_id", "pad_token_id")
    )
    if backend is None or None in (start, end, pad):
        raise TrainingError(
            f"{base} has no tokenizer.json, or no tokens for begin, end and padding; choose another base."
        )
    papers = ((paper.title, paper.abstract) for paper in parse_rows(files, Problems(), paper_of))
    examples = pack_titles(papers, backend)
    prompt = backend.encode(PROMPT.prompt, add_special_tokens=False).ids
    batches = TitleBatches(examples, prompt, start, end, pad)
    lengths = np.diff(examples.sentence_at[examples.document_at])
    fitted = replace(options, learning_rate=_RATE)
    steps = descend([model], (batches, lengths), lambda batch: loss_of(model, batch), fitted)
    model.half().cpu().save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    write_json(folder / PROMPTS, asdict(PROMPT))
    return steps

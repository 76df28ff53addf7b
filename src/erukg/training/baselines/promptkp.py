"""PromptKP's model: which words of a text belong to its author's keyphrases, and what stands around them there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

from erukg.core.lexicon import FUNCTION_WORDS
from erukg.errors import ModelError, TrainingError, require
from erukg.research.baselines.promptkp import HEADS, MOST_KEY, MOST_TEXT, SLOTS, Filler, WordPieces, lay_out, prompt_of
from erukg.training.baselines.copyrnn import examples as labelled
from erukg.training.baselines.fit import FitOptions
from erukg.training.baselines.loop import descend
from erukg.training.baselines.packing import Example

__all__ = ["Heads", "PromptBatches", "PromptExamples", "label", "loss_of", "pack_prompts", "train"]

_RATE = 3e-4
OUTSIDE, BEGIN, INSIDE = range(3)
_MOST_PROMPTS = 6  # of a document in one step
_NOTHING_KNOWN = 0.4  # of the prompts; of the others some slots are filled in already

Prompt = tuple[list[int], list[int], list[int]]
"""Pieces before the key, nearest first, those of the key, and those after it."""


@dataclass(frozen=True, slots=True)
class PromptExamples:
    """Documents as pieces with their labels, one after another.

    pieces    of all texts; `piece_at` says where each text begins
    first     for each word its first piece, counted within its text; `word_at` says where the words of a text begin
    present   for each word whether it is outside, at the begin or inside of a keyphrase; `key` whether it occurs in one
              that is not in the text
    prompts   pieces before (nearest first), of and after a key; `sizes` has the three lengths of each, `prompt_at`
              where each begins and `own_at` which are a text's own
    """

    pieces: NDArray[np.uint16]
    piece_at: NDArray[np.int64]
    first: NDArray[np.uint16]
    word_at: NDArray[np.int64]
    present: NDArray[np.uint8]
    key: NDArray[np.uint8]
    prompts: NDArray[np.uint16]
    sizes: NDArray[np.uint8]
    prompt_at: NDArray[np.int64]
    own_at: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.piece_at) - 1

    def prompts_of(self, document: int) -> range:
        return range(int(self.own_at[document]), int(self.own_at[document + 1]))

    def prompt(self, number: int) -> Prompt:
        before, key, _ = self.sizes[number].tolist()
        own = self.prompts[self.prompt_at[number] : self.prompt_at[number + 1]].tolist()
        return own[:before], own[before : before + key], own[before + key :]


def label(words: WordPieces, phrases: Sequence[WordPieces]) -> tuple[list[int], list[int], list[Prompt]]:
    """Of each word of a text whether it is in a present and in an absent phrase, and the prompts of the absent ones."""
    present, key = [OUTSIDE] * len(words.words), [0] * len(words.words)
    solid = [i for i, word in enumerate(words.words) if word != "-"]
    stems = [words.stems[i] for i in solid]
    where: dict[str, list[int]] = {}
    for place, stem in enumerate(stems):
        where.setdefault(stem, []).append(place)
    prompts: list[Prompt] = []
    for phrase in phrases:
        own = [stem for stem, word in zip(phrase.stems, phrase.words, strict=True) if word != "-"]
        found = [at for at in where.get(own[0], ()) if stems[at : at + len(own)] == own] if own else []
        for at in found:
            begin, end = solid[at], solid[at + len(own) - 1]
            if all(mark == OUTSIDE for mark in present[begin : end + 1]):
                present[begin : end + 1] = [BEGIN] + [INSIDE] * (end - begin)
        if found:
            continue
        shared = [_tells(word) and stem in where for word, stem in zip(phrase.words, phrase.stems, strict=True)]
        for stem, is_shared in zip(phrase.stems, shared, strict=True):
            for place in where.get(stem, ()) if is_shared else ():
                key[solid[place]] = 1
        prompts += _prompts(phrase, shared)
    return present, key, prompts


def _tells(word: str) -> bool:
    return word not in FUNCTION_WORDS and any(map(str.isalpha, word))


def _prompts(phrase: WordPieces, shared: Sequence[bool]) -> Iterator[Prompt]:
    """A phrase around each of its words that are in the text, and around each run of such words."""
    runs = [(i, i + 1) for i, is_shared in enumerate(shared) if is_shared]
    begin = 0
    for i, is_shared in enumerate([*shared, False]):
        if not is_shared:
            runs += [(begin, i)] if i - begin > 1 else []
            begin = i + 1
    bounds = [*phrase.first.tolist(), len(phrase.ids)]
    for a, b in runs:
        before, own, after = (part.tolist() for part in np.split(phrase.ids, [bounds[a], bounds[b]]))
        if len(before) <= SLOTS and len(own) <= MOST_KEY and len(after) <= SLOTS:
            yield before[::-1], own, after


def pack_prompts(examples: Iterable[Example], tokenizer: Any) -> PromptExamples:
    """Texts with their keyphrases as pieces of a `tokenizers.Tokenizer` that splits words as BERT's does."""
    if tokenizer.get_vocab_size() > 1 << 16:
        raise TrainingError("The tokenizer has more than 65,536 pieces; PromptKP is trained with fewer.")
    pieces: list[int] = []
    first: list[int] = []
    present: list[int] = []
    key: list[int] = []
    prompts: list[int] = []
    sizes: list[tuple[int, ...]] = []
    piece_at, word_at, prompt_at, own_at = [0], [0], [0], [0]
    for example in examples:
        words = WordPieces.of(example.text, tokenizer)
        phrases = [WordPieces.of(target, tokenizer) for target in example.targets]
        of_present, of_key, found = label(words, [phrase for phrase in phrases if phrase.words])
        if not any(of_present) and not found:
            continue
        pieces += words.ids.tolist()
        first += words.first.tolist()
        present += of_present
        key += of_key
        for prompt in found:
            prompts += [piece for part in prompt for piece in part]
            sizes.append(tuple(map(len, prompt)))
            prompt_at.append(len(prompts))
        piece_at.append(len(pieces))
        word_at.append(len(first))
        own_at.append(len(sizes))
    if not pieces:
        raise TrainingError("The files hold no document with both a text and keyphrases that share a word with it.")
    at = [np.array(part, np.int64) for part in (piece_at, word_at, prompt_at, own_at)]
    small = [np.array(part, np.uint16) for part in (pieces, first, prompts)]
    marks = [np.array(part, np.uint8) for part in (present, key)]
    shapes = np.array(sizes, np.uint8).reshape(-1, 3)
    return PromptExamples(small[0], at[0], small[1], at[1], marks[0], marks[1], small[2], shapes, at[2], at[3])


class Heads(nn.Module):  # type: ignore[misc]
    """Marks words: `present` with three marks, `key` with one."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.present, self.key = nn.Linear(width, 3), nn.Linear(width, 1)


class PromptBatches:
    """Batches for a BERT whose special pieces and number of positions are given."""

    def __init__(self, examples: PromptExamples, marks: tuple[int, int], mask: int, positions: int) -> None:
        self.examples, self.marks, self.mask, self.positions = examples, marks, mask, positions

    def batch(self, documents: Sequence[int], random: np.random.Generator, progress: float) -> dict[str, Any]:
        """Tensors for one step: rows as `lay_out` makes them, and places in the whole batch with their labels."""
        ex = self.examples
        rows, labels = [], []
        for d in documents:
            own = ex.prompts_of(d)
            chosen = random.permutation(len(own))[:_MOST_PROMPTS].tolist()
            prompts = [self._masked(ex.prompt(own[i]), random) for i in chosen]
            text = ex.pieces[ex.piece_at[d] : ex.piece_at[d + 1]].astype(np.int64)
            rows.append(lay_out(text, [given for given, _ in prompts], self.marks, self.positions))
            wanted = np.full(len(rows[-1][0]), -100, np.int64)
            if prompts:
                wanted[len(text) + 2 :] = np.concatenate([asked for _, asked in prompts])
            labels.append(wanted)
        longest = -(-max(len(row[0]) for row in rows) // 16) * 16
        shape = len(rows), longest
        ids, places, segments = (np.zeros(shape, np.int64) for _ in range(3))
        fill = np.full(shape, -100, np.int64)
        sees = np.zeros((len(rows), 1, longest, longest), np.bool_)
        sees[..., 0] = True  # for the padding, which must see something
        for i, (row, wanted) in enumerate(zip(rows, labels, strict=True)):
            n = len(row[0])
            ids[i, :n], places[i, :n], segments[i, :n], sees[i, 0, :n, :n] = row
            fill[i, :n] = wanted
        spans = [slice(*ex.word_at[d : d + 2].tolist()) for d in documents]
        at = [i * longest + 1 + ex.first[span].astype(np.int64) for i, span in enumerate(spans)]
        slots = np.flatnonzero(fill.ravel() >= 0)
        arrays = {
            "ids": ids,
            "places": places,
            "segments": segments,
            "sees": sees,
            "words": np.concatenate(at),
            "present": np.concatenate([ex.present[span] for span in spans]).astype(np.int64),
            "key": np.concatenate([ex.key[span] for span in spans]).astype(np.float32),
            "slots": slots,
            "fill": fill.ravel()[slots],
        }
        return {name: torch.from_numpy(array) for name, array in arrays.items()}

    def _masked(self, prompt: Prompt, random: np.random.Generator) -> tuple[list[int], list[int]]:
        """A prompt with outer slots masked, and what belongs there (-100 elsewhere): beyond a phrase the end mark."""
        before, key, after = prompt
        end = self.marks[1]
        full = [(*side, *[end] * SLOTS)[:SLOTS] for side in (before, after)]
        known = [0, 0]
        if random.random() > _NOTHING_KNOWN:
            known = [int(random.integers(0, min(len(side) + 1, SLOTS) + 1)) for side in (before, after)]
        # Where the end of a side is known, so are all slots behind it.
        shown = [side if end in side[:n] else side[:n] for side, n in zip(full, known, strict=True)]
        asked = [
            [-100 if i < len(s) else piece for i, piece in enumerate(side)] for side, s in zip(full, shown, strict=True)
        ]
        return prompt_of(key, self.mask, *shown), [*asked[0][::-1], *[-100] * len(key), *asked[1]]


def loss_of(model: Any, heads: Heads, batch: dict[str, Any]) -> torch.Tensor:
    """The sum of the losses of both kinds of marks and of what is filled in."""
    states = model.bert(
        input_ids=batch["ids"],
        position_ids=batch["places"],
        token_type_ids=batch["segments"],
        attention_mask=batch["sees"],
    ).last_hidden_state.flatten(0, 1)
    words = states[batch["words"]]
    loss = F.cross_entropy(heads.present(words).float(), batch["present"])
    loss = loss + F.binary_cross_entropy_with_logits(heads.key(words)[:, 0].float(), batch["key"])
    if len(batch["slots"]):
        logits = model.cls.predictions(states[batch["slots"]])
        loss = loss + F.cross_entropy(logits.float(), batch["fill"])
    return loss


def train(files: Sequence[Path], base: Path, folder: Path, options: FitOptions) -> int:
    """Fit the BERT in `base` to documents with keywords, as CopyRNN reads them, and write it to `folder`."""
    transformers = require("transformers", "train", "Training PromptKP")
    safetensors = require("safetensors.torch", "train", "Training PromptKP")
    tokenizer = Filler(str(base)).tokenizer
    model = transformers.BertForMaskedLM.from_pretrained(str(base), local_files_only=True, dtype=torch.float32)
    marks = [tokenizer.token_to_id(mark) for mark in ("[CLS]", "[SEP]", "[MASK]")]
    positions = model.config.max_position_embeddings
    if None in marks or positions < MOST_TEXT + 2 * MOST_KEY:
        raise ModelError(f"{base} lacks [CLS], [SEP] or [MASK], or has fewer than 400 positions; choose another base.")
    prompts = pack_prompts(labelled(files, options.seed), tokenizer)
    batches = PromptBatches(prompts, (marks[0], marks[1]), marks[2], positions)
    heads = Heads(model.config.hidden_size)
    fitted = replace(options, learning_rate=_RATE)
    steps = descend(
        [model, heads], (batches, np.diff(prompts.piece_at)), lambda batch: loss_of(model, heads, batch), fitted
    )
    model.half().cpu().save_pretrained(str(folder))
    state = {name: part.detach().cpu().contiguous() for name, part in heads.state_dict().items()}
    safetensors.save_file(state, str(folder / HEADS))
    tokenizer.save(str(folder / "tokenizer.json"))
    return steps

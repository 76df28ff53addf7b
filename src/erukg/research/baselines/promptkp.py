"""PromptKP (Wu et al. 2022): words of the text as prompts, around which a masked-language model fills in the rest.

An encoder marks the words of a text that belong to keyphrases in it, and those that belong to keyphrases which are not
in it. Each of the latter is a prompt: masks, the word, masks. The masks of all prompts are filled side by side, in a
few rounds, by the same encoder; what it fills in, with the word, is a phrase.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import stem_words
from erukg.core.lexicon import FUNCTION_WORDS
from erukg.errors import ModelError, require
from erukg.research.baselines.base import digest, model_folder, usual_device

__all__ = ["HEADS", "MOST_KEY", "MOST_TEXT", "SLOTS", "Filler", "PromptKp", "WordPieces", "lay_out", "prompt_of"]

HEADS = "heads.safetensors"
"""The file of a model folder with the two heads that mark words."""
SLOTS = 4
"""Masks on either side of a prompt's words."""
MOST_TEXT = 384
"""Pieces of a text that are read, with the marks of its begin and its end."""
_MOST_PROMPT = 16
MOST_KEY = _MOST_PROMPT - 2 * SLOTS
"""Pieces of a prompt's words."""

Ids = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class WordPieces:
    """A text as words and their pieces: `first[i]` is the piece with which word i begins, `stems[i]` its stem."""

    ids: Ids
    first: Ids
    words: list[str]
    stems: list[str]
    spans: list[tuple[int, int]]
    text: str

    @classmethod
    def of(cls, text: str, tokenizer: Any) -> WordPieces:
        """What is read of a text, by a tokenizer of the `tokenizers` library that splits words as BERT's does."""
        found = tokenizer.encode(text, add_special_tokens=False)
        numbers = np.array([-1 if n is None else n for n in found.word_ids[: MOST_TEXT - 2]], np.int64)
        begins = np.ones(len(numbers), np.bool_)
        begins[1:] = numbers[1:] != numbers[:-1]
        first = np.flatnonzero(begins)
        lasts = np.append(first[1:], len(numbers))[: len(first)] - 1
        offsets = found.offsets
        spans = [(offsets[a][0], offsets[b][1]) for a, b in zip(first.tolist(), lasts.tolist(), strict=True)]
        words = [text[a:b].lower() for a, b in spans]
        return cls(np.array(found.ids[: MOST_TEXT - 2], np.int64), first, words, stem_words(words), spans, text)

    def pieces(self, word: int) -> list[int]:
        """The pieces of a word."""
        end = self.first[word + 1] if word + 1 < len(self.first) else len(self.ids)
        return [int(piece) for piece in self.ids[self.first[word] : end]]

    def form(self, begin: int, end: int) -> str:
        """Words from `begin` to before `end` as they are written."""
        return " ".join(self.text[self.spans[begin][0] : self.spans[end - 1][1]].split())


def prompt_of(key: Sequence[int], mask: int, before: Sequence[int] = (), after: Sequence[int] = ()) -> list[int]:
    """Pieces `key` with what is known before and after it, nearest first; the other slots are masks."""
    left = [*before, *[mask] * (SLOTS - len(before))]
    right = [*after, *[mask] * (SLOTS - len(after))]
    return [*left[::-1], *key[:MOST_KEY], *right]


def lay_out(
    text: Ids, prompts: Sequence[Sequence[int]], marks: tuple[int, int], positions: int
) -> tuple[Ids, Ids, Ids, Flags]:
    """A text and its prompts as one row: pieces, their positions, their segments, and what sees what.

    The text sees itself only, so that it is read in the same way with any prompts; a prompt sees the text and itself.
    All prompts stand at the same positions, the last ones of `positions`.
    """
    length = len(text) + 2
    sizes = [len(prompt) for prompt in prompts]
    ids = np.concatenate([[marks[0]], text, [marks[1]], *map(np.asarray, prompts)]).astype(np.int64)
    places = [np.arange(positions - _MOST_PROMPT, positions - _MOST_PROMPT + size) for size in sizes]
    places_all = np.concatenate([np.arange(length), *places]).astype(np.int64)
    owner = np.repeat(np.arange(len(prompts) + 1), [length, *sizes])
    sees = (owner[None, :] == 0) | (owner[None, :] == owner[:, None])
    return ids, places_all, (owner > 0).astype(np.int64), sees


@dataclass(frozen=True)
class Filler:
    """A folder with BERT and its masked-language head as the transformers library saves it, and heads.safetensors."""

    path: str

    @cached_property
    def tokenizer(self) -> Any:
        path = model_folder(self.path, "PromptKP") / "tokenizer.json"
        if not path.is_file():
            raise ModelError(f"There is no {path}; PromptKP needs a folder that 'erukg train baseline promptkp' wrote.")
        tokenizer = require("tokenizers", "eval", "PromptKP").Tokenizer.from_file(str(path))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def network(self) -> tuple[Any, Any]:
        """The masked-language model and the weights of the heads."""
        folder = model_folder(self.path, "PromptKP")
        if not (folder / HEADS).is_file():
            raise ModelError(f"There is no {folder / HEADS}; train the model with 'erukg train baseline promptkp'.")
        torch = require("torch", "eval", "PromptKP")
        transformers = require("transformers", "eval", "PromptKP")
        model = transformers.BertForMaskedLM.from_pretrained(str(folder), local_files_only=True, dtype=torch.float32)
        heads = require("safetensors.torch", "eval", "PromptKP").load_file(str(folder / HEADS))
        device = usual_device()
        return model.eval().to(device), {name: part.float().to(device) for name, part in heads.items()}

    def _states(self, text: Ids, prompts: Sequence[Sequence[int]]) -> Any:
        torch = require("torch", "eval", "PromptKP")
        model, heads = self.network
        marks = self.tokenizer.token_to_id("[CLS]"), self.tokenizer.token_to_id("[SEP]")
        positions = model.bert.embeddings.position_embeddings.weight.shape[0]
        device = heads["present.weight"].device
        ids, places, segments, sees = (
            torch.from_numpy(part).to(device) for part in lay_out(text, prompts, marks, positions)
        )
        return model.bert(
            input_ids=ids[None],
            position_ids=places[None],
            token_type_ids=segments[None],
            attention_mask=sees[None, None],
        ).last_hidden_state[0]

    def marked(self, words: WordPieces) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """By word the probabilities [n, 3] to be outside, at the begin and inside of a present keyphrase; and that of
        being a word of an absent one."""
        torch = require("torch", "eval", "PromptKP")
        heads = self.network[1]
        with torch.inference_mode():
            states = self._states(words.ids, [])[torch.from_numpy(words.first + 1)]
            present = (states @ heads["present.weight"].T + heads["present.bias"]).softmax(-1)
            key = (states @ heads["key.weight"].T + heads["key.bias"])[:, 0].sigmoid()
        return present.double().cpu().numpy(), key.double().cpu().numpy()

    def fill(
        self, words: WordPieces, prompts: Sequence[Sequence[int]], slots: Sequence[Sequence[int]], most: int
    ) -> Iterator[list[list[tuple[int, float]]]]:
        """For every prompt and each of its `slots` the `most` likeliest pieces, likeliest first, with ln p."""
        torch = require("torch", "eval", "PromptKP")
        model = self.network[0]
        begins = np.cumsum([len(words.ids) + 2, *map(len, prompts)])[:-1].tolist()
        wanted = [begin + slot for begin, own in zip(begins, slots, strict=True) for slot in own]
        with torch.inference_mode():
            logits = model.cls.predictions(self._states(words.ids, prompts)[wanted]).float()
            values, pieces = logits.topk(most)
            logs = (values - logits.logsumexp(-1, keepdim=True)).tolist()
        found = iter([list(zip(*row, strict=True)) for row in zip(pieces.tolist(), logs, strict=True)])
        for own in slots:
            yield [next(found) for _ in own]

    def describe(self) -> Mapping[str, Any]:
        return {"name": Path(self.path).name, "sha256": digest(model_folder(self.path, "PromptKP"))}


@dataclass(frozen=True)
class _Open:
    """A phrase while it is filled in: pieces of its key, those before and after it, nearest first, and ln p so far.

    A side that is done ends with the end mark.
    """

    key: tuple[int, ...]
    log: float
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()

    def side(self, right: bool) -> tuple[int, ...]:
        return self.after if right else self.before

    def done(self, right: bool, end: int) -> bool:
        own = self.side(right)
        return len(own) >= SLOTS or end in own

    def grown(self, right: bool, piece: int, log: float) -> _Open:
        own = (*self.side(right), piece)
        return _Open(self.key, self.log + log, self.before if right else own, own if right else self.after)


@dataclass(frozen=True)
class PromptKp:
    """Present phrases by the probability of their words' marks, absent ones by that of their key and what is filled in.

    Up to `keys` words are prompts, and up to `pairs` neighbouring two of them; of each the `width` best phrases are
    kept while it is filled in, where every round fills the slot that the model is surest of.
    """

    model: Filler
    keys: int = 10
    pairs: int = 4
    width: int = 3
    length_power: float = 0.5
    key_weight: float = 1.0
    max_words: int = 6
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")

    def phrases(self, text: str, top_k: int = 10) -> tuple[list[str], list[str]]:
        words = WordPieces.of(text, self.model.tokenizer)
        if not len(words.first):
            return [], []
        present, key = self.model.marked(words)
        return self._present(words, present)[:top_k], self._absent(words, key)[:top_k]

    def _present(self, words: WordPieces, marks: NDArray[np.float64]) -> list[str]:
        best: dict[tuple[str, ...], tuple[float, str]] = {}
        _, begins, inside = marks.T
        count = len(begins)
        # Given that a word is in a phrase, how likely the phrase goes on with the next word.
        goes_on = np.zeros(count + 1)
        goes_on[1:count] = np.minimum(1.0, inside[1:] / np.maximum(begins + inside, 1e-6)[:-1])
        for begin in range(count):
            chance = float(begins[begin])
            for end in range(begin + 1, min(begin + self.max_words, count) + 1):
                if end > begin + 1:
                    chance *= float(goes_on[end - 1])
                if chance < 1e-4:
                    break
                whole = chance * (1 - float(goes_on[end]))
                if whole > 0 and _phrase_like(words.words[begin:end]):
                    stems = tuple(words.stems[begin:end])
                    best[stems] = max(best.get(stems, (0.0, "")), (whole, words.form(begin, end)))
        return [form for _, form in sorted(best.values(), key=lambda found: -found[0])]

    def _keys(self, words: WordPieces, chances: NDArray[np.float64]) -> list[_Open]:
        """The words, and pairs of neighbours, that are likeliest to belong to absent phrases; each stem once."""
        singles: dict[tuple[str, ...], tuple[float, tuple[int, ...]]] = {}
        pairs: dict[tuple[str, ...], tuple[float, tuple[int, ...]]] = {}
        usable = [_phrase_like([word]) for word in words.words]
        for i in range(len(chances)):
            if not usable[i]:
                continue
            found = (float(chances[i]), tuple(words.pieces(i)[:MOST_KEY]))
            singles[(words.stems[i],)] = max(singles.get((words.stems[i],), (0.0, ())), found)
            if i + 1 < len(chances) and usable[i + 1]:
                both = (float(chances[i] * chances[i + 1]), tuple((words.pieces(i) + words.pieces(i + 1))[:MOST_KEY]))
                stems = (words.stems[i], words.stems[i + 1])
                pairs[stems] = max(pairs.get(stems, (0.0, ())), both)
        best = sorted(singles.values(), reverse=True)[: self.keys] + sorted(pairs.values(), reverse=True)[: self.pairs]
        return [_Open(pieces, self.key_weight * float(np.log(max(chance, 1e-9)))) for chance, pieces in best]

    def _absent(self, words: WordPieces, chances: NDArray[np.float64]) -> list[str]:
        tokenizer = self.model.tokenizer
        end = int(tokenizer.token_to_id("[SEP]"))
        beams = [[key] for key in self._keys(words, chances)]
        for _ in range(2 * SLOTS):
            growing = [h for beam in beams for h in beam if not (h.done(False, end) and h.done(True, end))]
            if not growing:
                break
            grown = self._round(words, growing, end)
            beams = [
                sorted((new for h in beam for new in grown.get(id(h), [h])), key=lambda h: -h.log)[: self.width]
                for beam in beams
            ]
        ranked = sorted(
            (h for beam in beams for h in beam), key=lambda h: -h.log / len((*h.before, *h.after)) ** self.length_power
        )
        known = f" {' '.join(words.stems)} "
        seen: set[str] = set()
        out = []
        for h in ranked:
            pieces = [*[p for p in h.before if p != end][::-1], *h.key, *[p for p in h.after if p != end]]
            form = tokenizer.decode(pieces).replace(" - ", "-")
            stems = " ".join(stem_words(form.replace("-", " ").split()))
            if stems and stems not in seen and f" {stems} " not in known and _phrase_like(form.split()):
                seen.add(stems)
                out.append(form)
        return out

    def _round(self, words: WordPieces, growing: Sequence[_Open], end: int) -> dict[int, list[_Open]]:
        """What becomes of phrases when one slot more is filled, the one beside what is known that is surest."""
        mask = int(self.model.tokenizer.token_to_id("[MASK]"))
        prompts, slots, sides = [], [], []
        for h in growing:
            closed = [(*side, *[end] * SLOTS)[:SLOTS] if end in side else side for side in (h.before, h.after)]
            prompts.append(prompt_of(h.key, mask, *closed))
            sides.append([right for right in (False, True) if not h.done(right, end)])
            slots.append(
                [SLOTS + len(h.key) + len(h.after) if right else SLOTS - 1 - len(h.before) for right in sides[-1]]
            )
        out: dict[int, list[_Open]] = {}
        filled = self.model.fill(words, prompts, slots, self.width)
        for h, own, found in zip(growing, sides, filled, strict=True):
            surest = max(range(len(own)), key=lambda i: found[i][0][1])
            out[id(h)] = [h.grown(own[surest], piece, log) for piece, log in found[surest]]
        return out


def _phrase_like(words: Sequence[str]) -> bool:
    """Whether words may be a phrase: it begins and ends with one that says something, and holds no mark but hyphens."""
    ends = (
        all(any(map(str.isalpha, word)) and word not in FUNCTION_WORDS for word in (words[0], words[-1]))
        if words
        else False
    )
    return ends and all(word == "-" or any(map(str.isalnum, word)) for word in words)

"""PromptRank (Kong et al. 2023): how readily a model goes on with a phrase when it is asked what a text is about."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.core.locating import words_before
from erukg.errors import ModelError, require
from erukg.research.baselines.base import best, digest, model_folder, usual_device
from erukg.research.baselines.tagged import Reader

__all__ = ["PROMPTS", "EncoderDecoder", "PromptRank", "Prompts"]

_MAX_LENGTH = 512  # of what is read, in words and then in tokens
_BATCH = 32
PROMPTS = "prompts.json"
"""The file of a model folder with the prompts that its model was trained for."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """What the encoder reads, with {text} for the text, and what the decoder is given to go on from."""

    template: str = 'Book:"{text}"'
    prompt: str = "This book mainly talks about"

    @classmethod
    def of(cls, folder: Path) -> Prompts:
        """Those in the folder's prompts.json; without that file those of the PromptRank paper, made for T5."""
        path = folder / PROMPTS
        if not path.is_file():
            return cls()
        try:
            found = json.loads(path.read_text("utf-8"))
            prompts = cls(found["template"], found["prompt"])
            if not isinstance(prompts.prompt, str) or prompts.template.count("{text}") != 1:
                raise TypeError
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            raise ModelError(
                f'{path} must be {{"template", "prompt"}} with {{text}} once in the template; correct or remove it.'
            ) from None
        return prompts

    def asked(self, text: str) -> str:
        return self.template.replace("{text}", text)


@dataclass(frozen=True)
class EncoderDecoder:
    """A folder with an encoder–decoder (T5, BART, Marian, …) as the transformers library saves it."""

    path: str

    @cached_property
    def prompts(self) -> Prompts:
        return Prompts.of(model_folder(self.path, "PromptRank"))

    @cached_property
    def _loaded(self) -> tuple[Any, Any, Any]:
        folder = str(model_folder(self.path, "PromptRank"))
        transformers = require("transformers", "eval", "PromptRank")
        torch = require("torch", "eval", "PromptRank")
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
        return torch, tokenizer, model.eval().to(usual_device())

    def likelihoods(self, text: str, phrases: Sequence[str]) -> tuple[NDArray[np.float64], list[int]]:
        """ln p(phrase | text, prompt) of each phrase, and of how many tokens it is made."""
        torch, tokenizer, model = self._loaded
        prompt = self.prompts.prompt
        with torch.inference_mode():
            read = tokenizer(self.prompts.asked(text), truncation=True, max_length=_MAX_LENGTH, return_tensors="pt").to(
                model.device
            )
            encoded = model.get_encoder()(read.input_ids, attention_mask=read.attention_mask).last_hidden_state
            start = model.config.decoder_start_token_id
            head = [start, *tokenizer(prompt, add_special_tokens=False).input_ids]
            tails = [
                tokenizer(f"{prompt} {phrase}", add_special_tokens=False).input_ids[len(head) - 1 :]
                for phrase in phrases
            ]
            begun = model(
                encoder_outputs=(encoded,),
                attention_mask=read.attention_mask,
                decoder_input_ids=torch.tensor([head], device=model.device),
                use_cache=True,
            )
            first = begun.logits[0, -1].float().log_softmax(-1).cpu().double().numpy()
            out = np.array([first[tail[0]] if tail else 0.0 for tail in tails])
            longer = [i for i, tail in enumerate(tails) if len(tail) > 1]
            for at in range(0, len(longer), _BATCH):
                batch = longer[at : at + _BATCH]
                out[batch] += self._rest(begun.past_key_values, encoded, read.attention_mask, [tails[i] for i in batch])
        return out, [len(tail) for tail in tails]

    def _rest(self, cache: Any, encoded: Any, mask: Any, tails: Sequence[Sequence[int]]) -> list[float]:
        """ln p of all tokens but the first of each tail, after what `cache` holds of the text and the prompt."""
        torch, _, model = self._loaded
        size, longest = len(tails), max(map(len, tails))
        ids = torch.tensor([[*tail, *[tail[-1]] * (longest - len(tail))] for tail in tails], device=model.device)
        own = deepcopy(cache)
        own.batch_repeat_interleave(size)
        logits = model(
            encoder_outputs=(encoded.expand(size, -1, -1),),
            attention_mask=mask.expand(size, -1),
            decoder_input_ids=ids[:, :-1],
            past_key_values=own,
        ).logits
        # The token at place i is predicted at place i - 1.
        logs = logits.float().log_softmax(-1).gather(2, ids[:, 1:, None])[:, :, 0].double().cpu().numpy()
        return [float(row[: len(tail) - 1].sum()) for row, tail in zip(logs, tails, strict=True)]

    def describe(self) -> Mapping[str, Any]:
        return {"name": Path(self.path).name, "sha256": digest(model_folder(self.path, "PromptRank"))}


@dataclass(frozen=True)
class PromptRank:
    """Score = (pos/len + γ/len³) · ln p / l^α, with pos and len in words and l in tokens of the phrase.

    It is below 0 and better the nearer it is to it; what is returned is 1/(1 - score). As in the authors'
    program the text is its first 512 words, and phrases are lower-cased.
    """

    model: EncoderDecoder
    reader: Reader = field(default_factory=Reader)
    alpha: float = 0.6
    gamma: float = 1.2e8
    max_words: int = 5

    def extract(self, text: str, top_k: int = 10) -> list[tuple[str, float]]:
        tagged = self.reader.read(text)
        document, phrases = tagged.document, tagged.phrases(self.max_words)
        first = [int(document.starts[phrase.offsets[0]]) for phrase in phrases]
        *before, total = words_before(document, [*first, len(text)]).tolist()
        length = min(total, _MAX_LENGTH)
        positions = np.array([position for position in before if position < length])
        if not len(positions):
            return []
        # In order of first occurrence, so those beyond what is read are the last.
        forms = [phrase.form for phrase in phrases[: len(positions)]]
        read = " ".join(text.split()[:_MAX_LENGTH])
        logs, tokens = self.model.likelihoods(read, [form.lower() for form in forms])
        likely = logs / np.maximum(tokens, 1) ** self.alpha
        scores = (positions / length + self.gamma / length**3) * likely
        return best(forms, 1 / (1 - scores), top_k)

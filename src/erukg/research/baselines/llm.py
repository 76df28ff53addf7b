"""A language model that is asked for keyphrases in words, as one asks a chat assistant."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from erukg.errors import MissingExtraError, ModelError, require
from erukg.research.baselines.base import ManyTexts, digest, model_folder, usual_device

__all__ = ["Answer", "LanguageModel", "Llm", "conversation", "phrases_in", "repeated", "whole_part"]

_ASKED = (
    "Here are the title and the abstract of a paper:\n\n{text}\n\n"
    "List 15 keyphrases of this paper, the most important first, separated by semicolons. "
    "Take phrases from the text, and add a few that are not in it but name its topics. Write nothing but the list."
)
# Examples show the form of an answer, which small models do not keep to when it is only described.
_EXAMPLES = (
    (
        "Scheduling irrigation with soil sensors\n"
        "Farms waste water when they irrigate by the calendar. We place cheap moisture sensors in the fields "
        "and predict the water that a crop needs in the next three days with a recurrent network. A linear "
        "program then chooses when pumps run, so that the cost of electricity is lowest. In two seasons on "
        "four farms, water use fell by 31% while the yield of maize stayed the same.",
        "irrigation scheduling; soil moisture sensors; recurrent networks; linear programming; water use; "
        "crop water demand; electricity cost; maize yield; precision agriculture; wireless sensor networks; "
        "time series forecasting",
    ),
    (
        "Reading old newspapers by machine\n"
        "Printed pages of the nineteenth century are hard to search because recognised characters are full of "
        "errors. We correct them after recognition with a noisy channel model whose language model is learned "
        "from books of the same years. On 2,000 annotated lines of four newspapers the word error rate goes "
        "down from 18% to 9%, and full-text search finds a quarter more articles.",
        "optical character recognition; historical newspapers; noisy channel model; language model; word "
        "error rate; full-text search; recognition errors; post-correction; digital libraries; spelling "
        "correction; text retrieval",
    ),
)
_LINE = re.compile(r"[;\n\t|•·]+")
_LEAD = re.compile(r"^\s*(?:[-*–—]+|\(?\d{1,3}[.):]+|[a-z][.)])?\s*")
_TITLE = re.compile(r"^[^:]{0,60}\b(?:key\s*-?\s*(?:phrases?|words?)|topics?|list)\b[^:]{0,60}:\s*", re.IGNORECASE)
_MOST_WORDS = 6
_BATCH = 64


def conversation(text: str, examples: int = 1) -> list[dict[str, str]]:
    """What is said to the model before its answer, which begins with so many examples."""
    said = [
        {"role": role, "content": content}
        for asked, answer in _EXAMPLES[:examples]
        for role, content in (("user", _ASKED.replace("{text}", asked)), ("assistant", answer))
    ]
    return [*said, {"role": "user", "content": _ASKED.replace("{text}", text)}]


def phrases_in(answer: str) -> list[str]:
    """The phrases that an answer lists, in its order and each once, however it lists them.

    >>> phrases_in("Keyphrases: sparse retrieval; **index**; Sparse retrieval")
    ['sparse retrieval', 'index']
    >>> phrases_in("Sure! Here are the keyphrases:\\n1. Deep learning\\n2) graphs, trees\\n- 'search'")
    ['Deep learning', 'graphs', 'trees', 'search']
    >>> phrases_in("1. **Retrieval**: finding documents")
    ['Retrieval']
    """
    out: dict[str, str] = {}
    for part in _LINE.split(answer):
        listed = _TITLE.sub("", _LEAD.sub("", part)).partition(": ")[0]  # behind a colon it explains the phrase
        for phrase in _parts(listed):
            words = phrase.split()
            if 0 < len(words) <= _MOST_WORDS and any(map(str.isalpha, phrase)):
                out.setdefault(" ".join(words).lower(), " ".join(words))
    return list(out.values())


def whole_part(answer: str) -> str:
    """An answer that was cut off, without the phrase in which it was."""
    ends = [match.start() for match in re.finditer(r"[;,\n]", answer)]
    return answer[: ends[-1]] if ends else ""


def repeated(written: Sequence[int], length: int) -> set[int]:
    """The tokens that would make the last `length` tokens of an answer ones that it has already; 0 allows all."""
    before = tuple(written[len(written) - length + 1 :])
    if not length or len(written) < length:
        return set()
    places = range(len(written) - length + 1)
    return {written[i + length - 1] for i in places if tuple(written[i : i + length - 1]) == before}


def _parts(line: str) -> Iterator[str]:
    """The phrases of a line: what commas part, without marks, quotes and the end of a sentence."""
    for part in re.split(r",|\band\b(?=[^,]*$)" if line.count(",") > 1 else ",", line):
        yield _LEAD.sub("", part).replace("*", "").replace("`", "").strip(" \t\"'“”‘’.:")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model wrote, of how many tokens that and what it read are, and its share of the seconds of its batch."""

    text: str
    tokens_read: int
    tokens_written: int
    seconds: float


@dataclass(frozen=True)
class LanguageModel:
    """A chat model: a folder as the transformers library saves it, or a GGUF file."""

    path: str

    @cached_property
    def _source(self) -> tuple[str, dict[str, Any]]:
        path = Path(self.path)
        if path.suffix.lower() != ".gguf":
            return str(model_folder(self.path, "A language model")), {}
        if not path.is_file():
            raise ModelError(f"There is no file '{self.path}'; give a GGUF file or a model folder.")
        return str(path.parent), {"gguf_file": path.name}

    @cached_property
    def _loaded(self) -> tuple[Any, Any, Any]:
        folder, options = self._source
        torch = require("torch", "eval", "A language model")
        auto = require("transformers", "eval", "A language model")
        if missing := [name for name in ("gguf", "accelerate") if options and find_spec(name) is None]:
            raise MissingExtraError(
                f"A GGUF file needs {' and '.join(missing)}; install: pip install {' '.join(missing)}"
            )
        tokenizer = auto.AutoTokenizer.from_pretrained(folder, local_files_only=True, padding_side="left", **options)
        if not tokenizer.chat_template:
            raise ModelError(f"The model '{self.path}' has no chat template; give one that is trained to answer.")
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        model = auto.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32, **options)
        return torch, tokenizer, model.eval().to(usual_device())

    @property
    def batch(self) -> int:
        """Conversations that are answered at once: many on a GPU; on a CPU that would only take memory."""
        return _BATCH if self._loaded[2].device.type == "cuda" else 1

    def answers(
        self, conversations: Sequence[Sequence[Mapping[str, str]]], most: int, new_run: int = 0
    ) -> list[Answer]:
        """The likeliest answer to each conversation, token by token, of at most `most` tokens.

        No run of `new_run` tokens comes twice in an answer (0: any may): small models say the same over and over.
        """
        torch, tokenizer, model = self._loaded
        out: list[Answer] = []
        for at in range(0, len(conversations), self.batch):
            began = time.perf_counter()
            some = list(conversations[at : at + self.batch])
            said = [tokenizer.apply_chat_template(one, add_generation_prompt=True, tokenize=False) for one in some]
            read = tokenizer(said, return_tensors="pt", padding=True, add_special_tokens=False).to(model.device)
            length = read.input_ids.shape[1]

            def forbid(ids: Any, scores: Any, length: int = length) -> Any:
                for row, tokens in enumerate(ids[:, length:].tolist()):
                    scores[row, list(repeated(tokens, new_run))] = -torch.inf
                return scores

            with torch.inference_mode():
                written = model.generate(
                    input_ids=read.input_ids,
                    attention_mask=read.attention_mask,
                    max_new_tokens=most,
                    do_sample=False,
                    logits_processor=[forbid],
                    pad_token_id=tokenizer.pad_token_id,
                )[:, length:].tolist()
            seconds = (time.perf_counter() - began) / len(some)
            for row, tokens in enumerate(written):
                end = tokens.index(tokenizer.eos_token_id) if tokenizer.eos_token_id in tokens else len(tokens)
                text = tokenizer.decode(tokens[:end], skip_special_tokens=True)
                text = text if end < most else whole_part(text)
                out.append(Answer(text, int(read.attention_mask[row].sum()), end, seconds))
        return out

    def describe(self) -> Mapping[str, Any]:
        folder, options = self._source
        path = Path(folder, options["gguf_file"]) if options else Path(folder)
        return {"name": path.name, "sha256": digest(path)}


@dataclass(frozen=True)
class Llm(ManyTexts):
    """The phrases of the model's answer in its order: those in the text are present, the others absent.

    It reads the first `most_words` words of a text, after so many `examples`, and writes up to `most_tokens` tokens, no
    run of `new_run` twice.
    """

    model: LanguageModel
    most_words: int = 512
    most_tokens: int = 128
    examples: int = 1
    new_run: int = 4
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")

    def ranked(self, texts: Sequence[str]) -> list[list[str]]:
        asked = [i for i, text in enumerate(texts) if any(map(str.isalnum, text))]
        answers = self.model.answers([self.conversation(texts[i]) for i in asked], self.most_tokens, self.new_run)
        out: list[list[str]] = [[] for _ in texts]
        for i, answer in zip(asked, answers, strict=True):
            out[i] = phrases_in(answer.text)
        return out

    def conversation(self, text: str) -> list[dict[str, str]]:
        """What is said to the model about a text."""
        kept, left = [], self.most_words
        for words in (line.split() for line in text.splitlines()):
            kept.append(" ".join(words[:left]))
            left -= min(left, len(words))
        return conversation("\n".join(filter(None, kept)), self.examples)

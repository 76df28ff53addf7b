"""What baselines have in common: their protocol, and the weights that the user gives by path."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from erukg.errors import ModelError, require

__all__ = ["Baseline", "GenerativeBaseline", "ManyTexts", "best", "digest", "model_folder", "present_and_absent"]
__all__ += ["usual_device"]


class Baseline(Protocol):
    """Anything that finds the keyphrases of one text. It may look at no other text of a test set.

    Baselines are dataclasses: fields that are numbers, words or truth values are its settings, the others
    (readers, embedders, weights) say by `describe()` what they are. `packages`, where there is such a class
    variable, names the distributions that do its work.
    """

    def extract(self, text: str, top_k: int = 10) -> list[tuple[str, float]]:
        """Up to `top_k` phrases of the text with their scores, all above 0, best first."""


@runtime_checkable
class GenerativeBaseline(Protocol):
    """Anything that writes keyphrases, those of a text and others. What `Baseline` says of dataclasses holds here too.

    One that works on many texts at once has `phrases_of(texts, top_k)` besides, with an answer for every text; no
    answer depends on the other texts.
    """

    def phrases(self, text: str, top_k: int = 10) -> tuple[list[str], list[str]]:
        """Up to `top_k` phrases that stand in the text and as many that do not, best first."""


def present_and_absent(ranked: Iterable[str], text: str, top_k: int) -> tuple[list[str], list[str]]:
    """The first `top_k` phrases that stand in the text, and the first that do not; both lower-cased, each once."""
    lowered = text.lower()
    kinds: tuple[list[str], list[str]] = ([], [])
    for phrase in dict.fromkeys(phrase.lower() for phrase in ranked):
        kinds[phrase not in lowered].append(phrase)
    return kinds[0][:top_k], kinds[1][:top_k]


class ManyTexts(ABC):
    """A `GenerativeBaseline` that ranks the phrases of many texts at once."""

    @abstractmethod
    def ranked(self, texts: Sequence[str]) -> list[list[str]]:
        """The phrases of each text, of both kinds, best first."""

    def phrases(self, text: str, top_k: int = 10) -> tuple[list[str], list[str]]:
        return self.phrases_of([text], top_k)[0]

    def phrases_of(self, texts: Sequence[str], top_k: int = 10) -> list[tuple[list[str], list[str]]]:
        found = zip(self.ranked(texts), texts, strict=True)
        return [present_and_absent(ranked, text, top_k) for ranked, text in found]


def best(phrases: Sequence[str], scores: NDArray[np.float64], top_k: int) -> list[tuple[str, float]]:
    """The phrases with the highest scores; of equal ones the first given stays first."""
    order = np.argsort(-scores, kind="stable")[:top_k]
    return [(phrases[i], float(scores[i])) for i in order.tolist()]


def model_folder(path: str, purpose: str) -> Path:
    """The folder at `path`, made sure to hold a model in the usual form before anything is loaded."""
    folder = Path(path)
    if not folder.is_dir():
        raise ModelError(f"There is no folder '{path}'; {purpose} needs a downloaded model folder.")
    if not any((folder / name).is_file() for name in ("config.json", "modules.json")):
        raise ModelError(
            f"The folder '{path}' has neither config.json nor modules.json; {purpose} needs a model folder "
            "as the transformers library saves it."
        )
    return folder


def usual_device() -> str:
    """Where torch runs a baseline's network: on a GPU if it finds one."""
    torch = require("torch", "eval", "This baseline")
    return "cuda" if torch.cuda.is_available() else "cpu"


def digest(path: Path) -> str:
    """The SHA-256 of a file, or of the names and contents of all files of a folder."""
    out = hashlib.sha256()
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    for file in files:
        with file.open("rb") as stream:
            content = hashlib.file_digest(stream, "sha256").hexdigest()
        name = "" if file == path else file.relative_to(path).as_posix()
        out.update(f"{name}\0{content}\n".encode())
    return out.hexdigest()

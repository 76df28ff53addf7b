"""A trained network with its vocabulary: kept in a folder, loaded with care, asked for phrases."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from erukg.errors import ModelError, require
from erukg.io.publish import publish_bytes, publish_text
from erukg.research.baselines.base import digest, usual_device
from erukg.research.baselines.neural.vocabulary import SourceDocument, Vocabulary

if TYPE_CHECKING:
    from erukg.research.baselines.neural.beam import Guide
    from erukg.research.baselines.neural.network import CopyNetwork

__all__ = ["CopyModel", "is_copy_model"]

FORMAT, VERSION = "erukg-copy-network", 1
_CONFIG, _VOCABULARY, _WEIGHTS = "config.json", "vocabulary.txt", "model.safetensors"
_LARGEST = {_CONFIG: 1 << 20, _VOCABULARY: 1 << 24, _WEIGHTS: 1 << 30}
_PURPOSE = "A trained baseline"


@dataclass(frozen=True, eq=False)
class CopyModel:
    """A network, its vocabulary, and a card that tells how it was trained."""

    network: CopyNetwork
    vocabulary: Vocabulary
    card: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    @classmethod
    def load(cls, folder: str | Path, device: str | None = None) -> CopyModel:
        """The model in a folder, on the given device: by default the GPU where torch finds one."""
        require("torch", "eval", _PURPOSE)
        from erukg.research.baselines.neural.network import CopyNetwork, NetworkConfig

        path = Path(folder)
        config = _config(path)
        try:
            vocabulary = Vocabulary(_read(path, _VOCABULARY).decode("utf-8").split("\n")[:-1])
            sizes = NetworkConfig.from_dict(config["network"])
        except (ModelError, ValueError) as error:
            raise ModelError(f"The model in {path} is damaged: {error}") from error
        if sizes.vocabulary != len(vocabulary):
            raise ModelError(
                f"The model in {path} is damaged: its vocabulary has {len(vocabulary)} words where config.json says "
                f"{sizes.vocabulary}."
            )
        weights = _weights(path)
        # Only what the file holds is worth the memory.
        first = weights.get("embedding.weight"), weights.get("combine.weight")
        shapes = [None if part is None else tuple(part.shape) for part in first]
        fits = shapes == [(sizes.vocabulary, sizes.embedding), (sizes.hidden, 2 * sizes.hidden)]
        network = CopyNetwork(sizes) if fits else None
        if network is None or _shapes(network.state_dict()) != _shapes(weights):
            raise ModelError(f"{path / _WEIGHTS} does not fit the network in config.json; copy the model again.")
        network.load_state_dict(weights)
        return cls(network.to(device or usual_device()).eval(), vocabulary, config["card"], path)

    def save(self, folder: str | Path) -> None:
        """Write the model; weights are kept in half precision."""
        from safetensors.torch import save

        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        weights = {name: part.detach().half().cpu().contiguous() for name, part in self.network.state_dict().items()}
        publish_bytes(path / _WEIGHTS, save(weights))
        publish_text(path / _VOCABULARY, "".join(f"{word}\n" for word in self.vocabulary.words))
        config = {"format": FORMAT, "version": VERSION, "network": self.network.config.to_dict(), "card": self.card}
        publish_text(path / _CONFIG, json.dumps(config, indent=1, ensure_ascii=False) + "\n")

    def document(self, text: str) -> SourceDocument:
        """A text as the network reads it."""
        return self.vocabulary.document(text, self.network.config.most_words)

    def generate(
        self,
        texts: Sequence[str],
        width: int = 50,
        depth: int = 6,
        guide: Guide | None = None,
        strict: bool = False,
    ) -> list[list[tuple[str, float]]]:
        """Phrases of every text with their log probabilities, best first and each once.

        Phrases that stand in the text are spelled as there. Those without a letter, and those with a number that is
        not in the text, are left out. `guide` and `strict` are those of `beam_search`.
        """
        from erukg.research.baselines.neural.beam import beam_search

        documents = [self.document(text) for text in texts]
        found = beam_search(self.network, documents, width, depth, guide, strict)
        return [_phrases(document, phrases) for document, phrases in zip(documents, found, strict=True)]

    def sample(self, texts: Sequence[str], seeds: Sequence[int], count: int, depth: int = 24) -> list[list[str]]:
        """`count` texts of up to `depth` words drawn for every text, each under a seed of its own."""
        from erukg.research.baselines.neural.sampling import sample

        documents = [self.document(text) for text in texts]
        found = sample(self.network, documents, seeds, count, depth)
        return [
            [spelled for words in drawn if (spelled := document.spell(words))]
            for document, drawn in zip(documents, found, strict=True)
        ]

    def describe(self) -> dict[str, Any]:
        """What tells the model from others: its name, checksum and card."""
        return {"name": self.folder.name if self.folder else "", "sha256": self._sha256, "card": dict(self.card)}

    @cached_property
    def _sha256(self) -> str:
        return digest(self.folder) if self.folder else ""


def is_copy_model(folder: Path) -> bool:
    """Whether a folder says that it holds a network of this kind."""
    try:
        _config(folder)
    except ModelError:
        return False
    return True


def _phrases(document: SourceDocument, found: Sequence[tuple[tuple[str, ...], float]]) -> list[tuple[str, float]]:
    out: dict[str, float] = {}
    for phrase, score in found:
        spelled = document.spell(phrase)
        if spelled and any(map(str.isalpha, spelled)):
            out.setdefault(spelled, score)
    return list(out.items())


def _read(path: Path, name: str) -> bytes:
    file = path / name
    try:
        if file.stat().st_size > _LARGEST[name]:
            raise ModelError(f"{file} is too large to belong to a trained baseline.")
        return file.read_bytes()
    except OSError as error:
        raise ModelError(
            f"{file} cannot be read ({error.strerror}); give a folder written by: erukg train baseline."
        ) from error


def _config(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise ModelError(f"There is no folder '{path}'; give one written by: erukg train baseline.")
    try:
        config = json.loads(_read(path, _CONFIG))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path / _CONFIG} cannot be read as JSON: {error}.") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT or config.get("version") != VERSION:
        raise ModelError(
            f"{path / _CONFIG} does not describe a baseline of this version; train one with: erukg train baseline."
        )
    if not isinstance(config.get("network"), dict) or not isinstance(config.get("card"), dict):
        raise ModelError(f"{path / _CONFIG} is damaged: it has no 'network' or no 'card'.")
    return config


def _shapes(weights: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(part.shape) for name, part in weights.items()}


def _weights(path: Path) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        found = load(_read(path, _WEIGHTS))
    except (SafetensorError, ValueError, KeyError) as error:
        raise ModelError(f"{path / _WEIGHTS} is damaged ({error}); copy the model again.") from error
    weights = {name: part.float() for name, part in found.items()}
    if not all(part.isfinite().all() for part in weights.values()):
        raise ModelError(f"{path / _WEIGHTS} holds values that are no numbers; train the model again.")
    return weights

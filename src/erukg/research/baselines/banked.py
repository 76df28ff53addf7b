"""A trained network together with the phrases and word vectors of the corpus it was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from erukg.research.baselines.latent import LatentVectors
from erukg.research.baselines.neural.model import CopyModel
from erukg.research.baselines.phrase_bank import PhraseBank
from erukg.research.baselines.relevance import Relevance

__all__ = ["BankedModel", "save_bank"]

_BANK, _VECTORS = "phrases.tsv", "vectors.npz"


@dataclass(frozen=True, eq=False)
class BankedModel:
    """What AutoKeyGen and UOKG are made of; all of it lies in one folder."""

    network: CopyModel
    bank: PhraseBank
    vectors: LatentVectors

    @classmethod
    def load(cls, folder: str | Path) -> BankedModel:
        """The model in a folder."""
        path = Path(folder)
        network = CopyModel.load(path)
        return cls(network, PhraseBank.load(path / _BANK), LatentVectors.load(path / _VECTORS))

    @cached_property
    def relevance(self) -> Relevance:
        """AutoKeyGen's measure by this bank and these vectors."""
        return Relevance(self.bank, self.vectors)

    def describe(self) -> Mapping[str, Any]:
        """What tells it from others: the checksum is that of the whole folder."""
        return self.network.describe()


def save_bank(folder: Path, bank: PhraseBank, vectors: LatentVectors) -> None:
    """Put a bank and vectors beside a trained network."""
    bank.save(folder / _BANK)
    vectors.save(folder / _VECTORS)

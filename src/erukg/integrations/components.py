"""What components of other people's pipelines share: their configuration as plain data, and the way to a generator."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from erukg.core.arguments import check_fields, kind_of
from erukg.core.inputs import checked_count
from erukg.core.results import Keyphrases
from erukg.core.settings import Settings
from erukg.errors import InputError, did_you_mean
from erukg.generator import KeyphraseGenerator

__all__ = ["KeyphraseConfig", "check_documents"]

DocumentT = TypeVar("DocumentT")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyphraseConfig:
    """How a component finds keyphrases; every value is one that JSON, YAML and TOML have.

    model       folder of a model; None means the bundled one
    collection  folder of a collection; None means the bundled one, False none
    top_k       how many present and how many absent phrases, at most
    absent      False looks at the text alone: present phrases only
    settings    what differs from `Settings()`, by name; `style` names what they start from
    threads     how many documents at a time; None means one per core
    """

    model: str | Path | None = None
    collection: str | Path | Literal[False] | None = None
    top_k: int = 10
    absent: bool = True
    settings: Mapping[str, Any] | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        for name in ("model", "collection"):
            if isinstance(given := getattr(self, name), Path):
                object.__setattr__(self, name, str(given))
        checked_count(self.top_k)
        _settings(self)

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> KeyphraseConfig:
        """From plain data; a name that does not exist is refused with the nearest one that does."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in values:
            if name not in known:
                raise InputError(f"There is no option '{name}'; {did_you_mean(name, known)}")
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    def load(self) -> KeyphraseGenerator:
        """The generator; components with the same model and collection share it."""
        return _load(self.model, self.collection if self.absent else False)

    def keyphrases(self, texts: Iterable[str]) -> Iterator[Keyphrases]:
        """The keyphrases of each text, in order."""
        return self.load().generate_batch(texts, self.top_k, _settings(self), threads=self.threads)

    def metadata(self, found: Keyphrases) -> dict[str, list[str]]:
        """The phrases by kind, under the names that they have in a document's metadata."""
        out = {"keyphrases": [keyphrase.phrase for keyphrase in found.present]}
        return out | ({"absent_keyphrases": [keyphrase.phrase for keyphrase in found.absent]} if self.absent else {})


def check_documents(documents: Any, kind: type[DocumentT], how: str) -> list[DocumentT]:
    """The documents as a list; refuses what is none, or holds anything else. `how` says how one is made."""
    name = kind.__name__
    # Mappings, data frames and open files can be iterated over, but not to find documents.
    other = isinstance(documents, str | bytes | Mapping | kind) or hasattr(documents, "columns")
    if other or hasattr(documents, "read") or not isinstance(documents, Iterable):
        what = f"one {name} alone" if isinstance(documents, kind) else kind_of(documents)
        raise InputError(f"A list is wanted, in which each entry is a {name}, made with {how}; this is {what}.")
    out: list[DocumentT] = []
    for document in documents:
        if not isinstance(document, kind):
            raise InputError(
                f"Entry {len(out)} of the list must be a {name}, made with {how}, not {kind_of(document)}."
            )
        out.append(document)
    return out


def _settings(config: KeyphraseConfig) -> Settings:
    changes = dict(config.settings or {})
    chosen = Settings.styled(changes.pop("style", "balanced"), **changes)
    return chosen if config.absent else chosen.extraction()


@lru_cache(maxsize=4)
def _load(model: str | Path | None, collection: str | Path | Literal[False] | None) -> KeyphraseGenerator:
    return KeyphraseGenerator.from_pretrained(model, collection)

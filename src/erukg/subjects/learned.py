"""A ranking of concepts: trees over the evidence, and what an archive that taught them knew of each concept.

Rankings that come with the package know nothing of any concept and serve every vocabulary. One that was learned from a
tagged archive belongs to the vocabulary it was learned for.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from erukg.core.trees import Trees
from erukg.errors import InputError, ModelError
from erukg.subjects.associations import Associations
from erukg.subjects.evidence import ARCHIVE, LABELS, VOTES, Evidence
from erukg.subjects.profiles import Profiles

__all__ = ["LEARNED", "ArchiveKnowledge", "ConceptStatistics", "SubjectRanking"]

#: What an archive knows of a concept: in how many documents a label of it stands, which share of these carry it, the
#: same for concepts in the text only, and which share of its carriers have no label of it; what the linear model of its
#: carriers' words says of the text, and how near they lie; and what documents are given that name what this text names.
LEARNED = ("occurs", "precision", "precision_here", "unnamed", "profile", "centre", "given_most", "given")

_FORMAT = "erukg-subject-ranking-1"
_CONFIG, _ARRAYS = "ranking.json", "ranking.safetensors"
_KINDS = ("concepts", "profiles", "associations")
_STATISTICS = ("occurs", "right", "used")
_PROFILES = {
    "terms": (np.uint64, 1),
    "rarity": (np.float32, 1),
    "projection": (np.float16, 2),
    "concepts": (np.int32, 1),
    "weights": (np.float16, 2),
    "starts": (np.int64, 1),
    "words": (np.int32, 1),
    "heights": (np.float16, 1),
}
_ASSOCIATIONS = {"indptr": (np.int64, 1), "carried": (np.int32, 1), "shares": (np.float16, 1)}


@dataclass(frozen=True, slots=True, eq=False)
class ConceptStatistics:
    """Of each concept of a vocabulary: in how many documents a label stands, in how many of these it was chosen, too,
    and in how many it was chosen.
    """

    occurs: NDArray[np.float32]
    right: NDArray[np.float32]
    used: NDArray[np.float32]

    def of(self, concepts: NDArray[np.int64], present: NDArray[np.bool_]) -> NDArray[np.float32]:
        """The first columns of `LEARNED` for concepts of which it is known whether a label is in the text."""
        occurs, right, used = self.occurs[concepts], self.right[concepts], self.used[concepts]
        precision = (right + 1.5) / (occurs + 5)
        here = np.where(present, precision, -1)
        return np.stack((np.log1p(occurs), precision, here, (used - right) / (used + 3)), 1).astype(np.float32)


class ArchiveKnowledge(NamedTuple):
    """What an archive knows of the concepts of a vocabulary."""

    statistics: ConceptStatistics
    profiles: Profiles
    associations: Associations

    def features(
        self,
        concepts: NDArray[np.int64],
        present: NDArray[np.bool_],
        named: NDArray[np.int64],
        terms: NDArray[np.uint64],
    ) -> NDArray[np.float32]:
        """The columns of `LEARNED` for concepts, ascending, in a text with these stems that names some of them."""
        parts = (
            self.statistics.of(concepts, present),
            self.profiles.scores(terms, concepts),
            self.associations.features(named, concepts),
        )
        return np.concatenate(parts, 1)


@dataclass(frozen=True, slots=True, eq=False)
class SubjectRanking:
    """The log odds that an indexer chooses a concept, from what speaks for it.

    features    what the trees ask for, by name
    vocabulary  the fingerprint of the vocabulary that it was learned for; empty where it serves all
    archive     what the archive that taught it knows of each concept, if it was learned from one
    facts       how it was made
    """

    trees: Trees
    features: tuple[str, ...]
    vocabulary: str = ""
    archive: ArchiveKnowledge | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides what it says."""
        digest = hashlib.sha256(json.dumps([self.features, self.vocabulary]).encode())
        for name, array in self._arrays().items():
            digest.update(name.encode() + array.tobytes())
        return digest.hexdigest()

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = self.trees.arrays()
        if self.archive is not None:
            parts: tuple[tuple[str, ...], ...] = (_STATISTICS, tuple(_PROFILES), tuple(_ASSOCIATIONS))
            for kind, held, names in zip(_KINDS, self.archive, parts, strict=True):
                arrays |= {f"{kind}.{name}": np.ascontiguousarray(getattr(held, name)) for name in names}
        return arrays

    def log_odds(self, evidence: Evidence) -> NDArray[np.float64]:
        """Of each concept."""
        every = evidence.features
        if self.archive is not None:
            named = np.unique(evidence.occurrences.concepts)
            learned = self.archive.features(evidence.concepts, evidence.present, named, evidence.terms)
            every = np.concatenate((every, learned), 1)
        names = (*LABELS, *VOTES, *ARCHIVE, *LEARNED)
        chosen = np.ascontiguousarray(every[:, [names.index(name) for name in self.features]])
        groups = np.zeros(len(self.features), np.int32)
        start = float(self.trees.value[self.trees.roots].sum(dtype=np.float64))
        return start + self.trees.contributions(chosen, groups, 1)[:, 0]

    def check(self, vocabulary: str, concepts: int) -> None:
        """Refuse to rank the concepts of another vocabulary than it was learned for."""
        known = None if self.archive is None else len(self.archive.statistics.used)
        if known is not None and (vocabulary != self.vocabulary or known != concepts):
            raise InputError(
                "The ranking was learned for another vocabulary, or for another edition of it; give the one that it "
                "was learned for, or learn it again with: erukg train suggest."
            )

    def save(self, folder: Path) -> None:
        """Write it into an empty folder."""
        from safetensors.numpy import save_file

        save_file(self._arrays(), folder / _ARRAYS)
        config = {
            "format": _FORMAT,
            "features": list(self.features),
            "vocabulary": self.vocabulary,
            "facts": self.facts,
        }
        (folder / _CONFIG).write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n", "utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> SubjectRanking:
        """A ranking that was saved, checked: it may come from anywhere."""
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        folder = Path(folder)
        if not (folder / _CONFIG).is_file():
            raise InputError(f"{folder} is no learned ranking; make one with: erukg train suggest.")
        try:
            config = json.loads((folder / _CONFIG).read_text("utf-8"))
            if config.get("format") != _FORMAT:
                raise InputError(f"{folder} has a ranking of another version of this program; learn it again.")
            arrays = load_file(folder / _ARRAYS)
            trees = Trees.of(arrays)
            if not trees.typed:
                raise ValueError("it has arrays of other types than a ranking has")
            features, archive = tuple(map(str, config["features"])), _archive(arrays)
            vocabulary, facts = str(config["vocabulary"]), dict(config["facts"])
        except (SafetensorError, OSError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise ModelError(f"{folder} cannot be read: {error}; it is damaged, copy or learn it again.") from error
        known = {*LABELS, *VOTES, *ARCHIVE, *(LEARNED if archive is not None else ())}
        if not known.issuperset(features):
            raise ModelError(f"{folder} was learned from other evidence than this program gathers; learn it again.")
        trees.check(len(features))
        return cls(trees, features, vocabulary, archive, facts)


def _archive(arrays: dict[str, Any]) -> ArchiveKnowledge | None:
    """What a file holds of concepts; a ValueError when that is not sound."""
    if "concepts.used" not in arrays:
        return None
    found = _checked(arrays, "concepts", dict.fromkeys(_STATISTICS, (np.float32, 1)))
    concepts = len(found["used"])
    if any(len(each) != concepts or not np.all(each >= 0) for each in found.values()):
        raise ValueError("its numbers of concepts are wrong")
    profiles = Profiles(**_checked(arrays, "profiles", _PROFILES))
    associations = Associations(**_checked(arrays, "associations", _ASSOCIATIONS))
    profiles.check(concepts)
    associations.check(concepts)
    return ArchiveKnowledge(ConceptStatistics(**found), profiles, associations)


def _checked(arrays: dict[str, Any], kind: str, types: dict[str, tuple[Any, int]]) -> dict[str, Any]:
    held = {name: arrays[f"{kind}.{name}"] for name in types}
    if any(held[name].dtype != given or held[name].ndim != axes for name, (given, axes) in types.items()):
        raise ValueError(f"its {kind} have other types than a ranking has")
    return held

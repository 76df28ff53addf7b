"""What a service suggests concepts from: vocabularies by name, each with all that belongs to it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from erukg.collection import Collection
from erukg.errors import InputError, did_you_mean
from erukg.generator import KeyphraseGenerator
from erukg.subjects.suggester import Suggester
from erukg.subjects.vocabulary import Vocabulary

__all__ = ["Subjects", "SubjectsByName", "load_subjects"]

_NAMED = re.compile(r"([A-Za-z0-9_-]{1,64})=(.+)", re.DOTALL)
_OF_TAGS = "tags"


@dataclass(frozen=True, slots=True)
class Subjects:
    """A vocabulary to suggest concepts from, or the tags of a collection.

    tagged    how many documents carry tags that vote
    learned   whether its ranking was learned from them
    modified  when any of its files last changed
    """

    name: str
    suggester: Suggester
    vocabulary: Vocabulary
    tagged: int
    learned: bool
    modified: datetime

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "languages": list(self.vocabulary.languages),
            "concepts": len(self.vocabulary),
            "tagged": self.tagged,
            "learned": self.learned,
        }


SubjectsByName: TypeAlias = Mapping[str, Subjects]


def load_subjects(
    generator: KeyphraseGenerator,
    vocabularies: Sequence[str] = (),
    tagged: str | None = None,
    rankings: Sequence[str] = (),
) -> SubjectsByName:
    """All vocabularies, each given as `NAME=PATH` or as a path that is named after its file.

    `tagged` is the folder of a collection whose documents carry tags; without a vocabulary its tags are suggested.
    A ranking has the name of its vocabulary; one without a name belongs to all.
    """
    paths: dict[str, str | None] = {}
    for given in vocabularies:
        name, path = _named(given)
        name = name or re.sub(r"[^A-Za-z0-9_-]+", "-", Path(path).name.split(".")[0])[:64].strip("-") or "vocabulary"
        if name in paths:
            raise InputError(f"Two vocabularies are called '{name}'; give one another name: --vocabulary NAME={path}")
        paths[name] = path
    if not paths and tagged is not None:
        paths[_OF_TAGS] = None
    learned = dict(_named(given) for given in rankings)
    if not paths and learned:
        raise InputError("A ranking is of no use alone; give a vocabulary with --vocabulary, or --tagged.")
    for name in filter(None, learned):
        if name not in paths:
            raise InputError(f"There is a ranking for '{name}', and no such vocabulary; {did_you_mean(name, paths)}")
    collection = None if tagged is None else Collection.open(tagged)
    out = {}
    for name, source in paths.items():
        ranking = learned.get(name, learned.get(""))
        suggester = generator.suggester(source, tagged=collection, ranking=ranking)
        files = [Path(each) for each in (source, tagged, ranking) if each is not None]
        modified = datetime.fromtimestamp(max(file.stat().st_mtime for file in files), UTC)
        documents = 0 if collection is None else len(collection)
        out[name] = Subjects(name, suggester, suggester.vocabulary, documents, ranking is not None, modified)
    return out


def _named(given: str) -> tuple[str, str]:
    found = _NAMED.fullmatch(given)
    return (found[1], found[2]) if found else ("", given)

"""Documents with the concepts that indexers chose, and predictions that others made for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from erukg.collection.tags import checked_tags, field_tags
from erukg.core.inputs import given_id, text_of
from erukg.errors import InputError
from erukg.io.objects import numbered_lines, read_objects
from erukg.research.evaluation.datasets import content_hash, read_by_id
from erukg.subjects.concepts import Concept
from erukg.subjects.vocabulary import Vocabulary

__all__ = ["CHECK_TAGS", "TaggedRecord", "TaggedSet"]
__all__ += ["load_mesh", "load_tagged", "read_predictions", "read_uris"]

_MAX_DOCUMENTS = 1_000_000
# The check tags of MeSH, which indexers consider for every record, by the numbers of their descriptors: Humans,
# Animals, Male, Female, Pregnancy, the ages from Infant, Newborn to Aged, 80 and over, and the animals of experiments,
# from Cattle to Rats.
_MESH_CHECK_TAGS = (
    "D006801 D000818 D008297 D005260 D011247 D007231 D007223 D002675 D002648 D000293 D000328 D055815 D008875 D000368 "
    "D000369 D002417 D002415 D002642 D004285 D006168 D006224 D051379 D011817 D051381"
)
CHECK_TAGS: Mapping[str, frozenset[str]] = {"mesh": frozenset(f"mesh:{d}" for d in _MESH_CHECK_TAGS.split())}
"""By name, lists of concepts that say little of what a document is about."""


@dataclass(frozen=True, slots=True)
class TaggedRecord:
    """A document and the URIs of its concepts; what has no URI goes by its label."""

    id: str
    text: str
    gold: frozenset[str]


@dataclass(frozen=True, slots=True)
class TaggedSet:
    """A named list of them; `sha256` is that of the uncompressed file."""

    name: str
    records: tuple[TaggedRecord, ...]
    sha256: str

    def __len__(self) -> int:
        return len(self.records)


def load_tagged(path: Path, field: str = "subjects", limit: int | None = None) -> TaggedSet:
    """The documents of a JSON Lines file whose concepts are in `field`; a line without concepts is an error."""

    def parse(row: dict[str, Any], number: int) -> tuple[str, TaggedRecord]:
        id = given_id(row) or f"{path.name}:{number}"
        gold = frozenset(tag.uri for tag in checked_tags(field_tags(row, field)))
        if not gold:
            raise InputError(
                f"field '{field}' names no concept; leave the document out, or name another field with --tags."
            )
        return id, TaggedRecord(id, text_of(row), gold)

    if not path.is_file():
        raise InputError(f"There is no file {path}; give documents with their concepts, as JSON Lines.")
    records = tuple(read_by_id(path, parse, _MAX_DOCUMENTS).values())
    return TaggedSet(path.name.partition(".")[0], records[:limit], content_hash(path))


def load_mesh(path: Path) -> Vocabulary:
    """MeSH, from a file with the numbers of descriptors alone or with URIs such as documents have, mesh:D000001."""
    given = Vocabulary.load(path)
    return Vocabulary.of([_named(concept) for concept in given], given.name, given.language)


def _named(concept: Concept) -> Concept:
    return concept if ":" in concept.uri else replace(concept, uri=f"mesh:{concept.uri}")


def read_uris(path: Path) -> frozenset[str]:
    """The URIs in a file, one per line; what follows a tab is for people."""
    found = frozenset(text.partition("\t")[0].strip().strip("<>") for _, text in numbered_lines(path)) - {""}
    if not found:
        raise InputError(f"There is no URI in {path}; write one per line.")
    return found


def read_predictions(path: Path, ids: frozenset[str]) -> dict[str, list[str]]:
    """What another program suggested: lines `{"id", "uris": [...]}`, the best first, for all of these documents."""
    found: dict[str, list[str]] = {}
    for number, row in read_objects(path):
        id, uris = given_id(row), row.get("uris")
        if id is None or not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
            raise InputError(f'{path}, line {number}: it must be {{"id": …, "uris": [strings, the best first]}}.')
        found[id] = uris
    if missing := sorted(ids.difference(found)):
        raise InputError(
            f"{path} has no line for {len(missing)} of {len(ids)} documents (the first is '{missing[0]}'); predict all."
        )
    return found

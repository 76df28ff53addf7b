"""A vocabulary as flat arrays, in memory or in a folder: written once, then only ever memory-mapped."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.collection.arrays import (
    ArrayFile,
    ArrayFileWriter,
    FileEntry,
    PackedLists,
    check_file,
    offsets_of,
    open_regular,
)
from erukg.core.hashing import hash_phrases
from erukg.errors import CollectionError, InputError
from erukg.io.publish import publish_file, publish_text
from erukg.subjects.concepts import Concept, matching_form

__all__ = ["MANIFEST", "About", "Arrays", "pack", "read_folder", "verify_folder", "write_folder"]

MANIFEST = "vocabulary.json"
_FORMAT = "erukg-vocabulary"
_VERSION = 1
_FILE = re.compile(r"arrays-[0-9a-f]{16}\.bin")
_LARGEST_MANIFEST = 1 << 20


@dataclass(frozen=True, slots=True)
class About:
    """What a saved vocabulary says of itself: its name, its labels' language, a hash of its content, and how many
    concepts were left out when it was read, by reason.
    """

    name: str
    language: str
    fingerprint: str
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Arrays:
    """A vocabulary of n concepts and m labels.

    uris            of the n concepts
    uri_hashes      of the URIs, ascending; `uri_order` has the concept of each
    notations       of the n concepts, empty for most
    labels          the m labels in ascending order of their folds' hashes, preferred ones first among equals
    label_folds     the hashes, 0 for a label that folds to nothing
    label_owners    the concept of each label
    label_preferred 1 for preferred labels
    concept_labels  for each concept its labels' numbers, the preferred one first
    broader         for each concept the numbers of those right above it; `narrower` of those right below
    translations    by language, the preferred labels of the n concepts, empty where there is none
    longest         most words in a label's fold
    """

    uris: PackedLists
    uri_hashes: NDArray[np.uint64]
    uri_order: NDArray[np.int32]
    notations: PackedLists
    labels: PackedLists
    label_folds: NDArray[np.uint64]
    label_owners: NDArray[np.int32]
    label_preferred: NDArray[np.uint8]
    concept_labels: PackedLists
    broader: PackedLists
    narrower: PackedLists
    longest: int
    translations: dict[str, PackedLists] = field(default_factory=dict)

    def fingerprint(self) -> str:
        """A hash of all that the arrays say."""
        digest = hashlib.sha256(b"erukg vocabulary 1")
        for each in fields(self):
            value = getattr(self, each.name)
            parts = {"": value} if not isinstance(value, dict) else value
            for name, part in sorted(parts.items()):
                arrays = (part.values, part.offsets) if isinstance(part, PackedLists) else (np.asarray(part),)
                for array in arrays:
                    digest.update(f"{each.name} {name} {len(array) if array.ndim else 1}\n".encode())
                    digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:32]


def pack(concepts: Sequence[Concept]) -> Arrays:
    """The arrays of these concepts, which must be as `concepts.checked` leaves them."""
    uris = [concept.uri for concept in concepts]
    uri_hashes = hash_phrases(uris)
    uri_order = np.argsort(uri_hashes, kind="stable").astype(np.int32)
    texts = [text for concept in concepts for text in (concept.label, *concept.alternatives)]
    counts = np.fromiter((1 + len(concept.alternatives) for concept in concepts), np.int64, len(concepts))
    owners = np.repeat(np.arange(len(concepts), dtype=np.int32), counts)
    starts = offsets_of(counts)
    preferred = np.zeros(len(texts), np.uint8)
    preferred[starts[:-1]] = 1
    folds = [matching_form(text) for text in texts]
    hashes = hash_phrases(folds)
    hashes[[not fold for fold in folds]] = 0
    order = np.lexsort((np.arange(len(texts)), 1 - preferred, hashes))
    numbers = np.empty(len(texts), np.int32)
    numbers[order] = np.arange(len(texts), dtype=np.int32)
    broader, narrower = _hierarchy(concepts, {uri: i for i, uri in enumerate(uris)})
    languages = sorted({language for concept in concepts for language in concept.labels_by_language})
    return Arrays(
        uris=PackedLists.of_strings(uris),
        uri_hashes=uri_hashes[uri_order],
        uri_order=uri_order,
        notations=PackedLists.of_strings([concept.notation for concept in concepts]),
        labels=PackedLists.of_strings([texts[i] for i in order.tolist()]),
        label_folds=hashes[order],
        label_owners=owners[order],
        label_preferred=preferred[order],
        concept_labels=PackedLists(numbers, starts),
        broader=broader,
        narrower=narrower,
        longest=max((fold.count(" ") + 1 for fold in folds), default=0),
        translations={
            language: PackedLists.of_strings([concept.labels_by_language.get(language, "") for concept in concepts])
            for language in languages
        },
    )


def _hierarchy(concepts: Sequence[Concept], known: dict[str, int]) -> tuple[PackedLists, PackedLists]:
    """Broader and narrower concepts of each; without URIs that the vocabulary lacks, and without itself."""
    pairs = [
        (i, known[uri])
        for i, concept in enumerate(concepts)
        for uri in concept.broader
        if uri in known and known[uri] != i
    ]
    below, above = (np.array(side, np.int32) for side in (zip(*pairs, strict=True) if pairs else ((), ())))
    return _lists(below, above, len(concepts)), _lists(above, below, len(concepts))


def _lists(rows: NDArray[np.int32], values: NDArray[np.int32], count: int) -> PackedLists:
    order = np.argsort(rows, kind="stable")
    return PackedLists(values[order], offsets_of(np.bincount(rows, minlength=count)))


def write_folder(folder: Path, arrays: Arrays, about: About) -> None:
    """Save a vocabulary in a folder, which may hold another one: a reader finds the one or the other, whole.

    The arrays go into a file that is named by their content; then the manifest takes the old one's place.
    """
    name = f"arrays-{about.fingerprint[:16]}.bin"
    part = folder / f".{name}.{os.getpid()}.part"
    try:
        if folder.exists() and not _is_ours(folder):
            raise InputError(f"{folder} is there already and is no vocabulary; choose another place.")
        folder.mkdir(parents=True, exist_ok=True)
        part.unlink(missing_ok=True)
        with ArrayFileWriter(part) as writer:
            _write(writer, arrays)
            entry = writer.close()
        publish_file(part, folder / name)
        manifest = {
            "format": _FORMAT,
            "version": _VERSION,
            **asdict(about),
            "concepts": len(arrays.uris),
            "labels": len(arrays.labels),
            "longest": arrays.longest,
            "translations": sorted(arrays.translations),
            "file": name,
            "bytes": entry.bytes,
            "crc32": entry.crc32,
        }
        publish_text(folder / MANIFEST, _sealed(manifest))
        for path in folder.iterdir():
            if path.name != name and _FILE.fullmatch(path.name):
                path.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}.") from error


def _is_ours(folder: Path) -> bool:
    """Whether there is nothing in the folder but what `write_folder` puts there."""
    names = [path.name for path in folder.iterdir()]
    return MANIFEST in names or all(_FILE.fullmatch(name) or name.endswith(".part") for name in names)


def _write(writer: ArrayFileWriter, arrays: Arrays) -> None:
    writer.add_lists("uris", arrays.uris)
    writer.add("uri_hashes", arrays.uri_hashes)
    writer.add("uri_order", arrays.uri_order)
    writer.add_optional_lists("notations", arrays.notations)
    writer.add_lists("labels", arrays.labels)
    writer.add("label_folds", arrays.label_folds)
    writer.add("label_owners", arrays.label_owners)
    writer.add("label_preferred", arrays.label_preferred)
    writer.add_lists("concept_labels", arrays.concept_labels)
    writer.add_optional_lists("broader", arrays.broader)
    writer.add_optional_lists("narrower", arrays.narrower)
    for language, labels in arrays.translations.items():
        writer.add_lists(f"translation {language}", labels)


def _sealed(manifest: dict[str, Any]) -> str:
    checksum = hashlib.sha256(_canonical(manifest).encode()).hexdigest()
    return _canonical({**manifest, "checksum": checksum}) + "\n"


def _canonical(manifest: dict[str, Any]) -> str:
    return json.dumps(manifest, sort_keys=True, indent=1, allow_nan=False)


def read_folder(folder: Path) -> tuple[Arrays, About]:
    """The mapped arrays of a saved vocabulary, and what it says of itself."""
    manifest = _read_manifest(folder)
    try:
        try:
            file = ArrayFile(folder, _entry(manifest))
        except FileNotFoundError:
            # Another one took its place between the reading of the manifest and of the file.
            manifest = _read_manifest(folder)
            file = ArrayFile(folder, _entry(manifest))
        return _map(file, manifest), About(*(manifest[each.name] for each in fields(About)))
    except (CollectionError, OSError, KeyError, TypeError, ValueError) as error:
        raise _damaged(folder, error) from error


def verify_folder(folder: Path) -> None:
    """Refuse a saved vocabulary that is not byte for byte what was written."""
    manifest = _read_manifest(folder)
    try:
        check_file(folder / manifest["file"], _entry(manifest))
    except CollectionError as error:
        raise _damaged(folder, error) from error


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        with open_regular(path) as file:
            raw = file.read(_LARGEST_MANIFEST)
    except FileNotFoundError as error:
        what = f"holds no vocabulary (it has no {MANIFEST})" if folder.is_dir() else "does not exist"
        raise InputError(f"{folder} {what}; make one with: erukg vocabulary build FILE -o {folder}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        manifest = json.loads(raw)
        if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
            raise ValueError(f"{MANIFEST} is not that of a vocabulary")
        version = manifest.get("version")
        if version == _VERSION:
            _check_manifest(manifest)
            return manifest
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _damaged(folder, error) from error
    raise InputError(
        f"{folder} has vocabulary format {str(version)[:20]!r}, this program reads {_VERSION}; "
        "update erukg or build the vocabulary again."
    )


def _check_manifest(manifest: dict[str, Any]) -> None:
    checksum = manifest.pop("checksum", None)
    if checksum != hashlib.sha256(_canonical(manifest).encode()).hexdigest():
        raise ValueError(f"{MANIFEST} has another checksum than when it was written")
    numbers = ("concepts", "labels", "longest", "bytes", "crc32")
    kinds = {"name": str, "language": str, "fingerprint": str, "left_out": dict, "translations": list}
    if any(type(manifest[name]) is not int or not 0 <= manifest[name] < 1 << 40 for name in numbers) or any(
        type(manifest[name]) is not kind for name, kind in kinds.items()
    ):
        raise ValueError(f"{MANIFEST} has values that cannot be")
    if not _FILE.fullmatch(str(manifest["file"])):
        raise ValueError(f"{MANIFEST} names a file that is none of a vocabulary's")


def _entry(manifest: dict[str, Any]) -> FileEntry:
    return FileEntry(manifest["file"], manifest["bytes"], manifest["crc32"])


def _map(file: ArrayFile, manifest: dict[str, Any]) -> Arrays:
    n, m = manifest["concepts"], manifest["labels"]
    arrays = Arrays(
        uris=file.lists("uris", "u1", n),
        uri_hashes=file.array("uri_hashes", "u8", n),
        uri_order=file.array("uri_order", "i4", n),
        notations=file.optional_lists("notations", "u1", n),
        labels=file.lists("labels", "u1", m),
        label_folds=file.array("label_folds", "u8", m),
        label_owners=file.array("label_owners", "i4", m),
        label_preferred=file.array("label_preferred", "u1", m),
        concept_labels=file.lists("concept_labels", "i4", n),
        broader=file.optional_lists("broader", "i4", n),
        narrower=file.optional_lists("narrower", "i4", n),
        longest=manifest["longest"],
        translations={
            language: file.lists(f"translation {language}", "u1", n) for language in manifest["translations"]
        },
    )
    # The matcher reads these arrays in compiled code, where a wrong number is not noticed.
    for numbers, most in (
        (arrays.uri_order, n),
        (arrays.label_owners, n),
        (arrays.concept_labels.values, m),
        (arrays.broader.values, n),
        (arrays.narrower.values, n),
    ):
        if len(numbers) and not (numbers.min() >= 0 and numbers.max() < most):
            raise ValueError("a number in it is beyond the end")
    strings = (arrays.uris, arrays.notations, arrays.labels, *arrays.translations.values())
    for lists in (*strings, arrays.concept_labels, arrays.broader, arrays.narrower):
        offsets = lists.offsets
        if np.any(offsets[1:] < offsets[:-1]) or offsets[-1] > len(lists.values):
            raise ValueError("a list in it goes beyond its array")
    if np.any(arrays.concept_labels.offsets[1:] == arrays.concept_labels.offsets[:-1]):
        raise ValueError("a concept in it has no label")
    return arrays


def _damaged(folder: Path, error: Exception) -> InputError:
    reason = str(error).rstrip(".") or type(error).__name__
    return InputError(f"The vocabulary {folder} is damaged ({reason}); build it again with: erukg vocabulary build.")

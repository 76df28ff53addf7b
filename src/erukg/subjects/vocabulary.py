"""A vocabulary: concepts with their labels, read from any file, saved compactly, looked up by URI and by label."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from erukg.collection.arrays import PackedLists
from erukg.core.hashing import hash_phrases
from erukg.errors import ErukgWarning, InputError
from erukg.subjects.concepts import Concept, VocabularyLimits, checked, matching_form
from erukg.subjects.readers import Columns, Wanted, read_concepts
from erukg.subjects.storage import About, Arrays, pack, read_folder, write_folder

__all__ = ["Columns", "Vocabulary", "VocabularyLimits"]

# Seconds after which reading a file is worth a word.
_LONG = 3.0


class Vocabulary:
    """Concepts in a fixed order, each known by its number from 0 and by its URI; immutable, safe to share by threads.

    name, language  of the vocabulary; the language is that of the labels
    left_out        how many concepts of the file were not taken, by reason
    label_folds     the hash of `matching_form` of every label of every concept, ascending; 0 where nothing is left
    label_owners    the concept that each of these labels belongs to
    label_is_preferred  whether it is that concept's preferred label
    longest_label   most words that a label's matching form has
    """

    def __init__(
        self,
        arrays: Arrays,
        name: str = "",
        language: str = "en",
        left_out: Mapping[str, int] | None = None,
        *,
        folder: Path | None = None,
        fingerprint: str = "",
    ) -> None:
        """Made by `of`, `read`, `open` and `load`."""
        self.name = name
        self.language = language
        self.left_out = dict(left_out or {})
        self._arrays = arrays
        self._folder = folder
        self._fingerprint = fingerprint
        self.label_folds: NDArray[np.uint64] = arrays.label_folds
        self.label_owners: NDArray[np.int32] = arrays.label_owners
        self.label_is_preferred: NDArray[np.bool_] = arrays.label_preferred.view(np.bool_)
        self.longest_label = arrays.longest

    @classmethod
    def of(
        cls,
        concepts: Iterable[Concept | str],
        name: str = "",
        language: str = "en",
        *,
        limits: VocabularyLimits | None = None,
    ) -> Vocabulary:
        """The vocabulary of these concepts, or of these tags, each of which is URI and label of its own."""
        if isinstance(concepts, str | bytes):
            raise InputError("A vocabulary is made of concepts or of a list of tags, not of one string.")
        entries = ((f"Concept {number}", concept) for number, concept in enumerate(concepts, 1))
        return cls(pack(list(checked(entries, limits or VocabularyLimits()))), name, language)

    @classmethod
    def read(
        cls,
        path: str | Path,
        *,
        form: str | None = None,
        language: str = "en",
        translations: Sequence[str] = (),
        columns: Columns | None = None,
        limits: VocabularyLimits | None = None,
        name: str = "",
    ) -> Vocabulary:
        """The vocabulary in a file, plain or .gz or .xz.

        form          a key of `readers.FORMS`; by the file's ending if it is not given: SKOS (.ttl, .rdf, .nt), .tsv,
                      .csv, .jsonl, or a .txt with a label on each line
        language      of the labels to take, where a file has them in several
        translations  languages whose preferred labels are kept beside these, for show
        columns       where a table has what
        name          of the vocabulary; the file's if it is not given

        Raises an `InputError` for a file that cannot be used.
        """
        path = Path(path)
        wanted = Wanted(language, tuple(translations), columns or Columns(), limits or VocabularyLimits())
        concepts = read_concepts(path, form, wanted)
        return cls(pack(concepts), name or path.name.split(".")[0], language, wanted.report.left_out)

    @classmethod
    def open(cls, folder: str | Path) -> Vocabulary:
        """A saved vocabulary: mapped into memory, so it is there at once however large it is."""
        folder = Path(folder)
        arrays, about = read_folder(folder)
        said = (about.name, about.language, about.left_out)
        return cls(arrays, *said, folder=folder.absolute(), fingerprint=about.fingerprint)

    @classmethod
    def load(cls, path: str | Path, **options: Any) -> Vocabulary:
        """`open` for a folder, `read` with these options for a file; a warning says how to have one that takes long at
        once."""
        if Path(path).is_dir():
            return cls.open(path)
        begun = time.monotonic()
        read = cls.read(path, **options)
        if (seconds := time.monotonic() - begun) > _LONG:
            warnings.warn(
                f"Reading {path} took {seconds:.0f} s; build it once with 'erukg vocabulary build {path} -o FOLDER' "
                "and give the folder, which opens at once.",
                ErukgWarning,
                stacklevel=2,
            )
        return read

    def save(self, folder: str | Path) -> None:
        """Write it into a folder for `open`; a vocabulary that is there already is replaced."""
        about = About(self.name, self.language, self.fingerprint, self.left_out)
        write_folder(Path(folder), self._arrays, about)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content: the same for the same concepts, labels and hierarchy in the same order."""
        return self._fingerprint or self._arrays.fingerprint()

    @property
    def languages(self) -> tuple[str, ...]:
        """The language of the labels, then those of which there are translations."""
        return (self.language, *(each for each in self._arrays.translations if each != self.language))

    @property
    def broader_links(self) -> int:
        """How many pairs of a concept and one right above it there are."""
        return len(self._arrays.broader.values)

    @property
    def label_count(self) -> int:
        """How many labels there are in all."""
        return len(self._arrays.labels)

    def __len__(self) -> int:
        return len(self._arrays.uris)

    def __iter__(self) -> Iterator[Concept]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Concept:
        if not 0 <= i < len(self):
            raise IndexError(f"There is no concept {i} among {len(self)}.")
        labels = [self.label_text(j) for j in self.labels_of(i).tolist()]
        translations = {language: _text(lists, i) for language, lists in self._arrays.translations.items()}
        return Concept(
            uri=self.uri(i),
            label=labels[0],
            notation=self.notation(i),
            alternatives=tuple(labels[1:]),
            broader=tuple(map(self.uri, self.broader(i).tolist())),
            labels_by_language={language: text for language, text in translations.items() if text},
        )

    def uri(self, i: int) -> str:
        return _text(self._arrays.uris, i)

    def notation(self, i: int) -> str:
        return _text(self._arrays.notations, i)

    def label(self, i: int, language: str | None = None) -> str:
        """The preferred label; that in another language if it is asked for and there is one."""
        known = self._arrays.translations.get(language or "")
        return (known is not None and _text(known, i)) or self.label_text(int(self.labels_of(i)[0]))

    def labels_of(self, i: int) -> NDArray[np.int32]:
        """The numbers of a concept's labels, the preferred one first."""
        return _list(self._arrays.concept_labels, i)

    def label_text(self, j: int) -> str:
        """Label j as the vocabulary has it."""
        return _text(self._arrays.labels, j)

    def broader(self, i: int) -> NDArray[np.int32]:
        """The concepts right above concept i."""
        return _list(self._arrays.broader, i)

    def narrower(self, i: int) -> NDArray[np.int32]:
        """The concepts right below concept i."""
        return _list(self._arrays.narrower, i)

    def find(self, uri: str) -> int:
        """The concept with this URI, or -1."""
        hashes = self._arrays.uri_hashes
        wanted = hash_phrases([uri])[0]
        for place in range(int(np.searchsorted(hashes, wanted)), len(hashes)):
            if hashes[place] != wanted:
                break
            i = int(self._arrays.uri_order[place])
            if self.uri(i) == uri:
                return i
        return -1

    def find_label(self, text: str) -> int:
        """The concept with this label, in any spelling that folds alike, or -1.

        A label that is written so comes first, as "Mercury (planet)" before "Mercury (element)"; then preferred labels
        before alternative ones.
        """
        form = matching_form(text)
        if not form:
            return -1
        wanted = hash_phrases([form])[0]
        first, last = (int(np.searchsorted(self.label_folds, wanted, side)) for side in ("left", "right"))
        found = [j for j in range(first, last) if matching_form(self.label_text(j)) == form]
        exact = [j for j in found if self.label_text(j).casefold() == " ".join(text.split()).casefold()]
        return int(self.label_owners[(exact or found)[0]]) if found else -1

    def __reduce__(self) -> tuple[Any, ...]:
        """Opened from a folder, it travels to other processes as the folder's path."""
        if self._folder is not None:
            return Vocabulary.open, (self._folder,)
        return Vocabulary, (self._arrays, self.name, self.language, self.left_out)


def _text(lists: PackedLists, i: int) -> str:
    return lists.values[int(lists.offsets[i]) : int(lists.offsets[i + 1])].tobytes().decode("utf-8", "replace")


def _list(lists: PackedLists, i: int) -> NDArray[np.int32]:
    return np.asarray(lists.values[int(lists.offsets[i]) : int(lists.offsets[i + 1])], np.int32)

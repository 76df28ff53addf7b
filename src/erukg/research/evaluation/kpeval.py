"""Predictions in files of KPEval's form: those of any system scored as a system, and those of ours written.

JSON Lines of `{"source", "target", "predictions"}`: the document ("title [sep] abstract"), its gold phrases and the
predicted ones, phrases separated by ";". Of a file that is read only `predictions` (or `prediction`; a list of phrases
is also taken) is needed. `id` tells which document a line is about; without ids that the set knows, lines are in its
order. Files written here also have `present` and `absent`, the phrases by kind; where a file lacks them, a phrase is
present if its stemmed words stand in the document one after the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from erukg.errors import InputError
from erukg.io.objects import read_objects
from erukg.io.publish import publish_text
from erukg.research.evaluation.datasets import Dataset, content_hash
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.ground_truth import gold_variant
from erukg.research.evaluation.metrics import Prediction
from erukg.research.evaluation.stemming import document_stems, phrase_stems, separated_words
from erukg.research.evaluation.store import safe_name
from erukg.research.evaluation.systems import SystemOptions

__all__ = ["FileSystem", "GivenPredictions", "make", "write_predictions"]

_SET = "{set}"
_SEPARATOR = ";"
_MOST_LINES, _MOST_PHRASES, _LONGEST_PHRASE = 5_000_000, 10_000, 1_000
_WORD = re.compile(r"[a-z]{3,}")
_FEW = 8  # words from which on a source can be told from that of another document


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    id: str | None
    source: str
    phrases: Sequence[str]
    kinds: Prediction | None


@dataclass(frozen=True, slots=True)
class GivenPredictions:
    """What a file says of a set, in the order of its records: by kind, and as one list each; and the file's hash."""

    predictions: Sequence[Prediction]
    lists: Sequence[Sequence[str]]
    sha256: str


class FileSystem:
    """Predictions that stand in a file, as a system; "{set}" in its path stands for the name of the set."""

    def __init__(self, name: str, path: str) -> None:
        self.name = name
        self._path = path
        if _SET not in path and not Path(path).is_file():
            raise InputError(f"There is no file {path} of predictions; in a path, {_SET} stands for a set's name.")

    def describe(self) -> Mapping[str, Any]:
        return {"file": self._path}

    def for_set(self, dataset: Dataset) -> GivenPredictions:
        """The predictions for a set's documents."""
        path = Path(self._path.replace(_SET, dataset.name))
        if not path.is_file():
            raise InputError(f"There is no file {path} with predictions for the set '{dataset.name}'.")
        lines = _aligned(path, list(_read(path)), dataset)
        pairs = list(zip(lines, dataset.records, strict=True))
        kinds = [line.kinds or _by_kind(line.phrases, record) for line, record in pairs]
        return GivenPredictions(kinds, [line.phrases for line in lines], content_hash(path))

    def predict(self, records: Iterable[Record]) -> Iterator[Prediction]:
        """The predictions for these documents, found by their ids."""
        if _SET in self._path:
            raise InputError(
                f"The system '{self.name}' is for 'erukg evaluate keyphrases'; give a path without {_SET}."
            )
        known = {line.id: line for line in _read(Path(self._path)) if line.id is not None}
        for record in records:
            if record.id not in known:
                raise InputError(f"{self._path} has no predictions for the document '{record.id}'.")
            line = known[record.id]
            yield line.kinds or _by_kind(line.phrases, record)


def make(spec: str, options: SystemOptions) -> FileSystem:
    """The system `file:PATH`."""
    path = spec.partition(":")[2].strip()
    if not path:
        raise InputError(f"The system '{spec}' needs the path of a file with predictions: file:PATH.")
    return FileSystem(spec, path)


def write_predictions(folder: Path, system: str, dataset: Dataset, given: Iterable[Prediction]) -> Path:
    """Write a system's predictions to FOLDER/SET/SYSTEM/SET_hypotheses_linked.json, where KPEval looks for them.

    KPEval takes words to be what stands between spaces, so punctuation marks are set apart and hyphens left out.
    """
    name = safe_name(dataset.name)
    path = folder / name / safe_name(system) / f"{name}_hypotheses_linked.json"
    rows = []
    for record, (present, absent) in zip(dataset.records, given, strict=True):
        gold = record.keyphrases or [alternatives[0] for alternatives in record.official or ()]
        row = {
            "id": record.id,
            "source": f"{separated_words(record.title)} [sep] {separated_words(record.abstract)}",
            "target": _joined(gold),
            "predictions": _joined([*present, *absent]),
            "present": list(present),
            "absent": list(absent),
        }
        rows.append(json.dumps(row, ensure_ascii=False) + "\n")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        publish_text(path, "".join(rows))
    except OSError as error:
        raise InputError(f"Predictions cannot be written to {path} ({error}); give another folder.") from error
    return path


def _joined(phrases: Iterable[str]) -> str:
    return _SEPARATOR.join(separated_words(phrase.replace(_SEPARATOR, ",")) for phrase in phrases)


def _by_kind(phrases: Sequence[str], record: Record) -> Prediction:
    variant = gold_variant(record)
    text = document_stems(record.title, record.abstract, variant)
    kinds: tuple[list[str], list[str]] = ([], [])
    for phrase in phrases:
        kinds[phrase_stems(phrase, variant) not in text].append(phrase)
    return kinds


def _read(path: Path) -> Iterator[_Line]:
    for count, (number, row) in enumerate(read_objects(path)):
        if count >= _MOST_LINES:
            raise InputError(f"{path} holds more than {_MOST_LINES:,} lines; split it by set.")
        try:
            yield _line(number, row)
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from error


def _line(number: int, row: Mapping[str, Any]) -> _Line:
    id, source = row.get("id"), row.get("source")
    known = str(id) if isinstance(id, str | int) and not isinstance(id, bool) else None
    text = source if isinstance(source, str) else ""
    if "present" in row and "absent" in row:
        kinds = _phrases(row, "present"), _phrases(row, "absent")
        return _Line(number, known, text, [*kinds[0], *kinds[1]], kinds)
    return _Line(number, known, text, _phrases(row, "predictions" if "predictions" in row else "prediction"), None)


def _phrases(row: Mapping[str, Any], field: str) -> list[str]:
    value = row.get(field)
    if isinstance(value, str):
        value = value.split(_SEPARATOR)
    if not isinstance(value, list) or not all(isinstance(phrase, str) for phrase in value):
        name = "predictions" if field == "prediction" else field
        raise InputError(
            f"The field '{name}' must hold phrases, as a list or as text with '{_SEPARATOR}' between them."
        )
    if len(value) > _MOST_PHRASES:
        raise InputError(f"The field '{field}' holds {len(value):,} phrases; at most {_MOST_PHRASES:,} are read.")
    # " ##" goes on with a word that a system's tokeniser took apart; KPEval joins it likewise.
    phrases = [stripped for phrase in value if (stripped := phrase.strip().replace(" ##", ""))]
    longest = max(map(len, phrases), default=0)
    if longest > _LONGEST_PHRASE:
        raise InputError(f"A phrase has {longest:,} characters; at most {_LONGEST_PHRASE:,} are read.")
    return phrases


def _aligned(path: Path, lines: Sequence[_Line], dataset: Dataset) -> list[_Line]:
    """The line of every record: by id where the set knows the ids, else by order."""
    by_id: dict[str, _Line] = {}
    for line in lines:
        if line.id is not None and by_id.setdefault(line.id, line) is not line:
            raise InputError(f"{path}, line {line.number}: the id '{line.id}' stands in line {by_id[line.id].number}.")
    ids = [record.id for record in dataset.records]
    missing = [id for id in ids if id not in by_id]
    if missing and len(missing) < len(ids):
        raise InputError(f"{path} has no predictions for the document '{missing[0]}' of the set '{dataset.name}'.")
    if missing and len(lines) != len(ids) and not (len(lines) > len(ids) and all(line.source for line in lines)):
        raise InputError(
            f"{path} has {len(lines)} lines for the {len(ids)} documents of '{dataset.name}'; give one for each, in "
            "the order of the set, or their ids."
        )
    found = list(lines[: len(ids)]) if missing else [by_id[id] for id in ids]
    for line, record in zip(found, dataset.records, strict=True):
        if not _same_document(line.source, record):
            raise InputError(
                f"{path}, line {line.number}: its 'source' is another text than the document '{record.id}' of "
                f"'{dataset.name}'; put the lines in the order of the set, or give ids."
            )
    return found


def _same_document(source: str, record: Record) -> bool:
    """Whether half of a source's words are the document's; preparation changes some."""
    words = set(_WORD.findall(source.lower()))
    known = set(_WORD.findall(record.text.lower()))
    return len(words) < _FEW or 2 * len(words & known) >= len(words)

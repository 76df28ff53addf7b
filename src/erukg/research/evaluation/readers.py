"""What a person would say of the phrases: a readers' set, and figures by kind of text.

One text a line of JSON Lines:

id, kind, language, text
must        phrases that any indexer expects among the ten best present ones; "a | b" is either
must_not    fragments, furniture and leaks that must not be among the ten best
absent      "none" where no absent phrase should be returned, "any", or stems: a word of a good one begins with one
headings    optional: {"right": [...], "absurd": [...]}, subject headings for `rank`
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from erukg.core.document import Document
from erukg.core.folding import fold
from erukg.core.notices import NOT_ENGLISH, notices_of
from erukg.errors import InputError
from erukg.research.evaluation.bootstrap import paired_bootstrap
from erukg.research.evaluation.datasets import Dataset, content_hash, read_by_id
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.generator_system import GeneratorSystem
from erukg.research.evaluation.keyphrases import Progress, predict
from erukg.research.evaluation.metrics import Prediction
from erukg.research.evaluation.systems import NotAvailableError, System

__all__ = ["FIGURES", "Found", "ReaderText", "ReadersResult", "ReadersSet", "judge", "load_readers", "run_readers"]

BEST = 10
_RIGHT, _ABSURD = 10, 20  # how far down `rank`'s list right and absurd headings are looked for

#: Figures by name: what they say, and whether more is better. Each is a mean over the texts that it applies to.
FIGURES: dict[str, tuple[str, bool]] = {
    "must": ("share of the phrases that must come among the ten best present ones", True),
    "must_not": ("texts with a phrase that must not come among the ten best present ones", False),
    "leaks": ("texts with a phrase that must not come among the ten best absent ones", False),
    "repetition": ("share of the ten best present phrases that contain, lie in, or repeat another", False),
    "unwanted": ("texts with absent phrases, of those that should have none", False),
    "unwanted_count": ("how many they are on average (a number, at most 10)", False),
    "on_topic": ("share of the absent phrases that are on topic, of texts that may have some", True),
    "right": ("share of the right headings in `rank`'s top 10", True),
    "absurd": ("share of the absurd headings in `rank`'s top 20", False),
    "language": (
        "texts whose language is told right: the notice not-english for those that are not, and for no other",
        True,
    ),
}


@dataclass(frozen=True, slots=True)
class ReaderText:
    """One text with what a reader expects of its phrases."""

    id: str
    kind: str
    language: str
    text: str
    must: tuple[tuple[str, ...], ...]
    """Each with its alternatives, of which one is enough."""
    must_not: tuple[str, ...]
    absent: str | tuple[str, ...]
    right: tuple[str, ...] = ()
    absurd: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadersSet:
    """All texts of the files given, and the hash of each file's content."""

    texts: tuple[ReaderText, ...]
    files: Mapping[str, str]

    @property
    def kinds(self) -> Mapping[str, int]:
        return Counter(text.kind for text in self.texts)


@dataclass(frozen=True, slots=True)
class Found:
    """What a system says of one text: its ten best phrases of each kind; if any, `rank`'s headings and its notices."""

    present: tuple[str, ...]
    absent: tuple[str, ...]
    ranked: tuple[str, ...] | None = None
    notices: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ReadersResult:
    """One system's figures: their means by kind and over the English texts, and what it found by text."""

    name: str
    description: Mapping[str, Any]
    kinds: Mapping[str, Mapping[str, float]]
    total: Mapping[str, float]
    intervals: Mapping[str, tuple[float, float]]
    """95 % of resamples of the English texts."""
    found: Mapping[str, Found]
    not_run: str | None = None


def load_readers(paths: Iterable[str | Path]) -> ReadersSet:
    """The readers' set in JSON Lines files, or in folders of them; an id may be used once."""
    files: list[Path] = []
    for path in map(Path, paths):
        inside = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not inside or not path.exists():
            raise InputError(f"{path} holds no readers' set; give files that end in .jsonl, or a folder of them.")
        files += inside
    if not files:
        raise InputError(
            "Give the readers' set: the folder tests/readers of erukg's repository, or files of that form."
        )
    texts: dict[str, ReaderText] = {}
    for file in files:
        for id, text in read_by_id(file, _parse).items():
            if id in texts:
                raise InputError(f"{file}: the id '{id}' was already used in another file; give every text its own.")
            texts[id] = text
    return ReadersSet(tuple(texts.values()), {file.name: content_hash(file) for file in files})


def _parse(row: dict[str, Any], number: int) -> tuple[str, ReaderText]:
    for name in ("id", "kind", "language", "text"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise InputError(f"the field '{name}' must be text that is not empty")
    absent = row.get("absent")
    if absent not in ("none", "any"):
        absent = _strings(row, "absent")
    headings = row.get("headings", {"right": [], "absurd": []})
    if not isinstance(headings, dict):
        raise InputError("the field 'headings' must be an object with the lists 'right' and 'absurd'")
    must = tuple(tuple(filter(None, map(str.strip, one.split("|")))) for one in _strings(row, "must"))
    right, absurd = _strings(headings, "right"), _strings(headings, "absurd")
    given = {name: str(row[name]) for name in ("id", "kind", "language", "text")}
    text = ReaderText(**given, must=must, must_not=_strings(row, "must_not"), absent=absent, right=right, absurd=absurd)
    return text.id, text


def _strings(row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = row.get(name)
    if not isinstance(value, list) or not all(isinstance(one, str) and one.strip() for one in value):
        raise InputError(f"the field '{name}' must be a list of phrases")
    return tuple(value)


def run_readers(
    systems: Sequence[System],
    readers: ReadersSet,
    progress: Progress | None = None,
    *,
    samples: int = 10_000,
    seed: int = 0,
) -> list[ReadersResult]:
    """Every system's figures. Only this package's own systems rank headings and tell languages; others lack these."""
    results = []
    dataset = Dataset("readers", tuple(Record(text.id, "", text.text, ()) for text in readers.texts))
    for system in systems:
        try:
            description = system.describe()
        except NotAvailableError as error:
            results.append(ReadersResult(system.name, {}, {}, {}, {}, {}, not_run=str(error)))
            continue
        predictions = predict(system, dataset, progress=progress)
        found = _found(readers.texts, predictions, _ranked(system, readers.texts), _notices(system, readers.texts))
        judged = [(text, judge(text, found[text.id])) for text in readers.texts]
        english = _columns(figures for text, figures in judged if text.language == "en")
        intervals = {}
        for name, values in english.items():
            spread = paired_bootstrap([values], [np.zeros_like(values)], samples, seed)
            intervals[name] = (spread.low, spread.high)
        kinds = {kind: _means(figures for text, figures in judged if text.kind == kind) for kind in readers.kinds}
        total = {name: float(values.mean()) for name, values in english.items()}
        results.append(ReadersResult(system.name, description, kinds, total, intervals, found))
    return results


def _found(
    texts: Sequence[ReaderText],
    predictions: Sequence[Prediction],
    ranked: Mapping[str, tuple[str, ...]],
    notices: Mapping[str, tuple[str, ...]],
) -> dict[str, Found]:
    return {
        text.id: Found(tuple(present[:BEST]), tuple(absent[:BEST]), ranked.get(text.id), notices.get(text.id))
        for text, (present, absent) in zip(texts, predictions, strict=True)
    }


def _ranked(system: System, texts: Sequence[ReaderText]) -> dict[str, tuple[str, ...]]:
    """The best of all headings of the set for every text that has some; those that score nothing are left out."""
    with_headings = [text for text in texts if text.right or text.absurd]
    if not isinstance(system, GeneratorSystem) or not with_headings:
        return {}
    headings = system.generator.phrase_list([heading for text in with_headings for heading in text.right + text.absurd])
    items = [(text.id, text.text) for text in with_headings]
    out = {}
    for answer in system.generator.rank_stream(items, headings, system.settings, top_k=_ABSURD):
        ranked = answer.unwrap()
        out[str(ranked.id)] = tuple(k.phrase for k in ranked if k.score > 0)
    return out


def _notices(system: System, texts: Sequence[ReaderText]) -> dict[str, tuple[str, ...]]:
    """The codes of every text's notices; predictions, which other systems make as well, do not hold them."""
    if not isinstance(system, GeneratorSystem):
        return {}
    language_of = system.generator.language_of
    found = {text.id: notices_of(Document.parse(text.text), language_of) for text in texts}
    return {id: tuple(notice.code for notice in notices) for id, notices in found.items()}


def judge(text: ReaderText, found: Found) -> dict[str, float]:
    """The figures of one text, those that apply to it; all but the count are between 0 and 1."""
    present, absent = ({fold(phrase) for phrase in kind} for kind in (found.present, found.absent))
    bad = {fold(phrase) for phrase in text.must_not}
    out = {
        "must_not": float(bool(bad & present)),
        "leaks": float(bool(bad & absent)),
        "repetition": _repetition(found.present),
    }
    if text.must:
        out["must"] = _share(any(fold(form) in present for form in one) for one in text.must)
    if text.absent == "none":
        out |= {"unwanted": float(bool(found.absent)), "unwanted_count": float(len(found.absent))}
    elif not isinstance(text.absent, str) and found.absent:
        out["on_topic"] = _share(_begins(phrase, text.absent) for phrase in found.absent)
    if found.ranked is not None:
        for name, wanted, depth in (("right", text.right, _RIGHT), ("absurd", text.absurd, _ABSURD)):
            best = {fold(phrase) for phrase in found.ranked[:depth]}
            if wanted:
                out[name] = _share(fold(heading) in best for heading in wanted)
    if found.notices is not None:
        out["language"] = float((NOT_ENGLISH in found.notices) == (text.language != "en"))
    return out


def _begins(phrase: str, stems: Sequence[str]) -> bool:
    """Whether a word of the phrase begins with one of the stems."""
    words = " " + phrase.lower().replace("-", " ")
    return any(f" {stem}" in words for stem in stems)


def _repetition(phrases: Sequence[str]) -> float:
    # `fold` keeps the e of some plurals ("buses"); to a reader they repeat the singular all the same.
    folds = [f" {' '.join(word.removesuffix('e') for word in fold(phrase).split())} " for phrase in phrases]
    pairs = [(i, j) for i, one in enumerate(folds) for j, other in enumerate(folds) if i != j and one in other]
    return len({i for pair in pairs for i in pair}) / len(folds) if folds else 0.0


def _share(hits: Iterable[bool]) -> float:
    return float(np.mean(list(hits)))


def _columns(judged: Iterable[Mapping[str, float]]) -> dict[str, Any]:
    rows = list(judged)
    values = {name: np.array([row[name] for row in rows if name in row]) for name in FIGURES}
    return {name: column for name, column in values.items() if column.size}


def _means(judged: Iterable[Mapping[str, float]]) -> dict[str, float]:
    return {name: float(values.mean()) for name, values in _columns(judged).items()}

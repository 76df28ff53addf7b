"""Gold phrases by how much of them the text has: Present, Reordered, Mixed, Unseen (Boudin & Gallina 2021).

On stemmed words: P, they stand in the title or the abstract one after the other; R, all of them stand somewhere; M,
some do; U, none does. A phrase with accepted alternatives has the category of the one that the text has most of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.ground_truth import gold_variant, number_phrases
from erukg.research.evaluation.measures import Answers
from erukg.research.evaluation.metrics import DEPTH, Prediction, Scores, judge, kind_scores
from erukg.research.evaluation.stemming import Variant, document_stems, phrase_key, phrase_stems, stemmed_key

__all__ = ["CATEGORIES", "PRMU_MEASURES", "Categories", "categories", "category_counts", "prmu_score"]

CATEGORIES = ("P", "R", "M", "U")
PRMU_MEASURES = ("R@5", "R@10", "R@M", "micro-R@5", "micro-R@10", "micro-R@M")


@dataclass(frozen=True, slots=True)
class Categories:
    """One document's gold by category: every accepted key with the number of its phrase, and how many there are."""

    keys: Mapping[str, Mapping[str, int]]
    counts: Mapping[str, int]
    variant: Variant


def categories(record: Record) -> Categories:
    """The gold phrases of one record by category, phrases with equal stems counted once."""
    variant = gold_variant(record)
    text = document_stems(record.title, record.abstract, variant)
    words = set(text.split())
    best: dict[str, int] = {}
    phrases = []
    for alternatives in _forms(record):
        phrases.append([key for key, _ in alternatives])
        for key, stems in alternatives:
            best[key] = min(best.get(key, len(CATEGORIES)), _category(stems, text, words))
    numbers, count = number_phrases(phrases)
    of_phrase = [min(best[key] for key in numbers if numbers[key] == number) for number in range(count)]
    keys: dict[str, dict[str, int]] = {name: {} for name in CATEGORIES}
    for key, number in numbers.items():
        keys[CATEGORIES[of_phrase[number]]][key] = number
    return Categories(keys, {name: len(set(part.values())) for name, part in keys.items()}, variant)


def _forms(record: Record) -> Iterable[list[tuple[str, str]]]:
    """For every gold phrase its alternatives, each by key and by stems."""
    if record.official is None:
        given = [[(phrase_key(phrase), phrase_stems(phrase, "nltk"))] for phrase in record.keyphrases]
    else:
        given = [[(stemmed_key(a), phrase_stems(a, None)) for a in phrase] for phrase in record.official]
    known = ([(key, stems) for key, stems in phrase if key] for phrase in given)
    return [phrase for phrase in known if phrase]


def _category(stems: str, text: str, words: set[str]) -> int:
    if stems in text:
        return 0
    # A bracket or comma that the text also has somewhere says nothing.
    wanted = [word for word in stems.split() if any(map(str.isalnum, word))]
    found = sum(word in words for word in wanted)
    return 1 if found == len(wanted) else 2 if found else 3


@lru_cache(maxsize=64)
def _of_set(dataset: Dataset) -> tuple[Categories, ...]:
    return tuple(map(categories, dataset.records))


def category_counts(dataset: Dataset) -> dict[str, int]:
    """How many gold phrases of a set each category has."""
    return {name: sum(part.counts[name] for part in _of_set(dataset)) for name in CATEGORIES}


def prmu_score(predictions: Sequence[Prediction], dataset: Dataset, depth: int = DEPTH) -> Scores:
    """Recall by category: P is looked for among the present phrases predicted, the others among the absent ones."""
    answers: dict[str, list[Answers]] = {name: [] for name in CATEGORIES}
    for (present, absent), part in zip(predictions, _of_set(dataset), strict=True):
        named = [[phrase_key(phrase, part.variant) for phrase in phrases[:depth]] for phrases in (present, absent)]
        for name in CATEGORIES:
            if part.counts[name]:
                answers[name].append(judge(named[name != "P"], part.keys[name], part.counts[name]))
    scores = {name: kind_scores(found, PRMU_MEASURES, len(dataset)) for name, found in answers.items()}
    return Scores(dataset.name, "prmu", scores)

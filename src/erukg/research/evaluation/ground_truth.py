"""Which gold phrases are present in a document and which are absent, under the two protocols in use.

`paper`: a gold phrase, lower-cased, is present when it is a substring of the lower-cased document (title,
line break, abstract). `stemmed`: when its stemmed words stand in the stemmed document one after the other.
Both compare predictions with gold by `stemming.phrase_key`.

SemEval-2010's official gold is stemmed and lists alternatives, any of which is right, once. Such a phrase is present
when one of its alternatives is in the stemmed document; under `paper`, when the unstemmed form of one (found among the
record's `keyphrases` by its stems) is a substring of the document, if there is such a form: on the test set this makes
58 % of them absent, near the 59.7 % of the paper, where looking for stems gives 54 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from erukg.errors import InputError
from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.stemming import Variant, document_stems, phrase_key, phrase_stems, stemmed_key

__all__ = ["PROTOCOLS", "Gold", "Protocol", "gold", "gold_variant", "ground_truth", "number_phrases"]

Protocol = Literal["paper", "stemmed"]
PROTOCOLS: tuple[Protocol, ...] = get_args(Protocol)


@dataclass(frozen=True, slots=True)
class Gold:
    """The right answers of one document: every accepted key with the number of its gold phrase."""

    present: dict[str, int]
    absent: dict[str, int]
    n_present: int
    n_absent: int
    variant: Variant


@lru_cache(maxsize=64)
def ground_truth(dataset: Dataset, protocol: Protocol = "paper") -> tuple[Gold, ...]:
    """`gold` of every record, in order; kept, so that scoring in a loop pays for it once."""
    return tuple(gold(record, protocol) for record in dataset.records)


def gold(record: Record, protocol: Protocol = "paper") -> Gold:
    """The gold phrases of one record by kind, phrases with equal stems counted once."""
    if protocol not in PROTOCOLS:
        raise InputError(f"There is no protocol '{protocol}'; the protocols are {' and '.join(PROTOCOLS)}.")
    phrases = _plain(record, protocol) if record.official is None else _official(record, protocol)
    kinds: tuple[list[tuple[str, ...]], list[tuple[str, ...]]] = ([], [])
    for keys, is_present in phrases:
        if any(keys):
            kinds[not is_present].append(tuple(key for key in keys if key))
    (present, n_present), (absent, n_absent) = map(number_phrases, kinds)
    return Gold(present, absent, n_present, n_absent, gold_variant(record))


def gold_variant(record: Record) -> Variant:
    """The stemmer that this record's gold needs predictions to be stemmed with."""
    return "nltk" if record.official is None else "martin"


def _plain(record: Record, protocol: Protocol) -> Iterable[tuple[tuple[str, ...], bool]]:
    if protocol == "paper":
        text = record.text.lower()
        return [((phrase_key(p),), p.lower() in text) for p in record.keyphrases]
    stems = document_stems(record.title, record.abstract, "nltk")
    return [((phrase_key(p),), phrase_stems(p, "nltk") in stems) for p in record.keyphrases]


def _official(record: Record, protocol: Protocol) -> Iterable[tuple[tuple[str, ...], bool]]:
    text = record.text.lower()
    stems = document_stems(record.title, record.abstract, "martin")
    unstemmed: dict[str, list[str]] = {}
    for phrase in record.keyphrases:
        unstemmed.setdefault(phrase_key(phrase, "martin"), []).append(phrase.lower())
    for alternatives in record.official or ():
        keys = tuple(stemmed_key(a) for a in alternatives)
        forms = [form for key in keys for form in unstemmed.get(key, ())]
        if protocol == "stemmed":
            is_present = any(phrase_stems(a, None) in stems for a in alternatives)
        elif forms:
            is_present = any(form in text for form in forms)
        else:
            is_present = any(phrase_stems(a, None).strip() in stems for a in alternatives)
        yield keys, is_present


def number_phrases(phrases: Iterable[Sequence[str]]) -> tuple[dict[str, int], int]:
    """Number gold phrases by their keys. Those that share a key are one, with the alternatives of both."""
    groups: list[set[str]] = []
    for keys in phrases:
        merged = set(keys)
        kept = []
        for group in groups:
            if group & merged:
                merged |= group
            else:
                kept.append(group)
        groups = [*kept, merged]
    return {key: number for number, group in enumerate(groups) for key in sorted(group)}, len(groups)

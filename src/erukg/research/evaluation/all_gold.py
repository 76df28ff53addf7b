"""One predicted list against all gold phrases, present and absent, as the programs of extraction papers score it.

In both conventions words are what stands between spaces, stemmed by Porter's algorithm, and precision divides by what
was predicted where that is fewer than k.

samrank     SAMRank, Attention-Seeker: predictions and gold de-duplicated by their stems; F1 by document, then the mean
promptrank  PromptRank, MDERank: predictions de-duplicated as written, gold not at all, so that two predictions with
            equal stems are both right; counts are summed over the documents (micro average)
"""

from __future__ import annotations

from collections.abc import Sequence

from erukg.research.evaluation.datasets import Dataset
from erukg.research.evaluation.formats import Record
from erukg.research.evaluation.ground_truth import gold_variant, number_phrases
from erukg.research.evaluation.measures import Answers
from erukg.research.evaluation.metrics import Scores, judge, kind_scores
from erukg.research.evaluation.stemming import spaced_key

__all__ = ["ALL_GOLD", "all_gold_score"]

_CUTOFFS = (5, 10, 15)
#: By convention its measures, those that papers print first.
ALL_GOLD: dict[str, tuple[str, ...]] = {
    convention: tuple(f"{prefix}{m}@{k}{'' if m == 'R' else 'u'}" for m in "FPR" for k in _CUTOFFS)
    for convention, prefix in (("samrank", ""), ("promptrank", "micro-"))
}


def all_gold_score(lists: Sequence[Sequence[str]], dataset: Dataset, convention: str) -> Scores:
    """Compare lists of phrases, one per record and in the same order, with all gold of a set."""
    judged = _by_stems if convention == "samrank" else _as_written
    found = (judged(phrases, record) for phrases, record in zip(lists, dataset.records, strict=True))
    answers = [one for one in found if one.n_gold]
    return Scores(dataset.name, convention, {"all": kind_scores(answers, ALL_GOLD[convention], len(dataset))})


def _by_stems(phrases: Sequence[str], record: Record) -> Answers:
    variant = gold_variant(record)
    return judge((spaced_key(p, variant) for p in phrases), *number_phrases(_gold(record)), _CUTOFFS[-1])


def _as_written(phrases: Sequence[str], record: Record) -> Answers:
    variant = gold_variant(record)
    gold = _gold(record)
    keys = {key for alternatives in gold for key in alternatives}
    named = list(dict.fromkeys(" ".join(phrase.lower().split()) for phrase in phrases if phrase.strip()))
    right = [rank for rank, phrase in enumerate(named, 1) if spaced_key(phrase, variant) in keys]
    return Answers(right, len(named), len(gold))


def _gold(record: Record) -> list[tuple[str, ...]]:
    """The keys of every gold phrase, one or, in official gold, several alternatives."""
    if record.official is None:
        return [(key,) for phrase in record.keyphrases if (key := spaced_key(phrase))]
    keys = (tuple(key for a in phrase if (key := spaced_key(a, None))) for phrase in record.official)
    return [found for found in keys if found]

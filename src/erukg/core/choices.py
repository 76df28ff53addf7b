"""What a caller wants in a list of phrases whatever its score, and what not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from erukg.core.analysis import Analysis
from erukg.core.folding import fold
from erukg.core.hashing import hash_phrases
from erukg.core.locating import locate
from erukg.core.neighbours import Glossary
from erukg.core.phrase_list import natural_order
from erukg.core.ranking import Ranked
from erukg.core.results import Keyphrase
from erukg.core.stems import stem_phrase
from erukg.errors import InputError

__all__ = ["Choice"]


@dataclass(frozen=True, slots=True)
class Choice:
    """Words and phrases to leave out, and phrases that must be there.

    exclude    their stems: a phrase that holds one of them, as whole words, is left out
    must_have  the forms of those that must be there, by their folds; `exclude` does not apply to these
    """

    exclude: tuple[str, ...]
    must_have: Mapping[str, str]

    @classmethod
    def of(cls, exclude: Collection[str] | None, must_have: Collection[str] | None) -> Choice | None:
        """None where nothing is chosen."""
        left_out = {stem_phrase(phrase) for phrase in (() if exclude is None else exclude)} - {stem_phrase("")}
        wanted: dict[str, str] = {}
        for phrase in () if must_have is None else must_have:
            form = natural_order(" ".join(phrase.split()))
            if not (key := fold(form)):
                raise InputError(f"must_have has a phrase without words: {phrase!r}.")
            wanted.setdefault(key, form)
        return cls(tuple(sorted(left_out)), wanted) if left_out or wanted else None

    def leave_out(self, analysis: Analysis, glossary: Glossary | None) -> Analysis:
        """The analysis in which what is excluded is no candidate."""
        if not self.exclude:
            return analysis
        pool = analysis.pool
        absent = np.flatnonzero(np.isinf(pool.words_before))
        named = {row: place.fold for row, place in analysis.places.items()}
        if glossary is not None:
            named |= dict(zip(absent.tolist(), analysis.absent_phrases(absent, glossary), strict=True))
        rows = [row for row, phrase in named.items() if self._excludes(phrase)]
        return replace(analysis, pool=pool.without(np.array(rows, np.int64)))

    def _excludes(self, phrase: str) -> bool:
        stems = stem_phrase(phrase)
        return any(each in stems for each in self.exclude) and fold(phrase) not in self.must_have

    def missing(self, shown: Iterable[Keyphrase]) -> list[str]:
        """The folds of those that must be there and are not among the `shown`."""
        have = {fold(each.phrase) for each in shown}
        return [key for key in self.must_have if key not in have]

    def unranked(self, keys: Sequence[str], analysis: Analysis) -> tuple[list[Keyphrase], list[Keyphrase]]:
        """Phrases that are no candidates, present and absent ones: without a score or a confidence."""
        present, absent = [], []
        for key, place in zip(keys, locate(analysis.document, keys), strict=True):
            if place is None:
                absent.append(Keyphrase(self.must_have[key], 0.0))
            else:
                present.append(Keyphrase(place.form, 0.0, spans=place.spans))
        return present, absent

    def fit(self, shown: Iterable[Keyphrase], top_k: int) -> tuple[Keyphrase, ...]:
        """Best first and no more than `top_k`, but with all that must be there; none of these is a mere variant."""
        ordered = sorted(shown, key=lambda each: -each.score)
        needed = [fold(each.phrase) in self.must_have for each in ordered]
        room = max(top_k - sum(needed), 0)
        out = []
        for each, must in zip(ordered, needed, strict=True):
            if not must:
                if room == 0:
                    continue
                room -= 1
            variants = tuple(form for form in each.variants if self._may_vary(form))
            out.append(replace(each, variants=variants))
        return tuple(out)

    def _may_vary(self, form: str) -> bool:
        return fold(form) not in self.must_have and not self._excludes(form)


def rows_by_fold(ranked: Ranked, analysis: Analysis, glossary: Glossary | None, keys: Sequence[str]) -> dict[str, int]:
    """Which of the ranked candidates these phrases are, those that are any."""
    rows = ranked.pool.tolist()
    if ranked.evidence.present:
        at = {analysis.places[row].fold: k for k, row in enumerate(rows)}
    elif glossary is not None:
        numbers = dict(zip(glossary.find(hash_phrases(list(keys))).tolist(), keys, strict=True))
        ids = analysis.pool.glossary_ids[ranked.pool].tolist()
        at = {numbers[id]: k for k, id in enumerate(ids) if id >= 0 and id in numbers}
    else:
        at = {}
    return {key: at[key] for key in keys if key in at}

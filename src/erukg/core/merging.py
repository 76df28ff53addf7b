"""A list without repetition: of phrases that contain one another, or say the same, one stands for all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from erukg.core.acronyms import find_acronyms
from erukg.core.document import Document
from erukg.core.factors import STANDING
from erukg.core.forms import is_title_cased
from erukg.core.lexicon import PREPOSITIONS
from erukg.core.locating import Located
from erukg.core.pool import Pool
from erukg.core.ranking import Ranked, Weights, rank_pool
from erukg.core.settings import Settings

__all__ = ["Merged", "rank_present"]

# A part stands for a longer phrase only if its score is not much lower ...
_ENOUGH_FOR_PART = 0.7
# ... and a longer phrase for its part only if it is nearly as good.
_ENOUGH_FOR_WHOLE = 0.94
# ... unless the part never stands alone; then less will do.
_WORTH_OF_WHOLE = 0.8
# Below this share of the mean weight the first word of an unrepeated phrase is only an ornament.
_ORNAMENT = 0.58
_MOST_VARIANTS = 5
_SPARE = 3
_AROUND = 80  # characters
_MARKS = ".,;:!?)\"'"


@dataclass(frozen=True, slots=True)
class Merged:
    """The chosen phrases, best first, for each the forms it stands for as well; and all that there were to choose."""

    ranked: Ranked
    variants: tuple[tuple[str, ...], ...]
    every: Ranked


@dataclass(slots=True)
class _Entry:
    """A ranked phrase."""

    k: int
    score: float
    place: Located
    known: bool
    lead: float
    key: str
    """The words, each between spaces."""
    words: int
    name: bool
    loose: bool
    """Whether it is joined by "of", and neither repeated nor known nor a name."""
    query: bool
    """Whether the text is a query, whose phrases are told apart by what joins them and not by their scores."""
    long: str = ""
    """The words of what it is the acronym of, each between spaces."""
    standing: float = 0.0
    """The score of the best phrase it stands for, itself or a part that it took the place of."""
    variants: list[str] = field(default_factory=list)
    count: int = field(init=False)
    alone: int = field(init=False)

    def __post_init__(self) -> None:
        self.count, self.alone = len(self.place.spans), max(self.place.alone, 0)

    def holds(self, other: _Entry) -> bool:
        return self.words > other.words and other.key in self.key


def rank_present(
    pool: Pool, weights: Weights, settings: Settings, document: Document, places: Mapping[int, Located], limit: int
) -> Merged:
    """The best `limit` present phrases of the pool; `places` are by row. With `merge` none repeats another."""
    merges = settings.merge or settings.drop_contained
    # How many of them are parts of better ones is not known before they are ranked.
    ranked = rank_pool(pool, weights, settings, present=True, limit=len(pool))
    if not merges:
        first = ranked.take(np.arange(min(limit, len(ranked.pool))))
        return Merged(first, ((),) * len(first.pool), ranked)
    return _merge(ranked, places, document, settings, limit)


def _merge(ranked: Ranked, places: Mapping[int, Located], document: Document, settings: Settings, limit: int) -> Merged:
    """The best `limit` of ranked present phrases."""
    rows, lead = ranked.pool.tolist(), ranked.evidence.lead.tolist()
    known = (ranked.evidence.pool.glossary_ids[ranked.pool] >= 0).tolist()
    long_forms = find_acronyms(document.text) if settings.merge and "(" in document.text else {}
    short_forms = {long: short for short, long in long_forms.items()}
    query = document.is_query
    chosen: list[_Entry] = []
    for k, (row, score, leads) in enumerate(zip(rows, ranked.scores.tolist(), lead, strict=True)):
        if score == 0:
            break
        place = places[row]
        key = _key(place.fold)
        words = key.count(" ") - 1
        name = words > 1 and _is_name(document, place)
        once = len(place.spans) == 1 and not known[k] and not name
        loose = once and " of " in key and not query
        long = long_forms.get(place.fold)
        entry = _Entry(
            k, score, place, known[k], leads, key, words, name, loose, query, _key(long) if long else "", score
        )
        if settings.merge:
            other = long or short_forms.get(place.fold)
            _add(chosen, entry, _key(other) if other else None)
        elif settings.whole_phrases:
            _add_complete(chosen, entry)
        else:
            _add_new(chosen, entry)
        if len(chosen) >= limit + (_SPARE if settings.merge else 0):
            break
    del chosen[limit:]
    kept = ranked.take(np.array([entry.k for entry in chosen], np.int64))
    raised = np.array([entry.standing / entry.score for entry in chosen])
    scores, factors = kept.scores * raised, {**kept.factors, STANDING: kept.factors[STANDING] * raised}
    variants = tuple(tuple(entry.variants) for entry in chosen)
    return Merged(replace(kept, scores=scores, factors=factors), variants, ranked)


def _add(chosen: list[_Entry], new: _Entry, same: str | None) -> None:
    """Put a phrase at the end of the list, in the place of others, or into one of them."""
    replaced: list[int] = []
    for at, old in enumerate(chosen):
        if old.key == new.key or old.key == same:
            return _note(old, new)
        if new.alone == 0 and new.key in old.long:
            return None  # the "language models" of "large language models (LLMs)"
        if old.holds(new):
            if not _part_will_do(old, new) or new.score < _ENOUGH_FOR_PART * old.score:
                return _note(old, new)
            replaced.append(at)
        elif new.holds(old):
            if not _whole_is_better(new, old):
                return _note(old, new)
            replaced.append(at)
    if not replaced:
        chosen.append(new)
        return None
    for at in replaced:
        _note(new, chosen[at])
    new.standing = chosen[replaced[0]].standing
    chosen[replaced[0]] = new
    for at in reversed(replaced[1:]):
        del chosen[at]
    return None


def _note(kept: _Entry, merged: _Entry) -> None:
    for form in (merged.place.form, *merged.variants):
        if form != kept.place.form and form not in kept.variants and len(kept.variants) < _MOST_VARIANTS:
            kept.variants.append(form)


def _part_will_do(whole: _Entry, part: _Entry) -> bool:
    """Whether the part says what the whole does: an established term with an ornament, or said far more often."""
    if whole.name:
        return False
    if part.words > 1 and part.known and not whole.known and 2 * whole.count <= part.count + 1:
        return True
    once = whole.count == 1 and not whole.known
    if once and part.words == whole.words - 1 > 1 and whole.key.endswith(part.key) and whole.lead < _ORNAMENT:
        return True
    return part.words > 1 and part.alone > 0 and part.count >= 2 * whole.count


def _whole_is_better(whole: _Entry, part: _Entry) -> bool:
    """Whether a longer phrase that scores less takes the place of its part."""
    if _only_inside(whole, part) and not whole.loose:
        return True
    if whole.name and (part.alone == 0 or (part.words == 1 and part.place.form[0].isupper())):
        return True
    return whole.score >= _ENOUGH_FOR_WHOLE * part.score and not _part_will_do(whole, part)


def _only_inside(whole: _Entry, part: _Entry) -> bool:
    """Whether the part never stands alone, mostly in this whole, and the whole is not much worse."""
    good_enough = whole.query or whole.score >= _WORTH_OF_WHOLE * part.score
    return part.alone == 0 and 2 * whole.count >= part.count and good_enough


def _add_complete(chosen: list[_Entry], new: _Entry) -> None:
    """Keep phrases inside one another, but no single words of better phrases and no parts that never stand alone."""
    for old in chosen:
        if old.key == new.key or (old.holds(new) and (new.words == 1 or new.alone == 0)):
            return
    for at, old in enumerate(chosen):
        if new.holds(old) and _only_inside(new, old):
            new.standing = old.standing
            chosen[at] = new
            return
    chosen.append(new)


def _add_new(chosen: list[_Entry], new: _Entry) -> None:
    if new.words > 1 or not any(old.holds(new) for old in chosen):
        chosen.append(new)


def _key(fold: str) -> str:
    """The fold without the e that some plurals keep ("buses")."""
    return f" {fold} ".replace("e ", " ")


def _is_name(document: Document, place: Located) -> bool:
    """Whether every word has its capital although some word beside them that headlines would write large has none."""
    form = place.form
    if not is_title_cased(form) or not any(map(str.islower, form)):
        return False
    text, (start, end) = document.text, place.spans[0]
    line = text[text.rfind("\n", 0, start) + 1 : start], text[end : text.find("\n", end) % (len(text) + 1)]
    # Words around it are enough to tell a title, and a line may be a whole text.
    around = line[0][-_AROUND:].split()[1:] + line[1][:_AROUND].split()
    return any(word.islower() and len(word) > 3 and word.rstrip(_MARKS) not in PREPOSITIONS for word in around)

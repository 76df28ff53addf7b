"""Ĉ_x: what is ranked, one row per candidate, with all that the factors of a score are computed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from erukg.core import scoring
from erukg.core.backend import INNER, WORD
from erukg.core.forms import form_factors
from erukg.core.hashing import hash_phrases
from erukg.core.locating import Located
from erukg.core.neighbours import Glossary, Neighbourhood, Support, Terms
from erukg.core.settings import Settings

__all__ = ["Pool", "build_pool", "look_up"]

# The arrays of a pool that have an entry for each candidate from the beginning.
_COLUMNS = (
    "glossary_ids",
    "phraseness_document",
    "phraseness_neighbours",
    "commonness",
    "words_before",
    "single",
    "joined",
    "form",
    "words",
    "holders",
)


@dataclass(frozen=True, slots=True)
class Pool:
    """The document's own candidates first, then those only its neighbours have.

    terms                 their word pieces
    glossary_ids          number in the glossary, -1 if not in it
    phraseness_document   P(c | C_x)
    phraseness_neighbours Σ s̃ P(c | C̃_x')
    commonness            how many documents of D it describes; 1 for those that are not in the glossary
    words_before          P_x(c), infinite for absent phrases; NaN for what is neither present nor absent
    joined                whether "of" joins its parts; only known of present phrases
    form                  factor for the kind of phrase it is
    words                 the words of the text at its first occurrence, as a range; empty where it has none
    single                whether it is one word; of absent phrases only known after `with_words`
    holders               how many neighbours have it; 1 where that is not known
    begins                whether each of `terms` begins a word, and whether it is a word that the text has only inside
    hidden                others ("met" in "metoprolol"); None before `with_words`
    support               what else speaks for those that are not in the text, the last rows; None where not known
    left_out              numbers in the glossary of the neighbours' phrases that `build_pool` was told to leave out
    composed              how the text's own words make each absent phrase (`erukg.core.composing`), 0 where they do not
    affinity              how near each comes to the text in meaning; None where the model does not tell
    paired                how many documents of D the rarest two words side by side in it describe, where they do
    """

    terms: Terms
    glossary_ids: NDArray[np.int64]
    phraseness_document: NDArray[np.float64]
    phraseness_neighbours: NDArray[np.float64]
    commonness: NDArray[np.float64]
    words_before: NDArray[np.float64]
    single: NDArray[np.bool_]
    joined: NDArray[np.bool_]
    form: NDArray[np.float64]
    words: NDArray[np.int64]
    holders: NDArray[np.float64]
    begins: NDArray[np.bool_] | None = None
    hidden: NDArray[np.bool_] | None = None
    support: Support | None = None
    left_out: NDArray[np.int64] | None = None
    composed: NDArray[np.int8] | None = None
    paired: NDArray[np.float64] | None = None
    affinity: NDArray[np.float64] | None = None

    @classmethod
    def of(
        cls,
        terms: Terms,
        glossary_ids: NDArray[np.int64] | None = None,
        phraseness_document: NDArray[np.float64] | None = None,
        phraseness_neighbours: NDArray[np.float64] | None = None,
        commonness: NDArray[np.float64] | None = None,
        holders: NDArray[np.float64] | None = None,
        present: Sequence[Located] = (),
        form: NDArray[np.float64] | None = None,
        support: Support | None = None,
        left_out: NDArray[np.int64] | None = None,
    ) -> Pool:
        """Candidates with these pieces, of which the first are `present`, with factors for the `form` of each.

        What is left out: no number, no phraseness, described by one document, held by one neighbour.
        """
        n = len(terms)
        pool = cls(
            terms,
            np.full(n, -1, np.int64) if glossary_ids is None else glossary_ids,
            np.zeros(n) if phraseness_document is None else phraseness_document,
            np.zeros(n) if phraseness_neighbours is None else phraseness_neighbours,
            np.ones(n) if commonness is None else commonness,
            words_before=np.full(n, np.inf),
            single=np.zeros(n, np.bool_),
            joined=np.zeros(n, np.bool_),
            form=np.ones(n),
            words=np.zeros((n, 2), np.int64),
            holders=np.ones(n) if holders is None else holders,
            support=support,
            left_out=left_out,
        )
        if present:
            pool._fill(slice(0, len(present)), present)
        if form is not None:
            pool.form[: len(form)] = form
        return pool

    def with_places(self, places: Mapping[int, Located]) -> Pool:
        """The pool in which the candidates of these rows are in the text: all that their places tell is filled in."""
        if not places:
            return self
        rows = list(places)
        words_before, words = self.words_before.copy(), self.words.copy()
        single, joined = self.single.copy(), self.joined.copy()
        copy = replace(self, words_before=words_before, single=single, joined=joined, words=words)
        copy._fill(rows, list(places.values()))
        return copy

    def _fill(self, rows: list[int] | slice, places: Sequence[Located]) -> None:
        """Write what the places tell into arrays that no one else has seen yet."""
        self.words_before[rows] = [place.words_before for place in places]
        self.single[rows] = [" " not in place.fold for place in places]
        self.joined[rows] = [" of " in place.fold for place in places]
        self.words[rows] = np.array([place.words for place in places], np.int64).reshape(-1, 2)

    def followed_by(self, others: Pool, composed: NDArray[np.int8], paired: NDArray[np.float64]) -> Pool:
        """This pool and then the candidates of another one, before the words of either are known, with what is known of
        how the text's own words make each.
        """
        assert self.support is not None
        assert others.support is not None
        both = {name: np.concatenate((getattr(self, name), getattr(others, name))) for name in _COLUMNS}
        terms, support = _join(self.terms, others.terms), self.support.followed_by(others.support)
        return replace(self, terms=terms, support=support, composed=composed, paired=paired, **both)

    def without(self, rows: NDArray[np.int64]) -> Pool:
        """The pool in which these candidates are neither present nor absent."""
        if not len(rows):
            return self
        words_before = self.words_before.copy()
        words_before[rows] = np.nan
        return replace(self, words_before=words_before)

    def with_words(self, text: NDArray[np.int32], kinds: NDArray[np.int8]) -> Pool:
        """The pool with what the words of its absent phrases are, given the text's pieces and what each term is."""
        inside = np.zeros(len(kinds), np.bool_)
        inside[text] = True
        inside[text[_words(text, kinds)]] = False
        ids = self.terms.ids
        begins = kinds[ids] == WORD
        single = np.bincount(self.terms.owners, begins, len(self)) == 1
        return replace(
            self,
            single=np.where(np.isfinite(self.words_before), self.single, single),
            begins=begins,
            hidden=_words(ids, kinds) & inside[ids],
        )

    def __len__(self) -> int:
        return len(self.terms)


def build_pool(
    candidates: Sequence[Located],
    own_terms: Terms,
    neighbourhood: Neighbourhood,
    glossary: Glossary | None,
    settings: Settings,
    worth: Callable[[NDArray[np.int64], Terms], NDArray[np.bool_]] | None = None,
    query: bool = False,
) -> Pool:
    """Ĉ_x = C_x ∪ Top_100(C_N(x), P_pn) (Eq. 10), every neighbour candidate still counted as absent.

    `worth` may say which of the neighbour candidates, by their numbers in the glossary and their pieces, are kept.
    The text may be a `query`.
    """
    n = len(candidates)
    counts = np.array([len(candidate.spans) for candidate in candidates], np.int64)
    own_share = scoring.document_phraseness(counts, settings.frequency)
    if glossary is None or not len(neighbourhood.phrase_ids):
        form = form_factors(candidates, None, settings, query)
        return Pool.of(own_terms, phraseness_document=own_share, present=candidates, form=form)

    own_ids = glossary.find(hash_phrases([candidate.fold for candidate in candidates]))
    others = neighbourhood.phrase_ids
    shares, holders = neighbourhood.phrase_shares.astype(np.float64), neighbourhood.phrase_holders
    # -1, which is no number, is before all of them.
    at = np.minimum(np.searchsorted(others, own_ids), len(others) - 1)
    hit = others[at] == own_ids
    in_document = np.zeros(len(others))
    in_document[at[hit]] = own_share[hit]
    phraseness = scoring.mix(settings.beta, in_document, shares)
    best = scoring.top_neighbour_candidates(phraseness, settings.neighbour_candidates)
    extra = best[(in_document[best] == 0) & (phraseness[best] > 0)]
    ids, left_out = others[extra], None
    terms = glossary.terms(ids)
    if worth is not None:
        kept = worth(ids, terms)
        left_out = ids[~kept]
        extra, ids, terms = extra[kept], ids[kept], terms.take(np.flatnonzero(kept))
    return Pool.of(
        _join(own_terms, terms),
        glossary_ids=np.concatenate((own_ids, ids)),
        phraseness_document=np.concatenate((own_share, np.zeros(len(ids)))),
        phraseness_neighbours=np.concatenate((np.where(hit, shares[at], 0), shares[extra])),
        commonness=np.concatenate((np.ones(n), glossary.counts(ids).astype(np.float64))),
        holders=None if holders is None else np.concatenate((np.ones(n), holders[extra].astype(np.float64))),
        present=candidates,
        form=form_factors(candidates, own_ids >= 0, settings, query),
        support=None if neighbourhood.support is None else neighbourhood.support.take(extra),
        left_out=left_out,
    )


def look_up(
    ids: NDArray[np.int32] | NDArray[np.int64],
    values: NDArray[np.float32],
    wanted: NDArray[np.int32] | NDArray[np.int64],
) -> NDArray[np.float64]:
    """The value of each wanted id in a sparse vector with ascending `ids`, 0 where it has none."""
    if not len(ids):
        return np.zeros(len(wanted))
    at = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return np.where(ids[at] == wanted, values[at], 0).astype(np.float64)


def _words(ids: NDArray[np.int32], kinds: NDArray[np.int8]) -> NDArray[np.bool_]:
    """Which of some pieces, laid end to end, are words by themselves."""
    found = kinds[ids]
    words: NDArray[np.bool_] = found == WORD
    words[:-1] &= found[1:] != INNER
    return words


def _join(a: Terms, b: Terms) -> Terms:
    return Terms(np.concatenate((a.indptr, a.indptr[-1] + b.indptr[1:])), np.concatenate((a.ids, b.ids)))

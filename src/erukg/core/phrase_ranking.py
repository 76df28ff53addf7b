"""A caller's own phrases against a text: what the phrase as a whole means decides, never a word piece or a shared word.

The model reads each phrase as it reads texts. What the phrase calls up there, words and a vector, is compared with what
the text calls up: "shock absorbers" calls up other words than a text on septic shock does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.core import scoring
from erukg.core.backend import Backend, Encoding, Pieces
from erukg.core.document import Document
from erukg.core.factors import NOVELTY, RELEVANCE, PhraseEvidence, confidence, factor_values, position
from erukg.core.forms import is_vague
from erukg.core.locating import Located, could_contain, locate
from erukg.core.neighbours import Glossary, Neighbourhood, Terms
from erukg.core.phrase_list import PhraseList, natural_order
from erukg.core.pool import look_up
from erukg.core.ranking import Weights
from erukg.core.results import Explanation, Keyphrase, TermWeight
from erukg.core.settings import Settings
from erukg.core.word_classes import NAMING

if TYPE_CHECKING:
    from erukg.core.analysis import Prepared

__all__ = ["PhraseRanker"]

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]

# Of a long list, the model reads the phrases whose pieces weigh most; hardly any other is about the text.
_CLOSELY = 48
# A word that the text lacks counts for a little, so that the rest of the phrase can speak for it.
_LACKING = 0.1
# A long text gives weight to thousands of terms; what it calls up is what weighs as much as its most telling pieces,
# so many that an abstract has no more.
_TELLING = 200
# Texts about nothing: words from all over the vocabulary.
_RANDOM_TEXTS, _RANDOM_WORDS = 8, 100
_REMEMBERED = 1 << 14


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What a phrase calls up in the model.

    terms   the terms it gives weight to, and their shares of all its weight
    words   its words, without those that only join others, and their pieces
    vector  its vector, and its product with that of a text about nothing
    """

    terms: NDArray[np.int32]
    shares: NDArray[np.float32]
    words: tuple[str, ...]
    pieces: Terms
    vector: NDArray[np.float32]
    chance: float

    def pieces_in(self, ids: NDArray[np.int32]) -> Terms:
        """The pieces as places in `ids`, which are ascending and hold them all."""
        return Terms(self.pieces.indptr, np.searchsorted(ids, self.pieces.ids).astype(np.int32))

    def likeness_to(self, text: NDArray[np.float32]) -> float:
        """How much more like a text than like one about nothing it is; 1 at most."""
        # All of one type: before numpy 2.2 threads other than the first make another of a number beside Python's.
        return float((self.vector @ text - np.float32(self.chance)) / np.float32(1 - self.chance))


class PhraseRanker:
    """Ranks phrases by what they mean, and remembers what that is. Thread-safe."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._known: dict[str, _Meaning] = {}

    def rank(
        self,
        listed: PhraseList,
        prepare: Callable[[NDArray[np.int32]], Prepared],
        glossary: Glossary | None,
        settings: Settings,
        top_k: int | None,
        explain: bool,
    ) -> list[Keyphrase]:
        """The listed phrases: those that stand in the text whole, then those that stand there in part or not at all,
        either best first; `prepare` gives the text, with these terms among those to ask for.

        Words that say little alone, and phrases that nothing speaks for, do not count as standing in the text.
        """
        n = len(listed.forms)
        if n <= _CLOSELY:
            rows = np.arange(n)
            meanings = self._meanings(listed.forms)
            single = self._single_words(meanings)
            prepared = prepare(_terms_of([*meanings, *single.values()]))
            places = _places(prepared.document, listed)
        else:
            prepared = prepare(listed.vocabulary)
            places = _places(prepared.document, listed)
            rows = self._shortlist(prepared, listed, places)
            meanings = self._meanings([listed.forms[i] for i in rows.tolist()])
            single = self._single_words(meanings)
            terms = _terms_of([*meanings, *single.values()])
            prepared = replace(prepared, terms=np.union1d(terms, prepared.pieces.ids))
        encoding = self._backend.encode(prepared.pieces, prepared.terms)
        weights = _weights(prepared, encoding)
        mixed = weights.mixed(settings.alpha)
        present = np.array([i in places for i in rows.tolist()], np.bool_)
        used = _shares(prepared.neighbourhood, glossary, listed.hashes[rows])
        words = [m.pieces_in(weights.ids) for m in meanings]
        inside = np.isin(weights.ids, _only_inside_words(prepared.pieces))
        covered = _covered([*meanings, *single.values()], weights, prepared.pieces.ids)
        fits = dict(zip(single, covered[len(rows) :], strict=True))
        factors = factor_values(
            PhraseEvidence(
                words=np.array([_words_weight(each, mixed, inside) for each in words]),
                meaning=covered[: len(rows)],
                weakest=np.array([min((fits[w] for w in m.words), default=0.0) for m in meanings]),
                likeness=np.array([m.likeness_to(encoding.vector) for m in meanings], np.float32),
                present=present,
                used=used > 0,
            )
        )
        text = prepared.document
        vague = np.array([_is_vague(text, listed.folds[i], places.get(i)) for i in rows.tolist()], np.bool_)
        factors[RELEVANCE][vague] = 0
        closeness = scoring.product({name: values for name, values in factors.items() if name != RELEVANCE})
        sure = confidence(closeness) * factors[RELEVANCE]
        if settings.diversity > 0:
            self._diversify(factors, scoring.product(factors), words, mixed, settings.diversity)
        scores = scoring.product(factors)
        whole = present & ~vague & (scores > 0)
        order = np.lexsort((-closeness, ~present, vague, -scores, ~whole))[:top_k].tolist()
        out = []
        for k in order:
            i = int(rows[k])
            place = places.get(i)
            why = None
            if explain:
                named = {name: float(values[k]) for name, values in factors.items()}
                weight = _words_weight(words[k], mixed, inside)
                why = self._explain(named, words[k], weight, weights, mixed, float(used[k]), place)
            spans = place.spans if place else ()
            out.append(Keyphrase(listed.forms[i], float(scores[k]), float(sure[k]), spans=spans, explanation=why))
        others = np.setdiff1d(np.arange(n), rows)[: None if top_k is None else top_k - len(out)].tolist()
        return out + [
            Keyphrase(listed.forms[i], 0.0, 0.0, spans=places[i].spans if i in places else ()) for i in others
        ]

    def _shortlist(self, prepared: Prepared, listed: PhraseList, places: dict[int, Located]) -> Ints:
        encoding = self._backend.encode(prepared.pieces, prepared.terms)
        weights = _weights(prepared, encoding)
        weight = scoring.informativeness(weights.document, weights.index(listed.terms), 0.0)
        # A word that stands in the text only inside others says nothing.
        single = np.flatnonzero(np.diff(listed.terms.indptr) == 1)
        pieces = listed.terms.ids[listed.terms.indptr[single]]
        weight[single[np.isin(pieces, _only_inside_words(prepared.pieces))]] = 0
        weight[list(places)] += weight.max(initial=0)
        return np.sort(np.argsort(-weight, kind="stable")[:_CLOSELY])

    def _meanings(self, phrases: Sequence[str]) -> list[_Meaning]:
        known, forms = self._known, [phrase.lower() for phrase in phrases]
        missing = [form for form in dict.fromkeys(forms) if form not in known]
        if len(known) + len(missing) > _REMEMBERED:
            # A fresh dict, not clear(): another thread may be reading the old one.
            known, missing = {}, list(dict.fromkeys(forms))
        known.update(zip(missing, self._read(missing), strict=True))
        self._known = known
        return [known[form] for form in forms]

    def _single_words(self, meanings: Sequence[_Meaning]) -> dict[str, _Meaning]:
        """What each of the phrases' words calls up by itself."""
        words = list(dict.fromkeys(word for meaning in meanings for word in meaning.words))
        return dict(zip(words, self._meanings(words), strict=True))

    def _read(self, forms: Sequence[str]) -> list[_Meaning]:
        """What each of the phrases calls up: of all terms, not only of those that a text is asked for."""
        backend = self._backend
        every = np.arange(backend.vocab_size, dtype=np.int32)
        texts = [Document.parse(natural_order(form)).words for form in forms]
        pieces = [backend.pieces(words) for words in texts]
        encodings = backend.encode_batch([(each, every) for each in pieces])
        out = []
        for text, each, encoding in zip(texts, pieces, encodings, strict=True):
            # A phrase of characters that the model does not know means nothing to it.
            readable = set(backend.tokens(each.ids.tolist())) - {"[UNK]"}
            terms = np.flatnonzero(encoding.weights > 0).astype(np.int32) if readable else np.empty(0, np.int32)
            weights = encoding.weights[terms]
            spelt = np.flatnonzero(np.diff(each.starts) > 0)
            telling = spelt[np.isin(encoding.tags[spelt], NAMING)]
            chosen = telling if len(telling) else spelt
            words = tuple(text[i] for i in chosen.tolist())
            own = Terms(each.starts, each.ids).take(chosen)
            chance = float(encoding.vector @ self._nothing)
            out.append(_Meaning(terms, weights / weights.sum(), words, own, encoding.vector, chance))
        return out

    @cached_property
    def _nothing(self) -> NDArray[np.float32]:
        """The vector of a text about nothing, which some phrases are more like than others."""
        tokens = self._backend.tokens(range(self._backend.vocab_size))
        words = [token for token in tokens if len(token) > 2 and token.isascii() and token.isalpha()]
        step = max(1, len(words) // _RANDOM_WORDS)
        none = np.empty(0, np.int32)
        texts = [words[i * step // _RANDOM_TEXTS :: step][:_RANDOM_WORDS] for i in range(_RANDOM_TEXTS)]
        found = self._backend.encode_batch([(self._backend.pieces(text), none) for text in texts])
        mean: NDArray[np.float32] = np.mean([encoding.vector for encoding in found], axis=0)
        return mean

    @staticmethod
    def _diversify(
        factors: dict[str, Floats], scores: Floats, words: Sequence[Terms], weights: Floats, diversity: float
    ) -> None:
        lengths = [len(each.ids) for each in words]
        terms = Terms(np.cumsum([0, *lengths]), np.concatenate([np.empty(0, np.int32), *(w.ids for w in words)]))
        order = scoring.best(scores, len(scores))
        kept, novelty = scoring.diversify(scores[order], terms.take(order), weights, diversity, len(order))
        factors[NOVELTY][order[kept]] = novelty

    def _explain(
        self,
        factors: dict[str, float],
        words: Terms,
        weight: float,
        weights: Weights,
        mixed: Floats,
        used: float,
        place: Located | None,
    ) -> Explanation:
        ids = words.ids.tolist()
        before = np.inf if place is None else place.words_before
        return Explanation(
            factors=factors,
            terms=tuple(
                TermWeight(token, float(weights.document[j]), float(weights.neighbours[j]), float(mixed[j]))
                for token, j in zip(self._backend.tokens(weights.ids[ids].tolist()), ids, strict=True)
            ),
            informativeness=weight,
            phraseness=1.0,
            phraseness_document=1.0,
            phraseness_neighbours=used,
            position=float(position(np.array([before]))[0]),
            words_before=None if place is None else place.words_before,
        )


def _weights(prepared: Prepared, encoding: Encoding) -> Weights:
    words = prepared.document.words
    return Weights.combine(prepared.terms, encoding.weights, prepared.neighbourhood, words, prepared.pieces)


def _terms_of(meanings: Sequence[_Meaning]) -> NDArray[np.int32]:
    every = [array for meaning in meanings for array in (meaning.terms, meaning.pieces.ids)]
    return np.unique(np.concatenate([np.empty(0, np.int32), *every]))


def _places(document: Document, listed: PhraseList) -> dict[int, Located]:
    """Where the phrases stand that occur in the text, by row."""
    likely = np.flatnonzero(could_contain(document, listed.hashes)).tolist()
    places = locate(document, [listed.folds[i] for i in likely])
    return {i: place for i, place in zip(likely, places, strict=True) if place is not None}


def _is_vague(document: Document, fold: str, place: Located | None) -> bool:
    if place is None:
        return False
    return is_vague(fold, len(place.spans), place.spans[0][0] < len(document.title))


def _words_weight(words: Terms, weights: Floats, inside: NDArray[np.bool_]) -> float:
    """The geometric mean over words; a word weighs what its weakest piece does: half a word says nothing.

    Nor does a word that stands in the text only inside others: `inside` is which pieces do.
    """
    if not len(words.ids):
        return 0.0
    weakest = np.minimum.reduceat(weights[words.ids], words.indptr[:-1])
    weakest[(np.diff(words.indptr) == 1) & inside[words.ids[words.indptr[:-1]]]] = 0
    return float(np.exp(np.log(weakest + _LACKING).mean()))


def _only_inside_words(pieces: Pieces) -> NDArray[np.int32]:
    """The pieces of a text that are never a whole word there: "stem" of "STEMI"."""
    whole = pieces.ids[pieces.starts[:-1][np.diff(pieces.starts) == 1]]
    return np.setdiff1d(pieces.ids, whole)


def _covered(meanings: Sequence[_Meaning], weights: Weights, pieces: NDArray[np.int32]) -> Floats:
    """The share of each meaning that lies on terms which the text with these pieces calls up, too."""
    own = np.sort(weights.document[np.searchsorted(weights.ids, np.unique(pieces))])
    least = own[-_TELLING] if len(own) > _TELLING else 0.0
    called = np.zeros(int(weights.ids[-1]) + 1 if len(weights.ids) else 0, np.bool_)
    called[weights.ids[weights.document > least]] = True
    return np.array([meaning.shares[called[meaning.terms]].sum(dtype=np.float64) for meaning in meanings])


def _shares(neighbourhood: Neighbourhood, glossary: Glossary | None, hashes: NDArray[np.uint64]) -> Floats:
    """How much of the phrases of similar documents each of the phrases is."""
    if glossary is None or not len(neighbourhood.phrase_ids):
        return np.zeros(len(hashes))
    return look_up(neighbourhood.phrase_ids, neighbourhood.phrase_shares, glossary.find(hashes))

"""The suggester: from a text to the concepts of a vocabulary that describe it, and to terms that it lacks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from erukg.collection import Collection
from erukg.core.document import Document
from erukg.core.generator import Generator
from erukg.core.inputs import as_item, check_items, checked_count
from erukg.core.neighbours import Source
from erukg.core.notices import notices_of, unlike_tagged
from erukg.core.streams import Answer, attempt
from erukg.core.word_classes import NAMING, NOUNS
from erukg.errors import InputError
from erukg.subjects.concepts import Concept
from erukg.subjects.evidence import Evidence, Gatherer
from erukg.subjects.joining import joint_odds, label_odds
from erukg.subjects.learned import SubjectRanking
from erukg.subjects.matching import Occurrences
from erukg.subjects.new_terms import NewTerms
from erukg.subjects.phrase_statistics import NEIGHBOURS, PhraseStatistics
from erukg.subjects.results import Match, NewTerm, Suggestion, Suggestions
from erukg.subjects.vocabulary import Vocabulary
from erukg.subjects.votes import TaggedDocuments

__all__ = ["Suggester", "Uses", "vocabulary_of_tags"]

ItemT = TypeVar("ItemT")
Uses: TypeAlias = Literal["both", "labels", "neighbours"]
"""What a suggester goes by: labels in the text, tagged neighbours, or both."""

_RANKINGS = Path(__file__).parent.parent / "assets" / "subjects"
# What is less likely than this is not worth a look, nor, beyond the text, what only the keyphrases of others speak for.
_LEAST, _LEAST_LENT = 0.02, 0.05
# Candidates for each suggestion whose word is looked at: it may be a verb or an adjective here.
_DOUBTED = 2
# An archive of so many documents is halfway to one whose silence on a concept counts.
_SMALL_ARCHIVE = 1000
# Keyphrases looked at for each new term, as most of them are known to the vocabulary.
_SPARE = 20
# Neighbours and places that are named for a suggestion.
_MOST_VOTES = 5


def _probability(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1 / (1 + np.exp(-log_odds))


def vocabulary_of_tags(collection: Collection) -> Vocabulary:
    """The tags that the documents of a collection carry, as a vocabulary."""
    labels = collection.tag_labels()
    concepts = [Concept(uri, labels.get(uri, uri)) for uri in collection.tag_counts()]
    if not concepts:
        raise InputError(
            f"No document of {collection.folder} carries a tag; build it with --tags FIELD, or give a vocabulary."
        )
    return Vocabulary.of(concepts, name=collection.folder.name)


class Suggester:
    """Suggests concepts of one vocabulary for many texts. Thread-safe.

    vocabulary  the concepts to choose from; None for the tags of the tagged collection
    tagged      a collection whose documents carry tags (`collection build --tags`); those like a text vote
    ranking     one that was learned from such a collection (`erukg train suggest`)
    uses        what to go by, where not by all that there is
    """

    def __init__(
        self,
        generator: Generator,
        vocabulary: Vocabulary | None = None,
        tagged: Collection | None = None,
        ranking: SubjectRanking | None = None,
        *,
        uses: Uses = "both",
    ) -> None:
        if vocabulary is None and tagged is None:
            raise InputError("There is nothing to suggest from; give a vocabulary, or a collection with tags.")
        if uses == "neighbours" and tagged is None:
            raise InputError("Neighbours can only vote with a collection whose documents carry tags.")
        if tagged is not None and not tagged.has_tags:
            raise InputError(f"No document of {tagged.folder} carries a tag; build it again with --tags FIELD.")
        if vocabulary is None:
            assert tagged is not None
            vocabulary = vocabulary_of_tags(tagged)
        if ranking is not None:
            ranking.check(vocabulary.fingerprint, len(vocabulary))
        self.generator = generator
        self.vocabulary = vocabulary
        self.tagged = tagged
        self.uses = uses
        self._votes = TaggedDocuments(tagged, vocabulary) if tagged is not None and uses != "labels" else None
        background = generator.background if isinstance(generator.background, Collection) else None
        statistics = PhraseStatistics(background, vocabulary)
        self._gather = Gatherer(vocabulary, statistics, self._votes, labels=uses != "neighbours")
        self._by_labels = SubjectRanking.load(_RANKINGS / "labels")
        self._learned = ranking
        self.ranking = None if uses == "neighbours" else ranking or self._by_labels
        self._archive_share = 1.0
        if ranking is None and tagged is not None and self._votes is not None:
            self._archive_share = len(tagged) / (len(tagged) + _SMALL_ARCHIVE)
        self._new_terms = NewTerms(vocabulary)

    def suggest(
        self,
        item: object,
        top_k: int = 10,
        *,
        min_confidence: float = 0.0,
        new_terms: int = 0,
        id: str | None = None,
    ) -> Suggestions:
        """The best `top_k` concepts for a document, and up to `new_terms` terms that the vocabulary lacks.

        `id` names the document, so that a tagged collection holding it does not let it vote for itself.
        """
        given = as_item(item)
        if id is not None:
            given = replace(given, id=id)
        top_k, new_terms = checked_count(top_k), checked_count(new_terms, "new_terms")
        if not 0 <= min_confidence <= 1:
            raise InputError(f"min_confidence must be a number from 0 to 1, not {min_confidence!r}.")
        document = given.parsed or Document.parse(given.text)
        keyphrases, found, tags = None, None, None
        if new_terms:
            # One look at the generator's collection and one run of the model serve concepts and terms alike.
            generator, settings = self.generator, self.generator.settings
            prepared = generator.prepare(replace(given, parsed=document), settings)
            encoding = generator.backend.encode(prepared.pieces, prepared.terms)
            keyphrases = generator.complete(prepared, encoding, new_terms + _SPARE, settings)
            found = prepared.neighbourhood if settings.neighbours == NEIGHBOURS else None
            tags = encoding.tags
        evidence = self._gather(document, given.id, found)
        chosen = self._suggestions(document, evidence, top_k, max(min_confidence, _LEAST), tags)
        terms: tuple[NewTerm, ...] = ()
        if keyphrases is not None:
            terms = self._new_terms.choose(keyphrases, set(evidence.occurrences.folds), new_terms)
        notices = notices_of(document, self.generator.language_of)
        if evidence.unlike:
            notices += (unlike_tagged(),)
        return Suggestions(chosen, terms, given.id, notices=notices)

    def stream(
        self,
        items: Iterable[ItemT],
        top_k: int = 10,
        *,
        min_confidence: float = 0.0,
        new_terms: int = 0,
        threads: int | None = None,
    ) -> Iterator[Answer[ItemT, Suggestions]]:
        """`suggest` for each item, in order, on all cores (or `threads`); no item ends the stream."""

        def suggest(item: ItemT) -> Suggestions:
            return self.suggest(item, top_k, min_confidence=min_confidence, new_terms=new_terms)

        return self.generator.runner.map(partial(attempt, suggest), check_items(items), threads)

    def evidence(self, item: object) -> Evidence:
        """What speaks for which concepts, to learn a ranking from."""
        given = as_item(item)
        return self._gather(given.parsed or Document.parse(given.text), given.id)

    def confidence(self, evidence: Evidence) -> NDArray[np.float64]:
        """How likely an indexer is to choose each concept.

        That similar documents do not carry a concept speaks against it, but not in an archive so small that most
        concepts have had no chance to be carried: there labels count as much as they do alone. So do they in a text
        unlike all of its documents.
        """
        if self.ranking is None:
            return evidence.column("sharp").astype(np.float64)
        alone = label_odds(self._by_labels, evidence)
        if evidence.unlike or self._votes is None:
            return _probability(alone)
        if self._learned is not None:
            return _probability(self._learned.log_odds(evidence))
        sure = _probability(joint_odds(alone, evidence))
        return self._archive_share * sure + (1 - self._archive_share) * np.maximum(sure, _probability(alone))

    def _suggestions(
        self, document: Document, evidence: Evidence, top_k: int, least: float, tags: NDArray[np.int8] | None
    ) -> tuple[Suggestion, ...]:
        if not len(evidence):
            return ()
        confidence = self.confidence(evidence)
        order = np.argsort(-confidence, kind="stable")
        voted = evidence.column("of_all")[order] > 0
        order = order[confidence[order] >= np.where(voted | evidence.present[order], least, max(least, _LEAST_LENT))]
        doubted = order[: _DOUBTED * top_k]
        order = np.concatenate((doubted[~self._misread(document, evidence, doubted, tags)], order[_DOUBTED * top_k :]))[
            :top_k
        ]
        sources = self._sources(evidence, order)
        out = []
        for row, votes in zip(order.tolist(), sources, strict=True):
            concept, sure = int(evidence.concepts[row]), float(confidence[row])
            out.append(
                Suggestion(
                    self.vocabulary.uri(concept),
                    self.vocabulary.label(concept),
                    sure,
                    sure,
                    self.vocabulary.notation(concept),
                    self._matches(evidence, concept),
                    votes,
                    self._why(evidence, row, concept),
                )
            )
        return tuple(out)

    def _misread(
        self, document: Document, evidence: Evidence, rows: NDArray[np.int64], tags: NDArray[np.int8] | None
    ) -> NDArray[np.bool_]:
        """Which of the concepts in these rows stand in the text only as another kind of word than their label is.

        `tags` are the classes of the text's words, if the model has read them already.
        """
        found = evidence.occurrences
        single = np.isin(found.concepts, evidence.concepts[rows]) & (np.diff(found.words, axis=1)[:, 0] == 1)
        alone = (evidence.column("words")[rows] == 1) & (evidence.column("of_20")[rows] == 0)
        out = np.zeros(len(rows), np.bool_)
        if not alone.any() or not single.any():
            return out
        if tags is None:
            pieces = self.generator.backend.pieces(document.words)
            tags = self.generator.backend.encode(pieces, np.empty(0, np.int32)).tags
        for k in np.flatnonzero(alone).tolist():
            own = np.flatnonzero(found.concepts == evidence.concepts[rows[k]])
            out[k] = not any(self._reads_as_label(document, found, int(each), tags) for each in own)
        return out

    def _reads_as_label(self, document: Document, found: Occurrences, each: int, tags: NDArray[np.int8]) -> bool:
        """Whether what stands at a place names something: a noun, or another word where the label is not ambiguous."""
        if found.defined[each] or found.part[each] or found.words[each, 1] - found.words[each, 0] > 1:
            return True
        tag = int(tags[found.words[each, 0]])
        if tag in NOUNS:
            return True
        surface = document.text[int(found.starts[each]) : int(found.ends[each])]
        label, qualifier, _ = self.vocabulary.label_text(int(found.labels[each])).partition(" (")
        return tag in NAMING and (not qualifier or surface.casefold() == label.casefold())

    def _matches(self, evidence: Evidence, concept: int) -> tuple[Match, ...]:
        found = evidence.occurrences
        return tuple(
            Match(self.vocabulary.label_text(int(found.labels[k])), int(found.starts[k]), int(found.ends[k]))
            for k in np.flatnonzero(found.concepts == concept)
        )

    def _sources(self, evidence: Evidence, rows: NDArray[np.int64]) -> list[tuple[Source, ...]]:
        votes = evidence.votes
        if votes is None or self._votes is None:
            return [()] * len(rows)
        concepts = evidence.concepts[rows]
        at = np.searchsorted(votes.concepts, concepts)
        known = np.isin(concepts, votes.concepts)
        found = iter(self._votes.sources(votes, at[known].tolist(), _MOST_VOTES))
        return [next(found) if each else () for each in known.tolist()]

    def _why(self, evidence: Evidence, row: int, concept: int) -> dict[str, float]:
        """What spoke for a concept, without what did not."""
        value = {
            name: float(evidence.column(name)[row]) for name in ("alone", "nested", "part", "title", "sharp", "lent")
        }
        why = {
            "times in the text": value["alone"] + value["part"],
            "times inside longer labels": value["nested"],
            "in the title": value["title"],
            "votes of similar documents": value["sharp"],
            "keyphrase of similar texts": value["lent"],
        }
        if self._votes is not None:
            used = float(self._votes.counts[concept])
            near = math.exp(evidence.column("near")[row]) if used and evidence.votes is not None else 0.0
            why |= {"likeness to its documents": near, "how often it is used": used}
        return {name: number for name, number in why.items() if number}

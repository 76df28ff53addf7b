"""What speaks for a concept: where its labels stand in the text, and how tagged documents that are like it vote.

One row of numbers for each concept that anything speaks for. Rankings are learned from these numbers; none of them
names a concept, so what is learned from one vocabulary holds for another.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from erukg.collection.analysis import query_of, terms_of
from erukg.core.document import Document
from erukg.core.forms import is_vague
from erukg.core.neighbours import Neighbourhood
from erukg.subjects.matching import Occurrences, find_labels
from erukg.subjects.phrase_statistics import Lent, PhraseStatistics
from erukg.subjects.vocabulary import Vocabulary
from erukg.subjects.votes import TaggedDocuments, Votes

__all__ = ["ARCHIVE", "LABELS", "VOTES", "Evidence", "Gatherer", "archive_features"]

Floats: TypeAlias = NDArray[np.float64]

#: Of the labels in the text: how often one stands there by itself, inside a longer label and inside a compound;
#: whether it does in the title, by itself and at all; how many words stand before the first; words of the longest;
#: whether it is the preferred one; how many concepts may be meant; how many labels of the concept there are; whether an
#: acronym of the text is one; how writers use it (`Usage`); and its share of the keyphrases of similar texts.
LABELS = (
    "alone",
    "nested",
    "part",
    "title_alone",
    "title",
    "before",
    "words",
    "preferred",
    "shared",
    "labels",
    "defined",
    "keyness",
    "frequency",
    "titled",
    "lent",
    "lent_nearest",
)
#: Of the votes of similar documents (`Votes`), and of those that name the concept or do not, as the text
#: (`TaggedDocuments.likewise`); and the logarithm of how near the text lies to the concept's documents (`Centres`)
#: beside the nearest of all concepts.
VOTES = (
    "of_5",
    "of_20",
    "of_50",
    "of_all",
    "sharp",
    "nearest",
    "likeness",
    "places",
    "fit",
    "fall",
    "likewise",
    "near",
)
#: Of the archive: how many of its documents carry the concept, and what the votes are beside what chance gives.
ARCHIVE = ("used", "lift", "lift_20")

# Of the concepts that only other documents speak for: the most that are considered.
_LENT, _VOTED = 40, 150
_FAR = 1000.0  # words before what is not in the text
# The least of the logarithms of nearness: that of a concept that no document carries.
_NOT_NEAR = -2.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """Concepts that something speaks for, ascending, and the numbers of each (`LABELS`, `VOTES`, `ARCHIVE`).

    `terms` are the stems of the text (`erukg.collection.analysis`); `unlike` is whether the text is so unlike the
    tagged documents that none of them has a vote.
    """

    concepts: NDArray[np.int64]
    features: NDArray[np.float32]
    terms: NDArray[np.uint64]
    occurrences: Occurrences
    votes: Votes | None
    unlike: bool = False

    def __len__(self) -> int:
        return len(self.concepts)

    def column(self, name: str) -> NDArray[np.float32]:
        return self.features[:, (*LABELS, *VOTES, *ARCHIVE).index(name)]

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which of them have a label in the text."""
        return self.column("words") > 0


class Gatherer:
    """Gathers the evidence for texts. Thread-safe."""

    def __init__(
        self, vocabulary: Vocabulary, statistics: PhraseStatistics, tagged: TaggedDocuments | None, labels: bool = True
    ) -> None:
        self._vocabulary = vocabulary
        self._statistics = statistics
        self._tagged = tagged
        self._labels = labels

    def __call__(self, document: Document, id: str | None, found: Neighbourhood | None = None) -> Evidence:
        """`found` are the text's neighbours in the generator's collection, if they are known already."""
        text, title = document.text, document.title
        occurrences, lent = Occurrences.none(), Lent.none()
        if self._labels:
            occurrences = _telling(find_labels(document, self._vocabulary), len(title))
            lent = self._statistics.lent(text, id, found)
        terms = terms_of(text)
        votes, unlike = None, False
        if self._tagged is not None:
            query = query_of(terms)
            unlike = self._tagged.are_unlike(query, id)
            votes = None if unlike else self._tagged.votes(query, terms_of(title), id)
        matched = np.unique(occurrences.concepts)
        concepts = [matched, _others(lent.concepts, lent.shares, matched, _LENT)]
        if votes is not None:
            concepts.append(_others(votes.concepts, votes.shares[:, 2] + votes.shares[:, 1] / 2, matched, _VOTED))
        chosen = np.unique(np.concatenate(concepts))
        parts = [self._label_features(document, len(title), occurrences, lent, chosen), _vote_features(votes, chosen)]
        if self._tagged is None:
            parts.append(np.zeros((len(chosen), len(ARCHIVE))))
        else:
            if votes is not None:
                present = parts[0][:, LABELS.index("words")] > 0
                parts[1][:, VOTES.index("likewise")] = self._tagged.likewise(votes.asked, terms, chosen, present)
                parts[1][:, VOTES.index("near")] = _nearness(self._tagged.centres.nearness(query, id, chosen))
            parts.append(archive_features(parts[1], self._tagged.counts[chosen], len(self._tagged.collection)))
        return Evidence(chosen, np.concatenate(parts, 1).astype(np.float32), terms, occurrences, votes, unlike)

    def _label_features(
        self, document: Document, title: int, found: Occurrences, lent: Lent, chosen: NDArray[np.int64]
    ) -> Floats:
        out = np.zeros((len(chosen), len(LABELS)))
        column = {name: out[:, i] for i, name in enumerate(LABELS)}
        column["before"][:] = _FAR
        at = np.searchsorted(lent.concepts, chosen)
        known = np.flatnonzero(np.isin(chosen, lent.concepts))
        column["lent"][known], column["lent_nearest"][known] = lent.shares[at[known]], lent.nearest[at[known]]
        if not len(found):
            return out
        row = np.searchsorted(chosen, found.concepts)
        alone, in_title = ~found.nested & ~found.part, found.starts < title
        np.add.at(column["alone"], row, alone)
        np.add.at(column["nested"], row, found.nested)
        np.add.at(column["part"], row, found.part & ~found.nested)
        np.maximum.at(column["title_alone"], row, alone & in_title)
        np.maximum.at(column["title"], row, in_title)
        np.minimum.at(column["before"], row, np.array(document.layout.counts)[found.words[:, 0]])
        np.maximum.at(column["words"], row, [fold.count(" ") + 1 for fold in found.folds])
        np.maximum.at(column["preferred"], row, self._vocabulary.label_is_preferred[found.labels])
        column["shared"][row] = np.inf
        np.minimum.at(column["shared"], row, found.shared)
        np.maximum.at(column["defined"], row, found.defined)
        distinct = np.unique(np.stack((row, found.labels), 1), axis=0)[:, 0]
        column["labels"][:] = np.bincount(distinct, minlength=len(chosen))
        usage = np.array(self._statistics.usage(found.folds))
        for i, name in enumerate(("frequency", "keyness", "titled")):
            column[name][row] = np.inf if name == "frequency" else -np.inf
            (np.minimum if name == "frequency" else np.maximum).at(column[name], row, usage[:, i])
        return out


def _telling(found: Occurrences, title: int) -> Occurrences:
    """The occurrences without words that say little alone, unless they are repeated or in the title."""
    counts = Counter(found.folds)
    titled = {fold for fold, start in zip(found.folds, found.starts.tolist(), strict=True) if start < title}
    kept = [not is_vague(fold, counts[fold], fold in titled) for fold in found.folds]
    return found if all(kept) else found.take(np.flatnonzero(kept))


def archive_features(votes: Floats, used: NDArray[np.integer] | Floats, documents: int) -> Floats:
    """The columns of `ARCHIVE`, from those of `VOTES` and how many of so many documents carry each concept."""
    share = (used + 1) / max(documents, 1)
    of_all, of_20 = votes[:, VOTES.index("of_all")], votes[:, VOTES.index("of_20")]
    # Small shares are chance; what is added keeps them from counting.
    return np.stack(
        (np.log(share), np.log((of_all + 0.002) / (share + 0.002)), np.log((of_20 + 0.01) / (share + 0.01))), 1
    )


def _nearness(cosines: Floats) -> Floats:
    """The column `near`, from how near a text lies to the centres of concepts."""
    least = np.exp(_NOT_NEAR)
    return np.log(np.maximum(cosines / max(float(cosines.max(initial=0.0)), 1e-9), least))


def _others(concepts: NDArray[np.int64], weights: Floats, known: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """The concepts of most weight that are not known otherwise."""
    order = np.argsort(-weights, kind="stable")
    return concepts[order[~np.isin(concepts[order], known)][:most]]


def _vote_features(votes: Votes | None, chosen: NDArray[np.int64]) -> Floats:
    out = np.zeros((len(chosen), len(VOTES)))
    out[:, VOTES.index("nearest")], out[:, VOTES.index("near")] = _FAR, _NOT_NEAR
    if votes is None:
        return out
    out[:, VOTES.index("fit")], out[:, VOTES.index("fall")] = votes.fit, votes.fall
    at = np.searchsorted(votes.concepts, chosen)
    known = np.flatnonzero(np.isin(chosen, votes.concepts))
    rows = at[known]
    out[known, :4] = votes.shares[rows]
    for i, values in enumerate((votes.sharp, votes.nearest, votes.likeness, votes.places)):
        out[known, 4 + i] = values[rows]
    return out

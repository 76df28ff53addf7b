"""scikit-learn: texts as vectors of keyphrases, for classifiers, clustering and search in a `Pipeline`.

>>> make_pipeline(KeyphraseVectorizer(top_k=10), LogisticRegression()).fit(texts, labels)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any, Self

import numpy as np

from erukg.core.folding import fold
from erukg.core.inputs import checked_count
from erukg.core.results import Keyphrase
from erukg.errors import InputError, require
from erukg.generator import KeyphraseGenerator
from erukg.integrations.columns import Kind, chosen, results_of

__all__ = ["KeyphraseVectorizer"]

_PURPOSE = "The scikit-learn vectorizer"
_base: Any = require("sklearn.base", "sklearn", _PURPOSE)
_validation = require("sklearn.utils.validation", "sklearn", _PURPOSE)
_sparse = require("scipy.sparse", "sklearn", _PURPOSE)


class KeyphraseVectorizer(_base.TransformerMixin, _base.BaseEstimator):  # type: ignore[misc]
    """A sparse matrix with a row for each text and a column for each keyphrase of the texts it was fitted to.

    A cell holds the confidence in the phrase for that text, or 1 with `binary`. Forms of a phrase that differ in case,
    plural or hyphens share a column. Phrases of fewer than `min_df` texts are left out, and all but the `max_features`
    of most texts. A missing text is a row of zeros.

    top_k, exclude  as of `KeyphraseGenerator.generate`
    kind            "both", "present" or "absent"
    generator       None for the one with the bundled model and collection
    vocabulary_     the column of each phrase, by its folded form
    """

    def __init__(
        self,
        top_k: int = 10,
        *,
        kind: Kind = "both",
        binary: bool = False,
        min_df: int = 1,
        max_features: int | None = None,
        exclude: Collection[str] | None = None,
        generator: KeyphraseGenerator | None = None,
    ) -> None:
        self.top_k, self.kind, self.binary, self.generator = top_k, kind, binary, generator
        self.min_df, self.max_features, self.exclude = min_df, max_features, exclude

    def fit(self, X: Iterable[object], y: object = None) -> Self:
        """Learn which phrases there are."""
        self._learn(self._found(X))
        return self

    def fit_transform(self, X: Iterable[object], y: object = None, **ignored: Any) -> Any:
        """`fit` and `transform` in one, so that each text is read once."""
        found = self._found(X)
        self._learn(found)
        return self._matrix(found)

    def transform(self, X: Iterable[object]) -> Any:
        """The matrix of these texts."""
        _validation.check_is_fitted(self, "vocabulary_")
        return self._matrix(self._found(X))

    def get_feature_names_out(self, input_features: object = None) -> Any:
        """The phrase of each column, in the form that most texts have."""
        _validation.check_is_fitted(self, "vocabulary_")
        return self._names.copy()

    def _found(self, texts: Iterable[object]) -> list[list[Keyphrase]]:
        if self.kind not in ("both", "present", "absent"):
            raise InputError(f"kind must be 'both', 'present' or 'absent', not {self.kind!r}.")
        results = results_of(texts, self.top_k, self.generator, exclude=self.exclude)
        return [[] if result is None else chosen(result, self.kind) for result in results]

    def _learn(self, found: list[list[Keyphrase]]) -> None:
        least, most = checked_count(self.min_df, "min_df"), self.max_features
        counts = Counter(key for phrases in found for key in {fold(each.phrase) for each in phrases})
        kept = [key for key, count in counts.most_common() if count >= least]
        kept = sorted(kept if most is None else kept[: checked_count(most, "max_features")])
        if not kept:
            raise InputError("There is no keyphrase that enough of the texts have; lower min_df, or give more texts.")
        forms: dict[str, Counter[str]] = {key: Counter() for key in kept}
        for each in (phrase for phrases in found for phrase in phrases):
            if (key := fold(each.phrase)) in forms:
                forms[key][each.phrase] += 1
        self.vocabulary_ = {key: column for column, key in enumerate(kept)}
        self._names = np.array([forms[key].most_common(1)[0][0] for key in kept], dtype=object)

    def _matrix(self, found: list[list[Keyphrase]]) -> Any:
        cells: dict[tuple[int, int], float] = {}
        for row, phrases in enumerate(found):
            for each in phrases:
                column = self.vocabulary_.get(fold(each.phrase))
                if column is not None:
                    plain = self.binary or each.confidence is None
                    value = 1.0 if plain else float(each.confidence or 0)
                    cells[row, column] = max(value, cells.get((row, column), 0.0))
        places = np.array(list(cells), np.int64).reshape(-1, 2)
        shape = len(found), len(self.vocabulary_)
        return _sparse.csr_matrix((np.array(list(cells.values())), (places[:, 0], places[:, 1])), shape=shape)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags

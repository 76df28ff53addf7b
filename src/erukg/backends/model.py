"""A loaded model without what runs it: its folder, tokenizer and head, checked, and shared by all backends."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from erukg.backends.affinity_file import read_affinity
from erukg.backends.folder import ModelFolder, find_model, lasting_name
from erukg.backends.ranker_file import read_ranker
from erukg.backends.vocabulary import Vocabulary
from erukg.backends.word_tagger import WordTagger
from erukg.core.affinity import Affinity
from erukg.core.backend import INNER, MARK, WORD, Encoding, Pieces
from erukg.core.neighbours import Terms
from erukg.core.word_classes import CLASSES
from erukg.errors import ErukgWarning, ModelError

__all__ = ["Head", "ModelBackend"]

# With fewer than others, nouns, adjectives and numbers there are no phrases.
_FEWEST_CLASSES = 4
# Of this many random word pieces, models that work give half and more a weight; those that have collapsed, one or none.
_PROBED, _FEWEST_WEIGHED = 16, 2


class Head:
    """The arrays of `head.safetensors`: the embedding table, which is also the output layer, and the tag head.

    embeddings  [vocabulary, hidden], 8-bit with `scales` for each row, or float
    bias        of each term's logit
    tag_head    bias, matrix and bias of the classifier on the tag layer
    """

    def __init__(self, folder: ModelFolder, vocabulary: Vocabulary) -> None:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            arrays = load_file(folder.head)
        except (SafetensorError, OSError, KeyError, ValueError) as error:
            raise ModelError(f"{folder.head} cannot be read: {error}; the model is damaged, copy it again.") from error
        self.embeddings, self.scales, self.bias = _check_head(folder, vocabulary, arrays)
        self.tag_head = _check_tag_head(folder, arrays)

    def rows(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        """Rows of the embedding table as they are stored, before `scales`."""
        return self.embeddings.take(ids, axis=0).astype(np.float32, copy=False)

    def scaled_rows(self, ids: NDArray[np.int32]) -> NDArray[np.float32]:
        """Rows of the embedding table."""
        rows = self.rows(ids)
        if self.scales is not None:
            rows *= self.scales[ids, None]
        return rows


class ModelBackend(ABC):
    """What all backends share: words to pieces, and the facts of the model folder (`erukg.core.backend.Backend`)."""

    def __init__(self, folder: ModelFolder) -> None:
        folder.verify_parts()
        self.folder = folder
        self.vocabulary = Vocabulary.load(folder.tokenizer)
        self.head = Head(folder, self.vocabulary)
        self.name = folder.name
        self.fingerprint = folder.fingerprint
        self.term_space = folder.term_space
        self.vocab_size = folder.vocab_size
        self.hidden_size = folder.hidden_size
        self.window = folder.window
        self.ranker = read_ranker(folder)
        learned = read_affinity(folder)
        self.affinity = None if learned is None else Affinity(learned, lambda: self.head.scaled_rows(self.every_term))
        self._tagger = WordTagger(folder.tagger) if folder.has_tagger else None

    @classmethod
    @abstractmethod
    def load(cls, path: str | Path, precision: str | None = None) -> Self:
        """Open the model in the folder `path`."""

    def _how(self) -> dict[str, Any]:
        """What else `load` was given."""
        return {}

    def __reduce__(self) -> tuple[Any, ...]:
        # Its files are not copied: who unpickles it has them.
        return _reload, (type(self), lasting_name(self.folder.path), self.folder.precision, self._how())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self  # nothing in it ever changes

    def pieces(self, words: Sequence[str]) -> Pieces:
        """The word pieces of each word of a text, and its class where the model has a tagger of words."""
        found = self.vocabulary.pieces(words)
        return found if self._tagger is None else replace(found, tags=self._tagger.classes(words))

    def phrase_terms(self, phrases: Sequence[str]) -> Terms:
        """The word pieces c_i of each phrase c."""
        return self.vocabulary.phrase_terms(phrases)

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """The written form of word pieces."""
        return self.vocabulary.tokens(ids)

    @cached_property
    def every_term(self) -> NDArray[np.int32]:
        """The ids of the whole vocabulary."""
        return np.arange(self.vocab_size, dtype=np.int32)

    @cached_property
    def term_kinds(self) -> NDArray[np.int8]:
        """What each term of the vocabulary is: `WORD`, `INNER` or `MARK`."""
        tokens = self.tokens(range(self.vocab_size))
        kinds = [INNER if t.startswith("##") else WORD if any(map(str.isalnum, t)) else MARK for t in tokens]
        return np.array(kinds, np.int8)

    @cached_property
    def is_special(self) -> NDArray[np.bool_]:
        """Which terms are no words: [CLS] and its like."""
        special = np.zeros(self.vocab_size, np.bool_)
        special[self.vocabulary.special] = True
        return special

    @abstractmethod
    def encode(self, pieces: Pieces, terms: NDArray[np.int32]) -> Encoding:
        """Run the model over a text of any length; weights are those of `terms`, in their order."""

    @abstractmethod
    def encode_batch(self, texts: Sequence[tuple[Pieces, NDArray[np.int32]]]) -> list[Encoding]:
        """`encode` of several texts; on a GPU, in one pass."""

    @cached_property
    def probe(self) -> NDArray[np.int32]:
        """Random word pieces, to try the model on."""
        return np.unique(np.random.default_rng(0).integers(0, self.vocab_size, _PROBED)).astype(np.int32)

    def warn_if_collapsed(self, weights: NDArray[np.float32]) -> None:
        """Warn of a model that too much regularisation has emptied: `weights` are those of the `probe` for itself."""
        weighed = np.count_nonzero(weights > 0)
        if weighed < _FEWEST_WEIGHED:
            warnings.warn(
                f"The model in {self.folder.path} gives a weight to {weighed} of {len(weights)} terms of a text, so it "
                "has collapsed in training and ranks at random; train it again with less regularisation.",
                ErukgWarning,
                stacklevel=2,
            )

    def check_tag_width(self, width: int) -> None:
        """Refuse a graph whose tag layer does not fit the tag head."""
        wanted = 2 * len(self.head.tag_head[0])
        if width != wanted:
            raise ModelError(
                f"{self.folder.graph} has tags of width {width} where {self.folder.head.name} asks for {wanted}; "
                "copy or export the model again."
            )


def _reload(kind: type[ModelBackend], model: str, precision: str, how: dict[str, Any]) -> ModelBackend:
    return kind.load(find_model(model), precision, **how)


def _check_head(
    folder: ModelFolder, vocabulary: Vocabulary, head: dict[str, Any]
) -> tuple[NDArray[Any], NDArray[np.float32] | None, NDArray[np.float32]]:
    shape = (folder.vocab_size, folder.hidden_size)
    embeddings, bias, scales = head.get("embeddings"), head.get("bias"), head.get("scales")
    if embeddings is None or bias is None:
        raise ModelError(f"{folder.head} lacks the embeddings or the bias; copy or export the model again.")
    problem = None
    if embeddings.shape != shape or bias.shape != shape[:1] or bias.dtype != np.float32:
        problem = f"has other shapes than config.json says ({shape})"
    elif embeddings.dtype == np.int8 and (scales is None or scales.shape != shape[:1] or scales.dtype != np.float32):
        problem = "has 8-bit embeddings without their scales"
    elif embeddings.dtype not in (np.int8, np.float16, np.float32):
        problem = f"has embeddings of type {embeddings.dtype}"
    elif vocabulary.size > folder.vocab_size:
        problem = f"has {folder.vocab_size} rows for a tokenizer of {vocabulary.size} pieces"
    if problem:
        raise ModelError(f"{folder.head} {problem}; the model is damaged, copy or export it again.")
    return embeddings, scales if embeddings.dtype == np.int8 else None, np.asarray(bias)


def _check_tag_head(
    folder: ModelFolder, head: dict[str, Any]
) -> tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    bias, out, out_bias = (head.get(name) for name in ("tag_bias", "tag_out", "tag_out_bias"))
    if bias is None or out is None or out_bias is None:
        raise ModelError(f"{folder.head} lacks the tag head (tag_bias, tag_out, tag_out_bias); export the model again.")
    width = bias.size
    shapes = (bias.shape, out.shape, out_bias.shape)
    classes = out_bias.size
    known = _FEWEST_CLASSES <= classes <= len(CLASSES)
    if not width or not known or shapes != ((width,), (classes, width), (classes,)):
        raise ModelError(
            f"{folder.head} has a tag head of shapes {shapes}; the model is damaged, copy or export it again."
        )
    if any(array.dtype != np.float32 for array in (bias, out, out_bias)):
        raise ModelError(f"{folder.head} has a tag head that is not float32; copy or export the model again.")
    return bias, out, out_bias

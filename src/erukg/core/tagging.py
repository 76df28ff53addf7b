"""What the generator needs from a part-of-speech tagger that stands in for the model's own tags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from erukg.core.word_classes import penn_class
from erukg.errors import InputError

__all__ = ["Tagger", "tag_classes"]


class Tagger(Protocol):
    """Anything that gives each word of a text a Penn Treebank tag."""

    def tag(self, words: Sequence[str]) -> Sequence[str]:
        """One Penn tag for each word."""
        ...


def tag_classes(tagger: Tagger, words: Sequence[str]) -> NDArray[np.int8]:
    """The tag class (`erukg.core.word_classes`) of every word of a text by any tagger."""
    tags = tagger.tag(words)
    if len(tags) != len(words):
        raise InputError(
            f"{type(tagger).__name__}.tag gave {len(tags)} tags for {len(words)} words; "
            "it must give exactly one Penn tag for each word."
        )
    return np.array([penn_class(tag) for tag in tags], np.int8)

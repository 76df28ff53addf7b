"""`tagger.onnx` of a model folder: the classes of words, told by their form and by that of the words beside them.

A small convolution over hashed word forms, affixes and case. It costs a fraction of an encoder pass, sees the case that
the encoder does not, and knows far more words than a small encoder can; so a model that has one leaves its encoder's
tags unread.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from erukg.backends.session import open_session
from erukg.core.word_classes import CLASSES
from erukg.errors import ModelError

__all__ = ["AFFIXES", "FORMS", "FORMS_KEY", "SHAPES", "TRAITS", "WordTagger", "traits_of"]

#: How many numbers there are for whole words, for affixes and for shapes.
FORMS, AFFIXES, SHAPES = 1 << 15, 1 << 12, 27
#: What a graph calls its number of forms; those that do not say have the number of before.
FORMS_KEY = "forms"
_FORMS_BEFORE = 1 << 14
_MOST_DIGITS = 9
#: What is known of a word: two numbers of its form, four of affixes, and its shape.
TRAITS = 7

_DIGITS = str.maketrans("0123456789", "0" * 10)
_CACHE_WORDS = 1 << 15
# Longer texts are read in parts of so many words, with so many more on either side: the graph looks no farther, though
# the scales of its 8-bit states are those of a whole part.
_STEP, _MARGIN = 4096, 16


def traits_of(word: str, forms: int = FORMS) -> tuple[int, ...]:
    """The numbers by which a tagger that tells so many forms apart knows a word."""
    plain = word.lower().translate(_DIGITS)
    last = plain.rpartition("-")[2] or plain
    form = _number(plain)
    affixes = "2" + last[-2:], "3" + last[-3:], "5" + last[-5:], "^" + plain[:3]
    return form % forms, form // forms % forms, *(_number(affix) % AFFIXES for affix in affixes), _shape(word)


def _number(text: str) -> int:
    return crc32(text.encode("utf-8", "replace"))


def _shape(word: str) -> int:
    """How a word is written: a mark, a number or other signs; with letters its case, digits in it, and joints."""
    letters = sum(map(str.isalpha, word))
    digits = any(map(str.isdigit, word))
    if not letters:
        return 1 if digits else 0 if len(word) == 1 else 2
    titled = word[0].isupper()
    if word.islower():
        case = 0
    elif word.isupper():
        case = 1 if letters == 1 else 2
    elif titled:
        case = 3 if word[1:].islower() else 4
    else:
        case = 5
    return 3 + 4 * case + 2 * digits + any(joint in word for joint in "-/'")


class WordTagger:
    """Tells the class (`erukg.core.word_classes`) of every word of a text. Thread-safe; opened when first used."""

    def __init__(self, graph: Path) -> None:
        self._graph = graph
        self._session: Any = None
        self._forms = FORMS
        self._lock = threading.Lock()
        # As bytes, which are laid end to end far quicker than numbers.
        self._traits: dict[str, bytes] = {}

    def classes(self, words: Sequence[str]) -> NDArray[np.int8]:
        """The class of each word."""
        session = self._session or self._open()
        traits = self._traits_of(words)
        parts = []
        for start in range(0, len(words), _STEP):
            before = min(start, _MARGIN)
            found = self._run(session, traits[start - before : start + _STEP + _MARGIN])
            parts.append(found[before : before + _STEP])
        return np.concatenate([np.empty(0, np.int8), *parts])

    def _traits_of(self, words: Sequence[str]) -> NDArray[np.int64]:
        known = self._traits
        try:
            rows = list(map(known.__getitem__, words))
        except KeyError:
            missing = {word for word in words if word not in known}
            if len(known) + len(missing) > _CACHE_WORDS:
                # A fresh dict, not clear(): another thread may be reading the old one.
                known = self._traits = {}
                missing = set(words)
            known.update((word, np.array(traits_of(word, self._forms), np.int64).tobytes()) for word in missing)
            rows = [known[word] for word in words]
        return np.frombuffer(b"".join(rows), np.int64).reshape(-1, TRAITS)

    def _run(self, session: Any, traits: NDArray[np.int64]) -> NDArray[np.int8]:
        try:
            classes: NDArray[np.int8] = session.run(["classes"], {"traits": traits})[0]
        except Exception as error:  # onnxruntime's own exception classes share no public base
            raise ModelError(f"{self._graph} cannot be run: {error}; the model is damaged, copy it again.") from error
        if classes.shape != traits.shape[:1] or classes.dtype != np.int8 or not _known(classes):
            raise ModelError(f"{self._graph} tells no classes of words; the model is damaged, copy it again.")
        return classes

    def _open(self) -> Any:
        with self._lock:
            if self._session is None:
                session = open_session(self._graph, 1)
                names = [i.name for i in session.get_inputs()], [o.name for o in session.get_outputs()]
                if names != (["traits"], ["classes"]):
                    raise ModelError(
                        f"{self._graph} has other inputs and outputs than a tagger of words; train it again with: "
                        "erukg train tagger."
                    )
                forms = session.get_modelmeta().custom_metadata_map.get(FORMS_KEY, str(_FORMS_BEFORE))
                if not (forms.isdecimal() and len(forms) < _MOST_DIGITS and int(forms)):
                    raise ModelError(f"{self._graph} has no usable '{FORMS_KEY}'; the model is damaged, copy it again.")
                self._forms = int(forms)
                self._session = session
        return self._session


def _known(classes: NDArray[np.int8]) -> bool:
    return not len(classes) or (classes.min() >= 0 and classes.max() < len(CLASSES))

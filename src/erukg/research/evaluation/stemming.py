"""Porter stems of words, phrases and documents, as keyphrase evaluation compares them.

Two variants of the algorithm are in use. NLTK's default (`"nltk"`) is what the paper's scripts and most of
the literature apply to both sides. SemEval-2010's official gold was stemmed by its organisers with Porter's
own revised program (`"martin"`): "overlay" is "overlai" there and "overlay" in NLTK. A prediction must be
stemmed like the gold it is compared with, or right answers count as wrong.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Literal

from erukg.errors import require

__all__ = ["Variant", "document_stems", "phrase_key", "phrase_stems", "separated_words", "spaced_key"]
__all__ += ["stemmed_key"]

Variant = Literal["nltk", "martin"]

_ENDS = string.punctuation + string.whitespace + "“”‘’«»…–—"
_SIMPLE = re.compile(r"[a-z0-9]+(?: [a-z0-9]+)*")
# Words that the Treebank tokeniser takes apart although they hold no punctuation ("cannot": "can not").
_PARTED = frozenset(["cannot", "gimme", "gonna", "gotta", "lemme", "wanna"])
_TOKEN = re.compile(r"\w+|[^\w\s]")


@cache
def _word_stemmer(variant: Variant) -> Callable[[str], str]:
    porter = require("nltk.stem.porter", "eval", "Keyphrase evaluation").PorterStemmer
    stemmer = porter(mode=porter.NLTK_EXTENSIONS if variant == "nltk" else porter.MARTIN_EXTENSIONS)

    @lru_cache(maxsize=1 << 18)
    def stem(word: str) -> str:
        return str(stemmer.stem(word)).lower()

    return stem


@cache
def _treebank() -> Callable[[str], list[str]]:
    # The rules of NLTK's word_tokenize without its sentence splitter, which needs downloaded data.
    tokenizer = require("nltk.tokenize.destructive", "eval", "Keyphrase evaluation").NLTKWordTokenizer()
    return lambda text: list(tokenizer.tokenize(text))


@lru_cache(maxsize=1 << 20)
def phrase_key(phrase: str, variant: Variant = "nltk") -> str:
    """What two phrases must share to be the same answer; "" for a phrase of punctuation only.

    Punctuation at the ends is stripped, "-" becomes a space, then words are tokenised, stemmed and
    lower-cased.
    """
    stem = _word_stemmer(variant)
    return " ".join(stem(word) for word in _words(phrase))


@lru_cache(maxsize=1 << 16)
def stemmed_key(phrase: str) -> str:
    """`phrase_key` of a phrase that is stemmed already: a second stemming would cut further."""
    return " ".join(_words(phrase))


@lru_cache(maxsize=1 << 16)
def spaced_key(phrase: str, variant: Variant | None = "nltk") -> str:
    """A phrase's stems where words are what stands between spaces, hyphens and punctuation included.

    So the programs of extraction papers compare phrases; `variant` None: the phrase is stemmed already.
    """
    words = phrase.lower().split()
    return " ".join(words if variant is None else map(_word_stemmer(variant), words))


def _words(phrase: str) -> list[str]:
    text = phrase.strip(_ENDS).replace("-", " ").lower()
    if _SIMPLE.fullmatch(text):  # most phrases; the tokeniser's thirty rules would change nothing
        words = text.split(" ")
        if _PARTED.isdisjoint(words):
            return words
    return _treebank()(text)


def phrase_stems(phrase: str, variant: Variant | None) -> str:
    """A phrase as stemmed words with a space around each; `variant` None leaves words as they are."""
    words = _tokens(phrase.strip(_ENDS).lower())
    if variant is not None:
        words = [_word_stemmer(variant)(word) for word in words]
    return f" {' '.join(words)} " if words else ""


def document_stems(title: str, abstract: str, variant: Variant) -> str:
    """Title and abstract as stemmed words in the form of `phrase_stems`, so that `in` finds whole words.

    Punctuation marks are words of their own: no phrase is found across the end of a sentence or of the title.
    """
    stem = _word_stemmer(variant)
    parts = [" ".join(stem(word) for word in _tokens(part.lower())) for part in (title, abstract)]
    return f" {parts[0]} \n {parts[1]} "


def separated_words(text: str) -> str:
    """A text's words and punctuation marks with a space between any two, hyphens left out."""
    return " ".join(_tokens(text))


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text.replace("-", " "))

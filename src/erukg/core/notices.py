"""Notices: what a reader of a result should know of the text, above all when it is not one to answer well for.

Every notice is worded here. `notices_of` makes those that the text alone calls for; who knows more of it (whether the
collection holds anything like it) adds the notice for that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from erukg.core.document import Document
from erukg.core.results import Notice

__all__ = [
    "EXTRACTED_TEXT",
    "HEADINGS",
    "MOSTLY_MARKUP",
    "MOSTLY_NUMBERS",
    "NOT_ENGLISH",
    "TOO_SHORT",
    "UNLIKE_COLLECTION",
    "UNLIKE_TAGGED",
    "LanguageOf",
    "extracted_text",
    "not_english",
    "notices_of",
    "unlike_collection",
    "unlike_tagged",
    "withholds_absent",
]

NOT_ENGLISH = "not-english"
TOO_SHORT = "too-short"
MOSTLY_NUMBERS = "mostly-numbers"
MOSTLY_MARKUP = "mostly-markup"
UNLIKE_COLLECTION = "unlike-collection"
UNLIKE_TAGGED = "unlike-tagged"
EXTRACTED_TEXT = "extracted-text"

#: What many texts with the same notice are counted under.
HEADINGS = {
    NOT_ENGLISH: "Not English, it seems",
    TOO_SHORT: "Too short to choose from",
    MOSTLY_NUMBERS: "Mostly numbers",
    MOSTLY_MARKUP: "Mostly markup or code",
    UNLIKE_COLLECTION: "Unlike anything in the collection",
    UNLIKE_TAGGED: "Unlike any tagged document",
}

LanguageOf: TypeAlias = Callable[[str], str | None]
"""The English name of the language that a text is in; None when that is English or cannot be told."""

# Words that English prose is full of and that other languages lack; so not "in" (German), "of" (Dutch), "to"
# (Polish), "for" (Danish), "on" (French) and others that are common there too.
_ENGLISH = frozenset(
    "the and that with this from has which were their been not it these our its they you your would what how between "
    "into such both other each through using".split()
)
# Of 3,600 abstracts and 600 news items one in seventy has fewer of them; other languages have none but in quotations.
# A long text needs fewer to be told from those.
_ENGLISH_SHARE, _LONG, _ENGLISH_SHARE_OF_LONG = 0.06, 50, 0.03
# Letters of other scripts than the Latin one; a tenth of them is more than the Greek letters of a formula come to.
_OTHER_SCRIPT = re.compile(r"[\u0370-\u1cff\u3040-\ud7ff\uf900-\ufaff\ufb1d-\ufdff\ufe70-\ufefc]")
_OTHER_SCRIPT_SHARE = 0.1
# Two words are too few to tell a language by, unless their script does.
_FEWEST_WORDS, _FEWEST_LETTERS = 3, 4
# How much of a long text is shown to who tells languages: from its middle, as pages begin and end with names.
_SAMPLE = 400
# Shorter texts, in words or characters, are not called markup or numbers: a query may well be "ISO 9001 2015".
_ENOUGH, _ENOUGH_PRINTED = 10, 100
# Prose has at most a third of marks among its words and marks; code and data mostly have half and more, and Python with
# its docstrings about this.
_MARKS_SHARE = 0.4
# How much of what is printed must be words that phrases can be made of; tags and rows of tables are not.
_WORDS_SHARE = 0.5


def extracted_text() -> Notice:
    return Notice(EXTRACTED_TEXT, "Positions are those in the text taken out of the file, which 'erukg text' prints.")


def not_english(language: str) -> Notice:
    return Notice(
        NOT_ENGLISH,
        f"The text seems to be {language}; erukg is made for English, so phrases may be poor, and absent ones are not "
        "generated.",
    )


def unlike_collection() -> Notice:
    return Notice(
        UNLIKE_COLLECTION,
        "Nothing in the collection is like this text, so no absent phrases are given; a collection of texts like it "
        "would have some.",
    )


def unlike_tagged() -> Notice:
    return Notice(UNLIKE_TAGGED, "No tagged document is like this text, so only labels that stand in it count.")


def withholds_absent(notices: Iterable[Notice]) -> bool:
    """Whether one of them says that no absent phrases are given."""
    return any(notice.code in (NOT_ENGLISH, UNLIKE_COLLECTION) for notice in notices)


def notices_of(document: Document, language_of: LanguageOf | None = None) -> tuple[Notice, ...]:
    """What the text alone calls for. `language_of` is asked only when the text does not look English at once."""
    initials = "".join([word[0] for word in document.words])
    worded = sum(map(str.isalnum, initials))
    numbers = sum(map(str.isdigit, initials))
    words, text = worded - numbers, document.text
    other = 0 if text.isascii() else len(_OTHER_SCRIPT.findall(text))
    foreign = other > _OTHER_SCRIPT_SHARE * len(text)
    if not words or (worded >= _ENOUGH and 2 * numbers >= worded):
        return (_mostly_numbers(),) if numbers else (_no_words(),)
    # Where words are not parted by spaces, sentences count as words, and as such they are too long for a phrase.
    coded = len(initials) >= 2 * _ENOUGH and len(initials) - worded > _MARKS_SHARE * len(initials)
    notices = (_mostly_markup(),) if not foreign and (coded or _hidden(document)) else ()
    if language_of is not None and (words >= _FEWEST_WORDS or other >= _FEWEST_LETTERS):
        english = sum(map(_ENGLISH.__contains__, document.words))
        least = _ENGLISH_SHARE if words < _LONG else _ENGLISH_SHARE_OF_LONG
        language = language_of(_sample(document)) if foreign or english < least * words else None
        if language is not None:
            return (not_english(language), *notices)
    return (*notices, _single_word()) if worded == 1 and not foreign else notices


def _hidden(document: Document) -> bool:
    """Whether most of the text is nothing that phrases can be made of."""
    text = document.text
    printed = len(text) - text.count(" ") - text.count("\n") - text.count("\t")
    usable = int((document.ends - document.starts)[document.usable].sum())
    return printed >= _ENOUGH_PRINTED and usable < _WORDS_SHARE * printed


def _sample(document: Document) -> str:
    """Words from the middle of the text: without markup, and without numbers, which are the same in all languages."""
    start = max(0, (len(document) - _SAMPLE) // 2)
    return " ".join([word for word in document.words[start : start + _SAMPLE] if word[0].isalpha()])


def _no_words() -> Notice:
    return Notice(TOO_SHORT, "The text has no words, so there are no phrases in it.")


def _single_word() -> Notice:
    return Notice(TOO_SHORT, "The text is a single word, so there is nothing in it to choose from.")


def _mostly_numbers() -> Notice:
    return Notice(MOSTLY_NUMBERS, "The text is mostly numbers, so there is little to find in it.")


def _mostly_markup() -> Notice:
    return Notice(MOSTLY_MARKUP, "The text is mostly markup, code or tables, so its phrases may say little about it.")

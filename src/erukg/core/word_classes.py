"""Classes of words: what a tag head tells apart, as much of it as candidates are made from."""

from __future__ import annotations

__all__ = [
    "ADJECTIVE",
    "ADJECTIVES",
    "ADVERB",
    "CLASSES",
    "COMPARATIVE",
    "GERUND",
    "NAME",
    "NAMING",
    "NOUN",
    "NOUNS",
    "NUMBER",
]
__all__ += ["OTHER", "PARTICIPLE", "VERB", "penn_class"]

#: The names of the classes; a class is its place in this list. Models may know only the first few of them.
CLASSES = (
    "OTHER",
    "NOUN",
    "ADJECTIVE",
    "NUMBER",
    "NAME",
    "PARTICIPLE",
    "GERUND",
    "COMPARATIVE",
    "ADVERB",
    "VERB",
)
OTHER, NOUN, ADJECTIVE, NUMBER, NAME, PARTICIPLE, GERUND, COMPARATIVE, ADVERB, VERB = range(len(CLASSES))

#: What the paper's grammar calls a noun (NN.*) and an adjective (JJ.*).
NOUNS, ADJECTIVES = (NOUN, NAME), (ADJECTIVE, COMPARATIVE)

#: Words that name something, rather than say what it does or join others.
NAMING = (NOUN, ADJECTIVE, NUMBER, NAME, PARTICIPLE, GERUND, COMPARATIVE)

_PENN = {
    "NN": NOUN,
    "NNS": NOUN,
    "NNP": NAME,
    "NNPS": NAME,
    "JJ": ADJECTIVE,
    "JJR": COMPARATIVE,
    "JJS": COMPARATIVE,
    "CD": NUMBER,
    "VBN": PARTICIPLE,
    "VBG": GERUND,
    "RB": ADVERB,
    "RBR": ADVERB,
    "RBS": ADVERB,
    "VB": VERB,
    "VBD": VERB,
    "VBP": VERB,
    "VBZ": VERB,
    "MD": VERB,
}


def penn_class(tag: str) -> int:
    """The class of a Penn Treebank tag; OTHER for determiners, prepositions, marks and all else."""
    return _PENN.get(tag, OTHER)

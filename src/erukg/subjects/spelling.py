"""Spelling and number: a label in American spelling is found in a British text, one in the plural for one virus.

`fold` takes off the plain endings of plurals only ("networks", not "viruses"), as it must never join two words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

__all__ = ["RESPELLINGS"]

# What these make of words that they are not meant for is no word, and so no label.
_AMERICAN = (
    (re.compile(r"[ao]e(?=[^\W\d])"), "e"),
    (re.compile(r"(?<=[^\W\d]{2})our(?=$|[^\W\d])"), "or"),
    (re.compile(r"(?<=[^\W\d]{3})is(?=(?:e[drs]?|ing|ation|able)$)"), "iz"),
    (re.compile(r"ys(?=(?:e[drs]?|ing)$)"), "yz"),
    (re.compile(r"sulph"), "sulf"),
    (re.compile(r"^leuco"), "leuko"),
    (re.compile(r"(?<=[bt])re$"), "er"),
    (re.compile(r"ogue$"), "og"),
    (re.compile(r"ll(?=(?:ed|ing|er)$)"), "l"),
    (re.compile(r"^aluminium$"), "aluminum"),
)
_BRITISH = (
    (re.compile(r"(?<=[^\W\d]{2})or(?=$|al|ed$|ing$|able$|hood$)"), "our"),
    (re.compile(r"(?<=[^\W\d]{3})iz(?=(?:e[drs]?|ing|ation|able)$)"), "is"),
    (re.compile(r"yz(?=(?:e[drs]?|ing)$)"), "ys"),
    (re.compile(r"sulf"), "sulph"),
    (re.compile(r"^leuko"), "leuco"),
    (re.compile(r"(?<=[bt])er$"), "re"),
    (re.compile(r"(?<=[aeiou])l(?=(?:ed|ing|er)$)"), "ll"),
    (re.compile(r"^(?=(?:dema|strogen|stradiol|strus|sophag))|^(?=edema|estr[aou]|esophag)"), "o"),
    (re.compile(r"^fe(?=t(?:us|al))"), "foe"),
    (
        re.compile(r"(?<=h)e(?=m(?:o|at|orrh))|(?<=an)e(?=mi|sth)|(?<=p)e(?=diatr)|(?<=gyn)e(?=co)|(?<=orthop)e(?=di)"),
        "ae",
    ),
    (re.compile(r"(?<=rrh)e(?=a)"), "oe"),
    (re.compile(r"^aluminum$"), "aluminium"),
)
# Of folded words: "viruses" is "viruse" by then, "analyses" is "analyse" and "matrices" is "matrice". Words that a rule
# might turn into others stay as they are: "media" are no medium, and "basis" is no base.
_SINGULAR = (
    (re.compile(r"(?<=us)e$"), ""),
    (re.compile(r"(?<=[^\W\d][aeioy]s)e$"), "is"),
    (re.compile(r"(?<=tr)ice$|(?<=end)ice$"), "ix"),
    (re.compile(r"(?<=[dt])ice$"), "ex"),
    (re.compile(r"(?<=criteri)a$|(?<=omen)a$"), "on"),
    (re.compile(r"(?<=acteri)a$|(?<=theli)a$|(?<=sorti)a$"), "um"),
    (re.compile(r"(?<=[bglv]a)e$|(?<=ula)e$|(?<=bra)e$"), ""),
    (re.compile(r"(?<=[^\W\d]{2}[bceglnt])i$"), "us"),
    (re.compile(r"(?<=wo)men$"), "man"),
    (re.compile(r"^children$"), "child"),
)
_PLURAL = (
    (re.compile(r"(?<=us)$"), "e"),
    (re.compile(r"(?<=[^\W\d]{2}[aeioy]s)is$"), "e"),
    (re.compile(r"(?<=tr)ix$|(?<=end)ix$|(?<=[dt])ex$"), "ice"),
    (re.compile(r"(?<=criteri)on$|(?<=omen)on$|(?<=acteri)um$|(?<=theli)um$|(?<=sorti)um$"), "a"),
    (re.compile(r"(?<=wo)man$"), "men"),
    (re.compile(r"^child$"), "children"),
)
_LATIN_PLURAL = (
    (re.compile(r"(?<=[^\W\d]{2}[bceglnt])us$"), "i"),
    (re.compile(r"(?<=[bglv])a$|(?<=ul)a$|(?<=br)a$"), "ae"),
)


def _respelling(rules: Sequence[tuple[re.Pattern[str], str]]) -> Callable[[Sequence[str]], list[str]]:
    @lru_cache(maxsize=1 << 14)
    def respelt(word: str) -> str:
        if len(word) > 4:
            for pattern, spelling in rules:
                word = pattern.sub(spelling, word)
        return word

    return lambda words: [respelt(word) for word in words]


#: Each makes other words of folded ones: as Americans spell them, as the British do, and in the other number.
RESPELLINGS = tuple(map(_respelling, (_AMERICAN, _BRITISH, _SINGULAR, _PLURAL, _LATIN_PLURAL)))

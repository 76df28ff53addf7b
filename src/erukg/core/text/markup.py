"""Markup inside running text: HTML, LaTeX, entities, citations, addresses, hyphens at line ends.

`clean` rewrites a text so that a plain word splitter can read it, and remembers where each character came
from; `plain` does the part of that which matching needs (`erukg.core.folding.fold`). Both share the same rules, so
that a span of the original text folds to the phrase that was found in the cleaned one.

Every pattern is linear in the text: a repeated part is bounded, or cannot pass the sign that opens it.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from erukg.core.text.names import (
    ACCENTS,
    BLOCK_TAGS,
    COMPOUND_PARTS,
    DISPLAYS,
    DIVIDERS,
    ESCAPES,
    INLINE_TAGS,
    LETTERS,
    STYLES,
)

__all__ = ["BREAK", "FORMULA", "NUMBER", "Cleaned", "clean", "plain"]

FORMULA = "\ue000"  # stands for a formula: a word no phrase may contain
BREAK = "\ue001"  # stands for nothing, but no phrase may cross it
NUMBER = "\ue002"  # stands for a placeholder such as <digit>

_TAG = (
    rf"</?(?:(?:jats|mml|ns\d):[a-zA-Z-]{{1,20}}|(?i:{'|'.join(sorted(INLINE_TAGS | BLOCK_TAGS))}))"
    r"(?:\s{0,3}/?|\s[^<>=]{0,200}=[^<>]{0,2000})>"
)
_ENTITY = r"&(?:\#\d{1,7}|\#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});"
_ACCENT = (
    r"\{?\\(?:"
    r'"[ ]?\{?\\?[aeiouyAEIOUY]'
    r"|'[ ]?\{?\\?[aceilnorsuyzACEILNORSUYZtdm]"
    r"|`[ ]?\{?\\?[aeiouAEIOU]"
    r"|\^[ ]?\{?\\?[aceghijosuwyACEGHIJOSUWY]"
    r"|~[ ]?\{?\\?[anoiuANOIU]"
    r"|=[ ]?\{?\\?[aeiouAEIOU]"
    r"|\.\{?[zcegZCEGI]"
    r"|[cvuHkr](?:\{\\?[A-Za-z]|[ ][A-Za-z](?![A-Za-z]))"
    r")\}{0,2}"
)
_LETTER = r"\{?\\(?:AE|OE|AA|aa|ae|oe|ss|[oOlLij])(?![A-Za-z])(?:\{\}|\}|[ ](?=[a-z]))?"
_COMMAND = r"\\(?:[A-Za-z]{1,40}\*?(?:\{\})?|.)"
_HYPHEN = r"[-\u2010\u00ad][ \t]*\r?\n[ \t]*(?=\w)"
_POSSESSIVE = r"[ ]['\u2019]s(?![\w'\u2019])"
_SHARED = (
    rf"(?P<tag>{_TAG})|(?P<entity>{_ENTITY})|(?P<accent>{_ACCENT})|(?P<letter>{_LETTER})"
    rf"|(?P<command>{_COMMAND})|(?P<brace>[{{}}])|(?P<hyphen>{_HYPHEN})|(?P<possessive>{_POSSESSIVE})"
)
_BODY = r"(?:[^\\]|\\[^()\[\]])"
_YEAR = r"(?:19|20)\d\d"
# What starts with a sign of its own; the sign is looked for first because nearly every character is none.
_SIGNED = (
    r"(?=[\\$<&{}\[(/`\u00a9\u00ad\u2010-]|[ ]['\u2019]s)(?:"
    r"(?P<comment><!--(?:[^<]|<(?!!--)){0,5000}?-->)"
    r"|(?P<math><(?:mml:)?math[\s>])"
    r"|(?P<simple>(?<!\w)\$(?:[A-Za-z0-9]{1,4}|\\[a-zA-Z]{2,8})\$(?=[-\u2010\u2011][A-Za-z]))"
    r"|(?P<formula>(?:\$\$[^$]{1,4000}\$\$|\$(?![\s$])[^$]{0,400}(?<!\s)\$(?!\d)"
    rf"|\\\({_BODY}{{0,2000}}\\\)|\\\[{_BODY}{{0,4000}}\\\])(?:[-\u2010\u2011][A-Za-z]{{1,40}})?)"
    r"|(?P<environment>\\begin\{[A-Za-z]{1,30}\*?\})"
    r"|(?P<reference>\\(?:[A-Za-z]{0,20}cite[A-Za-z]{0,20}|ref|eqref|label|url|href|includegraphics"
    r"|bibliography|bibliographystyle|usepackage|documentclass|input|include|pageref|autoref|cref|Cref|vspace"
    r"|hspace|end|begin)\*?(?:\[[^\[\]]{0,200}\]){0,2}\{[^{}]{0,1000}\})"
    rf"|{_SHARED}"
    r"|(?P<placeholder><[a-z]{2,12}>)"
    r"|(?P<citation>\[\d[\d,;\s\u2013-]{0,80}\]|\[[A-Z][A-Za-z+]{0,8}\d\d[a-z]?\]"
    rf"|\((?=[^()]{{0,200}}(?:\bet\s+al\b|,\s?{_YEAR}[a-z]?[;,)]))[^()]{{0,200}}{_YEAR}[a-z]?\))"
    r"|(?P<code>```[^`]{0,20000}```)"
    r"|(?P<index>/(?:su[bp]|spl)[ ][^/\n]{1,30}/)"
    rf"|(?P<notice>(?:\u00a9|\([cC]\))\s{{0,2}}{_YEAR}\b"
    r"(?:[^\n]{0,100}?[Aa]ll rights reserved|[^\n.]{0,80})\.?)"
    r")"
)
_WORDED = (
    r"(?P<address>(?:\b(?:https?|ftp)://|\bwww\.)[^\s<>\"{}|\\^]{1,2000}"
    r"|\b(?:(?:doi|DOI):?\s?)?10\.\d{4,9}/[^\s<>\"]{1,300}|\barXiv:\s?[\w./-]{4,40})"
    r"|(?P<authors>\b[A-Z][\w'-]{1,30}(?:,?\s[A-Z][\w'-]{1,30}){0,2},?\set\sal\b\.?)"
    rf"|(?P<rights>\b[Cc]opyright\s(?:\u00a9\s?|\([cC]\)\s?)?{_YEAR}\b[^\n.]{{0,80}}\.?"
    r"|\b[Aa]ll rights reserved\.?)"
    r"|(?P<heading>\bAbstract(?=[A-Z][a-z]))"
)
_PLAIN = re.compile(_SHARED)

# Cheap tests for whether those patterns can find anything at all.
_PLAIN_HINT = re.compile(r"[\\&<{}\n'\u2019]")
_SIGN_HINTS = (*"\\$<&{}\u00a9\u00ad", "```", "/sub ", "/sup ", "/spl ", "(c)", "(C)", " 's", " \u2019s")
_SIGN_PATTERNS = (
    re.compile(r"[-\u2010][ \t]*\n"),
    re.compile(r"\[[\dA-Z]"),
    re.compile(r",[ ]?\d{4}[a-z]?[;,)]"),
)
_WORD_HINTS = ("://", "www.", "10.", "arXiv:", " et al", "opyright", "rights reserved", "Abstract")

_NAME_END = re.compile(r"[\s/>]")
_HYPHENS = frozenset("-\u2010\u2011")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A cleaned text and the edits that led to it, one per row: its range here, its range in the original."""

    text: str
    edits: NDArray[np.int64]

    def original(
        self, starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where non-empty ranges of the cleaned text stand in the original."""
        if not len(self.edits):
            return starts, ends
        return self._place(starts, end=0), self._place(ends - 1, end=1)

    def _place(self, positions: NDArray[np.int64], *, end: int) -> NDArray[np.int64]:
        start, stop, original_start, original_stop = self.edits.T
        edit = np.searchsorted(start, positions, side="right") - 1
        known = np.maximum(edit, 0)
        inside = (edit >= 0) & (positions < stop[known])
        moved = positions + end + np.where(edit >= 0, (original_stop - stop)[known], 0)
        return np.where(inside, (original_stop if end else original_start)[known], moved)


def plain(text: str) -> str:
    """The text without HTML tags, entities, LaTeX commands and accents, braces, and hyphens at line ends."""
    return _PLAIN.sub(_replace, text) if _PLAIN_HINT.search(text) else text


def clean(text: str) -> Cleaned:
    """The text as a word splitter wants it, with the way back to the original."""
    pieces: list[str] = []
    edits: list[tuple[int, int, int, int]] = []
    worded = any(hint in text for hint in _WORD_HINTS)
    if not worded and not _signed(text):
        return Cleaned(text, np.empty((0, 4), np.int64))
    pattern = _markup(worded)
    closings: dict[str, int] = {}
    done = length = 0
    match = pattern.search(text)
    while match:
        start, stop = match.span()
        if match.lastgroup in _OPENINGS:
            replacement, stop = _display(match, closings)
        else:
            replacement = _replace(match)
        resume = stop
        while replacement and stop > start and replacement[-1] == text[stop - 1]:
            replacement, stop = replacement[:-1], stop - 1
        pieces += (text[done:start], replacement, text[stop:resume])
        at = length + start - done
        edits.append((at, at + len(replacement), start, stop))
        length = at + len(replacement) + resume - stop
        done = resume
        match = pattern.search(text, done)
    pieces.append(text[done:])
    return Cleaned("".join(pieces) if edits else text, np.array(edits, np.int64).reshape(-1, 4))


def _signed(text: str) -> bool:
    # One pattern for all of it would have to try every sign at every character.
    return any(hint in text for hint in _SIGN_HINTS) or any(pattern.search(text) for pattern in _SIGN_PATTERNS)


@cache
def _markup(worded: bool) -> re.Pattern[str]:
    # Compiled when first needed, to keep the import quick.
    return re.compile(f"{_SIGNED}|{_WORDED}" if worded else _SIGNED)


def _replace(match: re.Match[str]) -> str:
    return _RULES.get(match.lastgroup or "", _nothing)(match)


def _nothing(match: re.Match[str]) -> str:
    return BREAK


def _display(match: re.Match[str], closings: dict[str, int]) -> tuple[str, int]:
    """A whole display, or only its opening where nothing closes it or prose is inside."""
    opening, text, stop = match.group(), match.string, match.end()
    if opening[0] == "<":
        closing = "</mml:math>" if "mml:" in opening else "</math>"
    elif opening[7:-1].rstrip("*") in DISPLAYS:
        closing = f"\\end{opening[6:]}"
    else:
        return BREAK, stop
    # The next closing is kept for all openings before it: many openings must not mean many searches.
    found = closings.get(closing, 0)
    if 0 <= found < stop:
        found = closings[closing] = text.find(closing, stop)
    if found < 0:
        return BREAK, stop
    return FORMULA, found + len(closing)


def _tag(match: re.Match[str]) -> str:
    name = _NAME_END.split(match.group().lstrip("</"), maxsplit=1)[0].lower().rpartition(":")[2]
    if name == "sub":
        return ""
    if name not in INLINE_TAGS:
        return BREAK
    text, start, stop = match.string, match.start(), match.end()
    beside_hyphen = text[start - 1 : start] in _HYPHENS or text[stop : stop + 1] in _HYPHENS
    return "" if beside_hyphen else " "


def _entity(match: re.Match[str]) -> str:
    return html.unescape(match.group())


def _accent(match: re.Match[str]) -> str:
    """The accented letter; but an escaped quotation mark or apostrophe stays what it is."""
    found, text, start, stop = match.group(), match.string, match.start(), match.end()
    mark = found[found.index("\\") + 1]
    letter = next(c for c in reversed(found) if c.isalpha())
    if "{" not in found:
        inside = start > 0 and text[start - 1].isalpha()
        ends = letter in "tdm" or (letter == "s" and not text[stop : stop + 1].isalpha())
        if (mark == '"' and letter.islower() and not inside) or (mark == "'" and inside and ends):
            return found[1:]
    return unicodedata.normalize("NFC", letter + ACCENTS[mark])


def _letter(match: re.Match[str]) -> str:
    return LETTERS[match.group().strip("{} ")[1:]]


def _command(match: re.Match[str]) -> str:
    name = match.group()[1:].removesuffix("{}").rstrip("*")
    if not name.isalpha():
        return BREAK if name == "\\" else ESCAPES.get(name, " ")
    if name in STYLES:
        return " "
    if name in DIVIDERS:
        return BREAK
    # With an argument or a value it is an instruction; alone it may stand for a word, as \LaTeX and \alpha do.
    return " " if match.string[match.end() : match.end() + 1] in ("{", "[", "=") else f" {name}"


def _brace(match: re.Match[str]) -> str:
    return ""


def _hyphen(match: re.Match[str]) -> str:
    """Nothing where a word was divided at a line end, the hyphen where a compound was."""
    text, at = match.string, match.start()
    if text[at] == "\u00ad":
        return ""
    first = at
    while first and text[first - 1].isalpha():
        first -= 1
    left = text[first:at]
    part = first > 0 and (text[first - 1].isalnum() or text[first - 1] in "-\u2010_")
    divided = left and not part and text[match.end()].islower() and left.lower() not in COMPOUND_PARTS
    return "" if divided else "-"


def _possessive(match: re.Match[str]) -> str:
    return match.group()[1:]


def _simple(match: re.Match[str]) -> str:
    return match.group().strip("$").lstrip("\\")


def _formula(match: re.Match[str]) -> str:
    return FORMULA


def _placeholder(match: re.Match[str]) -> str:
    return NUMBER


_OPENINGS = frozenset({"math", "environment"})
# Everything without a rule of its own is left out and parts the text.
_RULES: dict[str, Callable[[re.Match[str]], str]] = {
    "tag": _tag,
    "entity": _entity,
    "accent": _accent,
    "letter": _letter,
    "command": _command,
    "brace": _brace,
    "hyphen": _hyphen,
    "possessive": _possessive,
    "simple": _simple,
    "formula": _formula,
    "placeholder": _placeholder,
}

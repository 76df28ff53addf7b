"""The master pattern that splits a cleaned text into words and marks."""

from __future__ import annotations

import re
import unicodedata

from erukg.core.text.markup import BREAK, FORMULA, NUMBER

__all__ = ["ASCII_TOKEN", "GAP", "MARK", "NEWLINE", "STAND_INS", "TOKEN", "WORD", "normalise", "presentable"]

# What belongs to a word but is no letter for Python: combining marks, vowel signs, joiners, soft hyphens.
_SIGNS = (
    "\u00ad\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u0900-\u0963\u0966-\u0df3"
    "\u0e31-\u0e3a\u0e47-\u0e4e\u0eb1-\u0ebc\u0ec8-\u0ecd\u0f71-\u0f84\u102b-\u103e\u1ab0-\u1aff\u1dc0-\u1dff"
    "\u200b-\u200d\u2060\u20d0-\u20f0\u302a-\u302f\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f\ufeff"
)
# Characters without ink, which are neither words nor breaks when they stand alone.
_SILENT = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff"
_UNWRITABLE = "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufff9-\uffff"

_PART = rf"\w[\w{_SIGNS}]*"
_JOIN = r"(?:[-\u2010\u2011\u2013'\u2019\u02bc&@#+/]|\.(?![A-Z][a-z])|(?<=\d),(?=\d{3}(?!\d)))"
# C++ and C#; the plural possessive in "users' needs"; the hyphen in "pre- and post-processing".
_TAIL = r"(?:\+\+(?!\w)|\#(?!\w)|(?<=s)['\u2019](?=[ ][A-Za-z])|-(?=[ ](?:and|or|to)\b|,))"

WORD, NEWLINE, GAP, _STAND_IN, MARK = 1, 2, 3, 4, 5  # the groups of TOKEN
TOKEN = re.compile(
    rf"((?:[^\W\d_]\.){{2,}}(?!\w)|{_PART}(?:{_JOIN}{_PART})*{_TAIL}?)"
    r"|(\n\s*)"
    rf"|(\t[ \t]*|[ \u00a0]{{4,}}|[{BREAK}{_UNWRITABLE}]+)"
    rf"|([{FORMULA}{NUMBER}])"
    rf"|([^\w\s{_SILENT}])\5*"
)
# The same for texts of ASCII characters, told apart in two thirds of the time: no signs to look for, and first of all
# the words of letters alone, which nothing behind them can make longer.
_ASCII_JOIN = r"(?:[-'&@#+/]|\.(?![A-Z][a-z])|(?<=\d),(?=\d{3}(?!\d)))"
_ASCII_TAIL = r"(?:\+\+(?!\w)|\#(?!\w)|(?<=s)'(?=[ ][A-Za-z])|-(?=[ ](?:and|or|to)\b|,))"
ASCII_TOKEN = re.compile(
    r"([A-Za-z]++(?=[ \n,):;]|\.[ \n])"
    rf"|(?:[A-Za-z]\.){{2,}}(?!\w)|\w+(?:{_ASCII_JOIN}\w+)*{_ASCII_TAIL}?)"
    r"|(\n[\s\x1c-\x1f]*)"
    r"|(\t[ \t]*|[ ]{4,}|[\x00-\x08\x0e-\x1f\x7f]+)"
    rf"|([{FORMULA}{NUMBER}])"
    r"|([^\w\s\x1c-\x1f])\5*",
    re.ASCII,
)
STAND_INS = {FORMULA: "x", NUMBER: "0"}

_INVISIBLE = re.compile(f"[{_SILENT}]")
_APOSTROPHE = re.compile(r"[\u2018\u2019\u02bc]")
_UNSPACED = re.compile(  # scripts written without spaces between words
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_ADDRESS = re.compile(r"@|\.(?:edu|gov|org|ac|de|uk|fr|it|jp|cn|ca|au|ch|nl|html?|php|pdf)$")
_SUM = re.compile(r"[+&#].*\d|\d.*[+&#]")
_LONGEST, _LONGEST_UNSPACED, _LONGEST_SLASHED = 50, 10, 12


def normalise(word: str) -> str:
    """The word as it is shown: ligatures and wide forms resolved, invisible characters gone."""
    shown = _INVISIBLE.sub("", unicodedata.normalize("NFKC", word))
    shown = _APOSTROPHE.sub("'", shown).replace("\u2010", "-")
    return shown if shown and not any(map(str.isspace, shown)) else word


def presentable(word: str) -> bool:
    """Whether a phrase may hold the word: no address, sum, fraction, unit, rule, or clause without spaces."""
    if len(word) > _LONGEST:
        return False
    if word.isalpha() or not any(map(str.isalnum, word)):
        return word.isalpha() and (len(word) <= _LONGEST_UNSPACED or not _UNSPACED.search(word))
    if word[-1] == "-" or _ADDRESS.search(word) or _SUM.search(word):
        return False
    if "/" in word:
        parts = word.split("/")
        if len(word) > _LONGEST_SLASHED and (len(parts) > 2 or "." in word):
            return False  # the path of a file
        single = sum(len(part) == 1 for part in parts)
        # "I/O" and "TCP/IP" are words; "1/n" and "kbit/s" are not.
        if single and (single < len(parts) or any(map(str.isdigit, parts))):
            return False
    return len(word) <= _LONGEST_UNSPACED or not _UNSPACED.search(word)

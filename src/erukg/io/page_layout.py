"""The running text of printed pages: no running heads or page numbers, columns one after the other, words and
paragraphs whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

__all__ = ["PageLine", "in_columns", "running_text", "without_furniture"]

# How many levels from the top and from the bottom of a page are looked at for heads and feet.
_EDGE = 2
# A text set on a level of its own again and again is a head or a foot when this share of the pages has it.
_SHARE = 0.3
# A gap is wider than so many times the usual distance of lines.
_WIDE = 1.4
# Points within which two lines stand on one level.
_LEVEL = 3.0
_NUMBER = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"[\W_]*(?:(?:page|p\.|seite)\s*)?(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:of|/|\|)\s*\d{1,4})?[\W_]*", re.IGNORECASE
)
_GAP = re.compile(r"\s{3,}")
_FEWEST_ROWS = 3
_FEWEST_LETTERS = 15
_HYPHENS = "-\u00ad\u2010"
_LONGEST_WORD = 80
# A line that a paragraph goes on from is as long as this share of the lines around it, of which so many are looked at,
# or half as long where the next one begins in mid-sentence; the next is indented by no more than so many points, and no
# farther below than so many times the size of the letters.
_FULL, _HALF, _AROUND, _INDENT, _FAR = 0.7, 0.5, 8, 4.0, 2.2
_SENTENCE_ENDS = (".", "!", "?", ":", ".”", ".)", '."')
_BULLET = re.compile(r"[•‣▪◦●–—*-]\s|\(?\d{1,2}[.)]\s")
_WORD = re.compile(r"[^\W\d_][\w'’]*(?:[-\u2010][\w'’]+)*")
_LIGATURES = str.maketrans(
    {"\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st", "\ufb06": "st"}
)


@dataclass(frozen=True, slots=True)
class PageLine:
    """A line of text, where it begins on its page, in points from the lower left corner, and its size."""

    text: str
    x: float
    y: float
    size: float = 0.0


def running_text(pages: Sequence[Sequence[PageLine]]) -> str:
    """The text of pages whose lines are in the order of reading: a line for each paragraph, heading and table row."""
    lines = [
        replace(line, text=" ".join(line.text.translate(_LIGATURES).split()))
        for page in without_furniture(pages)
        for line in page
        if line.text.strip()
    ]
    known = Counter(word.lower() for line in lines for word in _WORD.findall(_but_divided(line.text)))
    widths = [_width(lines, number) for number in range(len(lines))]
    out: list[str] = []
    for number, line in enumerate(lines):
        before = lines[number - 1] if number else None
        if before is None:
            out.append(line.text)
        elif not _goes_on(before, line, widths[number - 1]):
            out += ["\n" if _is_row(before) and _is_row(line) else "\n\n", line.text]
        elif (first := before.text[len(_but_divided(before.text)) : -1]) and (second := _WORD.match(line.text)):
            whole = _is_divided(first, before.text[-1], second[0], known)
            out[-1] = out[-1][:-1] + ("" if whole else "-")
            out.append(line.text)
        else:
            out += [" ", line.text]
    return "".join(out)


def _width(lines: Sequence[PageLine], number: int) -> int:
    """How many letters the lines around this one have, in its size."""
    around = lines[max(0, number - _AROUND) : number + _AROUND + 1]
    return max((len(line.text) for line in around if _same_size(line, lines[number]) and not _is_row(line)), default=0)


def _same_size(one: PageLine, two: PageLine) -> bool:
    return abs(one.size - two.size) <= 0.1 * max(one.size, two.size)


def _is_row(line: PageLine) -> bool:
    """Whether a line is more numbers, or dots, than words, as rows of tables and of contents are."""
    words = line.text.split()
    return sum(not any(map(str.isalpha, word)) for word in words) > 0.3 * len(words)


def _goes_on(line: PageLine, after: PageLine, width: int) -> bool:
    """Whether a paragraph goes on from one line to the next: from a full line, at the usual distance."""
    if not _same_size(line, after) or _is_row(line) or _is_row(after) or _BULLET.match(after.text):
        return False
    starts_within = after.text[0].islower()
    if line.text.endswith(tuple(_HYPHENS)) and starts_within:
        return True
    if len(line.text) < (_HALF if starts_within else _FULL) * width:
        return False
    down = line.y - after.y
    if down <= 0:  # the next column or page
        return starts_within
    if line.size and down > _FAR * max(line.size, after.size) and not starts_within:
        return False
    return after.x <= line.x + _INDENT or starts_within or not line.text.endswith(_SENTENCE_ENDS)


def without_furniture(pages: Sequence[Sequence[PageLine]]) -> list[list[PageLine]]:
    """The pages without running heads and feet and page numbers.

    Those are lines near the top or the bottom that many pages have at the same height, but for numbers in them; lines
    that are nothing but a page number; and lines that begin or end with a number that grows from page to page.
    """
    edges = [_edge_lines(page) for page in pages]
    marks = [[_marks(line, index) for line in edge] for index, edge in enumerate(edges)]
    counts = Counter(mark for page in marks for mark in set().union(*page))
    least = max(2, _SHARE * len(pages))

    def is_furniture(line: PageLine, index: int) -> bool:
        if _PAGE_NUMBER.fullmatch(line.text):
            return True
        return any(
            counts[kind, mark, level - 1] + counts[kind, mark, level] + counts[kind, mark, level + 1] >= least
            for kind, mark, level in _marks(line, index)
        )

    return [
        [line for line in page if line not in edge or not is_furniture(line, index)]
        for index, (page, edge) in enumerate(zip(pages, edges, strict=True))
    ]


def _edge_lines(page: Sequence[PageLine]) -> list[PageLine]:
    """The lines that may be heads or feet: the highest and the lowest, and those next to them, if a gap follows."""
    levels: list[float] = []
    for y in sorted(line.y for line in page):
        if not levels or y - levels[-1] > _LEVEL:
            levels.append(y)
    gaps = [above - below for below, above in pairwise(levels)]
    usual = sorted(gaps)[len(gaps) // 2] if gaps else 0.0
    outer = {*levels[:1], *levels[-1:]}
    if len(levels) > 2 * _EDGE:
        for number in range(1, _EDGE):
            outer |= {levels[number]} if gaps[number] > _WIDE * usual else set()
            outer |= {levels[-1 - number]} if gaps[-1 - number] > _WIDE * usual else set()
    return [line for line in page if any(0 <= line.y - level <= _LEVEL for level in outer)]


def _marks(line: PageLine, index: int) -> set[tuple[str, str | int, int]]:
    """By what a line of page `index` is known on other pages: its words, and how far a number at either end is off."""
    words = line.text.casefold().split()
    level = round(line.y / _LEVEL)
    marks: set[tuple[str, str | int, int]] = {("words", _NUMBER.sub("#", " ".join(words)), level)}
    for side, word in (("first", words[0]), ("last", words[-1])) if len(words) > 1 else ():
        if word.isascii() and word.isdigit() and len(word) < 6:
            marks.add((side, int(word) - index, level))
    return marks


def in_columns(lines: Sequence[PageLine], printed: str) -> list[PageLine]:
    """The lines of a page with two columns that were drawn row by row, column after column; others as they are.

    Such lines stand on one level, one after the other, or are a whole row. `printed` is the page with spaces where it
    is empty, so that a row of two columns has a wide gap in it: there lines are cut.
    """
    cuts = _cuts(printed)
    halves = [_halves(line, cuts) for line in lines]
    beside = [
        (one[0], two[0]) for one, two in pairwise(halves) if len(one) == len(two) == 1 and _stand_beside(one[0], two[0])
    ]
    rows = [(half[0], half[1]) for half in halves if len(half) == 2] + beside
    if len(rows) < _FEWEST_ROWS:
        return list(lines)
    widest = 1.1 * max(len(_letters(left.text)) for left, _ in rows)
    starts = sorted(right.x for _, right in beside)
    second = starts[len(starts) // 2] - _LEVEL if starts else float("inf")
    first = {left for left, _ in beside}
    out: list[PageLine] = []
    columns: tuple[list[PageLine], list[PageLine]] = ([], [])
    for line, *others in halves:
        if others or line in first:
            columns[0].append(line)
            columns[1].extend(others)
        elif columns[0] and line.x >= second:
            columns[1].append(line)
        elif columns[0] and len(_letters(line.text)) <= widest:
            columns[0].append(line)  # with nothing beside it
        else:  # as wide as the page: what comes after is read after both columns
            out += [*columns[0], *columns[1], line]
            columns = ([], [])
    return [*out, *columns[0], *columns[1]]


def _cuts(printed: str) -> dict[str, int]:
    """The letters of each row that is two columns wide, and how many of them belong to the first."""
    cuts = {}
    for row in map(str.strip, printed.splitlines()):
        widest = max(_GAP.finditer(row), key=lambda gap: gap.end() - gap.start(), default=None)
        if widest is not None:
            left, right = _letters(row[: widest.start()]), _letters(row[widest.end() :])
            if min(len(left), len(right)) >= _FEWEST_LETTERS:
                cuts[left + right] = len(left)
    return cuts


def _halves(line: PageLine, cuts: dict[str, int]) -> list[PageLine]:
    """The line, or the two halves of the row that it is."""
    count = cuts.get(_letters(line.text))
    if count is None:
        return [line]
    cut = _after_letters(line.text, count)
    return [replace(line, text=part.strip()) for part in (line.text[:cut], line.text[cut:])]


def _stand_beside(one: PageLine, two: PageLine) -> bool:
    long = min(len(_letters(one.text)), len(_letters(two.text))) >= _FEWEST_LETTERS
    return long and abs(one.y - two.y) <= _LEVEL and one.x < two.x


def _letters(text: str) -> str:
    return "".join(text.split())


def _after_letters(text: str, count: int) -> int:
    """The position behind so many characters that are not spaces."""
    for position, character in enumerate(text):
        count -= not character.isspace()
        if not count:
            return position + 1
    return len(text)


def _but_divided(line: str) -> str:
    """The line without the part of a word and the hyphen that it ends with."""
    kept = line.rstrip()
    if not kept.endswith(tuple(_HYPHENS)):
        return line
    start = len(kept) - 1
    while start and len(kept) - start < _LONGEST_WORD and (kept[start - 1].isalnum() or kept[start - 1] in _HYPHENS):
        start -= 1
    return kept[:start] if kept[start].isalpha() else line


def _is_divided(first: str, hyphen: str, second: str, known: Counter[str]) -> bool:
    """Whether a hyphen at the end of a line divides a word, or belongs to it.

    It belongs to one that the text has with a hyphen elsewhere, that has others, or that goes on with a capital, and to
    two words of the text that are none as one.
    """
    if hyphen == "\u00ad":
        return True
    if not second[0].islower() or any(mark in first for mark in "-\u2010"):
        return False
    whole, compound = (first + second).lower(), f"{first}-{second}".lower()
    if known[whole] or known[compound]:
        return known[whole] >= known[compound]
    return not (known[first.lower()] and known[second.lower()])

"""The text of a web page: headings, paragraphs, list items and rows of tables, without what stands around an article.

Pages are read as browsers read them: any page can be, whatever is wrong with it.
"""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from typing import NamedTuple

__all__ = ["WebPage", "read_page"]

_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q rp rt ruby s samp small "
    "span strike strong sub sup time tt u var wbr".split()
)
_VOID = frozenset("area base col embed hr link meta param source track wbr".split())
_SPACES = frozenset(("br", "img", "input"))  # between words of one block
#: Not prose, or around it, or not shown.
_LEFT_OUT = frozenset(
    "aside audio button canvas footer iframe math nav noscript object pre script select style svg template textarea "
    "video".split()
)
_ROLES = frozenset(("navigation", "contentinfo", "complementary", "search", "menu"))
# Elements that end where the next of their kind begins.
_ENDS = {name: frozenset((name,)) for name in ("li", "tr", "option")}
_ENDS |= dict.fromkeys(("td", "th"), frozenset(("td", "th"))) | dict.fromkeys(("dt", "dd"), frozenset(("dt", "dd")))
_NOT_SHOWN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
# Places where a word may be divided, shown only where it is.
_DIVIDERS = {0xAD: None, 0x200B: None}
# Ends a tag or comment that the page does not end, which would be looked for from every "<" on.
_COMMENT_END = "-->"
_END = f"<p>{_COMMENT_END}"


class WebPage(NamedTuple):
    """What a page says, and its title."""

    text: str
    title: str


class _Block(NamedTuple):
    text: str
    row: bool = False
    """Whether it is a row of a table."""


def read_page(page: str) -> WebPage:
    """The text of a page, with an empty line between its parts, and none between the rows of a table."""
    reader = _Reader()
    reader.feed(page + _END)
    reader.close()
    reader.end_row()
    if reader.blocks and reader.blocks[-1].text.endswith(_COMMENT_END):
        last = reader.blocks.pop()
        reader.blocks += [_Block(text)] if (text := last.text[: -len(_COMMENT_END)].rstrip()) else []
    out: list[str] = []
    before = _Block("")
    for block in reader.blocks:
        if out:
            out.append("\n" if before.row and block.row else "\n\n")
        out.append(block.text)
        before = block
    return WebPage("".join(out), reader.title)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[_Block] = []
        self.title = ""
        self._text: list[str] = []  # of the block that is being read
        self._cells: list[list[str]] | None = None  # of the row that is being read: the blocks in each of its cells
        self._open: list[tuple[str, bool]] = []  # elements, and whether what is in them is left out
        self._count: Counter[str] = Counter()  # how often each is open
        self._hiding = 0
        self._after_break = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _SPACES:
            self._text.append(" ")
            if tag == "br" and self._after_break:  # an empty line
                self._end_block()
            self._after_break = tag == "br"
            return
        if tag not in _INLINE:
            self._end_block()
            self._end_before(tag)
        if tag in _VOID:
            return
        if tag in ("table", "tr"):
            self.end_row()
        if not self._hiding:
            if tag == "tr":
                self._cells = []
            elif tag in ("td", "th") and self._cells is not None:
                self._cells.append([])
        hides = tag in _LEFT_OUT or _is_hidden(dict(attrs))
        self._open.append((tag, hides))
        self._count[tag] += 1
        self._hiding += hides

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID and tag not in _SPACES:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _INLINE:
            self._end_block()
        if tag in ("tr", "table"):
            self.end_row()
        if not self._count[tag]:  # it was never open
            return
        while self._close() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "title" and not self._hiding:
            self.title = self.title or _plain(data)
        elif not self._hiding:
            self._text.append(data)
            self._after_break = self._after_break and data.isspace()

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """What only XML has; browsers take it for a comment, where the base class raises an error."""
        return self.parse_bogus_comment(i)

    def _close(self) -> str:
        tag, hides = self._open.pop()
        self._count[tag] -= 1
        self._hiding -= hides
        return tag

    def _end_before(self, tag: str) -> None:
        """End the elements that are open, and end by themselves where this one begins."""
        ended = _ENDS.get(tag, frozenset()) | {"p"}
        while self._open and self._open[-1][0] in ended:
            self._close()

    def _end_block(self) -> None:
        text = _plain("".join(self._text))
        self._text.clear()
        if not text:
            return
        if self._cells:
            self._cells[-1].append(text)
        else:
            self.blocks.append(_Block(text))

    def end_row(self) -> None:
        """Take the row that is being read: one line, unless cells hold paragraphs, as where a table is the layout."""
        self._end_block()
        cells, self._cells = self._cells or [], None
        if all(len(cell) < 2 for cell in cells):
            row = " | ".join(cell[0] for cell in cells if cell)
            self.blocks += [_Block(row, True)] if row else []
        else:
            self.blocks += [_Block(text) for cell in cells for text in cell]


def _is_hidden(given: dict[str, str | None]) -> bool:
    return (
        "hidden" in given
        or given.get("aria-hidden") == "true"
        or (given.get("role") or "").lower() in _ROLES
        or _NOT_SHOWN.search(given.get("style") or "") is not None
    )


def _plain(text: str) -> str:
    return " ".join(text.translate(_DIVIDERS).split())

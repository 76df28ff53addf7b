"""The running text of printed pages, and PDFs made here that show what gets in its way."""

from __future__ import annotations

import zlib

import pytest

from erukg.io import Limits
from erukg.io.extraction import parse_document
from erukg.io.page_layout import PageLine, in_columns, running_text, without_furniture
from serving import pdf_samples

LEFT = (
    "Unstructured networks answer popular",
    "queries quickly, but a file that only",
    "a handful of nodes share is missed.",
)
RIGHT = (
    "Random walks fill all of the gaps in",
    "which no Bloom filter of a neighbour",
    "matches what a node is looking for.",
)


def page(*texts: str, top: float = 700, x: float = 60, size: float = 10) -> list[PageLine]:
    return [PageLine(text, x, top - 14 * number, size) for number, text in enumerate(texts)]


def head(text: str) -> PageLine:
    return PageLine(text, 60, 780, 8)


def foot(text: str) -> PageLine:
    return PageLine(text, 300, 30, 8)


def test_heads_feet_and_page_numbers_go() -> None:
    pages = [
        [head("Journal of Ice 12 (2024)"), *page(f"Text {n} of the page", "and more of it", *LEFT), foot(str(40 + n))]
        for n in range(4)
    ]
    kept = without_furniture(pages)
    assert [line.text for line in kept[2]] == ["Text 2 of the page", "and more of it", *LEFT]


def test_heads_that_change_are_known_by_their_numbers() -> None:
    titles = ("1 INTRODUCTION", "2 METHODS", "2 METHODS", "3 RESULTS", "4 DISCUSSION")
    pages = [[head(f"{title} {n}"), *page(f"{n} Heading here", *LEFT)] for n, title in enumerate(titles, 3)]
    assert [next(line.text for line in kept) for kept in without_furniture(pages)] == [
        f"{n} Heading here" for n in range(3, 8)
    ]


def test_a_single_page_loses_its_number_only() -> None:
    (kept,) = without_furniture([[head("A title at the top"), *page(*LEFT), foot("- 1 -")]])
    assert [line.text for line in kept] == ["A title at the top", *LEFT]


def test_lines_become_paragraphs() -> None:
    title = PageLine("Rare files", 60, 740, 16)
    text = running_text([[title, *page(*LEFT), *page("    Random walks fill the gaps.", top=640, x=70)]])
    assert text == "Rare files\n\n" + " ".join(LEFT) + "\n\nRandom walks fill the gaps."


def test_paragraphs_go_on_over_pages() -> None:
    first, second = page(*LEFT[:2]), page(LEFT[2], *RIGHT)
    assert running_text([first, second]).startswith(" ".join(LEFT))


def test_rows_of_tables_stay_rows() -> None:
    rows = ("flooding 10 400 0.99 0.98", "filters 1 030 0.81 0.80")
    assert running_text([page(*LEFT, *rows)]).endswith("missed.\n\n" + "\n".join(rows))


@pytest.mark.parametrize(
    ("before", "after", "elsewhere", "whole"),
    [
        ("the messages that flood-", "ing needs", "", "flooding"),
        ("a decentralised peer-to-", "peer network", "", "peer-to-peer"),
        ("uses congestion-", "control here", "congestion-control is old", "congestion-control"),
        ("uses content-", "addressable nets", "content that is addressable", "content-addressable"),
        ("equations of Navier-", "Stokes and others", "", "Navier-Stokes"),
        ("soft hyphens di\u00ad", "vide words", "", "divide"),
        ("the ﬁlter is diffi-", "cult to ﬁt", "", "difficult to fit"),
    ],
)
def test_divided_words(before: str, after: str, elsewhere: str, whole: str) -> None:
    assert whole in running_text([page(before, after, *([elsewhere] if elsewhere else []))])


def test_columns_drawn_row_by_row() -> None:
    both = [each for pair in zip(page(*LEFT), page(*RIGHT, x=320), strict=True) for each in pair]
    title = PageLine("A title as wide as both of the columns are, and a bit wider than that", 60, 740, 16)
    assert [line.text for line in in_columns([title, *both], "")] == [title.text, *LEFT, *RIGHT]
    merged = [
        PageLine(f"{left} {right}", 60, 700 - 14 * n) for n, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True))
    ]
    printed = "\n".join(f"{left:60}{right}" for left, right in zip(LEFT, RIGHT, strict=True))
    assert [line.text for line in in_columns(merged, printed)] == [*LEFT, *RIGHT]


def test_what_is_not_in_columns_stays_as_it_is() -> None:
    lines = [*page(*LEFT), *page(*RIGHT, x=320)]
    assert in_columns(lines, "\n".join(f"{left:60}{right}" for left, right in zip(LEFT, RIGHT, strict=True))) == lines
    cells = [
        each for n in range(9) for each in page("flooding", top=500 - 20 * n) + page("0.99", top=500 - 20 * n, x=200)
    ]
    assert in_columns(cells, "\n".join("flooding        0.99" for _ in range(9))) == cells


def two_columns(number: int) -> bytes:
    """A page drawn line by line over both columns, with a running head and a page number."""
    drawn = [f"BT /F1 9 Tf 60 780 Td (Overlay Letters, volume {number}) Tj ET"]
    for row, (left, right) in enumerate(zip(LEFT, RIGHT, strict=True)):
        for x, text in ((60, left), (320, right)):
            drawn.append(f"BT /F1 10 Tf {x} {700 - 14 * row} Td ({text}) Tj ET")
    drawn.append(f"BT /F1 9 Tf 300 30 Td ({number}) Tj ET")
    return zlib.compress("\n".join(drawn).encode())


def test_a_pdf_in_two_columns() -> None:
    found = parse_document(pdf_samples.pdf([two_columns(number) for number in (7, 8, 9)]), Limits(), "pdf")
    assert found.pages == 3
    assert found.text == "\n\n".join([" ".join(LEFT) + "\n\n" + " ".join(RIGHT)] * 3)


def test_row_by_row_in_one_text_object() -> None:
    rows = "".join(f"({left}) Tj 260 0 Td ({right}) Tj -260 -14 Td " for left, right in zip(LEFT, RIGHT, strict=True))
    found = parse_document(
        pdf_samples.pdf([zlib.compress(f"BT /F1 10 Tf 60 700 Td {rows} ET".encode())]), Limits(), "pdf"
    )
    assert found.text.split() == [*" ".join(LEFT).split(), *" ".join(RIGHT).split()]

"""Documents: words, offsets, breaks, and the odd things real papers and hostile files hold."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erukg.core.candidates import noun_phrases
from erukg.core.document import Document
from erukg.core.folding import fold
from erukg.core.text.lines import uniform
from erukg.core.text.words import ASCII_TOKEN, TOKEN
from erukg.core.word_classes import NOUN

FRAGMENTS = [
    *("deep", "Networks", "k", "means", "95", "e.g.", "U.S.", "don't", "Newton's", "users'", "état", "naïve"),
    *(
        " ",
        "  ",
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        "-",
        "-\n",
        "--",
        "/",
        "_",
        "'",
        ".",
        ",",
        ";",
        "(",
        ")",
        "[12]",
        "|",
    ),
    *(
        "$k$-means",
        "$x^2$",
        "$",
        "$$",
        "\\(",
        "\\)",
        "\\[",
        "\\]",
        "\\emph{",
        "}",
        "{",
        "\\'e",
        '{\\"o}',
        '\\"',
        "\\",
    ),
    *("\\begin{equation}", "\\end{equation}", "\\cite{a}", "\\item ", "\\o ", "\\alpha", "\\\\", "\\&", "~"),
    *(
        "&amp;",
        "&eacute;",
        "&#8217;",
        "&#0;",
        "&nbsp;",
        "&",
        "&lt;",
        "<i>",
        "</i>",
        "<sub>",
        "</sub>",
        "<p>",
        "<",
    ),
    *(
        "<digit>",
        "<!--",
        "-->",
        "<math>",
        "</math>",
        '<a href="x">',
        ">",
        "http://a.b/c",
        "www.x.org",
        "a@b.de",
    ),
    *(
        "\ufb01nite",
        "\u00ad",
        "\u200b",
        "\u200f",
        "\u0301",
        "\u2019s",
        "\u2013",
        "\u2014",
        "\u2022",
        "\u00a9 2003 ",
    ),
    *(
        "中文处理",
        "שלום",
        "العربية",
        "हिन्दी",
        "😀",
        "\ufdfa",
        "\u00a8",
        "İ",
        "ß",
        "\x00",
        "\ud800",
        "\udfff",
        "\ue000",
    ),
    *(
        "Smith et al. ",
        "(Lee, 2010)",
        "10.1000/xyz",
        " 's ",
        "pre- and ",
        "C++",
        "C#",
        "1,000",
        "3.5",
        "\x0c",
    ),
]
texts = st.one_of(
    st.text(st.characters(), max_size=60),
    st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join),
    st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(st.characters(), max_size=3)), max_size=20).map("".join),
)


def phrases(text: str) -> list[str]:
    """What stands between breaks and unusable words, as one string each."""
    document = Document.parse(text)
    runs: list[list[str]] = []
    for word, broken, usable in zip(document.words, document.breaks, document.usable, strict=True):
        if not usable:
            runs.append([])
        elif broken or not runs:
            runs.append([word])
        else:
            runs[-1].append(word)
    return [" ".join(run) for run in runs if run]


def words(text: str) -> list[str]:
    return list(Document.parse(text).words)


@given(texts)
@settings(max_examples=600, deadline=None)
def test_offsets_are_ordered_and_inside_the_text(text: str) -> None:
    document = Document.parse(text)
    n = len(document.words)
    assert document.text is text
    assert len(document) == len(document.starts) == len(document.ends) == len(document.breaks) == n
    assert document.starts.dtype == document.ends.dtype == np.int32
    assert document.breaks.dtype == document.usable.dtype == np.bool_
    if n:
        assert document.starts[0] >= 0
        assert document.ends[-1] <= len(text)
        assert document.breaks[0]
    assert (document.starts < document.ends).all()
    assert (document.starts[1:] >= document.ends[:-1]).all()
    assert all(word and not any(map(str.isspace, word)) for word in document.words)
    assert len(document.folded) == n
    for word in document.words:
        word.encode()  # a tokenizer can read every word


@given(texts)
@settings(max_examples=600, deadline=None)
def test_every_span_folds_to_its_phrase(text: str) -> None:
    document = Document.parse(text)
    candidates = noun_phrases(document, np.full(len(document), NOUN, np.int8))
    for key, spans in ((candidate.fold, candidate.spans) for candidate in candidates):
        assert spans
        assert all(fold(text[a:b]) == key for a, b in spans)


@given(st.text(st.sampled_from("ab\r\n\x0b\x0c\x85\u2028 ")))
def test_line_ends_become_newlines_of_the_same_length(text: str) -> None:
    assert len(uniform(text)) == len(text)
    assert set(uniform(text)) <= set("ab\n ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("state-of-the-art peer-to-peer nets", ["state-of-the-art", "peer-to-peer", "nets"]),
        (
            "C++, C# and IPv6; word2vec at AT&T.",
            ["C++", ",", "C#", "and", "IPv6", ";", "word2vec", "at", "AT&T", "."],
        ),
        ("e.g. the U.S. has 3.5 or 1,000", ["e.g.", "the", "U.S.", "has", "3.5", "or", "1,000"]),
        ("a method.The result", ["a", "method", ".", "The", "result"]),
        ("by J. K. Rowling and John F. Kennedy", ["by", "J.", "K.", "Rowling", "and", "John", "F.", "Kennedy"]),
        ("Dr. Petrova of St. Ives met Mr. Holt.", ["Dr.", "Petrova", "of", "St.", "Ives", "met", "Mr.", "Holt", "."]),
        # These end a sentence, number a heading, or are letters that count something.
        ("took vitamin C. Patients left", ["took", "vitamin", "C", ".", "Patients", "left"]),
        ("In Appendix A. Proofs follow", ["In", "Appendix", "A", ".", "Proofs", "follow"]),
        ("A. Introduction", ["A", ".", "Introduction"]),
        ("he met the Dr. The end", ["he", "met", "the", "Dr", ".", "The", "end"]),
        ("by J. smith, Dr.", ["by", "J", ".", "smith", ",", "Dr", "."]),
        ("see J . Smith", ["see", "J", ".", "Smith"]),
        ("Newton's 'good users' don't", ["Newton's", "'", "good", "users'", "don't"]),
        ("the users' needs", ["the", "users'", "needs"]),
        ("the users’ needs", ["the", "users'", "needs"]),
        ("newton 's method", ["newton's", "method"]),
        ("and/or input/output", ["and/or", "input/output"]),
        ("pre- and post-processing", ["pre-", "and", "post-processing"]),
        ("Navier–Stokes — a dash", ["Navier–Stokes", "—", "a", "dash"]),
        ("wait......what", ["wait", "......", "what"]),
        ("_deep_ my_name ____", ["deep", "my_name", "____"]),
        ("ﬁnite ﬂow eﬃcient", ["finite", "flow", "efficient"]),
        ("infor\u00admation re\u200btrieval", ["information", "retrieval"]),
        ("cafe\u0301 résumé", ["café", "résumé"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AT&amp;T caf&eacute; Newton&#8217;s a&nbsp;b", ["AT&T", "café", "Newton's", "a", "b"]),
        (
            "CO<sub>2</sub> and <i>k</i>-means of <b>deep</b> nets",
            ["CO2", "and", "k-means", "of", "deep", "nets"],
        ),
        ("a <b and c> d", ["a", "<", "b", "and", "c", ">", "d"]),
        ("<p>one</p><p>two</p><!-- no <b> --><br/>three", ["one", "two", "three"]),
        ('see <a href="http://x.org/y z">this page</a>', ["see", "this", "page"]),
        ("<mml:math><mml:mi>x</mml:mi></mml:math> holds", ["x", "holds"]),
        ("$k$-means and $\\alpha$-stable laws", ["k-means", "and", "alpha-stable", "laws"]),
        ("the $O(n^2)$ bound, \\(x\\) and \\[y=1\\]", ["the", "x", "bound", ",", "x", "and", "x"]),
        ("from $5 to $10 million", ["from", "$", "5", "to", "$", "10", "million"]),
        ("x \\begin{align*} a &= b \\end{align*} y", ["x", "x", "y"]),
        ("\\begin{itemize}\\item one\\end{itemize}", ["one"]),
        (
            "Schr\\\"odinger, Erd{\\H{o}}s, {\\'e}tat, \\'{\\i}, S\\o ren",
            ["Schrödinger", ",", "Erdős", ",", "état", ",", "í", ",", "Søren"],
        ),
        ("it\\'s \\\"open access\\\" don\\'t", ["it's", '"', "open", "access", '"', "don't"]),
        ("\\emph{deep} nets~\\cite{a,b} in \\LaTeX{} {DNA}", ["deep", "nets", "~", "in", "LaTeX", "DNA"]),
        ("see http://a.org/b?c=d or www.x.com, 10.1000/182 now", ["see", "or", "now"]),
        ("nets [1, 3-5] (Smith et al., 2010; Lee, 2011a) work", ["nets", "work"]),
        ("as Smith et al. show in [Knu84]", ["as", "show", "in"]),
        ("good. (c) 2003 Elsevier B.V. All rights reserved.", ["good", "."]),
        ("infor-\nmation on self-\norganizing state-of-\nthe-art", ["information", "on", "self-organizing"]),
        ("infor-\r\nmation", ["information"]),
        ("run ```py\nimport x``` now", ["run", "now"]),
        ("AbstractIn this paper", ["In", "this", "paper"]),
        ("web <digit> has <digit> users", ["web", "0", "has", "0", "users"]),
    ],
)
def test_markup_leaves_real_words_only(text: str, expected: list[str]) -> None:
    assert words(text)[: len(expected)] == expected


def test_marks_formulas_and_addresses_are_not_usable() -> None:
    document = Document.parse("nets , $x+y$ <digit> a@b.org 1/n kbit/s k+1 ____ and pre- or x.edu")
    good = [w for w, u in zip(document.words, document.usable, strict=True) if u]
    assert good == ["nets", "and", "or"]
    assert phrases("I/O of TCP/IP with C++ at R&D 95") == ["I/O of TCP/IP with C++ at R&D 95"]


def test_an_ampersand_joins_names() -> None:
    document = Document.parse("Marks & Spencer and salt & pepper , fish& Chips & & Q&A")
    where = [i for i, word in enumerate(document.words) if word == "&"]
    assert [bool(document.usable[i]) for i in where] == [True, False, False, False, False]
    assert phrases("She left Marks & Spencer") == ["She left Marks & Spencer"]
    assert phrases("salt & pepper") == ["salt", "pepper"]


def test_paths_of_files_are_not_usable() -> None:
    document = Document.parse("see text/scalc/guide/calc_date.xhp and TCP/IP or and/or src/erukg/core.py")
    good = [w for w, u in zip(document.words, document.usable, strict=True) if u]
    assert good == ["see", "and", "TCP/IP", "or", "and/or"]


def test_who_speaks_is_no_phrase() -> None:
    talk = "Agent: Good morning\nMia Holt: My router broke\nAgent: Which router\nMia Holt: The new router"
    assert phrases(talk) == ["Good morning", "My router broke", "Which router", "The new router"]
    assert phrases("Summary: a router broke\nResult: it works") == ["Summary", "a router broke", "Result", "it works"]


def test_no_phrase_crosses_punctuation_bullets_or_cells() -> None:
    assert phrases("deep nets, fast (cheap) chips; end") == ["deep nets", "fast", "cheap", "chips", "end"]
    assert phrases("first point\n\u2022 second point\n- third point") == [
        "first point",
        "second point",
        "third point",
    ]
    assert phrases("model size\tspeed     cost | price") == ["model size", "speed", "cost", "price"]


def test_the_title_ends_at_its_newline() -> None:
    assert phrases("Fast sparse\nneural nets are good") == ["Fast sparse", "neural nets are good"]
    assert phrases("A title longer than what follows\nshort text") == [
        "A title longer than what follows",
        "short text",
    ]


def test_wrapped_lines_run_on_but_titles_paragraphs_and_lists_end() -> None:
    text = (
        "Sparse neural retrieval\n"
        "We study how a document may be described by a handful of short noun\n"
        "phrases that a reader would search for and compare many unsupervised\n"
        "models on five sets of abstracts with and without author keywords in\n"
        "them\n\n"
        "Second paragraph"
    )
    found = phrases(text)
    assert found[0] == "Sparse neural retrieval"
    assert "short noun phrases that" in found[1]
    assert found[1].endswith("keywords in them")
    assert found[2] == "Second paragraph"
    assert phrases("neural nets\nmachine learning\ndata mining") == [
        "neural nets",
        "machine learning",
        "data mining",
    ]


def test_tables_and_page_furniture_give_no_phrases() -> None:
    table = "Our results\nNet A 12.5 13.1 14.9\nNet B 11.2 10.7 9.3\nThe end of it"
    assert phrases(table) == ["Our results", "The end of it"]
    pages = "".join(f"Journal of Odd Results {i}\nline {'abcdefghij'[i]} of prose\n\n" for i in range(10))
    assert not any("Journal" in p for p in phrases(pages))
    assert phrases("Some prose\nPage 3 of 12\nMore prose") == ["Some prose", "More prose"]
    assert phrases("Copyright law\nand the web\nin practice") == [
        "Copyright law",
        "and the web",
        "in practice",
    ]


@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "\x00", "\ud800", "\u00ad", "\ufeff"])
def test_nothing_gives_nothing(text: str) -> None:
    document = Document.parse(text)
    assert document.words == ()
    assert document.folded == ()
    assert len(noun_phrases(document, np.empty(0, np.int8))) == 0


def test_other_scripts() -> None:
    assert words("深度学习。中文") == ["深度学习", "。", "中文"]
    assert not Document.parse("深度学习模型在自然语言处理中的应用").usable.any()
    assert words("שלום עולם, مرحبا") == ["שלום", "עולם", ",", "مرحبا"]
    assert words("हिन्दी भाषा") == ["हिन्दी", "भाषा"]
    assert phrases("deep 😀 nets") == ["deep", "nets"]


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "$",
            "\\",
            "<",
            "&",
            "a-",
            "[",
            "{",
            "(",
            "\\(",
            "\\[",
            "$$",
            "$a",
            "<a =",
            "<!--",
            "\\cite[",
            "\\cite{",
        ),
        *(
            "\\begin{equation}",
            "a-\n",
            " ",
            "\n",
            " \n",
            "a\n",
            "http://",
            "10.1234/",
            "A ",
            "Aa, Bb ",
            "(a, 2010",
        ),
        *(
            "(c) 2003 All ",
            "a.",
            "_",
            "\u0301",
            "中",
            "\x00",
            "\ud800",
            "1,",
            "s' ",
            "<math>",
            "5 6 7\n",
            "a/b",
            "-,",
        ),
    ],
)
def test_hostile_runs_take_linear_time(unit: str) -> None:
    text = unit * (200_000 // len(unit))
    started = time.process_time()
    document = Document.parse(text)
    noun_phrases(document, np.ones(len(document), np.int8))
    assert time.process_time() - started < 5


def test_a_million_characters() -> None:
    text = "The neural network model of deep learning, which works well enough. " * 15_000
    started = time.process_time()
    document = Document.parse(text)
    assert time.process_time() - started < 10
    assert len(document) == 13 * 15_000
    assert Document.parse("a" * 1_000_000).usable.tolist() == [False]


def test_latex_instructions_are_not_words() -> None:
    head = "\\pdfoutput=1\n\\documentclass[11pt]{article}\n"
    text = head + "The \\LaTeX{} system sets \\mymacro{deep nets} and \\alpha waves"
    words = Document.parse(text).words
    assert {"pdfoutput", "documentclass", "mymacro", "article"}.isdisjoint(words)
    assert {"LaTeX", "deep", "nets", "alpha"} <= set(words)


@given(st.lists(st.sampled_from([*"abs1_.,-'&@#+/ \n\t\x1c\x00\x0c():;$<!", "Ab", "and", "345", "    ", "..."])))
def test_ascii_texts_split_as_all_others(parts: list[str]) -> None:
    text = "".join(parts)
    ascii_tokens, tokens = ([(m.lastindex, m.span()) for m in p.finditer(text)] for p in (ASCII_TOKEN, TOKEN))
    assert ascii_tokens == tokens

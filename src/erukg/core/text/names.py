"""Names that markup is made of, and words that keep their hyphen."""

from __future__ import annotations

__all__ = [
    "ACCENTS",
    "BLOCK_TAGS",
    "COMPOUND_PARTS",
    "DISPLAYS",
    "DIVIDERS",
    "ESCAPES",
    "INLINE_TAGS",
    "LETTERS",
    "STYLES",
]


def _names(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


# LaTeX: accents by their command, letters, escapes that stand for themselves.
ACCENTS = {
    '"': "\u0308",
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    ".": "\u0307",
    "c": "\u0327",
    "v": "\u030c",
    "u": "\u0306",
    "H": "\u030b",
    "k": "\u0328",
    "r": "\u030a",
}
LETTERS = {
    "ss": "ß",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "OE": "Œ",
    "o": "ø",
    "O": "Ø",
    "l": "ł",
    "L": "Ł",
    "aa": "å",
    "AA": "Å",
    "i": "i",
    "j": "j",
}
ESCAPES = {c: c for c in "%&#_$'\""} | {"-": "", "/": ""}

# Commands that only change the type.
STYLES = _names(
    "emph em it bf tt sc sf rm sl text textbf textit textsc texttt textrm textsf textsl textup textnormal",
    "underline uline mathrm mathbf mathit mathcal mathbb mathsf mathfrak bm boldsymbol mbox hbox ensuremath",
    "operatorname itshape bfseries ttfamily scshape rmfamily sffamily small large Large footnotesize tiny",
    "normalsize scriptsize noindent centering xspace protect left right displaystyle textstyle",
    "textsuperscript textsubscript",
)
# Commands that part the text.
DIVIDERS = _names(
    "item par section subsection subsubsection paragraph chapter title author caption footnote newline",
    "linebreak newpage clearpage maketitle abstract keywords thanks hline toprule midrule bottomrule begin",
    "end",
)
# Environments that hold no prose.
DISPLAYS = _names(
    "equation align eqnarray gather multline displaymath math alignat flalign split array tabular tabularx",
    "table figure verbatim lstlisting algorithm algorithmic tikzpicture thebibliography minted matrix cases",
)

INLINE_TAGS = _names(
    "a abbr acronym b big bold cite code del em font i ins italic kbd mark q s samp small span strike strong",
    "sub sup tt u var",
)
BLOCK_TAGS = _names(
    "address article aside blockquote body br caption center dd div dl dt fig figure footer h1 h2 h3 h4 h5",
    "h6 head header hr html img label li link list list-item main meta nav ol p pre script sec section style",
    "table tbody td tfoot th thead title tr ul math mi mn mo mrow msub msup mfrac mtext",
)

# First parts of compounds, which keep their hyphen when a line ends after it.
COMPOUND_PARTS = _names(
    "self non well real high low large small long short two three four one open cross time user single first",
    "second so all half near peer end state fine coarse hand client domain context content cost energy rule",
    "model data object goal event query knowledge role computer rate machine graph tree full hard wide world",
    "part",
)

"""Inputs that nobody meant: random texts, and files, requests and lines with something changed."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

from core.test_arguments import VALUES
from tiny import ADJECTIVES, NOUNS, OTHERS

__all__ = ["json_value", "mutated", "strange_value", "text"]

_WORDS = (*NOUNS, *ADJECTIVES, *OTHERS)
_PIECES = (
    *("\n", "\r\n", "\t", " ", "\u00a0", "\u200b", "\u2028", "\x00", "\x1b[31m", "\ufeff", "\ud800", "\udfff", "\x85"),
    *(
        "e\u0301",
        "ﬁ",
        "İ",
        "ß",
        "ǅ",
        "𝔾",
        "👩‍👩‍👧",
        "🇩🇪",
        "اللغة",
        "עברית",
        "漢字",
        "한국어",
        "ไทย",
        "क्षि",
        "\u202e",
        "\u0300",
    ),
    *(
        "-",
        "--",
        "—",
        "·",
        "…",
        "'",
        "’s",
        '"',
        "(",
        ")",
        "[1]",
        "[12–15]",
        "{",
        "}",
        "$x^2$",
        "\\alpha",
        "<b>",
        "</b>",
    ),
    *(
        "&amp;",
        "&#x41;",
        "http://a.b/c?d=e",
        "a@b.co",
        "10.1000/182",
        "1,000.5",
        "3rd",
        "C++",
        "e.g.",
        "U.S.",
        "#",
        "@",
    ),
    *(
        "Neural Network (NN)",
        "support vector machine (SVM)",
        "x" * 80,
        "ab-" * 20,
        "a/b/c",
        "_",
        "*",
        "`",
        "|",
        "~",
        "%",
    ),
)
_TOKENS = (
    *(
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\r",
        b"\n",
        b"\n\n",
        b'"',
        b'\\"',
        b"\\u",
        b"\\ud800",
        b"{",
        b"}",
    ),
    *(b"[", b"]", b",", b":", b";", b"\t", b"null", b"true", b"NaN", b"1e999", b"-1", b"9" * 30, b'"id":', b'"text":'),
    *(
        b"%PDF-",
        b"endobj",
        b"stream",
        b"/Length",
        b"<<",
        b">>",
        b"xref",
        b"\x1f\x8b\x08",
        b"\xfd7zXZ",
        b"PAR1",
        b"PK\x03\x04",
    ),
    *(b"<", b">", b"&", b"<!ENTITY", b"@prefix", b"a skos:Concept", b"'", b"\xe2\x80\xa8", b"\xc3", b" " * 40, b"%s%n"),
)


def text(rng: random.Random, most: int = 60) -> str:
    """Words of the tiny model's vocabulary, and all that is hard to read."""
    strange = rng.choice((0.0, 0.05, 0.3, 1.0))
    out = []
    for _ in range(rng.randrange(most)):
        if rng.random() >= strange:
            out.append(rng.choice(_WORDS))
        elif rng.random() < 0.7:
            out.append(rng.choice(_PIECES))
        else:
            out.append(chr(rng.choice((rng.randrange(128), rng.randrange(0x3000), rng.randrange(0x110000)))))
        out.append(rng.choice(("", " ", " ", " ", ", ", ". ")))
    return "".join(out)


def mutated(rng: random.Random, seeds: Sequence[bytes]) -> bytes:
    """One of the seeds with some things changed."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(data) + 1)
        length = rng.choice((1, 2, 8, 64))
        way = rng.randrange(8)
        if way == 0 and data:
            data[at - 1] ^= 1 << rng.randrange(8)
        elif way == 1:
            data[at:at] = rng.choice(_TOKENS)
        elif way == 2:
            del data[at : at + length]
        elif way == 3:
            data[at : at + length] = rng.randbytes(length)
        elif way == 4:
            data[at:at] = data[at : at + length] * rng.choice((1, 2, 50))
        elif way == 5:
            other = rng.choice(seeds)
            data[at:] = other[rng.randrange(len(other) + 1) :]
        elif way == 6:
            data[at:at] = text(rng, 8).encode("utf-8", "surrogatepass")
        else:
            del data[at:]
    return bytes(data)


def strange_value(rng: random.Random, depth: int = 3) -> object:
    """One of the strange values, or a list, pair or mapping of such."""
    if depth == 0 or rng.random() < 0.5:
        return rng.choice(VALUES)
    inside = [strange_value(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    make: Callable[[list[object]], object] = rng.choice(
        (list, tuple, lambda values: {str(i): value for i, value in enumerate(values)})
    )
    return make(inside)


def json_value(rng: random.Random, depth: int = 3) -> Any:
    """Anything that JSON can say, and NaN."""
    if depth and rng.random() < 0.4:
        inside = [json_value(rng, depth - 1) for _ in range(rng.randint(0, 4))]
        return inside if rng.random() < 0.5 else {text(rng, 2): value for value in inside}
    numbers = (0, -1, 1, 7, 10**6, 10**30, 0.5, -0.0, 1e308, math.nan, math.inf)
    return rng.choice((None, True, False, "", "graph data", text(rng, 10), rng.choice(numbers), json.dumps([1])))

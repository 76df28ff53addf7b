"""Plain text and Markdown: one file, one document."""

from __future__ import annotations

import re
from typing import IO

from erukg.io.items import InputDocument, Items, Limits
from erukg.io.streams import decode, read_all

__all__ = ["blank_markdown", "read_markdown", "read_text"]

# Open-ended patterns also stop at the end of the file: no text makes them try one stretch again and again.
_FRONT_MATTER = re.compile(r"\A(---|\+\+\+)[ \t]*\r?\n.*?^\1[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*\r?$|\Z)", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TARGET = re.compile(r"(?<=\])\((?:[^()\s]|\([^()\s]*\)){0,2000}(?:[ \t]+\"[^\"\n]*\")?\)")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:[^\n]*$", re.MULTILINE)
_NOT_SPACE = re.compile(r"\S")


def read_text(stream: IO[bytes], name: str, limits: Limits) -> Items:
    """The whole file as one document."""
    yield InputDocument(name, decode(read_all(stream, limits.document_bytes)), name)


def read_markdown(stream: IO[bytes], name: str, limits: Limits) -> Items:
    """The whole file as one document, with what is not prose blanked out."""
    yield InputDocument(name, blank_markdown(decode(read_all(stream, limits.document_bytes))), name)


def blank_markdown(text: str) -> str:
    """Front matter, code blocks, comments and link targets as spaces; all else keeps its position."""
    for pattern in (_FRONT_MATTER, _COMMENT, _FENCE, _DEFINITION, _TARGET):
        text = pattern.sub(lambda match: _NOT_SPACE.sub(" ", match[0]), text)
    return text

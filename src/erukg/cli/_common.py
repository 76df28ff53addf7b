"""What all commands share: exit codes and a way to speak to the user that no file name can abuse."""

from __future__ import annotations

import sys

__all__ = ["INTERRUPTED", "NOTHING_DONE", "PIPE_CLOSED", "SOME_SKIPPED", "printable", "say"]

NOTHING_DONE = 1
SOME_SKIPPED = 3
INTERRUPTED = 130
PIPE_CLOSED = 141


def printable(text: str) -> str:
    """The text with control characters spelt out, so that no name or phrase can steer the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == " " else c.encode("unicode_escape").decode() for c in text)


def say(message: str) -> None:
    """One line on standard error."""
    print(f"erukg: {printable(message)}", file=sys.stderr, flush=True)

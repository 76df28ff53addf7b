"""What all commands share: exit codes and a way to speak to the user that no file name can abuse."""

from __future__ import annotations

import sys

__all__ = ["INTERRUPTED", "NOTHING_DONE", "PIPE_CLOSED", "SOME_SKIPPED", "choose_device", "printable", "say"]

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


def choose_device(device: str) -> str | None:
    """The device for torch that an option names, None for the CPU; what `auto` has come to is said."""
    if device == "cpu":
        return None
    from erukg.backends import find_device

    chosen = find_device(device)
    if device == "auto":
        say(f"The model runs on {chosen or 'the CPU'}.")
    return chosen

"""The plots of a page, collected as they are named on it."""

from __future__ import annotations

import re

__all__ = ["Plots"]


class Plots:
    """By file name the SVG of each plot."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def add(self, name: str, number: int, title: str, content: str) -> str:
        """Keep a plot, and return what shows it on the page; `number` tells those of several groups apart."""
        stem = re.sub(r"[^\w-]+", "", name)
        file = f"{stem}.svg" if number == 1 else f"{stem}-{number}.svg"
        self.files[file] = content
        return f"![{title}]({file})\n"

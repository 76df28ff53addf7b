"""The examples of the documentation, which are what runs."""

from __future__ import annotations

import re

from doors.own_environment import ROOT

__all__ = ["example"]


def example(page: str, heading: str) -> str:
    """The one block of Python under a heading of a page in docs."""
    text = (ROOT / "docs" / page).read_text("utf-8")
    section = re.split(r"^#+ ", text.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    return str(code)

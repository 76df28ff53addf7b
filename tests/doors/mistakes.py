"""Ten ordinary mistakes: what people give where documents are wanted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

__all__ = ["MISTAKES", "refused"]

MISTAKES: dict[str, Callable[[], Any]] = {
    "a dict": lambda: {"text": "rare files"},
    "a DataFrame": lambda: pd.DataFrame({"text": ["rare files"]}),
    "None": lambda: None,
    "NaN": lambda: float("nan"),
    "bytes": lambda: b"rare files",
    "a Path": lambda: Path("rare.txt"),
    "an open file": lambda: Path(__file__).open(encoding="utf-8"),  # noqa: SIM115
    "an int id": lambda: 7,
    "a list of words": lambda: ["rare", "files"],
    "an empty list": list,
}


def refused(call: Callable[[Any], Any], value: Any) -> str:
    """The sentence that the call refuses the value with; it is one, and of erukg's own errors."""
    from erukg.errors import InputError

    try:
        call(value)
    except InputError as error:
        sentence = str(error)
    else:
        raise AssertionError(f"{value!r} was taken")
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    assert len(sentence) < 300
    return sentence

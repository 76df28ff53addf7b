"""Docstrings as the API reference shows them: a name, two spaces and words are a field of a list, `>>>` is code."""

from __future__ import annotations

import re
from typing import Any

import griffe

_FIELDS = re.compile(r"^(?P<indent> *)(?P<name>\w+)  +(?P<about>\S.*(?:\n {12,}\S.*)*)$", re.MULTILINE)
_EXAMPLE = re.compile(r"(?:^>>> .*\n?)+", re.MULTILINE)


class Fields(griffe.Extension):  # type: ignore[misc]
    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(_code, _FIELDS.sub(_item, obj.docstring.value))


def _item(found: re.Match[str]) -> str:
    return f"- `{found['name']}`: {' '.join(found['about'].split())}"


def _code(found: re.Match[str]) -> str:
    return f"```python\n{found[0].replace('>>> ', '').rstrip()}\n```\n"

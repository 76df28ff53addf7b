"""What the theme's pages lack for those who do not see them: names of the dialog and of lists, each of its own."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

_EMPTY_HEADING = re.compile(r"<th(?P<attributes>[^>]*)></th>")
_SECTION = re.compile(
    r'(?P<before><nav class="md-nav" data-md-level="\d" )aria-labelledby="(?P<id>[\w-]+)_label"'
    r'(?P<after>[^>]*>\s*<label class="md-nav__title" for="(?P=id)"[^>]*>\s*<span[^>]*></span>\s*(?P<title>[^<]+?)\s*<)'
)
_NAMED = re.compile(r'(?<=<nav class="md-nav" )(?P<level>[^>]*?)aria-label="(?P<name>[^"]*)"')


def on_page_content(html: str, **kwargs: Any) -> str:
    """An empty cell is no heading."""
    return _EMPTY_HEADING.sub(r"<td\g<attributes>></td>", html)


def on_post_page(output: str, **kwargs: Any) -> str:
    seen = Counter(["Search"])

    def numbered(found: re.Match[str]) -> str:
        seen[found["name"]] += 1
        number = f" ({seen[found['name']]})" if seen[found["name"]] > 1 else ""
        return f'{found["level"]}aria-label="{found["name"]}{number}"'

    output = output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
    output = _SECTION.sub(r'\g<before>aria-label="\g<title>"\g<after>', output)
    return _NAMED.sub(numbered, output)

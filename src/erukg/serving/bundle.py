"""The page as one HTML file: its JavaScript modules bundled into one script, and its style and icon inlined."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files

__all__ = ["bundle_modules", "inline_page", "page_file"]

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function\*?|class|const|let) (\w+))", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)


@cache
def page_file(name: str) -> str:
    """A file of the page, as text."""
    return (files("erukg.serving") / "page" / name).read_text("utf-8")


def bundle_modules(entry: str) -> str:
    """A module and its imports as one script: each in its own function, imported modules first."""
    parts: list[str] = []
    done: set[str] = set()

    def add(name: str, trail: tuple[str, ...]) -> None:
        if name in trail:
            raise ValueError(f"The page's modules import each other in a circle: {' → '.join((*trail, name))}.")
        if name in done:
            return
        text = page_file(f"{name}.js")
        for match in _IMPORT.finditer(text):
            add(match[2], (*trail, name))
        done.add(name)
        exported = ", ".join(match[2] for match in _EXPORT.finditer(text))
        text = _IMPORT.sub(lambda match: f"const {{{match[1]}}} = {match[2]}_module;\n", text)
        text = _EXPORT.sub(r"\1", text)
        if left := _LEFT.search(text):
            raise ValueError(f"{name}.js has a form of import or export that cannot be bundled: {left[0]!r}.")
        body = text if name == entry else f"const {name}_module = (() => {{\n{text}return {{ {exported} }};\n}})();\n"
        parts.append(body)

    add(entry, ())
    return "\n".join(parts)


@cache
def inline_page() -> str:
    """The page with its style, scripts and icon inside, and a policy that lets nothing else run or load."""
    style, theme, script = page_file("style.css"), page_file("theme.js"), bundle_modules("app")
    for text in (style, theme, script):
        if re.search(r"<(?:/s|!--|script)", text, re.IGNORECASE):
            raise ValueError("A file of the page holds markup that would end the element it is put in.")
    icon = base64.b64encode(page_file("icon.svg").encode()).decode()
    policy = (
        f"default-src 'none'; script-src {_hash(theme)} {_hash(script)}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    inlined = {
        '"assets/icon.svg">': f'"data:image/svg+xml;base64,{icon}">',
        '<link rel="stylesheet" href="assets/style.css">': f"<style>{style}</style>",
        '<script src="assets/theme.js"></script>': f"<script>{theme}</script>",
        ' src="assets/app.js"></script>': f">{script}</script>",
    }
    page = page_file("index.html")
    for linked, own in inlined.items():
        if page.count(linked) != 1:
            raise ValueError(f"The page's index.html does not hold this once: {linked!r}.")
        page = page.replace(linked, own)
    first = '<meta charset="utf-8">\n'
    return page.replace(first, f'{first}<meta http-equiv="Content-Security-Policy" content="{policy}">\n', 1)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

"""Notebooks as pages, with the outputs that they were stored with. Nothing is executed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import PurePosixPath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_BLANK, _NEWLINE = re.compile(r"\n\s*\n"), "\n"
_SCROLLING, _FOCUSABLE = re.compile(r'<div (?=style="[^"]*overflow:auto)'), '<div tabindex="0" '


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for file in list(files):
        if file.src_uri.endswith(".ipynb"):
            place = PurePosixPath(file.src_uri).with_suffix(".md").as_posix()
            notebook = json.loads(file.content_string)
            files.append(File.generated(config, place, content=_markdown(notebook, file.name)))
    return files


def _markdown(notebook: Mapping[str, Any], name: str) -> str:
    blocks = [block for cell in notebook["cells"] for block in _cell(cell)]
    # The title stays first; below it the way to the notebook itself.
    blocks.insert(1, f'<p class="notebook"><a href="../{name}.ipynb" download>Download this notebook</a></p>')
    return "\n\n".join(blocks) + "\n"


def _cell(cell: Mapping[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"]).strip("\n")
    if cell["cell_type"] == "markdown":
        yield source
    elif cell["cell_type"] == "code" and source:
        yield _fenced(source, "python")
        for output in cell["outputs"]:
            yield from _output(output)


def _output(output: Mapping[str, Any]) -> Iterator[str]:
    data = {kind: "".join(value) for kind, value in output.get("data", {}).items() if isinstance(value, str | list)}
    if output["output_type"] == "stream":
        yield _shown("".join(output["text"]))
    elif "text/html" in data:
        # Without blank lines, at which Markdown would begin again. What scrolls can be scrolled by key.
        html = _BLANK.sub(_NEWLINE, data["text/html"])
        yield f'<div class="output">{_SCROLLING.sub(_FOCUSABLE, html)}</div>'
    elif "image/svg+xml" in data:
        drawing = data["image/svg+xml"]
        yield f'<div class="output">{_BLANK.sub(_NEWLINE, drawing[drawing.index("<svg") :])}</div>'
    elif "image/png" in data:
        about = escape(data.get("text/plain", "A plot"))
        yield f'<div class="output"><img alt="{about}" src="data:image/png;base64,{data["image/png"].strip()}"></div>'
    elif "text/plain" in data:
        yield _shown(data["text/plain"])


def _shown(text: str) -> str:
    return f'<pre class="output" tabindex="0">{escape(text.rstrip(), quote=False)}</pre>'.replace("\n\n", "\n&#8203;\n")


def _fenced(text: str, kind: str) -> str:
    mark = "`" * max(3, 1 + max((len(run) for run in re.findall(r"^`+", text, re.MULTILINE)), default=0))
    return f"{mark}{kind}\n{text}\n{mark}"

"""A small vocabulary, two documents, and an archive of documents like them that carry tags; built by the command."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from erukg.cli import app

VOCABULARY = """\
<http://example.org/ice>\tSea ice
<http://example.org/radar>\tRadar
<http://example.org/engine>\tEngines, Search
<http://example.org/forest>\tRandom forests
"""
TEXTS = {
    "ice": "Passive radar images of sea ice. The sea ice temperature is from a satellite radar.",
    "engine": "A fast search engine for large document collections, with an index of terms.",
}
_TAGS = {"ice": ("http://example.org/ice", "to read"), "engine": ("http://example.org/engine", "work")}


def write_archive(folder: Path, model: Path) -> Path:
    """A collection of twelve documents, each with a tag of the vocabulary and one of a person's own."""
    rows = []
    for number in range(12):
        kind = "engine" if number % 2 else "ice"
        uri, own = _TAGS[kind]
        tags = [{"uri": uri, "label": kind}, own]
        rows.append({"id": f"{kind}-{number}", "title": f"On {kind}", "text": f"{TEXTS[kind]} {number}", "tags": tags})
    path = folder / "archive.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    line = ["collection", "build", folder / "archive", path, "--tags", "tags", "--model", model]
    built = CliRunner().invoke(app, list(map(str, line)))
    assert built.exit_code == 0, built.output
    return folder / "archive"

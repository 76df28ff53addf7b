"""A copy of a model folder with a part more in it, and a word about the part in its card."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from erukg.backends.folder import ModelFolder
from erukg.training.folders import add_section, list_files, new_folder, write_json

__all__ = ["write_with_part"]

_NEXT = "\n## "


def write_with_part(
    source: ModelFolder,
    out: Path,
    name: str,
    write: Callable[[Path], dict[str, Any]],
    *,
    file: str,
    title: str,
    text: str,
    overwrite: bool,
) -> None:
    """Write to `out` the model with what `write` puts into `file`, in place of the one that it may have had.

    What `write` returns is said of it in config.json, under `name`; the card gets a section with this title and text.
    """
    source.verify()
    with new_folder(out, overwrite) as part:
        for each in source.config["files"]:
            shutil.copy(source.path / each, part / each)
        facts = write(part / file)
        card = part / "README.md"
        if card.is_file():
            card.write_text(_with_section(card.read_text("utf-8"), f"## {title}", text), "utf-8")
        write_json(part / "config.json", {**source.config, name: facts, "files": list_files(part)})


def _with_section(card: str, title: str, text: str) -> str:
    """The card with this section in front of that on limits if there is one, and without an earlier one."""
    if title in card:
        head, _, rest = card.partition(title)
        card = head + rest[rest.find(_NEXT) + 1 :] if _NEXT in rest else head
    return add_section(card, f"{title}\n\n{text}\n\n")

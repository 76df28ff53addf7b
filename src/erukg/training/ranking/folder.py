"""A copy of a model folder with a ranking in it, and a word about the ranking in its card."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from erukg.backends.folder import ModelFolder
from erukg.backends.ranker_file import write_ranker
from erukg.core.ranker import Ranker
from erukg.training.folders import add_section, list_files, new_folder, write_json

__all__ = ["write_with_ranker"]

_TITLE = "## Ranking of absent phrases"
_NEXT = "\n## "


def write_with_ranker(
    source: ModelFolder, out: Path, ranker: Ranker, facts: dict[str, Any], *, overwrite: bool
) -> None:
    """Write to `out` the model with this ranking, in place of the one it may have had; `facts` tell how it was made."""
    source.verify()
    with new_folder(out, overwrite) as part:
        for name in source.config["files"]:
            shutil.copy(source.path / name, part / name)
        features = write_ranker(part / source.ranker.name, ranker)
        card = part / "README.md"
        if card.is_file():
            card.write_text(_with_section(card.read_text("utf-8"), facts), "utf-8")
        config = {**source.config, "ranker": {"features": features, **facts}, "files": list_files(part)}
        write_json(part / "config.json", config)


def _with_section(card: str, facts: dict[str, Any]) -> str:
    """The card with a section about the ranking, in front of that on limits if there is one."""
    if _TITLE in card:
        head, _, rest = card.partition(_TITLE)
        card = head + rest[rest.find(_NEXT) + 1 :] if _NEXT in rest else head
    section = (
        f"{_TITLE}\n\nLearned from {facts['samples']:,} documents outside the collection, each without its title: of "
        f"the phrases that similar documents lend, those in the hidden title are right. {facts['trees']} trees of "
        f"{facts['leaves']} leaves, seed {facts['seed']}, for a collection of "
        f"{facts['collection_documents']:,} documents. No keyphrase that a person assigned was used.\n\n"
    )
    return add_section(card, section)

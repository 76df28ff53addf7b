"""A copy of a model folder with a ranking in it, and a word about the ranking in its card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from erukg.backends.folder import ModelFolder
from erukg.backends.ranker_file import write_ranker
from erukg.core.ranker import Ranker
from erukg.training.model_parts import write_with_part

__all__ = ["write_with_ranker"]


def write_with_ranker(
    source: ModelFolder, out: Path, ranker: Ranker, facts: dict[str, Any], *, overwrite: bool
) -> None:
    """Write to `out` the model with this ranking, in place of the one it may have had; `facts` tell how it was made."""
    text = (
        f"Learned from {facts['samples']:,} documents outside the collection, each without its title: of "
        f"the phrases that similar documents lend, those in the hidden title are right. {facts['trees']} trees of "
        f"{facts['leaves']} leaves, seed {facts['seed']}, for a collection of "
        f"{facts['collection_documents']:,} documents. No keyphrase that a person assigned was used."
    )
    write_with_part(
        source,
        out,
        "ranker",
        lambda path: {"features": write_ranker(path, ranker), **facts},
        file=source.ranker.name,
        title="Ranking of absent phrases",
        text=text,
        overwrite=overwrite,
    )

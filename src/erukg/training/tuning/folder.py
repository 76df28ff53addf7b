"""The tuned network as a model folder: in its source's precision, with its ranking, and a section in its card."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from erukg.backends.folder import ModelFolder
from erukg.training.export.folder import write_model_folder
from erukg.training.folders import add_section, list_files, new_folder, read_json, write_json
from erukg.training.model import TermModel
from erukg.training.tuning.restore import exact_nodes

__all__ = ["publish", "write_tuned"]

_TITLE = "## Tuning"


def write_tuned(model: TermModel, source: ModelFolder, target: Path, name: str) -> Path:
    """Export the network; it keeps the term space of `source`, its ranking and its tagger of words."""
    write_model_folder(
        model,
        source.tokenizer,
        target,
        name,
        source.precision,
        window=source.window,
        overwrite=True,
        exclude=exact_nodes(source),
        term_space=source.term_space,
    )
    config = read_json(target / "config.json")
    for part, path in source.extras.items():
        shutil.copy(path, target / path.name)
        config[part] = source.config[part]
    write_json(target / "config.json", {**config, "files": _files(target)})
    return target


def publish(exported: Path, source: ModelFolder, out: Path, facts: dict[str, Any], overwrite: bool) -> None:
    """Put an exported folder in place, with `facts` about the tuning in its config.json and in its card."""
    with new_folder(out, overwrite) as part:
        for path in exported.iterdir():
            shutil.copy(path, part / path.name)
        config = read_json(part / "config.json")
        card = source.path / "README.md"
        text = card.read_text("utf-8") if card.is_file() else f"# {config['name']}\n"
        (part / "README.md").write_text(_with_section(text, source.name, config["name"], facts), "utf-8")
        write_json(part / "config.json", {**config, "tuning": facts, "files": _files(part)})


def _files(folder: Path) -> dict[str, dict[str, int | str]]:
    files = list_files(folder)
    files.pop("config.json", None)
    return files


def _with_section(card: str, source: str, name: str, facts: dict[str, Any]) -> str:
    """The source's card with a section about the tuning, in front of that on limits if there is one."""
    found = facts["present"]
    measured = "Nothing could be measured on the documents held out."
    if found is not None:
        low, high = (100 * bound for bound in found["interval"])
        measured = (
            f"Of the phrases of {found['documents']:,} hidden titles, {source} had {100 * found['before']:.1f} % "
            f"among its ten best present phrases and this model has {100 * found['after']:.1f} % (difference "
            f"{100 * found['difference']:+.1f}, 95 % interval {low:+.1f} to {high:+.1f})."
        )
    section = (
        f"{_TITLE}\n\n{name} is {source} tuned on {facts['documents']:,} documents with their titles and "
        f"{facts['references']:,} other references, {facts['steps']:,} steps of {facts['batch']} at a rate of "
        f"{facts['rate']:g}, seed {facts['seed']}. {measured} What is said above and below of training and figures is "
        f"that of {source}.\n\n"
    )
    return add_section(card, section)

"""reference/commands.md: every command with its arguments and options, from the program itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any

import typer.main
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

PAGE = "reference/commands.md"
_SETTINGS = "Every [setting](settings.md) is an option too: `--length-penalty -1`, `--no-merge`."
_ABOUT = """# Commands

What `erukg COMMAND --help` says, made from the program. [The guide](../guide.md) explains what goes in and what comes
out. """


def on_files(files: Files, config: MkDocsConfig) -> Files:
    files.append(File.generated(config, PAGE, content="\n\n".join(_page()) + "\n"))
    return files


def _page() -> Iterator[str]:
    from erukg.cli import app

    root: Any = typer.main.get_command(app)
    context = root.make_context("erukg", [], resilient_parsing=True)
    yield _ABOUT + _words(root.epilog)
    for name in root.list_commands(context):
        # Commands are loaded when they are called for.
        _, command, _ = root.resolve_command(context, [name])
        yield from _command(command, context, name, 2)


def _command(command: Any, above: Any, name: str, level: int) -> Iterator[str]:
    context = command.make_context(name, [], parent=above, resilient_parsing=True)
    yield f"{'#' * level} {context.command_path}"
    yield _words(command.help or command.short_help or "")
    if hasattr(command, "commands"):
        for below in command.list_commands(context):
            yield from _command(command.get_command(context, below), context, below, level + 1)
        return
    yield f"```text\n{' '.join([context.command_path, *command.collect_usage_pieces(context)])}\n```"
    groups: dict[str, list[str]] = {}
    for parameter in command.get_params(context):
        if not parameter.hidden and parameter.name != "help":
            # Typer's panels group what belongs together.
            groups.setdefault(parameter.rich_help_panel or "Options", []).append(_parameter(parameter, context))
    for panel, rows in groups.items():
        if panel == "Settings":
            yield _SETTINGS
        else:
            yield "\n".join([f"| {panel} | what it does |", "|---|---|", *rows])


def _parameter(parameter: Any, context: Any) -> str:
    shown, about = parameter.get_help_record(context)
    about, _, bounds = about.partition("  [")
    bounds = re.sub(r"default: \((.*)\)", r"default: \1", bounds.removesuffix("]"))
    words = " ".join(_words(f"{about} ({bounds})" if bounds else about).split()).replace("|", "&#124;")
    return f"| <code>{escape(shown).replace('|', '&#124;')}</code> | {words} |"


def _words(text: str) -> str:
    """Help as Markdown: none of its characters is a mark of Markdown or HTML."""
    text = re.sub(r"\n\n\s*", "\n\n", text.replace("\b\n", ""))
    return re.sub(r"([*_\[])", r"\\\1", text.replace("<", "&lt;"))
